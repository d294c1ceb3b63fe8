/**
 * What of RFC 9113 can be said of a frame by its header alone, and has to be said before node:http2
 * sees it: runtimes differ in what they check, and frames that we lift out they never check.
 *
 * @module
 */

import { type ErrorName, GroupConnectionError } from "../client-group/mod.ts";
import { type FrameHeader, frameFlags, frameTypes } from "./frame.ts";

/** Which end of the connection is ours. */
export type Role = "client" | "server";

export interface FrameOrderOptions {
  readonly role: Role;
  /** The most octets of one header block as they are on the wire; 256 KiB by default. */
  readonly maxHeaderBlock?: number;
  /** The most CONTINUATION frames of one header block; 32 by default. */
  readonly maxContinuations?: number;
}

/**
 * The frames that the peer sends, held against their order and size. Header blocks and the length of
 * content are for MessageCheck; what else depends on the state of a stream, or on windows, is node:http2's.
 */
export class FrameOrder {
  readonly #role: Role;
  readonly #maxHeaderBlock: number;
  readonly #maxContinuations: number;
  #first = true;
  /** The stream whose header block has begun and not ended; 0 where there is none. */
  #block = 0;
  #blockLength = 0;
  #continuations = 0;

  constructor(options: FrameOrderOptions) {
    this.#role = options.role;
    this.#maxHeaderBlock = options.maxHeaderBlock ?? 262_144;
    this.#maxContinuations = options.maxContinuations ?? 32;
  }

  /**
   * Whether a frame of ours may come in between: SETTINGS is first (RFC 9113 §3.4), and a header block
   * is not broken (§6.10).
   */
  get admitsMore(): boolean {
    return !this.#first && this.#block === 0;
  }

  /**
   * Takes the header of the next frame.
   *
   * @param maxFrameSize what this side has said it takes
   * @throws {GroupConnectionError} the connection error that RFC 9113 has for it. A frame of another
   *   type within a header block is PROTOCOL_ERROR whatever its type, GROUP_CONTROL too (E14); one on
   *   the wrong stream likewise (A15); ENHANCE_YOUR_CALM for a header block without end
   */
  receive(header: Readonly<FrameHeader>, maxFrameSize: number): void {
    const { type, length, flags, streamId } = header;
    if (length > maxFrameSize) {
      throw fault("FRAME_SIZE_ERROR", `a frame of ${length} octets, more than ${maxFrameSize}`);
    }
    if (this.#first) {
      if (type !== frameTypes.SETTINGS || (flags & frameFlags.ACK) !== 0) {
        throw fault("PROTOCOL_ERROR", "the first frame is not SETTINGS");
      }
      this.#first = false;
    }
    if (this.#block !== 0 || type === frameTypes.CONTINUATION) {
      this.#continue(header);
      return;
    }
    switch (type) {
      case frameTypes.DATA:
        onStream(streamId, "DATA");
        break;
      case frameTypes.HEADERS:
        onStream(streamId, "HEADERS");
        // Even ones are a server's, for pushes (§5.1.1).
        if (streamId % 2 === 0) throw fault("PROTOCOL_ERROR", "HEADERS on an even stream");
        this.#begin(header);
        break;
      case frameTypes.PRIORITY:
        onStream(streamId, "PRIORITY");
        break;
      case frameTypes.RST_STREAM:
        onStream(streamId, "RST_STREAM");
        sized(length === 4, "RST_STREAM");
        break;
      case frameTypes.SETTINGS:
        onConnection(streamId, "SETTINGS");
        sized((flags & frameFlags.ACK) === 0 ? length % 6 === 0 : length === 0, "SETTINGS");
        break;
      case frameTypes.PUSH_PROMISE:
        // A client of ours always says ENABLE_PUSH = 0, and a client pushes nothing (§8.4).
        throw fault("PROTOCOL_ERROR", `PUSH_PROMISE at a ${this.#role} that takes none`);
      case frameTypes.PING:
        onConnection(streamId, "PING");
        sized(length === 8, "PING");
        break;
      case frameTypes.GOAWAY:
        onConnection(streamId, "GOAWAY");
        sized(length >= 8, "GOAWAY");
        break;
      case frameTypes.WINDOW_UPDATE:
        sized(length === 4, "WINDOW_UPDATE");
        break;
    }
  }

  #begin({ flags, streamId, length }: Readonly<FrameHeader>): void {
    if ((flags & frameFlags.END_HEADERS) !== 0) return;
    this.#block = streamId;
    this.#blockLength = length;
    this.#continuations = 0;
  }

  #continue({ type, flags, streamId, length }: Readonly<FrameHeader>): void {
    if (type !== frameTypes.CONTINUATION || streamId !== this.#block) {
      throw fault(
        "PROTOCOL_ERROR",
        "a header block and its CONTINUATION frames have to be in a row",
      );
    }
    this.#blockLength += length;
    this.#continuations++;
    if (this.#blockLength > this.#maxHeaderBlock || this.#continuations > this.#maxContinuations) {
      throw fault("ENHANCE_YOUR_CALM", "a header block without end");
    }
    if ((flags & frameFlags.END_HEADERS) !== 0) this.#block = 0;
  }
}

function onStream(streamId: number, name: string): void {
  if (streamId === 0) throw fault("PROTOCOL_ERROR", `${name} on stream 0`);
}

function onConnection(streamId: number, name: string): void {
  if (streamId !== 0) throw fault("PROTOCOL_ERROR", `${name} on a stream other than 0`);
}

function sized(right: boolean, name: string): void {
  if (!right) throw fault("FRAME_SIZE_ERROR", `${name} has the wrong length`);
}

function fault(code: ErrorName, message: string): GroupConnectionError {
  return new GroupConnectionError(code, message);
}
