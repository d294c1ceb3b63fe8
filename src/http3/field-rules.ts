/**
 * Which field lines may stand in an HTTP/3 message (RFC 9114 §4.2 and §10.3, RFC 9110 §5).
 *
 * @module
 */

import type { Field } from "./field.ts";

/** Lower-case letters only: upper case makes a message malformed. */
const legalName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Visible characters and bytes above ASCII, with spaces and tabs between them only. */
const legalValue = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** Fields that speak about an HTTP/1.1 connection. */
const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Where a field line stands. */
export type FieldPlace = "request" | "response" | "trailers";

/**
 * What is wrong with a field line that is no pseudo-header field; `undefined` where it is legal.
 * The text names the rule, never the untrusted name or value.
 */
export function fieldProblem({ name, value }: Field, place: FieldPlace): string | undefined {
  if (name.startsWith(":")) return "a pseudo-header field stands after other fields or in trailers";
  if (!legalName.test(name)) return "a field name has an illegal character";
  if (!legalValue.test(value)) return "a field value has an illegal character";
  if (connectionSpecific.has(name)) return `${name} does not exist in HTTP/3`;
  if (name === "te" && (place !== "request" || value.toLowerCase() !== "trailers")) {
    return "te can only say trailers, in a request";
  }
  return undefined;
}

/**
 * The number that content-length announces; `undefined` where there is no such field, a text where
 * it is illegal.
 */
export function contentLength(fields: readonly Field[]): number | string | undefined {
  const values = fields.filter((field) => field.name === "content-length");
  const [first] = values;
  if (first === undefined) return undefined;
  if (values.length > 1) return "content-length occurs twice";
  const length = /^\d+$/.test(first.value) ? Number(first.value) : Number.NaN;
  return Number.isSafeInteger(length) ? length : "content-length is no number of bytes";
}
