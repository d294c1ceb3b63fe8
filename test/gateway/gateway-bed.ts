/** The real gateway, in this process, with a clock that the test moves. */

import { secureRandomUint32 } from "../../src/client-group/mod.ts";
import type { GatewayConfig } from "../../src/gateway/config.ts";
import { gatewayConfigOf } from "../../src/gateway/config-reader.ts";
import { createGateway, type Gateway } from "../../src/gateway/gateway.ts";
import type { ConnectionView, PoolView } from "../../src/gateway/types.ts";
import type { TestCertificate } from "../support/http2/certificates.ts";
import { ManualClock } from "../support/manual-clock.ts";

export interface BedOptions {
  readonly certificate: TestCertificate;
  /** Entries of `origins`. */
  readonly origins: readonly Readonly<Record<string, unknown>>[];
  /** Other members of the configuration. */
  readonly config: Readonly<Record<string, unknown>>;
  /** What is in files that the configuration names. */
  readonly files: Readonly<Record<string, string>>;
  readonly identifiers?: readonly number[];
}

/** How long the test waits for something of the gateway that cannot be seen on the wire. */
const PATIENCE = 3_000;

export class GatewayBed {
  readonly clock: ManualClock;
  readonly h2Port: number;
  readonly cleartextPort: number;
  readonly #gateway: Gateway;
  readonly #options: BedOptions;

  private constructor(gateway: Gateway, clock: ManualClock, options: BedOptions) {
    this.#gateway = gateway;
    this.#options = options;
    this.clock = clock;
    const port = (scheme: string) =>
      Number(new URL(gateway.urls.find((url) => url.startsWith(`${scheme}:`)) as string).port);
    this.h2Port = port("https");
    this.cleartextPort = port("http");
  }

  static async start(options: BedOptions): Promise<GatewayBed> {
    const clock = new ManualClock();
    const fixed = [...(options.identifiers ?? [])];
    const gateway = await createGateway(await configOf(options), {
      clock,
      randomUint32: () => fixed.shift() ?? secureRandomUint32(),
    });
    return new GatewayBed(gateway, clock, options);
  }

  /** Goes by other entries under `origins` from now on. */
  async reload(origins: BedOptions["origins"]): Promise<void> {
    await this.#gateway.reload(await configOf({ ...this.#options, origins }));
  }

  get #pool(): PoolView {
    return this.#gateway.view().pool;
  }

  /** Shared connections as the gateway has them. */
  connections(): readonly ConnectionView[] {
    return this.#pool.connections;
  }

  /** Requests in the stream map, those that wait first. */
  streams(): PoolView["streams"] {
    return this.#pool.streams;
  }

  /** Connections of clients, through their handshake. */
  clientConnections(): number {
    const { http1, http2 } = this.#gateway.view().clients.connections;
    return http1 + http2;
  }

  /** How many requests wait for a place on one. */
  queued(): number {
    return this.#pool.queue.requests;
  }

  /** Origins that the gateway has failed to connect to, and has not since. */
  unreachable(): number {
    return this.#gateway.view().pool.unreachable.length;
  }

  /** Waits until something holds of the gateway. */
  async until(holds: () => boolean): Promise<void> {
    for (const end = performance.now() + PATIENCE; !holds(); ) {
      if (performance.now() > end) throw new Error(`did not come: ${holds}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** The gateway ends in order, with the time that its configuration gives. */
  drain(): Promise<void> {
    return this.#gateway.drain();
  }

  close(): Promise<void> {
    return this.#gateway.close();
  }
}

function configOf({
  certificate,
  origins,
  config,
  ...options
}: BedOptions): Promise<GatewayConfig> {
  const files: Readonly<Record<string, string>> = {
    "gateway.pem": certificate.certificatePem,
    "gateway.key": certificate.keyPem,
    ...options.files,
  };
  const json = {
    listen: [
      { address: "127.0.0.1:0", certificate: "gateway.pem", key: "gateway.key" },
      { address: "127.0.0.1:0", cleartext: true },
    ],
    origins,
    ...config,
  };
  return gatewayConfigOf(json, {
    name: "test",
    directory: "/",
    readText: async (path) => {
      const text = files[path.slice(1)];
      if (text === undefined) throw new Error(`there is no ${path}`);
      return text;
    },
  });
}
