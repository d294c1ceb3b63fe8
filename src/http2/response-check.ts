/**
 * Responses held against RFC 9113 §8 before node:http2 sees them: for one that is malformed or too large,
 * some runtimes end the whole connection, and with it the requests of everybody else on it.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { GroupConnectionError } from "../client-group/mod.ts";
import { encodeFrame, type FrameHeader, frameFlags, frameTypes } from "./frame.ts";
import { type DecodedField, HpackDecoder, LiteralBlock } from "./hpack-decoder.ts";

/** RFC 9113 §8.2.1: what no name may have; and what no value may have, or begin or end with. */
const fieldName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const noValue = /[\0\r\n]|^[ \t]|[ \t]$/;

/** RFC 9113 §8.2.2. */
const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Larger frames are for those who have asked for them. */
const MAX_FRAME = 16_384;

/** How far the response of a stream has come. */
interface Progress {
  /** The header section of the final response has come. */
  final: boolean;
  /** Octets of content that are still to come; `undefined` where nothing says how many. */
  left: number | undefined;
}

export class ResponseCheck {
  readonly #decoder = new HpackDecoder();
  readonly #maxHeaderListSize: number;
  readonly #streams = new Map<number, Progress>();
  /** Streams whose responses have no content, whatever their length says. */
  readonly #heads = new Set<number>();
  #fragments: Uint8Array[] = [];
  #endStream = false;

  constructor(maxHeaderListSize: number) {
    this.#maxHeaderListSize = maxHeaderListSize;
  }

  /** The request of the stream was HEAD. */
  head(streamId: number): void {
    this.#heads.add(streamId);
  }

  /** Nothing of the stream is to be looked at any more. */
  forget(streamId: number): void {
    this.#streams.delete(streamId);
    this.#heads.delete(streamId);
  }

  /**
   * Takes a HEADERS or CONTINUATION frame.
   *
   * @returns frames that say the same and need no table, where the block is whole; `false` where it is
   *   not yet; `undefined` where it is malformed or too large
   * @throws {GroupConnectionError} COMPRESSION_ERROR, PROTOCOL_ERROR
   */
  fields(header: Readonly<FrameHeader>, payload: Uint8Array): Uint8Array | false | undefined {
    const { type, flags, streamId } = header;
    const whole = (flags & frameFlags.END_HEADERS) !== 0;
    let fragment = payload;
    if (type === frameTypes.HEADERS) {
      this.#endStream = (flags & frameFlags.END_STREAM) !== 0;
      fragment = fragmentOf(flags, payload);
    }
    if (!whole) {
      this.#fragments.push(fragment.slice());
      return false;
    }
    if (this.#fragments.length > 0) {
      fragment = concatBytes(...this.#fragments, fragment);
      this.#fragments = [];
    }
    return this.#block(streamId, fragment, this.#endStream);
  }

  /** Takes DATA. @returns whether it may be what the response has said */
  data({ flags, streamId, length }: Readonly<FrameHeader>): boolean {
    const progress = this.#streams.get(streamId);
    if (progress?.final !== true) return false;
    if (progress.left === undefined) return true;
    // How much of it is padding is not known by its header.
    if ((flags & frameFlags.PADDED) !== 0) progress.left = undefined;
    else {
      progress.left -= length;
      if (progress.left < 0) return false;
      if ((flags & frameFlags.END_STREAM) !== 0 && progress.left > 0) return false;
    }
    return true;
  }

  #block(streamId: number, fragment: Uint8Array, endStream: boolean): Uint8Array | undefined {
    const known = this.#streams.get(streamId);
    const section = new Section(known?.final === true, this.#maxHeaderListSize);
    this.#decoder.decode(fragment, (field, neverIndexed) => section.take(field, neverIndexed));
    if (!section.isWellFormed) return undefined;
    const { status, length } = section;
    if (known?.final === true) {
      if (!endStream) return undefined;
      if (known.left !== undefined && known.left > 0) return undefined;
    } else if (status < 200) {
      if (endStream) return undefined;
    } else {
      const empty = status === 204 || status === 304 || this.#heads.has(streamId);
      if (endStream && !empty && length !== undefined && length > 0) return undefined;
      this.#streams.set(streamId, { final: true, left: empty ? 0 : length });
    }
    return framesOf(streamId, section.block, endStream);
  }
}

/** A header section, or trailers, as its fields come. */
class Section {
  status = 0;
  length: number | undefined;
  readonly #block = new LiteralBlock();
  readonly #trailers: boolean;
  #left: number;
  #fields = 0;
  #malformed = false;

  constructor(trailers: boolean, most: number) {
    this.#trailers = trailers;
    this.#left = most;
  }

  get isWellFormed(): boolean {
    return !this.#malformed && this.#left >= 0 && (this.#trailers || this.status > 0);
  }

  get block(): Uint8Array {
    return concatBytes(...this.#block.parts);
  }

  take(field: DecodedField, neverIndexed: boolean): void {
    this.#left -= field.size;
    // The rest is decoded for the table alone.
    if (this.#malformed || this.#left < 0) return;
    if (!this.#admits(field)) this.#malformed = true;
    else if (!this.#isNoField(field)) this.#block.add(field, neverIndexed);
  }

  #admits({ name, value }: DecodedField): boolean {
    if (name === ":status") {
      const first = !this.#trailers && this.status === 0 && this.#fields === 0;
      if (!first || !/^[1-9][0-9]{2}$/.test(value)) return false;
      this.status = Number(value);
      return true;
    }
    this.#fields++;
    if (!fieldName.test(name) || noValue.test(value) || connectionSpecific.has(name)) return false;
    if (name === "te") return value === "trailers";
    if (name !== "content-length" || this.#trailers) return true;
    if (this.length !== undefined || !/^[0-9]{1,15}$/.test(value)) return false;
    this.length = Number(value);
    return true;
  }

  /** RFC 9110 §8.6: a length that no sender may send, and that says nothing. */
  #isNoField({ name }: DecodedField): boolean {
    return name === "content-length" && (this.status < 200 || this.status === 204);
  }
}

/** What of HEADERS is the header block: without padding and priority (RFC 9113 §6.2). */
function fragmentOf(flags: number, payload: Uint8Array): Uint8Array {
  let from = 0;
  let to = payload.length;
  if ((flags & frameFlags.PADDED) !== 0) {
    from = 1;
    to -= payload[0] ?? 0;
  }
  if ((flags & frameFlags.PRIORITY) !== 0) from += 5;
  if (from > to) throw new GroupConnectionError("PROTOCOL_ERROR", "HEADERS with too much padding");
  return payload.subarray(from, to);
}

function framesOf(streamId: number, block: Uint8Array, endStream: boolean): Uint8Array {
  const frames: Uint8Array[] = [];
  let at = 0;
  do {
    const part = block.subarray(at, at + MAX_FRAME);
    const type = at === 0 ? frameTypes.HEADERS : frameTypes.CONTINUATION;
    at += part.length;
    const ends = at === block.length ? frameFlags.END_HEADERS : 0;
    const last = type === frameTypes.HEADERS && endStream ? frameFlags.END_STREAM : 0;
    frames.push(encodeFrame({ type, flags: ends | last, streamId }, part));
  } while (at < block.length);
  return frames.length === 1 ? (frames[0] as Uint8Array) : concatBytes(...frames);
}
