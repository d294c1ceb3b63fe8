/**
 * Capsules (RFC 9297 §3.2) and those of a WebTransport session.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import { ByteSource, type ReadableBytes } from "./byte-source.ts";
import { capsuleTypes } from "./code-points.ts";
import { malformed } from "./errors.ts";
import { encodeFrame } from "./frame.ts";

/** Most bytes of the reason of a close. */
export const MAX_CLOSE_REASON = 1024;
/** No datagram is larger than a UDP packet. */
const MAX_DATAGRAM = 0x1_0000;

/** What the peer says on the stream of a session. */
export type SessionCapsule =
  | { readonly type: "close"; readonly code: bigint; readonly reason: string }
  | { readonly type: "drain" }
  | { readonly type: "datagram"; readonly payload: Uint8Array };

/** Tells the peer the end of the session. A reason over 1,024 bytes is cut between characters. */
export function encodeClose(code: bigint, reason: string): Uint8Array {
  const text = cutText(utf8(reason), MAX_CLOSE_REASON);
  const value = new Uint8Array(4 + text.length);
  new DataView(value.buffer).setUint32(0, Number(code));
  value.set(text, 4);
  return encodeCapsule(capsuleTypes.CLOSE_WEBTRANSPORT_SESSION, value);
}

/** Asks the peer to end the session soon. */
export function encodeDrain(): Uint8Array {
  return encodeCapsule(capsuleTypes.DRAIN_WEBTRANSPORT_SESSION, new Uint8Array(0));
}

/** A capsule has the form of a frame. */
function encodeCapsule(type: bigint, value: Uint8Array): Uint8Array {
  return encodeFrame(type, value);
}

/**
 * Capsules of one session. Every method throws `Http3StreamError` H3_MESSAGE_ERROR where they are
 * malformed, which includes an end inside one (RFC 9297 §3.3).
 */
export class CapsuleReader {
  readonly #source: ByteSource;

  constructor(body: ReadableBytes) {
    this.#source = new ByteSource(body);
  }

  /** The next capsule that means something here; others are skipped. `null` at the end. */
  async next(): Promise<SessionCapsule | null> {
    for (;;) {
      const type = await this.#source.varint();
      if (type === undefined && this.#source.held === 0) return null;
      const length = type === undefined ? undefined : await this.#source.varint();
      if (type === undefined || length === undefined) throw cutOff();
      const capsule = await this.#value(type, length);
      if (capsule !== undefined) return capsule;
    }
  }

  async #value(type: bigint, length: bigint): Promise<SessionCapsule | undefined> {
    switch (type) {
      case capsuleTypes.CLOSE_WEBTRANSPORT_SESSION:
        if (length < 4 || length > 4 + MAX_CLOSE_REASON) {
          throw malformed("a close capsule is too short or has a reason over 1,024 bytes");
        }
        return readClose(await this.#take(length));
      case capsuleTypes.DRAIN_WEBTRANSPORT_SESSION:
        await this.#skip(length);
        return { type: "drain" };
      case capsuleTypes.DATAGRAM:
        if (length > MAX_DATAGRAM) break;
        return { type: "datagram", payload: await this.#take(length) };
      case capsuleTypes.WT_MAX_STREAM_DATA:
      case capsuleTypes.WT_STREAM_DATA_BLOCKED:
        throw malformed("a capsule of WebTransport over HTTP/2 came over HTTP/3");
    }
    await this.#skip(length);
    return undefined;
  }

  /** Whether the body ends here, as it has to behind a close. */
  async atEnd(): Promise<boolean> {
    return (await this.#source.read(1)) === null;
  }

  async #take(length: bigint): Promise<Uint8Array> {
    const value = await this.#source.take(Number(length));
    if (value === undefined) throw cutOff();
    return value;
  }

  async #skip(length: bigint): Promise<void> {
    for (let left = length; left > 0n; ) {
      // A piece is never larger than what has arrived, so that the bound only has to be a number.
      const bytes = await this.#source.read(Math.min(Number(left), MAX_DATAGRAM));
      if (bytes === null) throw cutOff();
      left -= BigInt(bytes.length);
    }
  }
}

function readClose(value: Uint8Array): SessionCapsule {
  const code = new DataView(value.buffer, value.byteOffset).getUint32(0);
  try {
    const reason = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      value.subarray(4),
    );
    return { type: "close", code: BigInt(code), reason };
  } catch {
    throw malformed("the reason of a close capsule is not UTF-8");
  }
}

function cutOff(): Error {
  return malformed("the stream ends in a capsule");
}

/** At most `maximum` bytes of UTF-8, whole characters only. */
function cutText(bytes: Uint8Array, maximum: number): Uint8Array {
  if (bytes.length <= maximum) return bytes;
  let end = maximum;
  while (((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}
