/**
 * Text on the wire: URIs and Reason Phrases.
 *
 * Bytes that are no UTF-8 become U+FFFD, which is legal in no URI and harmless in a phrase that is
 * only shown; such text never fails to decode.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
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
  const length = reader.varint(`length of ${what}`);
  if (length > maximum) {
    throw reader.fault(`${what} has ${length} bytes, ${maximum} are allowed`, start);
  }
  if (length > reader.remaining) {
    throw reader.fault(`${what} needs ${length} bytes, but only ${reader.remaining} follow`, start);
  }
  return decodeText(reader.view(Number(length), what));
}

/** @throws {MoqtEncodingError} `text` has more than `maximum` bytes */
export function writeText(
  writer: ByteWriter,
  text: string,
  what: string,
  maximum = Infinity,
): void {
  const bytes = utf8(text);
  if (bytes.length > maximum) {
    throw new MoqtEncodingError(`${what} has ${bytes.length} bytes, ${maximum} are allowed`);
  }
  writer.lengthPrefixed(bytes, what);
}

/** Writes a Reason Phrase, cut between two characters where it would be too long. */
export function writeReason(writer: ByteWriter, reason: string): void {
  const bytes = utf8(reason);
  let length = bytes.length;
  if (length > MAX_REASON_LENGTH) {
    length = MAX_REASON_LENGTH;
    while (isContinuation(bytes[length])) length--;
  }
  writer.lengthPrefixed(bytes.subarray(0, length), "Reason Phrase");
}

export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10;
}
