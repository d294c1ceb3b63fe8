/**
 * What a client may send on a connection that carries nothing, and how often it may have streams end
 * before their time: each costs it a few octets and us, or an origin, work (RFC 9113 §10.5).
 *
 * @module
 */

import { GroupConnectionError, http2ErrorCodes } from "../client-group/mod.ts";
import { type FrameHeader, frameFlags, frameTypes } from "./frame.ts";
import { Rate } from "./rate.ts";

export interface PeerAllowanceOptions {
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /**
   * Frames a second that carry nothing: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, GOAWAY, DATA without
   * octets, and those of unknown types. Five times as many at once. They come on top of those that
   * requests and responses account for.
   */
  readonly framesPerSecond: number;
  /**
   * Streams a second that the client resets, or makes this side reset (CVE-2023-44487,
   * CVE-2025-8671). Twice as many at once. Each stream that ends as it should allows one more.
   */
  readonly resetsPerSecond: number;
}

/** Frames without content that a request brings along: an empty DATA frame, PRIORITY, WINDOW_UPDATE. */
const FRAMES_OF_REQUEST = 8;

/** A receiver gives two windows back for each DATA frame, and may measure the round trip. */
const FRAMES_OF_DATA = 4;

/** What is accounted for and has not come yet is remembered so far: about a full window of DATA frames. */
const MOST_EARNED = 20_000;

/** What this side says of a stream whose client has broken a rule, or the limit on streams. */
const codesOfFault: ReadonlySet<number> = new Set(
  [
    http2ErrorCodes.PROTOCOL_ERROR,
    http2ErrorCodes.FLOW_CONTROL_ERROR,
    http2ErrorCodes.STREAM_CLOSED,
    http2ErrorCodes.FRAME_SIZE_ERROR,
    http2ErrorCodes.REFUSED_STREAM,
  ].map(Number),
);

/** One for each connection. */
export class PeerAllowance {
  readonly #now: () => number;
  readonly #frames: Rate;
  readonly #resets: Rate;
  /** Frames that requests and responses account for. */
  #earned = 0;

  constructor({ now, framesPerSecond, resetsPerSecond }: PeerAllowanceOptions) {
    this.#now = now;
    this.#frames = new Rate(5 * framesPerSecond, framesPerSecond, now());
    this.#resets = new Rate(2 * resetsPerSecond, resetsPerSecond, now());
  }

  /**
   * Takes the header of a frame that comes.
   *
   * @throws {GroupConnectionError} ENHANCE_YOUR_CALM
   */
  received({ type, flags, length }: Readonly<FrameHeader>): void {
    switch (type) {
      case frameTypes.HEADERS:
      case frameTypes.CONTINUATION:
      case frameTypes.RST_STREAM:
        return;
      case frameTypes.DATA:
        // With PADDED, one octet says that there is no padding either.
        if (length > ((flags & frameFlags.PADDED) === 0 ? 0 : 1)) return;
    }
    if (this.#earned > 0) this.#earned--;
    else if (!this.#frames.take(this.#now())) throw calm("frames that carry nothing, without end");
  }

  /** The client has opened a stream. */
  opened(): void {
    this.#earn(FRAMES_OF_REQUEST);
  }

  /** Both sides have ended a stream. */
  completed(): void {
    this.#resets.give(1);
  }

  /** Takes the header of a frame of this side's. */
  sent({ type, flags }: Readonly<FrameHeader>): void {
    if (type === frameTypes.DATA) this.#earn(FRAMES_OF_DATA);
    else if (type === frameTypes.PING && (flags & frameFlags.ACK) === 0) this.#earn(1);
  }

  #earn(frames: number): void {
    this.#earned = Math.min(MOST_EARNED, this.#earned + frames);
  }

  /**
   * The client has reset a stream, or has had it reset.
   *
   * @throws {GroupConnectionError} ENHANCE_YOUR_CALM
   */
  reset(): void {
    if (!this.#resets.take(this.#now())) throw calm("streams are opened and reset, without end");
  }

  /** Whether a reset of this side's, with that code, is for a fault of the client's. */
  static isProvoked(code: number): boolean {
    return codesOfFault.has(code);
  }
}

function calm(message: string): GroupConnectionError {
  return new GroupConnectionError("ENHANCE_YOUR_CALM", message);
}
