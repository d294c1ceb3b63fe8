/**
 * Numbers in queries.
 *
 * @module
 */

import type { Context } from "hono";

/** A whole number in the query: `otherwise` where it is absent, `null` where it is none. */
export function wholeNumber<T = undefined>(
  c: Context,
  name: string,
  otherwise?: T,
): number | null | T {
  const text = c.req.query(name);
  if (text === undefined || text === "") return otherwise as T;
  return wholeNumberOf(text) ?? null;
}

/** The number that `text` writes, which is whole, not negative and exact. */
export function wholeNumberOf(text: string): number | undefined {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}
