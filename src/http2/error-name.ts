/**
 * The registered name of an HTTP/2 error code.
 *
 * @module
 */

import { type ErrorName, http2ErrorCodes } from "../client-group/mod.ts";

const names = new Map(
  Object.entries(http2ErrorCodes).map(([name, code]) => [Number(code), name as ErrorName]),
);

/** A code that has no name means INTERNAL_ERROR (RFC 9113 §7). */
export function errorNameOf(code: number): ErrorName {
  return names.get(code) ?? "INTERNAL_ERROR";
}
