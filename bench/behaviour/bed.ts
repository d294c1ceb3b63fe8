/** A proxy between scripted clients and a scripted origin, for one event. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestCertificate } from "../../test/support/http2/certificates.ts";
import { codes, settings } from "../../test/support/http2/frames.ts";
import { RawClient, type RequestToSend } from "../../test/support/http2/raw-client.ts";
import type { FieldSection } from "../../test/support/http2/raw-connection.ts";
import { RawHttp1Client } from "../../test/support/http2/raw-http1.ts";
import {
  type OriginRequest,
  RawOrigin,
  type RawOriginConnection,
} from "../../test/support/http2/raw-origin.ts";
import { type ReverseProxy, type RunningProxy, start } from "../proxies/proxy.ts";

/** How long a client waits for what may never come, in milliseconds. */
const patience = 2500;

/** A request that has reached the origin. */
export interface Sent {
  readonly client: RawClient;
  readonly id: number;
  readonly path: string;
  /** As it came the first time. */
  readonly request: OriginRequest;
}

/** How a request ended, as its client has it. */
export interface Outcome {
  readonly kind: "response" | "cut short" | "reset" | "connection ended" | "nothing";
  /** Of a response, whole or not. */
  readonly head?: FieldSection;
  readonly status?: number;
  readonly content: string;
  readonly trailers?: FieldSection;
  /** Of RST_STREAM. */
  readonly code?: number;
}

const names = new Map<number, string>(Object.entries(codes).map(([name, code]) => [code, name]));

export function codeName(code: number): string {
  return names.get(code) ?? `0x${code.toString(16)}`;
}

/** A response that ended as if it were whole, though its Content-Length says that it is not. */
function isShort({ head, content }: Outcome): boolean {
  const length = head?.get("content-length");
  return length !== undefined && content.length < Number(length);
}

/** In the words of the table. */
export function worded(outcome: Outcome): string {
  const { kind, status, head, code, content } = outcome;
  switch (kind) {
    case "response": {
      if (isShort(outcome)) return `${status}, a clean end after ${content.length} octets`;
      const after = head?.get("retry-after");
      return after === undefined ? `${status}` : `${status} with Retry-After`;
    }
    case "cut short":
      return `${status}, ${content.length} octets, then reset ${codeName(code as number)}`;
    case "reset":
      return `reset ${codeName(code as number)}`;
    case "connection ended":
      return "its connection ended";
    case "nothing":
      return `nothing in ${patience / 1000} s`;
  }
}

/** What a script does with a request. */
export type Script = (request: OriginRequest, occurrence: number) => void;

/** A script that waits for the end of a request; nothing comes of one that does not end. */
export function whenWhole(act: (request: OriginRequest, content: string) => void): Script {
  return (request) => {
    request.content().then(
      (content) => act(request, content),
      () => {},
    );
  };
}

/** Answers what comes again, and the first that opens the way; leaves the rest to the event. */
const byDefault: Script = (request, occurrence) => {
  if (request.path === "/first" || occurrence > 1) request.respond(200, [], "whole");
};

export class BehaviourBed {
  readonly origin: RawOrigin;
  /** May be set by the event, before requests come. */
  script: Script = byDefault;
  readonly #proxy: RunningProxy;
  readonly #directory: string;
  readonly #clients: (RawClient | RawHttp1Client)[] = [];
  readonly #occurrences: Map<string, number>;

  private constructor(
    origin: RawOrigin,
    proxy: RunningProxy,
    directory: string,
    occurrences: Map<string, number>,
  ) {
    this.origin = origin;
    this.#proxy = proxy;
    this.#directory = directory;
    this.#occurrences = occurrences;
  }

  /** Runs `event` with a fresh origin and a fresh `proxy`. */
  static async with<T>(
    proxy: ReverseProxy,
    certificate: TestCertificate & { readonly ca: string },
    event: (bed: BehaviourBed) => Promise<T>,
  ): Promise<T> {
    const directory = mkdtempSync(join(tmpdir(), "yardmaster-behaviour-"));
    const files = {
      certificate: join(directory, "certificate.pem"),
      key: join(directory, "key.pem"),
      authority: join(directory, "authority.pem"),
    };
    writeFileSync(files.certificate, certificate.certificatePem);
    writeFileSync(files.key, certificate.keyPem);
    writeFileSync(files.authority, certificate.ca);
    const occurrences = new Map<string, number>();
    let bed: BehaviourBed | undefined;
    const origin = await RawOrigin.listen({
      tls: certificate,
      settings: [
        [settings.MAX_CONCURRENT_STREAMS, 100],
        [settings.SHARED_CONNECTION_POLICY, 0],
      ],
      onRequest: (request) => {
        const occurrence = (occurrences.get(request.path) ?? 0) + 1;
        occurrences.set(request.path, occurrence);
        (bed?.script ?? byDefault)(request, occurrence);
      },
    });
    const { port } = origin;
    try {
      const running = await start(proxy, {
        directory,
        ...files,
        origin: { scheme: "https", port },
      });
      bed = new BehaviourBed(origin, running, directory, occurrences);
      return await event(bed);
    } finally {
      await (bed?.close() ?? origin.close());
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#clients.map((client) => client.close()));
    await this.#proxy.stop();
    await this.origin.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Clients, each on a connection of its own, that have all had an answer of the origin. */
  async clients(count: number): Promise<RawClient[]> {
    const clients: RawClient[] = [];
    for (let i = 0; i < count; i++) {
      const client = await RawClient.connect({
        port: this.#proxy.port,
        tls: { serverName: "localhost" },
      });
      this.#clients.push(client);
      await this.#firstAnswer(client);
      clients.push(client);
    }
    return clients;
  }

  /** Some proxies look whether the origin is there before they take requests for it. */
  async #firstAnswer(client: RawClient): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { status } = await client.fetch({ path: "/first", authority: "localhost" });
      if (status === 200) return;
      if (attempt === 5) throw new Error(`the first request got ${status}`);
      await Bun.sleep(200);
    }
  }

  async http1Client(): Promise<RawHttp1Client> {
    const client = await RawHttp1Client.connect({
      port: this.#proxy.port,
      tls: { serverName: "localhost" },
    });
    this.#clients.push(client);
    return client;
  }

  /** Sends a request, and waits until its head is at the origin. */
  async send(client: RawClient, path: string, request: RequestToSend = {}): Promise<Sent> {
    const id = client.request({ authority: "localhost", ...request, path });
    return { client, id, path, request: await this.origin.requestFor(path) };
  }

  /** A whole POST. */
  async post(client: RawClient, path: string): Promise<Sent> {
    const sent = await this.send(client, path, { method: "POST", content: "twelve bytes" });
    await sent.request.content();
    return sent;
  }

  /** How often a request has come to the origin. */
  occurrences(path: string): number {
    return this.#occurrences.get(path) ?? 0;
  }

  /** Waits for how a request ends, but not for ever. */
  async outcome({ client, id }: Pick<Sent, "client" | "id">): Promise<Outcome> {
    const stream = client.stream(id);
    const isOver = () =>
      stream.ended || stream.reset !== undefined || client.closed || client.end !== undefined;
    try {
      await client.until(`an end of stream ${id}`, () => (isOver() ? true : undefined), patience);
    } catch {
      if (!isOver()) return { kind: "nothing", content: "" };
    }
    const final = stream.sections.findIndex(
      (section) => !(section.get(":status") ?? "1").startsWith("1"),
    );
    const content = new TextDecoder().decode(client.content(id));
    const head = stream.sections[final];
    const trailers = stream.sections[final + 1];
    const answer = {
      content,
      ...(head !== undefined && { head, status: Number(head.get(":status")) }),
      ...(trailers !== undefined && head !== undefined && { trailers }),
    };
    if (stream.ended && head !== undefined) return { kind: "response", ...answer };
    if (stream.reset === undefined) return { kind: "connection ended", ...answer };
    return { kind: head === undefined ? "reset" : "cut short", code: stream.reset, ...answer };
  }
}

/** GOAWAY on every connection that carries one of `sent`; only `accepted` are within its boundary. */
export function goawayBehind(sent: readonly Sent[], accepted: readonly Sent[]): void {
  const connections = new Set<RawOriginConnection>(sent.map(({ request }) => request.connection));
  for (const connection of connections) {
    const ids = accepted
      .filter(({ request }) => request.connection === connection)
      .map(({ request }) => request.id);
    // What was answered before the event was accepted too.
    const before = connection.requests.filter(({ path }) => path === "/first").map(({ id }) => id);
    connection.sendGoaway(Math.max(0, ...before, ...ids));
  }
}

/** What was done to the connections of these clients, against CG-CGOAWAY-3 and 4; "" where nothing. */
export function connectionFate(clients: readonly RawClient[]): string {
  const signs = [
    clients.some(({ goaways }) => goaways.length > 0) ? "GOAWAY to a client" : "",
    clients.some(({ end, closed }) => closed || end !== undefined)
      ? "a client's connection ended"
      : "",
  ];
  return signs.filter((sign) => sign !== "").join(", ");
}
