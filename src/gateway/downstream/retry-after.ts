/**
 * Retry-After (RFC 9110 §10.2.3).
 *
 * @module
 */

/** `seconds` as delta-seconds: whole, rounded up, and at least 1 (K01, CG-BLOCK-2). */
export function retryAfter(seconds: number): string {
  return String(Math.max(1, Math.ceil(seconds)));
}
