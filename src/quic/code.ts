/**
 * Error codes of applications.
 *
 * @module
 */

import { QuicError } from "./errors.ts";

/**
 * Largest code that both stacks take exactly: on the way there it is a JavaScript number. Peers may
 * send larger ones.
 */
export const largestCode = BigInt(Number.MAX_SAFE_INTEGER);

/** @throws QuicError "INVALID_OPTION" for a code that cannot be sent as it is */
export function checkCode(code: bigint): void {
  if (code >= 0n && code <= largestCode) return;
  throw new QuicError("INVALID_OPTION", `code: expected an integer from 0 to ${largestCode}`);
}
