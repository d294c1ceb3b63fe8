/**
 * Control messages to bytes and back: a type, a 16-bit length, and a body of exactly that length.
 *
 * A decoded message owns its bytes, and the input may be reused at once, unless it was given away.
 *
 * @module
 */

import { readVarint } from "../varint.ts";
import { ByteReader } from "./byte-reader.ts";
import { ByteWriter } from "./byte-writer.ts";
import type { Draft } from "./draft.ts";
import { type DraftFacts, draftFacts, draftFactsOf } from "./draft-facts.ts";
import { MoqtEncodingError, MoqtError } from "./errors.ts";
import { type Field, type Fields, layouts, type Surroundings } from "./layouts.ts";
import type { ControlMessage, MessageType, RequestContext } from "./message.ts";

/** A message read from the front of a stream, and how many bytes it took. */
export interface ReadMessage {
  readonly message: ControlMessage;
  readonly length: number;
}

/** What the first bytes of a message tell. */
export interface MessageHead {
  readonly type: MessageType;
  /** Bytes of type and length. */
  readonly bodyOffset: number;
  /** Bytes of the whole message; `undefined` where its length is not there yet. */
  readonly length: number | undefined;
}

const typeOfCode: ReadonlyMap<bigint, MessageType> = new Map(
  Object.entries(layouts).map(([type, { code }]) => [code, type as MessageType]),
);

/**
 * Decodes one control message, which has to be all of `bytes`.
 *
 * @param context the request that the message belongs to, where it is known: REQUEST_OK and
 *   REQUEST_UPDATE are then held to what that request allows
 * @param givenAway nobody will change `bytes`: the message may consist of views of them, which saves
 *   a third of the time
 * @throws {MoqtError} the session error that the standard names; PROTOCOL_VIOLATION where the
 *   bytes are less or more than one message
 * @throws {UnknownDraftError}
 */
export function decodeControlMessage(
  bytes: Uint8Array,
  draft: Draft,
  context: RequestContext = {},
  givenAway = false,
): ControlMessage {
  const read = readControlMessage(bytes, draft, 0, context, givenAway);
  if (read === undefined) {
    throw new MoqtError("PROTOCOL_VIOLATION", "control message is cut off", {
      offset: bytes.length,
    });
  }
  if (read.length !== bytes.length) {
    throw new MoqtError("PROTOCOL_VIOLATION", "control message is followed by more bytes", {
      offset: read.length,
    });
  }
  return read.message;
}

/**
 * Reads the control message that starts at `offset` of a growing buffer.
 *
 * @param context as for `decodeControlMessage`
 * @param givenAway as for `decodeControlMessage`
 * @returns `undefined` where more bytes are needed: at most those of the 16-bit length, so that a
 *   caller never holds more than about 64 KiB for one message
 * @throws {MoqtError} as `decodeControlMessage`, an unknown type as soon as it is there
 * @throws {UnknownDraftError}
 */
export function readControlMessage(
  bytes: Uint8Array,
  draft: Draft,
  offset = 0,
  context: RequestContext = {},
  givenAway = false,
): ReadMessage | undefined {
  const head = readMessageHead(bytes, draft, offset);
  if (head?.length === undefined) return undefined;
  const { type, bodyOffset, length } = head;
  if (offset + length > bytes.length) return undefined;
  // One copy for the whole message: its fields are views of it, and callers reuse their buffers.
  const own = givenAway ? bytes : new Uint8Array(bytes.subarray(offset, offset + length));
  const start = givenAway ? offset : 0;
  const reader = new ByteReader(
    own,
    start + bodyOffset,
    start + length,
    "PROTOCOL_VIOLATION",
    offset - start,
  );
  return { message: readBody(reader, type, draftFacts[draft], context), length };
}

/**
 * Reads the type and length of the message that starts at `offset` of a growing buffer.
 *
 * @returns `undefined` where not even the type is there
 * @throws {MoqtError} PROTOCOL_VIOLATION for a type that the draft does not have
 * @throws {UnknownDraftError}
 */
export function readMessageHead(
  bytes: Uint8Array,
  draft: Draft,
  offset = 0,
): MessageHead | undefined {
  const { absentMessages } = draftFactsOf(draft);
  const code = readVarint(bytes, offset);
  if (code === undefined) return undefined;
  const type = typeOfCode.get(code.value);
  if (type === undefined || absentMessages.includes(type)) {
    throw new MoqtError("PROTOCOL_VIOLATION", `message type ${code.value} is unknown`, { offset });
  }
  const bodyOffset = code.length + 2;
  const high = bytes[offset + code.length];
  const low = bytes[offset + code.length + 1];
  if (high === undefined || low === undefined) return { type, bodyOffset, length: undefined };
  return { type, bodyOffset, length: bodyOffset + ((high << 8) | low) };
}

function readBody(
  reader: ByteReader,
  type: MessageType,
  facts: DraftFacts,
  context: RequestContext,
): ControlMessage {
  const message: { type: MessageType; [key: string]: unknown } = { type };
  const surroundings: Surroundings = { facts, context, message };
  const fields: readonly Field[] = layouts[type].fields;
  for (const field of fields) {
    if (field.present?.(surroundings) === false) continue;
    if (field.optional === true && reader.done) continue;
    message[field.key] = field.read(reader, surroundings);
  }
  reader.expectEnd(type);
  // The layout of a type has the fields of its message: `layouts` is checked against the types.
  return message as unknown as ControlMessage;
}

/**
 * The bytes of one control message.
 *
 * @param context as for `decodeControlMessage`
 * @throws {MoqtEncodingError} the draft has no such message, field or parameter, a value is out of
 *   range, or the body would exceed 65,535 bytes
 * @throws {UnknownDraftError}
 */
export function encodeControlMessage(
  message: ControlMessage,
  draft: Draft,
  context: RequestContext = {},
): Uint8Array {
  const facts = draftFactsOf(draft);
  const { type } = message;
  if (!Object.hasOwn(layouts, type)) throw new MoqtEncodingError("this is no type of message");
  if (facts.absentMessages.includes(type)) {
    throw new MoqtEncodingError(`draft ${draft} has no ${type}`);
  }
  const writer = new ByteWriter();
  writer.varint(layouts[type].code, "message type");
  writer.lengthPrefixed16(() => writeBody(writer, message, facts, context), type);
  return writer.toBytes();
}

function writeBody(
  writer: ByteWriter,
  message: ControlMessage,
  facts: DraftFacts,
  context: RequestContext,
): void {
  const given = message as unknown as Fields;
  const surroundings: Surroundings = { facts, context, message: given };
  const fields: readonly Field[] = layouts[message.type].fields;
  for (const field of fields) {
    const value = given[field.key];
    const present = field.present?.(surroundings) !== false;
    if (present && value !== undefined) field.write(writer, value, surroundings);
    else if (present && field.optional !== true) {
      throw new MoqtEncodingError(`${message.type} lacks ${field.key}`);
    } else if (!present && value !== undefined) {
      throw new MoqtEncodingError(
        `this ${message.type} cannot have ${field.key} in draft ${facts.draft}`,
      );
    }
  }
}
