/**
 * The number that stands for one client group on one connection.
 *
 * @module
 */

import { ClientGroupError } from "./errors.ts";

/** The largest identifier, 2^32 - 1; the smallest is 0, which is one like any other (CG-S12). */
export const MAX_IDENTIFIER = 0xffff_ffff;

/** Whether `value` can be an identifier: an integer in 0..2^32-1 (CG-FIELD-1). */
export function isIdentifier(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_IDENTIFIER;
}

/** @throws {ClientGroupError} INVALID_IDENTIFIER where `value` cannot be one */
export function checkIdentifier(value: number): void {
  if (isIdentifier(value)) return;
  throw new ClientGroupError(
    "INVALID_IDENTIFIER",
    "a client-group identifier has to be an integer in 0..4294967295",
  );
}
