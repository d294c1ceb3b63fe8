/**
 * Values of options: numbers, times and drafts. A wrong one is a usage error.
 *
 * @module
 */

import { type Draft, drafts } from "../moqt/mod.ts";
import { MAX_VARINT } from "../varint.ts";
import { UsageError } from "./errors.ts";

/**
 * A draft by its number or its name on the wire: `22` or `moqt-22`.
 *
 * @throws {UsageError} not a supported draft
 */
export function draftOption(text: string): Draft {
  const draft = drafts.find((known) => text === `${known}` || text === `moqt-${known}`);
  if (draft === undefined) {
    throw new UsageError(`option --draft has to be one of ${drafts.join(", ")}`);
  }
  return draft;
}

/**
 * An integer that MOQT can carry, in decimal or as `0x…`.
 *
 * @param option its name with the dashes
 * @throws {UsageError} not an integer in 0..2^64-1
 */
export function integerOption(option: string, text: string): bigint {
  const value = /^(?:\d+|0x[0-9a-fA-F]+)$/.test(text) ? BigInt(text) : undefined;
  if (value === undefined || value > MAX_VARINT) {
    throw new UsageError(`option ${option} has to be an integer in 0..2^64-1`);
  }
  return value;
}

/**
 * A positive number of seconds.
 *
 * @param option its name with the dashes
 * @returns milliseconds
 * @throws {UsageError} not a number of at most a day
 */
export function secondsOption(option: string, text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  throw new UsageError(`option ${option} has to be a number of seconds, at most 86400`);
}

/**
 * A number of things.
 *
 * @param option its name with the dashes
 * @throws {UsageError} not an integer in `least`..2^31-1
 */
export function countOption(option: string, text: string, least = 1): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= least && count < 2 ** 31) return count;
  throw new UsageError(`option ${option} has to be an integer from ${least} to ${2 ** 31 - 1}`);
}
