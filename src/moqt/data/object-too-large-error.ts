/**
 * The limit of ours on objects.
 *
 * @module
 */

import { YardmasterError } from "../../errors.ts";

/**
 * An object is longer than the reader was told to take. No fault of the peer: its stream is to be
 * stopped with EXCESSIVE_LOAD. Code `OBJECT_TOO_LARGE`.
 */
export class ObjectTooLargeError extends YardmasterError {
  declare readonly code: "OBJECT_TOO_LARGE";

  constructor(maximumBytes: number) {
    super("OBJECT_TOO_LARGE", `an object has more than ${maximumBytes} bytes`);
  }
}
