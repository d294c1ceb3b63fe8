/**
 * Reserved values that peers send to see whether unknown ones are tolerated (MOQT, "Grease").
 *
 * @module
 */

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
