/**
 * What ends a command early: the exit status is in the type of the error.
 *
 * @module
 */

import { YardmasterError } from "../errors.ts";

/** Exit statuses of `yard`. Anything a caller can tell apart is one of these. */
export const exitStatus = { success: 0, invalidInput: 1, usage: 2 } as const;

/**
 * The input is wrong: a file, a name, a snapshot, bytes (exit status 1). `message` may have
 * several lines, one for each problem.
 */
export class InputError extends YardmasterError {
  constructor(message: string, cause?: unknown) {
    super("INVALID_INPUT", message, cause === undefined ? {} : { cause });
  }
}

/** The command line is wrong: an unknown command or option, a missing argument (exit status 2). */
export class UsageError extends YardmasterError {
  constructor(message: string) {
    super("USAGE", message);
  }
}
