/**
 * The acceptance boundary: which requests of a connection the origin might have processed.
 *
 * @module
 */

import type { HttpVersion } from "./error-codes.ts";

/**
 * Whether the boundary shows that the origin did not process a stream: in HTTP/2 one above the
 * boundary (CG-BOUND-2, CG-BOUND-3), in HTTP/3 also the boundary itself (CG-BOUND-4, CG-BOUND-5).
 *
 * @param version of the connection that carried the boundary, which is the stream's (CG-BOUND-6)
 */
export function isUnprocessed(version: HttpVersion, streamId: bigint, boundary: bigint): boolean {
  return version === "h2" ? streamId > boundary : streamId >= boundary;
}

/**
 * The boundary that says "perhaps all of them, and no more please": the first step of retiring a
 * connection in two (CG-CGOAWAY-5).
 */
export function openBoundary(version: HttpVersion): bigint {
  return version === "h2" ? 2n ** 31n - 1n : 2n ** 62n - 4n;
}

/** The boundary that counts of two, either of which may be missing (CG-S36, CG-A8). */
export function lowerBoundary(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}
