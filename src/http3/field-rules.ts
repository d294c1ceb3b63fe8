/**
 * Which field lines may stand in an HTTP/3 message (RFC 9114 §4.2 and §10.3, RFC 9110 §5); of names,
 * HTTP/2 says the same (RFC 9113 §8.2).
 *
 * @module
 */

import { type Field, firstValue } from "./field.ts";

/** Lower-case letters only: upper case makes a message malformed. */
export const legalName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Visible characters and bytes above ASCII, with spaces and tabs between them only. */
const legalValue = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
/** Fields that speak about an HTTP/1.1 connection. */
export const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Whether the value of a field, or of a pseudo-header field, has legal characters only. */
export function isLegalValue(value: string): boolean {
  return legalValue.test(value);
}

/** Where a field line stands. */
export type FieldPlace = "request" | "response" | "trailers";

/**
 * What is wrong with a field line that is no pseudo-header field; `undefined` where it is legal.
 * The text names the rule, never the untrusted name or value.
 */
export function fieldProblem({ name, value }: Field, place: FieldPlace): string | undefined {
  if (name.startsWith(":")) return "a pseudo-header field stands after other fields or in trailers";
  if (!legalName.test(name)) return "a field name has an illegal character";
  if (!isLegalValue(value)) return "a field value has an illegal character";
  if (connectionSpecific.has(name)) return `${name} does not exist in HTTP/3`;
  if (name === "te" && (place !== "request" || value.toLowerCase() !== "trailers")) {
    return "te can only say trailers, in a request";
  }
  return undefined;
}

/** What is wrong with content-length; `undefined` where it is legal or absent. */
export function lengthProblem(fields: readonly Field[]): string | undefined {
  const values = fields.filter((field) => field.name === "content-length");
  if (values.length > 1) return "content-length occurs twice";
  return values.every(({ value }) => /^\d+$/.test(value) && Number.isSafeInteger(Number(value)))
    ? undefined
    : "content-length is no number of bytes";
}

/** The length that legal fields announce for the body; `undefined` where they announce none. */
export function declaredLength(fields: readonly Field[]): number | undefined {
  const value = firstValue(fields, "content-length");
  return value === undefined ? undefined : Number(value);
}
