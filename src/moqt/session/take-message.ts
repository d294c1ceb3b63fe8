/**
 * Control messages out of the bytes of a stream.
 *
 * @module
 */

import { readControlMessage, readMessageHead } from "../codec.ts";
import type { Draft } from "../draft.ts";
import { MoqtError } from "../errors.ts";
import type { ControlMessage, MessageType, RequestContext } from "../message.ts";
import type { StreamBuffer } from "../stream-buffer.ts";

export interface MessageRules {
  readonly draft: Draft;
  /** The most bytes of one message. */
  readonly maximumBytes: number;
  /** What a message of this type would belong to here, or what is wrong with it. */
  place(type: MessageType): RequestContext | string;
}

/** A message, and what it belongs to. */
export interface TakenMessage {
  readonly message: ControlMessage;
  readonly context: RequestContext;
}

/**
 * Takes the next message out of `buffer`. Its type is judged as soon as it is there, so that
 * nothing is kept of a message that cannot stand here.
 *
 * @throws {MoqtError} as `readControlMessage`, and PROTOCOL_VIOLATION for a message out of place
 */
export function takeMessage(
  buffer: StreamBuffer,
  rules: MessageRules,
): TakenMessage | "INCOMPLETE" | "TOO_LONG" {
  const { bytes } = buffer;
  const head = readMessageHead(bytes, rules.draft);
  if (head === undefined) return "INCOMPLETE";
  const context = rules.place(head.type);
  if (typeof context === "string") throw new MoqtError("PROTOCOL_VIOLATION", context);
  if ((head.length ?? 0) > rules.maximumBytes) return "TOO_LONG";
  const read = readControlMessage(bytes, rules.draft, 0, context);
  if (read === undefined) return "INCOMPLETE";
  buffer.drop(read.length);
  return { message: read.message, context };
}

/** @throws {MoqtError} PROTOCOL_VIOLATION where a stream ends inside a message */
export function expectMessageEnd(buffer: StreamBuffer): void {
  if (buffer.length > 0) throw new MoqtError("PROTOCOL_VIOLATION", "a message is cut off by FIN");
}
