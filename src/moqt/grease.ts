/**
 * Reserved values that peers send to see whether unknown ones are tolerated (MOQT, "Grease").
 *
 * @module
 */

import type { SetupOption } from "./setup-option.ts";
import { encodeVarint } from "./varint.ts";

const FIRST = 0x9dn;
const STEP = 0x7fn;
const LAST = 0x3fff_ffff_ffff_ffden;

/**
 * Whether `value` is 0x7f * N + 0x9D: a Setup Option, property, error code or token type that never
 * gets a meaning. Such values are handled as any other unknown one.
 */
export function isGrease(value: bigint): boolean {
  return value >= FIRST && value <= LAST && (value - FIRST) % STEP === 0n;
}

/** How many reserved values we choose from; each takes at most five bytes. */
const CHOICE = 0x100_0000;

/**
 * A Setup Option with a reserved type, for a SETUP of ours: so that peers stay used to unknown ones.
 *
 * @param random 0 up to 1, as `Math.random`
 */
export function greaseSetupOption(random: () => number): SetupOption {
  const optionType = FIRST + STEP * BigInt(Math.floor(random() * CHOICE));
  const number = Math.floor(random() * CHOICE);
  const value = optionType % 2n === 0n ? BigInt(number) : encodeVarint(number);
  return { type: "UNKNOWN", optionType, value };
}
