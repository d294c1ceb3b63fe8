/**
 * Messages held against RFC 9113 §8 before node:http2 sees them: for one that is malformed or too large,
 * some runtimes end the whole connection, and with it the requests of everybody else on it.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { GroupConnectionError } from "../client-group/mod.ts";
import { characters } from "../http3/huffman.ts";
import { type FieldSection, type MessageFault, TrailerSection } from "./field-section.ts";
import {
  DEFAULT_MAX_FRAME_SIZE,
  encodeFrame,
  FRAME_HEADER_LENGTH,
  type FrameHeader,
  frameFlags,
  frameTypes,
  writeFrameHeader,
} from "./frame.ts";
import { HpackDecoder, LiteralBlock } from "./hpack-decoder.ts";

/** Of a stream on which END_STREAM has come. */
const ENDED = -2;

/** Of one whose content may be of any length. */
const UNBOUNDED = -1;

/** Octets up to which a header block is remembered, and how many are. */
const SHORT = 256;
const REMEMBERED = 64;

/** What the peer of one connection sends, requests or responses. */
export abstract class MessageCheck<Head extends FieldSection = FieldSection> {
  readonly #decoder = new HpackDecoder();
  /** Of one section after the other. */
  readonly #block = new LiteralBlock();
  readonly #maxHeaderListSize: number;
  /**
   * By stream, behind its header section that is not interim: octets of content that are still to come,
   * {@link UNBOUNDED} or {@link ENDED}.
   */
  readonly #streams = new Map<number, number>();
  /** Sections without a fault by their octets, since the table has changed last. */
  readonly #known = new Map<string, Head>();
  #fragments: Uint8Array[] = [];
  #endStream = false;
  /**
   * node:http2 has had every header block as it came, so that its table is the peer's. Once one was kept
   * from it, it gets blocks that need no table.
   */
  #tablesAgree = true;

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

  /** The header block that was taken last is kept from node:http2. */
  withheld(): void {
    this.#tablesAgree = false;
  }

  /**
   * Takes a HEADERS or CONTINUATION frame.
   *
   * @returns what goes on where the block is whole, the frame as it is where `true`, or frames that say
   *   the same; `undefined` where it is not yet. What is at fault is not to go on.
   * @throws {GroupConnectionError} COMPRESSION_ERROR, PROTOCOL_ERROR
   */
  fields(
    header: Readonly<FrameHeader>,
    payload: Uint8Array,
  ): Uint8Array | true | MessageFault | undefined {
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
    const found = this.#section(streamId, fragment, this.#endStream);
    if (typeof found === "string") this.#tablesAgree = false;
    if (found !== true) return found;
    return fragment === payload && type === frameTypes.HEADERS
      ? true
      : framesOf(
          streamId,
          concatBytes(new Uint8Array(FRAME_HEADER_LENGTH), fragment),
          this.#endStream,
        );
  }

  /**
   * Takes a DATA frame of a stream that is open.
   *
   * @param octets without padding
   * @returns what is wrong with it, where something is
   */
  data(streamId: number, octets: number, endStream: boolean): MessageFault | undefined {
    const before = this.#streams.get(streamId);
    if (before === undefined) return "malformed";
    if (before === ENDED) return "closed";
    const left = before === UNBOUNDED ? UNBOUNDED : before - octets;
    const isMore = before !== UNBOUNDED && left < 0;
    this.#streams.set(streamId, endStream || isMore ? ENDED : left);
    return isMore || (endStream && left > 0) ? "malformed" : undefined;
  }

  /** @returns the block that needs no table in its frames, or `true` where the one that came may go on */
  #section(
    streamId: number,
    fragment: Uint8Array,
    endStream: boolean,
  ): Uint8Array | true | MessageFault {
    const before = this.#streams.get(streamId);
    const head = before === undefined ? this.#head(fragment) : undefined;
    const section = head ?? this.#trailers(fragment);
    if (before === ENDED) return "closed";
    const { fault } = section;
    if (fault !== undefined) return fault;
    const fits =
      head === undefined
        ? this.#endWith(streamId, before as number, endStream)
        : this.#beginWith(streamId, head, endStream);
    if (!fits) return "malformed";
    if (!section.whole) this.#tablesAgree = false;
    return this.#tablesAgree || framesOf(streamId, this.#block.toBytes(), endStream);
  }

  #head(fragment: Uint8Array): Head {
    // What is remembered has no block of its own.
    const isShort = this.#tablesAgree && fragment.length <= SHORT;
    const octets = isShort ? characters(fragment) : "";
    const known = isShort ? this.#known.get(octets) : undefined;
    if (known !== undefined) return known;
    const head = this.open(this.#maxHeaderListSize, this.#block);
    const hasChanged = this.#decode(fragment, head);
    if (isShort && !hasChanged && head.whole && head.fault === undefined) {
      if (this.#known.size >= REMEMBERED) this.#known.clear();
      this.#known.set(octets, head);
    }
    return head;
  }

  #trailers(fragment: Uint8Array): FieldSection {
    const trailers = new TrailerSection(this.#maxHeaderListSize, this.#block);
    this.#decode(fragment, trailers);
    return trailers;
  }

  /** @returns whether the table has changed: what was known by its octets is not any more */
  #decode(fragment: Uint8Array, section: FieldSection): boolean {
    this.#block.clear();
    const hasChanged = this.#decoder.decode(fragment, section);
    if (hasChanged) this.#known.clear();
    return hasChanged;
  }

  #beginWith(streamId: number, head: Head, endStream: boolean): boolean {
    if (this.isInterim(head)) return !endStream;
    const left = this.contentOf(streamId, head) ?? UNBOUNDED;
    this.#streams.set(streamId, endStream ? ENDED : left);
    return !endStream || left <= 0;
  }

  /** With trailers. */
  #endWith(streamId: number, left: number, endStream: boolean): boolean {
    if (endStream) this.#streams.set(streamId, ENDED);
    return endStream && left <= 0;
  }
}

/** What of HEADERS is the header block: without padding and priority (RFC 9113 §6.2). */
function fragmentOf(flags: number, payload: Uint8Array): Uint8Array {
  if ((flags & (frameFlags.PADDED | frameFlags.PRIORITY)) === 0) return payload;
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
  // Larger frames are for those who have asked for them.
  const most = DEFAULT_MAX_FRAME_SIZE;
  if (length <= most) {
    const flags = first | frameFlags.END_HEADERS;
    writeFrameHeader(block, { length, type: HEADERS, flags, streamId });
    return block;
  }
  const frames: Uint8Array[] = [];
  for (let at = FRAME_HEADER_LENGTH; at < block.length; at += most) {
    const type = frames.length === 0 ? HEADERS : CONTINUATION;
    const last = at + most >= block.length ? frameFlags.END_HEADERS : 0;
    const flags = frames.length === 0 ? first : last;
    frames.push(encodeFrame({ type, flags, streamId }, block.subarray(at, at + most)));
  }
  return concatBytes(...frames);
}
