/**
 * Text on the wire: URIs and Reason Phrases.
 *
 * Bytes that are no UTF-8 become U+FFFD, which is legal in no URI and harmless in a phrase that is
 * only shown; such text never fails to decode.
 *
 * @module
 */

import type { ByteReader } from "./byte-reader.ts";
import type { ByteWriter } from "./byte-writer.ts";
import { MoqtEncodingError } from "./errors.ts";

/** The most bytes of a Reason Phrase. */
export const MAX_REASON_LENGTH = 1024;

/** The most bytes of the New Session URI of a GOAWAY. */
export const MAX_SESSION_URI_LENGTH = 8192;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads text after its length in bytes, at most `maximum` of them. */
export function readText(reader: ByteReader, what: string, maximum = Infinity): string {
  const start = reader.offset;
  const length = reader.size(`length of ${what}`);
  if (length > maximum) {
    throw reader.fault(`${what} has ${length} bytes, ${maximum} are allowed`, start);
  }
  return decoder.decode(reader.bytes(length, what));
}

/** @throws {MoqtEncodingError} `text` has more than `maximum` bytes */
export function writeText(
  writer: ByteWriter,
  text: string,
  what: string,
  maximum = Infinity,
): void {
  if (!writer.text(text, maximum)) {
    throw new MoqtEncodingError(`${what} has more than ${maximum} bytes`);
  }
}

/** Writes a Reason Phrase, cut between two characters where it would be too long. */
export function writeReason(writer: ByteWriter, reason: string): void {
  writer.text(reason, MAX_REASON_LENGTH);
}
