/**
 * Names that a field gives: of a client, of a tenant.
 *
 * @module
 */

/** Longer names are nobody's. */
export const LONGEST_NAME = 1_024;

/**
 * What a field that a front has set says, where it says one thing. Lines are joined by commas, so that
 * a value with one may be two lines: whoever wrote which, a client could then choose its name.
 */
export function soleName(value: string | undefined): string | undefined {
  if (value === undefined || value === "" || value.length > LONGEST_NAME) return undefined;
  return value.includes(",") ? undefined : value;
}
