/** Gateways in this process with the machine's clock, for reload, stop and fleet. */

import { connect } from "node:tls";
import type { LogSink } from "../../src/gateway/access-log.ts";
import { gatewayConfigOf } from "../../src/gateway/config-reader.ts";
import { createGateway, type Gateway, type GatewayPorts } from "../../src/gateway/gateway.ts";
import { settings } from "../support/http2/frames.ts";
import { RawClient, type RawClientOptions } from "../support/http2/raw-client.ts";
import {
  type OriginRequest,
  RawOrigin,
  type RawOriginOptions,
} from "../support/http2/raw-origin.ts";

export type Json = Readonly<Record<string, unknown>>;

/** What a test opens is closed at its end, the last thing first. */
export class OperationsBed {
  readonly #ends: (() => unknown)[] = [];
  readonly files = new Map<string, string>();

  static async run(body: (bed: OperationsBed) => Promise<void>): Promise<void> {
    const bed = new OperationsBed();
    try {
      await body(bed);
    } finally {
      for (const end of bed.#ends.reverse()) await end();
    }
  }

  atEnd(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** An origin that takes any number of groups, and answers at once what `onRequest` leaves. */
  async origin(onRequest?: RawOriginOptions["onRequest"]): Promise<RawOrigin> {
    const origin = await RawOrigin.listen({
      settings: [[settings.SHARED_CONNECTION_POLICY, 0]],
      ...(onRequest !== undefined && { onRequest }),
    });
    this.atEnd(() => origin.close());
    return origin;
  }

  config(json: Json) {
    return gatewayConfigOf(json, {
      name: "gateway.json",
      directory: "/",
      readText: async (path) => {
        const text = this.files.get(path.slice(1));
        if (text === undefined) throw new Error(`${path}: no such file`);
        return text;
      },
    });
  }

  async gateway(json: Json, ports: GatewayPorts = {}): Promise<Gateway> {
    const gateway = await createGateway(await this.config(json), ports);
    this.atEnd(() => gateway.close());
    return gateway;
  }

  async client(url: string, options: Partial<RawClientOptions> = {}): Promise<RawClient> {
    const { port, protocol } = new URL(url);
    const tls = protocol === "https:";
    const client = await RawClient.connect({ port: Number(port), tls, ...options });
    this.atEnd(() => client.close());
    return client;
  }
}

export const clear = (port = 0) => ({ address: `127.0.0.1:${port}`, cleartext: true });
export const to = ({ port }: RawOrigin, more: Json = {}) => ({
  origin: `h2c://127.0.0.1:${port}`,
  ...more,
});

/** Asks again until `holds`. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  milliseconds = 5_000,
): Promise<void> {
  for (const end = performance.now() + milliseconds; !(await holds()); ) {
    if (performance.now() > end) throw new Error(`never held: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Answers everything but what is to wait. */
export function answering(request: OriginRequest): void {
  if (!request.path.startsWith("/wait")) request.respond(200, [], request.path);
}

/** The serial number of the certificate that a port shows. */
export function serialAt(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false },
      () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      },
    );
    socket.once("error", reject);
  });
}

/** A sink that keeps the log. */
export class MemorySink implements LogSink {
  text = "";

  async write(text: string): Promise<void> {
    this.text += text;
  }

  async reopen(): Promise<void> {}

  async close(): Promise<void> {}

  /** Lines of one kind. */
  of(event: string): Record<string, unknown>[] {
    const lines = this.text.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line)).filter((line) => line.event === event);
  }
}
