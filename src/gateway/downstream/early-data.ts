/**
 * Requests that came as TLS early data, and so might be a replay (RFC 8470).
 *
 * No runtime here lets early data in at its own TLS port; what can be known is what a front says by
 * `Early-Data: 1`.
 *
 * @module
 */

import type { Fields } from "./fields.ts";

/** `safe` passes on what may happen twice, `refuse` nothing. */
export type EarlyDataPolicy = "safe" | "refuse";

/** RFC 9110 §9.2.1. */
const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

/**
 * Whether a request has to be answered 425 rather than put on a shared connection (CG-REQ-6, I01).
 * One that is passed on keeps its Early-Data field, so that the origin can still refuse it (CG-REQ-7,
 * I03).
 */
export function isTooEarly(method: string, fields: Fields, policy: EarlyDataPolicy): boolean {
  if (fields["early-data"] === undefined) return false;
  return policy === "refuse" || !safeMethods.has(method);
}
