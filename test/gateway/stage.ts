/** A gateway between scripted clients and scripted origins, for one test. */

import assert from "node:assert/strict";
import { type TestCertificate, testAuthority } from "../support/http2/certificates.ts";
import { flags, type Pairs, settings } from "../support/http2/frames.ts";
import {
  RawClient,
  type RawClientOptions,
  type RawResponse,
  type RequestToSend,
} from "../support/http2/raw-client.ts";
import { RawHttp1Client } from "../support/http2/raw-http1.ts";
import {
  type OriginRequest,
  RawOrigin,
  type RawOriginConnection,
  type RawOriginOptions,
} from "../support/http2/raw-origin.ts";
import { GatewayBed } from "./gateway-bed.ts";

export interface StageOptions {
  /** TLS on both sides; default cleartext. */
  readonly secure?: boolean;
  /** The first SETTINGS frame of origins; default SHARED_CONNECTION_POLICY = 0. */
  readonly settings?: RawOriginOptions["settings"];
  /** SHARED_CONNECTION_POLICY alone. */
  readonly policy?: number;
  readonly onRequest?: RawOriginOptions["onRequest"];
  readonly automatic?: RawOriginOptions["automatic"];
  /** Connections are closed before anything is said on them. */
  readonly closes?: boolean;
  /** Members of the gateway's configuration beside its listeners and origins. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Members of every entry under `origins`. */
  readonly entry?: Readonly<Record<string, unknown>>;
  /** Hosts that go to the origin of `api.example` too, with what their entries say besides. */
  readonly aliases?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Files that the configuration names, by their names. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the gateway draws for identifiers before anything random. */
  readonly identifiers?: readonly number[];
  /** Hosts of further origins, beside `api.example`. */
  readonly hosts?: readonly string[];
}

/** A request that is at the origin. */
export interface Exchange {
  readonly client: RawClient;
  /** The client's stream. */
  readonly id: number;
  readonly at: OriginRequest;
  response(): Promise<RawResponse>;
  reset(): Promise<number>;
}

let serverCertificate: Promise<TestCertificate> | undefined;

export class Stage {
  readonly bed: GatewayBed;
  /** Origins by host; the first is `api.example`. */
  readonly origins: ReadonlyMap<string, RawOrigin>;
  readonly #clients: RawClient[] = [];
  readonly #http1: RawHttp1Client[] = [];
  readonly #secure: boolean;

  private constructor(bed: GatewayBed, origins: ReadonlyMap<string, RawOrigin>, secure: boolean) {
    this.bed = bed;
    this.origins = origins;
    this.#secure = secure;
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const { secure = false, policy, onRequest, automatic, config = {}, hosts = [] } = options;
    const first: RawOriginOptions["settings"] =
      policy === undefined ? options.settings : [[settings.SHARED_CONNECTION_POLICY, policy]];
    const authority = await testAuthority();
    serverCertificate ??= authority.server("api.example", "www.example", "127.0.0.1");
    const certificate = await serverCertificate;
    const origins = new Map<string, RawOrigin>();
    for (const host of ["api.example", ...hosts]) {
      origins.set(
        host,
        await RawOrigin.listen({
          ...(secure && { tls: { ...certificate, clientCa: authority.ca } }),
          ...(first !== undefined && { settings: first }),
          ...(onRequest !== undefined && { onRequest }),
          ...(automatic !== undefined && { automatic }),
          closes: options.closes ?? false,
        }),
      );
    }
    const entryFor = ({ port }: RawOrigin, serverName: string) => ({
      origin: `${secure ? "https" : "h2c"}://127.0.0.1:${port}`,
      ...(secure && { ca: "authority.pem", serverName }),
      ...options.entry,
    });
    const bed = await GatewayBed.start({
      certificate,
      config,
      files: { "authority.pem": authority.ca, ...options.files },
      origins: [
        ...[...origins].map(([host, origin]) => ({ host, ...entryFor(origin, host) })),
        ...Object.entries(options.aliases ?? {}).map(([host, more]) => ({
          host,
          ...entryFor(origins.get("api.example") as RawOrigin, "api.example"),
          ...more,
        })),
      ],
      ...(options.identifiers !== undefined && { identifiers: options.identifiers }),
    });
    return new Stage(bed, origins, secure);
  }

  /** The origin of `api.example`. */
  get origin(): RawOrigin {
    return this.origins.get("api.example") as RawOrigin;
  }

  async client(options: Partial<RawClientOptions> = {}): Promise<RawClient> {
    const { h2Port, cleartextPort } = this.bed;
    const client = await RawClient.connect({
      ...(this.#secure ? { port: h2Port, tls: true } : { port: cleartextPort }),
      ...options,
    });
    this.#clients.push(client);
    return client;
  }

  clients(count: number): Promise<RawClient[]> {
    return Promise.all(Array.from({ length: count }, () => this.client()));
  }

  async http1(): Promise<RawHttp1Client> {
    const { h2Port, cleartextPort } = this.bed;
    const client = await RawHttp1Client.connect(
      this.#secure ? { port: h2Port, tls: true } : { port: cleartextPort },
    );
    this.#http1.push(client);
    return client;
  }

  /** Sends a request and waits until its header section is at the origin. */
  async place(client: RawClient, path: string, request: RequestToSend = {}): Promise<Exchange> {
    const id = client.request({ ...request, path });
    const at = await this.origin.requestFor(path);
    return {
      client,
      id,
      at,
      response: () => client.response(id),
      reset: () => client.reset(id),
    };
  }

  /** A POST with content, all of which is at the origin. */
  async post(client: RawClient, path: string, content = path): Promise<Exchange> {
    const exchange = await this.place(client, path, { method: "POST", content });
    assert.equal(await exchange.at.content(), content);
    return exchange;
  }

  /**
   * Has the client open the first shared connection with a request that is answered, on stream 1,
   * and waits until its SETTINGS are acknowledged, so that others may come on it.
   */
  async share(client: RawClient): Promise<RawOriginConnection> {
    const { at, response } = await this.place(client, "/first");
    const { connection } = at;
    await acknowledged(connection);
    at.respond(204);
    await response();
    return connection;
  }

  /** Has the client send requests that are answered until the next one has this stream at the origin. */
  async advance(client: RawClient, connection: RawOriginConnection, next: number): Promise<void> {
    for (let known = connection.requests.length; 2 * known + 1 < next; known++) {
      const id = client.request({ path: "/filler" });
      (await connection.request(known)).respond(204);
      await client.response(id);
    }
  }

  /** Lets time pass for the gateway, in steps in which its connections can give signs of life. */
  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 5_000) {
      this.bed.clock.advance(Math.min(left, 5_000));
      for (const { connections } of this.origins.values()) {
        const open = connections.filter(({ closed, end }) => !closed && end === undefined);
        await Promise.all(open.map((connection) => connection.ping().catch(() => {})));
      }
    }
  }

  /** Whoever still has a connection was told nothing of its end (A20). */
  assertClientsUntouched(): void {
    for (const client of this.#clients) client.assertUntouched();
    for (const client of this.#http1) assert.equal(client.end, undefined);
  }

  /** The client's connection is over, or may be: it is not asked about at the end. */
  release(client: RawClient | RawHttp1Client): void {
    for (const list of [this.#clients, this.#http1] as (RawClient | RawHttp1Client)[][]) {
      const at = list.indexOf(client);
      if (at >= 0) list.splice(at, 1);
    }
    void client.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients, ...this.#http1].map((client) => client.close()));
    await this.bed.close();
    await Promise.all([...this.origins.values()].map((origin) => origin.close()));
  }
}

/** Runs one scenario; at its end, nothing has reached clients that would end their connections. */
export function play(options: StageOptions, body: (stage: Stage) => Promise<void>) {
  return async () => {
    const stage = await Stage.open(options);
    try {
      await body(stage);
      stage.assertClientsUntouched();
    } finally {
      await stage.close();
    }
  };
}

/** Waits until the gateway has acknowledged the first SETTINGS of the origin. */
export async function acknowledged(connection: RawOriginConnection, count = 1): Promise<void> {
  await connection.until(
    "the acknowledgement of SETTINGS",
    () =>
      connection.received("SETTINGS").filter(({ flags: bits }) => (bits & flags.ACK) !== 0)[
        count - 1
      ],
  );
}

export const policy = (groups: number): Pairs => [[settings.SHARED_CONNECTION_POLICY, groups]];
