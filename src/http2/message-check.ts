/**
 * Messages held against RFC 9113 §8 before node:http2 sees them: for one that is malformed or too large,
 * some runtimes end the whole connection, and with it the requests of everybody else on it.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { GroupConnectionError } from "../client-group/mod.ts";
import { type FieldSection, type MessageFault, TrailerSection } from "./field-section.ts";
import {
  encodeFrame,
  FRAME_HEADER_LENGTH,
  type FrameHeader,
  frameFlags,
  frameTypes,
  writeFrameHeader,
} from "./frame.ts";
import { HpackDecoder, LiteralBlock } from "./hpack-decoder.ts";

/** Larger frames are for those who have asked for them. */
const MAX_FRAME = 16_384;

/** How far the message of a stream has come, behind the header section that is not interim. */
interface Progress {
  /** Octets of content that are still to come; `undefined` where nothing says how many. */
  left: number | undefined;
  /** END_STREAM has come. */
  ended: boolean;
}

/** What the peer of one connection sends, requests or responses. */
export abstract class MessageCheck<Head extends FieldSection = FieldSection> {
  readonly #decoder = new HpackDecoder();
  /** Of one section after the other. */
  readonly #block = new LiteralBlock();
  readonly #maxHeaderListSize: number;
  readonly #streams = new Map<number, Progress>();
  #fragments: Uint8Array[] = [];
  #endStream = false;

  /** @param maxHeaderListSize of each section, as RFC 9113 §6.5.2 counts */
  constructor(maxHeaderListSize: number) {
    this.#maxHeaderListSize = maxHeaderListSize;
  }

  /** A header section that begins. */
  protected abstract open(maxHeaderListSize: number, block: LiteralBlock): Head;

  /** Whether the message goes on with another header section (RFC 9110 §15.2). */
  protected abstract isInterim(head: Head): boolean;

  /** Octets of the content that there are to be by `head`; `undefined` where it says nothing. */
  protected abstract contentOf(streamId: number, head: Head): number | undefined;

  /** Nothing of the stream is to be looked at any more. */
  forget(streamId: number): void {
    this.#streams.delete(streamId);
  }

  /**
   * Takes a HEADERS or CONTINUATION frame.
   *
   * @returns frames that say the same and need no table, where the block is whole; `undefined` where it
   *   is not yet
   * @throws {GroupConnectionError} COMPRESSION_ERROR, PROTOCOL_ERROR
   */
  fields(
    header: Readonly<FrameHeader>,
    payload: Uint8Array,
  ): Uint8Array | MessageFault | undefined {
    const { type, flags, streamId } = header;
    let fragment = payload;
    if (type === frameTypes.HEADERS) {
      this.#endStream = (flags & frameFlags.END_STREAM) !== 0;
      fragment = fragmentOf(flags, payload);
    }
    if ((flags & frameFlags.END_HEADERS) === 0) {
      this.#fragments.push(fragment.slice());
      return undefined;
    }
    if (this.#fragments.length > 0) {
      fragment = concatBytes(...this.#fragments, fragment);
      this.#fragments = [];
    }
    return this.#section(streamId, fragment, this.#endStream);
  }

  /**
   * Takes a DATA frame of a stream that is open.
   *
   * @param octets without padding
   * @returns what is wrong with it, where something is
   */
  data(streamId: number, octets: number, endStream: boolean): MessageFault | undefined {
    const progress = this.#streams.get(streamId);
    if (progress === undefined) return "malformed";
    if (progress.ended) return "closed";
    progress.ended = endStream;
    if (progress.left === undefined) return undefined;
    progress.left -= octets;
    return progress.left < 0 || (endStream && progress.left > 0) ? "malformed" : undefined;
  }

  #section(streamId: number, fragment: Uint8Array, endStream: boolean): Uint8Array | MessageFault {
    const progress = this.#streams.get(streamId);
    const most = this.#maxHeaderListSize;
    this.#block.clear();
    const head = progress === undefined ? this.open(most, this.#block) : undefined;
    const section = head ?? new TrailerSection(most, this.#block);
    this.#decoder.decode(fragment, section);
    if (progress?.ended) return "closed";
    const { fault } = section;
    if (fault !== undefined) return fault;
    const fits =
      head === undefined
        ? this.#endWith(progress as Progress, endStream)
        : this.#beginWith(streamId, head, endStream);
    return fits ? framesOf(streamId, this.#block.take(), endStream) : "malformed";
  }

  #beginWith(streamId: number, head: Head, endStream: boolean): boolean {
    if (this.isInterim(head)) return !endStream;
    const left = this.contentOf(streamId, head);
    this.#streams.set(streamId, { left, ended: endStream });
    return !endStream || left === undefined || left === 0;
  }

  /** With trailers. */
  #endWith(progress: Progress, endStream: boolean): boolean {
    progress.ended = endStream;
    return endStream && (progress.left === undefined || progress.left === 0);
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

/** @param block behind room for a frame's header */
function framesOf(streamId: number, block: Uint8Array, endStream: boolean): Uint8Array {
  const { HEADERS, CONTINUATION } = frameTypes;
  const first = endStream ? frameFlags.END_STREAM : 0;
  const length = block.length - FRAME_HEADER_LENGTH;
  if (length <= MAX_FRAME) {
    const flags = first | frameFlags.END_HEADERS;
    writeFrameHeader(block, { length, type: HEADERS, flags, streamId });
    return block;
  }
  const frames: Uint8Array[] = [];
  for (let at = FRAME_HEADER_LENGTH; at < block.length; at += MAX_FRAME) {
    const type = frames.length === 0 ? HEADERS : CONTINUATION;
    const last = at + MAX_FRAME >= block.length ? frameFlags.END_HEADERS : 0;
    const flags = frames.length === 0 ? first : last;
    frames.push(encodeFrame({ type, flags, streamId }, block.subarray(at, at + MAX_FRAME)));
  }
  return concatBytes(...frames);
}
