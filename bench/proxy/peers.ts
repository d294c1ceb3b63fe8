/** Relay and client of the measurements: they do as little as they can. */

import { concatBytes, utf8 } from "../../src/bytes.ts";
import {
  draftName,
  drafts,
  encodeDataStreamHeader,
  formatName,
  requestTrackName,
  routingKey,
  type SubgroupHeader,
  SubgroupWriter,
} from "../../src/moqt/mod.ts";
import { type DevelopmentCertificate, listenQuic, type QuicServer } from "../../src/quic/mod.ts";
import { type IncomingDataStream, MoqtSession } from "../../src/session/mod.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";

const nothing = new Uint8Array(0);

/** A track that somebody gets from a relay. */
export interface Feed {
  readonly name: string;
  readonly session: MoqtSession;
  readonly alias: bigint;
}

/** The bytes of one stream, one part for each object; the header goes with the first one. */
export function groupOf(
  { alias }: Pick<Feed, "alias">,
  groupId: number,
  objects: number,
  size: number,
  publisherPriority = 128,
): Uint8Array[] {
  const header: SubgroupHeader = {
    type: "SUBGROUP",
    trackAlias: alias,
    groupId: BigInt(groupId),
    subgroupId: 0n,
    publisherPriority,
    hasProperties: false,
    endOfGroup: true,
    firstObject: true,
  };
  const writer = new SubgroupWriter(header);
  const payload = new Uint8Array(size).fill(7);
  return Array.from({ length: objects }, (_, id) => {
    const object = writer.encode({ objectId: BigInt(id), status: "NORMAL", payload });
    return id === 0 ? concatBytes(encodeDataStreamHeader(header), object) : object;
  });
}

export class BenchRelay {
  readonly uri: string;
  readonly certificateHash: string;
  /** Told of each subscription. */
  onFeed: ((feed: Feed) => void) | undefined;
  readonly #server: QuicServer;
  readonly #sessions = new Set<MoqtSession>();

  private constructor(server: QuicServer, certificateHash: string) {
    this.#server = server;
    this.uri = `moqt://127.0.0.1:${server.address.port}/moq`;
    this.certificateHash = certificateHash;
    void this.#accept();
  }

  static async start(certificate: DevelopmentCertificate): Promise<BenchRelay> {
    const server = await listenQuic({
      hostname: "127.0.0.1",
      port: 0,
      certificate,
      alpn: drafts.map(draftName),
      backend: "quiche",
      maxHandshakesPerSecond: 100_000,
    });
    return new BenchRelay(server, certificate.hashHex);
  }

  /** Ends every session, as where the process dies. */
  fail(): void {
    for (const session of this.#sessions) session.close("INTERNAL_ERROR");
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #accept(): Promise<void> {
    const server = this.#server;
    for (let next = await server.accept(); next !== null; next = await server.accept()) {
      this.#serve(quicTransport(next));
    }
  }

  #serve(transport: Transport): void {
    let alias = 0n;
    const session: MoqtSession = new MoqtSession(transport, {
      role: "server",
      onRequest: (request) => {
        const { message } = request;
        if (message.type !== "SUBSCRIBE") return;
        const feed = { name: nameOf(message), session, alias: ++alias };
        request.send({
          type: "SUBSCRIBE_OK",
          trackAlias: feed.alias,
          parameters: [],
          trackProperties: nothing,
        });
        this.onFeed?.(feed);
      },
    });
    this.#sessions.add(session);
    void session.run().then(() => this.#sessions.delete(session));
  }
}

function nameOf(message: Parameters<typeof routingKey>[0]): string {
  return formatName(routingKey(message) ?? [], requestTrackName(message));
}

export class BenchClient {
  readonly session: MoqtSession;
  /** Told of each data stream; else they are read, and their bytes counted. */
  onStream: ((stream: IncomingDataStream) => void) | undefined;
  bytes = 0;
  #expected: { readonly bytes: number; readonly resolve: () => void } | undefined;

  constructor(transport: Transport) {
    this.session = new MoqtSession(transport, {
      role: "client",
      setupOptions: [
        { type: "AUTHORITY", value: "127.0.0.1" },
        { type: "PATH", value: "/moq" },
      ],
      onDataStream: (stream) => {
        if (this.onStream === undefined) void this.#count(stream.stream);
        else this.onStream(stream);
      },
    });
    void this.session.run();
  }

  async subscribe(track: string): Promise<void> {
    const request = this.session.request({
      type: "SUBSCRIBE",
      trackNamespace: [utf8("bench"), utf8(track)],
      trackName: utf8("v"),
      parameters: [],
    });
    const { type } = await request.answer;
    if (type !== "SUBSCRIBE_OK") throw new Error(`the subscription got ${type}`);
  }

  /** Resolves when that many bytes have come since the last call. */
  received(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#expected = { bytes, resolve };
      this.#look();
    });
  }

  close(): Promise<unknown> {
    this.session.close();
    return this.session.closed;
  }

  async #count(stream: TransportStream): Promise<void> {
    try {
      for (let part = await stream.read(); part !== null; part = await stream.read()) {
        this.bytes += part.length;
        this.#look();
      }
    } catch {
      // Reset, or the session is over: what is missing shows in the count.
    }
  }

  #look(): void {
    if (this.#expected === undefined || this.bytes < this.#expected.bytes) return;
    this.bytes -= this.#expected.bytes;
    const { resolve } = this.#expected;
    this.#expected = undefined;
    resolve();
  }
}
