/**
 * Fields before node:http2 sees them.
 *
 * @module
 */

import type { OutgoingHttpHeaders } from "node:http2";
import { connectionSpecific } from "../http3/field-rules.ts";
import { Http2CallError } from "./errors.ts";

/** RFC 9110 §5.6.2, and the colon of a pseudo-header field. */
const fieldName = /^:?[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** RFC 9110 §5.5: one octet a character, no control characters but tab. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** RFC 9113 §8.2.2; node:http2 refuses them in a way that ends the connection or stays unseen. */
const refused: ReadonlySet<string> = new Set([...connectionSpecific, "http2-settings"]);

/**
 * Refuses what node:http2 may only refuse later, or by ending the connection: Node destroys it for a
 * name that is no token.
 *
 * @throws {Http2CallError} INVALID_FIELDS. The name is told, where it is legal; a value never is
 */
export function checkFields(fields: OutgoingHttpHeaders): void {
  for (const name of Object.keys(fields)) {
    if (!fieldName.test(name)) throw invalid("a field name is no token");
    if (refused.has(name.toLowerCase())) {
      throw invalid(`${name} has no place in HTTP/2`);
    }
    const value = fields[name];
    if (value === undefined) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const one of values) {
      if (!fieldValue.test(String(one))) throw invalid(`the value of ${name} is none`);
    }
  }
}

function invalid(message: string): Http2CallError {
  return new Http2CallError("INVALID_FIELDS", message);
}

/**
 * `maxHeaderListPairs` of node:http2 for sections of so many octets: a field counts as 32 and its name and
 * value (RFC 9113 §6.5.2). By default it takes 128, however short, and resets a stream with more of them
 * with ENHANCE_YOUR_CALM, be it for cookies that have a line each (RFC 9113 §8.2.3).
 */
export function mostFieldLines(headerBytes: number): number {
  return Math.ceil(headerBytes / 32);
}
