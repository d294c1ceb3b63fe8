/**
 * Which error code tells an event on one connection to the peer on another one.
 *
 * @module
 */

import { type ErrorName, errorCodes, type HttpVersion } from "./error-codes.ts";

/** Codes that mean the same in HTTP/2 and HTTP/3 (CG-XVER-4 to CG-XVER-8). */
const pairs = [
  ["REFUSED_STREAM", "H3_REQUEST_REJECTED"],
  ["CANCEL", "H3_REQUEST_CANCELLED"],
  ["INTERNAL_ERROR", "H3_INTERNAL_ERROR"],
  ["ENHANCE_YOUR_CALM", "H3_EXCESSIVE_LOAD"],
  ["CONNECT_ERROR", "H3_CONNECT_ERROR"],
] as const;

/** What a stream ended with, apart from how each version spells it. */
export type StreamOutcome =
  /** It was not processed, and may be sent again. */
  | "refused"
  /** It might have been processed. */
  | "cancelled"
  /** Something failed, at the peer or in between. */
  | "failed"
  /** The peer has too much to do. */
  | "overloaded"
  /** The tunnel failed. */
  | "tunnel-failed";

const outcomes: { readonly [outcome in StreamOutcome]: (typeof pairs)[number] } = {
  refused: pairs[0],
  cancelled: pairs[1],
  failed: pairs[2],
  overloaded: pairs[3],
  "tunnel-failed": pairs[4],
};

const column = { h2: 0, h3: 1 } as const;

/** The code that says `outcome` on a connection of `version` (CG-XVER-2, CG-S52). */
export function resetCode(outcome: StreamOutcome, version: HttpVersion): bigint {
  return errorCodes[outcomes[outcome][column[version]]];
}

/** The registered name of what {@link resetCode} gives. */
export function resetName(outcome: StreamOutcome, version: HttpVersion): ErrorName {
  return outcomes[outcome][column[version]];
}

/**
 * The code of a reset on one connection as it is told on another, in either direction (CG-S75).
 * Within a version it is passed as it is. Between versions a code without a counterpart becomes
 * INTERNAL_ERROR or H3_INTERNAL_ERROR, so that none is ever taken for "safe to send again" (CG-A18).
 */
export function translateResetCode(code: bigint, from: HttpVersion, to: HttpVersion): bigint {
  if (from === to) return code;
  const pair = pairs.find((names) => errorCodes[names[column[from]]] === code);
  return pair === undefined ? resetCode("failed", to) : errorCodes[pair[column[to]]];
}
