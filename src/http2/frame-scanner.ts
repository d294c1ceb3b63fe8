/**
 * Finds the frames in a stream of bytes without holding it up: what goes on goes on as slices of the
 * chunks that came, as many frames in one slice as there are. Only the nine octets of a header that a
 * chunk ends within, and frames that are asked for as a whole, are ever copied.
 *
 * @module
 */

import {
  encodeFrameHeader,
  FRAME_HEADER_LENGTH,
  type FrameHeader,
  readFrameHeader,
} from "./frame.ts";

/**
 * What becomes of a frame: its bytes go on, go on behind the header as the visitor has changed it
 * (all but `length`), are left out, or are gathered so that the visitor sees the payload as a whole.
 * `inspect` gathers as well, but for a frame that most likely goes on as it came: where it is whole in a
 * chunk, it stays in one piece with what is before and behind it, and that is emitted after it was seen.
 */
export type Disposition = "pass" | "rewrite" | "drop" | "gather" | "inspect";

/** Who looks at the frames. What it throws comes out of `push`, and ends the scanner's use. */
export interface FrameVisitor {
  /** A frame begins. The header is the scanner's own and holds until the frame ends. */
  begin(header: FrameHeader): Disposition;
  /**
   * A frame that was to be gathered is there: the payload, valid during the call.
   *
   * @returns the bytes that go on in its place; the same frame where `true`, none where `false`
   */
  gathered(header: FrameHeader, payload: Uint8Array): Uint8Array | boolean;
  /** Takes bytes that go on. */
  emit(bytes: Uint8Array): void;
  /**
   * A frame has ended.
   *
   * @returns whether everything up to here is to be emitted now, before {@link interrupted} is called
   */
  ended(header: FrameHeader): boolean;
  /** Everything up to the end of a frame was emitted. */
  interrupted(): void;
}

export class FrameScanner {
  readonly #visitor: FrameVisitor;
  readonly #header: FrameHeader = { length: 0, type: 0, flags: 0, streamId: 0 };
  /** Octets before the first frame that are still to come: the connection preface. */
  #preface: number;
  /** The beginning of a header that a chunk has ended within. */
  readonly #partial = new Uint8Array(FRAME_HEADER_LENGTH);
  #partialLength = 0;
  /** Octets of the payload that are still to come. */
  #left = 0;
  #disposition: Disposition = "pass";
  #scanning = false;
  /** Header and payload of a frame to be gathered, where it is not whole in one chunk. */
  #frame: Uint8Array | undefined;

  /** @param preface octets before the first frame, which go on as they are */
  constructor(visitor: FrameVisitor, preface = 0) {
    this.#visitor = visitor;
    this.#preface = preface;
  }

  /** Whether all bytes so far were emitted, and end with the end of a frame. */
  get between(): boolean {
    const within = this.#partialLength > 0 || this.#left > 0 || this.#preface > 0;
    return !this.#scanning && !within;
  }

  /** Takes the next bytes of the stream, which nobody may change any more. */
  push(chunk: Uint8Array): void {
    this.#scanning = true;
    this.#scan(chunk);
    this.#scanning = false;
  }

  #scan(chunk: Uint8Array): void {
    let at = Math.min(this.#preface, chunk.length);
    this.#preface -= at;
    /** What lies before is dealt with; from here to `at` it is to go on. */
    let from = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        const start = at;
        at = this.#takeHeader(chunk, at);
        if (this.#partialLength < FRAME_HEADER_LENGTH && this.#partialLength > 0) {
          this.#emit(chunk, from, start);
          return;
        }
        const split = this.#partialLength > 0;
        this.#partialLength = 0;
        this.#disposition = this.#visitor.begin(this.#header);
        this.#left = this.#header.length;
        if (this.#disposition === "inspect") {
          if (!split && chunk.length - at >= this.#left) {
            const payload = at;
            at += this.#left;
            this.#left = 0;
            if (!this.#inspect(chunk, from, start, payload, at)) from = at;
            if (this.#endsPiece(chunk, from, at)) from = at;
            continue;
          }
          this.#disposition = "gather";
        }
        if (split || this.#disposition !== "pass") {
          this.#emit(chunk, from, start);
          from = at;
          if (this.#disposition === "rewrite") this.#visitor.emit(encodeFrameHeader(this.#header));
          else if (this.#disposition === "pass") this.#visitor.emit(this.#partial.slice());
          else if (this.#disposition === "gather") {
            const whole = chunk.length - at >= this.#left;
            if (!whole) this.#frame = new Uint8Array(this.#left);
          }
        }
      }
      const end = Math.min(at + this.#left, chunk.length);
      const begun = at;
      this.#left -= end - at;
      at = end;
      if (this.#disposition === "gather") this.#gather(chunk, begun, end);
      if (this.#disposition === "drop" || this.#disposition === "gather") from = at;
      if (this.#left === 0 && this.#endsPiece(chunk, from, at)) from = at;
    }
    this.#emit(chunk, from, at);
  }

  /** A frame has ended at `at`. @returns whether all before that was emitted */
  #endsPiece(chunk: Uint8Array, from: number, at: number): boolean {
    if (!this.#visitor.ended(this.#header)) return false;
    this.#emit(chunk, from, at);
    this.#visitor.interrupted();
    return true;
  }

  /**
   * Shows a frame that is whole in the chunk, from `start` to `end`.
   *
   * @param from what before it is to go on
   * @returns whether it goes on as it is; where not, what is before it and in its place was emitted
   */
  #inspect(chunk: Uint8Array, from: number, start: number, payload: number, end: number): boolean {
    // A slice of a Buffer is a Buffer again, which costs Bun ten times as much.
    const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset + payload, end - payload);
    const instead = this.#visitor.gathered(this.#header, bytes);
    if (instead === true) return true;
    this.#emit(chunk, from, start);
    if (instead !== false) this.#visitor.emit(instead);
    return false;
  }

  /** Reads a header into `#header`, or what there is of it into `#partial`; says where it stopped. */
  #takeHeader(chunk: Uint8Array, at: number): number {
    if (this.#partialLength === 0 && chunk.length - at >= FRAME_HEADER_LENGTH) {
      readFrameHeader(chunk, at, this.#header);
      return at + FRAME_HEADER_LENGTH;
    }
    const end = Math.min(at + FRAME_HEADER_LENGTH - this.#partialLength, chunk.length);
    this.#partial.set(chunk.subarray(at, end), this.#partialLength);
    this.#partialLength += end - at;
    if (this.#partialLength === FRAME_HEADER_LENGTH)
      readFrameHeader(this.#partial, 0, this.#header);
    return end;
  }

  #gather(chunk: Uint8Array, from: number, to: number): void {
    const frame = this.#frame;
    frame?.set(chunk.subarray(from, to), frame.length - this.#left - (to - from));
    if (this.#left > 0) return;
    this.#frame = undefined;
    const payload = frame ?? chunk.subarray(from, to);
    const instead = this.#visitor.gathered(this.#header, payload);
    if (instead === true) {
      this.#visitor.emit(encodeFrameHeader(this.#header));
      if (payload.length > 0) this.#visitor.emit(payload);
    } else if (instead !== false) this.#visitor.emit(instead);
  }

  #emit(chunk: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    this.#visitor.emit(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to));
  }
}
