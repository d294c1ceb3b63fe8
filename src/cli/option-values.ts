/**
 * Values of options: numbers and drafts. A wrong one is a usage error.
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
