/** What several HTTP/3 suites need: bytes by hand, and peers that speak them. */

import assert from "node:assert/strict";
import { concatBytes, fromHex, utf8 } from "../../../src/bytes.ts";
import { ByteSource } from "../../../src/http3/byte-source.ts";
import { encodeFrame } from "../../../src/http3/frame.ts";
import {
  type Field,
  Http3ClientConnection,
  type Http3ClientOptions,
  Http3ServerConnection,
  type Http3ServerOptions,
  http3ErrorName,
} from "../../../src/http3/mod.ts";
import { encodeFieldSection } from "../../../src/http3/qpack.ts";
import { quicVarints } from "../../../src/http3/quic-varint.ts";
import type { QuicConnection, QuicStream } from "../../../src/quic/connection.ts";
import {
  type MemoryQuicConnection,
  type MemoryQuicOptions,
  memoryQuicPair,
} from "../../support/quic-pair.ts";

export { concatBytes, utf8 };

/** Bytes of hexadecimal text, in which spaces mean nothing. */
export function hex(text: string): Uint8Array {
  const bytes = fromHex(text.replaceAll(" ", ""));
  assert.ok(bytes, `not hexadecimal: ${text}`);
  return bytes;
}

export function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** A frame of `type` with a payload in hexadecimal or as bytes. */
export function frame(type: number, payload: string | Uint8Array = ""): Uint8Array {
  return encodeFrame(BigInt(type), typeof payload === "string" ? hex(payload) : payload);
}

export function fields(...lines: readonly (readonly [name: string, value: string])[]): Field[] {
  return lines.map(([name, value]) => ({ name, value }));
}

/** A HEADERS frame. */
export function headers(...lines: readonly (readonly [name: string, value: string])[]): Uint8Array {
  return frame(0x01, encodeFieldSection(fields(...lines)));
}

/** The head of a simple request. */
export const getLines = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "a.example"],
  [":path", "/"],
] as const;

/** A control stream that is as short as possible: its type and an empty SETTINGS. */
export const plainControl = hex("00 0400");

/** Something that speaks bytes of its own over a QUIC connection. */
export class RawPeer {
  readonly quic: MemoryQuicConnection;

  constructor(quic: MemoryQuicConnection) {
    this.quic = quic;
  }

  async uni(bytes: Uint8Array, fin = false): Promise<QuicStream> {
    const stream = await this.quic.openUni();
    await stream.write(bytes, fin);
    return stream;
  }

  async bidi(bytes: Uint8Array, fin = false): Promise<QuicStream> {
    const stream = await this.quic.openBidi();
    await stream.write(bytes, fin);
    return stream;
  }

  /** The next stream of the other end that is of `kind`. */
  async accept(kind: QuicStream["kind"]): Promise<QuicStream> {
    for (;;) {
      const stream = await this.quic.accept();
      assert.ok(stream, "the connection ended");
      if (stream.kind === kind) return stream;
    }
  }
}

/** A server of ours and a client that speaks bytes. */
export function serverAndRawClient(
  options: Http3ServerOptions = {},
  quic: MemoryQuicOptions = {},
): { server: Http3ServerConnection; peer: RawPeer } {
  const [near, far] = memoryQuicPair(quic);
  return { server: new Http3ServerConnection(far, options), peer: new RawPeer(near) };
}

/** A client of ours and a server that speaks bytes. */
export function clientAndRawServer(
  options: Http3ClientOptions = {},
  quic: MemoryQuicOptions = {},
): { client: Http3ClientConnection; peer: RawPeer } {
  const [near, far] = memoryQuicPair(quic);
  return { client: new Http3ClientConnection(near, options), peer: new RawPeer(far) };
}

/** Both ends of ours. */
export function clientAndServer(
  server: Http3ServerOptions = {},
  client: Http3ClientOptions = {},
  quic: MemoryQuicOptions = {},
): { client: Http3ClientConnection; server: Http3ServerConnection } {
  const [near, far] = memoryQuicPair(quic);
  return {
    client: new Http3ClientConnection(near, client),
    server: new Http3ServerConnection(far, server),
  };
}

/** Name of the code that the connection ended with. */
export async function closeName(connection: Pick<QuicConnection, "closed">): Promise<string> {
  const { code, app } = await connection.closed;
  assert.ok(app);
  return http3ErrorName(code) ?? `0x${code.toString(16)}`;
}

/** All bytes up to the FIN. */
export async function readAll(source: { read(): Promise<Uint8Array | null> }): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let bytes = await source.read(); bytes !== null; bytes = await source.read()) {
    parts.push(bytes);
  }
  return concatBytes(...parts);
}

/** Bytes that arrive in the given pieces, then the end. */
export function pieces(...chunks: readonly Uint8Array[]): ByteSource {
  const left = chunks.filter((chunk) => chunk.length > 0);
  return new ByteSource({ read: () => Promise.resolve(left.shift() ?? null) });
}

/** Waits until everything that can happen now has happened. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 200; i++) await Promise.resolve();
}

/** Whether `promise` is still pending after that. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  const settle = () => {
    pending = false;
  };
  promise.then(settle, settle);
  await settled();
  return pending;
}

/** What `promise` gives, which must not be null. */
export async function present<T>(promise: Promise<T | null>): Promise<T> {
  const value = await promise;
  assert.ok(value !== null);
  return value;
}

/** The stream type or signal of WebTransport, and the session. */
export function streamPreamble(kind: QuicStream["kind"], sessionId: bigint): Uint8Array {
  return quicVarints(kind === "uni" ? 0x54 : 0x41, sessionId);
}
