/**
 * The peer's control stream (RFC 9114 §6.2.1 and §7.2).
 *
 * @module
 */

import type { ByteSource } from "./byte-source.ts";
import { frameTypes, reservedFrameTypes } from "./code-points.ts";
import { Http3ConnectionError } from "./errors.ts";
import { FrameReader } from "./frame.ts";
import { readQuicVarint } from "./quic-varint.ts";
import { decodeSettings, type Settings } from "./settings.ts";

/** Far above any SETTINGS frame in use; a larger one is not kept. */
const MAX_SETTINGS_LENGTH = 0x4000;

/** What to do with what comes. Each may throw an `Http3ConnectionError`. */
export interface ControlStreamHandlers {
  /** Of this endpoint, not of the peer. */
  readonly role: "client" | "server";
  /** Whether WT_STREAM means something, which it may at the start of a request stream alone. */
  readonly webTransport: boolean;
  /** Frame types of extensions that are wanted, with the most bytes that a payload may have. */
  readonly extensions: ReadonlyMap<bigint, number>;
  onSettings(settings: Settings): void;
  onGoaway(id: bigint): void;
  onExtension(type: bigint, payload: Uint8Array): void;
}

/**
 * Reads the stream behind its type, for as long as the connection lives.
 *
 * @throws {Http3ConnectionError} H3_MISSING_SETTINGS, H3_FRAME_UNEXPECTED, H3_FRAME_ERROR,
 *   H3_SETTINGS_ERROR, H3_ID_ERROR or H3_EXCESSIVE_LOAD; H3_CLOSED_CRITICAL_STREAM at its end
 */
export async function readControlStream(
  source: ByteSource,
  handlers: ControlStreamHandlers,
): Promise<never> {
  const frames = new FrameReader(source);
  const first = await frames.next();
  if (first === null) throw closedCriticalStream();
  if (first.type !== frameTypes.SETTINGS) {
    throw new Http3ConnectionError("H3_MISSING_SETTINGS", "the first frame is not SETTINGS");
  }
  if (first.length > MAX_SETTINGS_LENGTH) {
    throw new Http3ConnectionError("H3_EXCESSIVE_LOAD", `SETTINGS has ${first.length} bytes`);
  }
  handlers.onSettings(decodeSettings(await frames.payload()));
  let lastGoaway: bigint | undefined;
  let maxPushId = 0n;
  for (let frame = await frames.next(); frame !== null; frame = await frames.next()) {
    const { type, length } = frame;
    const extension = handlers.extensions.get(type);
    if (type === frameTypes.GOAWAY) {
      lastGoaway = checkGoaway(await singleId(frames, length), lastGoaway, handlers.role);
      handlers.onGoaway(lastGoaway);
    } else if (type === frameTypes.MAX_PUSH_ID && handlers.role === "server") {
      const id = await singleId(frames, length);
      if (id < maxPushId) throw new Http3ConnectionError("H3_ID_ERROR", "MAX_PUSH_ID went down");
      maxPushId = id;
    } else if (type === frameTypes.CANCEL_PUSH) {
      await singleId(frames, length);
      // Neither end of ours pushes or allows it, so there is nothing to cancel.
      throw new Http3ConnectionError("H3_ID_ERROR", "CANCEL_PUSH names a push that does not exist");
    } else if (type === frameTypes.WT_STREAM && handlers.webTransport) {
      throw new Http3ConnectionError("H3_FRAME_ERROR", "a WebTransport stream begins in another");
    } else if (isMisplaced(type)) {
      throw new Http3ConnectionError(
        "H3_FRAME_UNEXPECTED",
        `a frame of type 0x${type.toString(16)} stands on the control stream`,
      );
    } else if (extension !== undefined) {
      if (length > extension) {
        throw new Http3ConnectionError("H3_FRAME_ERROR", `an extension frame has ${length} bytes`);
      }
      handlers.onExtension(type, await frames.payload());
    }
  }
  throw closedCriticalStream();
}

/** The error for the end of a stream that has to stay open (§6.2.1). */
export function closedCriticalStream(): Http3ConnectionError {
  return new Http3ConnectionError("H3_CLOSED_CRITICAL_STREAM", "a critical stream was closed");
}

/** Frames of a message, a second SETTINGS, MAX_PUSH_ID of a server, and frames of HTTP/2. */
function isMisplaced(type: bigint): boolean {
  switch (type) {
    case frameTypes.DATA:
    case frameTypes.HEADERS:
    case frameTypes.SETTINGS:
    case frameTypes.PUSH_PROMISE:
    case frameTypes.MAX_PUSH_ID:
      return true;
    default:
      return reservedFrameTypes.has(type);
  }
}

/** A payload that is one varint and nothing else. */
async function singleId(frames: FrameReader, length: number): Promise<bigint> {
  const payload = length <= 8 ? await frames.payload() : new Uint8Array(0);
  const id = readQuicVarint(payload);
  if (id === undefined || id.length !== length) {
    throw new Http3ConnectionError("H3_FRAME_ERROR", "a frame does not hold exactly one ID");
  }
  return id.value;
}

/** A server names a request stream, a client a push; neither may take back a promise (§5.2). */
function checkGoaway(id: bigint, last: bigint | undefined, role: "client" | "server"): bigint {
  if (role === "client" && id % 4n !== 0n) {
    throw new Http3ConnectionError("H3_ID_ERROR", "GOAWAY does not name a request stream");
  }
  if (last !== undefined && id > last) {
    throw new Http3ConnectionError("H3_ID_ERROR", "GOAWAY names more than the one before");
  }
  return id;
}
