/**
 * Reading the claims of signed JSON: every member has to be there as it should be, and no other.
 *
 * @module
 */

/** Says that a value is not what it has to be; callers turn it into an error of their own. */
export class ClaimsFault extends Error {}

/** A plain object whose members are all in `names`. */
export function readMembers(
  value: unknown,
  what: string,
  names: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ClaimsFault(`${what} has to be an object`);
  }
  if (!Object.keys(value).every((name) => names.has(name))) {
    throw new ClaimsFault(`${what} has a member that is not known here`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** An integer from `least` to 2^53 - 1. */
export function readInteger(value: unknown, what: string, least = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new ClaimsFault(`${what} has to be an integer of at least ${least}`);
}

/** A text that `pattern` matches as a whole. */
export function readText(value: unknown, what: string, pattern: RegExp): string {
  if (typeof value === "string" && pattern.test(value)) return value;
  throw new ClaimsFault(`${what} is not a text of the form that it has to have`);
}

/** One of `choices`. */
export function readChoice<T extends string>(
  value: unknown,
  what: string,
  choices: readonly T[],
): T {
  const found = choices.find((choice) => choice === value);
  if (found !== undefined) return found;
  throw new ClaimsFault(`${what} has to be one of ${choices.join(", ")}`);
}

export function readBoolean(value: unknown, what: string): boolean {
  if (typeof value === "boolean") return value;
  throw new ClaimsFault(`${what} has to be true or false`);
}

/** SHA-256 in lower-case hexadecimal. */
export const digestPattern = /^[0-9a-f]{64}$/;
