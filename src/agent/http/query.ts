/**
 * Numbers in queries.
 *
 * @module
 */

import type { Context } from "hono";

/** A whole number in the query: `undefined` where it is absent, `null` where it is none. */
export function wholeNumber(c: Context, name: string): number | null | undefined {
  const text = c.req.query(name);
  if (text === undefined || text === "") return undefined;
  return wholeNumberOf(text) ?? null;
}

/** The number that `text` writes, which is whole, not negative and exact. */
export function wholeNumberOf(text: string): number | undefined {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}
