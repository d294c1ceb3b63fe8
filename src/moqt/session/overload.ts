/**
 * How requests are refused that there is no room for.
 *
 * @module
 */

import { requestErrorCodes } from "../codes.ts";
import type { RequestError } from "../message.ts";
import type { CheckedOptions } from "./session-options.ts";

/**
 * EXCESSIVE_LOAD, with a time to wait that is not the same for everybody. It goes out as a message
 * and not as the code of a reset, which not every transport can carry.
 */
export function overloadRefusal(
  { limits, random }: Pick<CheckedOptions, "limits" | "random">,
  errorReason: string,
): RequestError {
  const wait = Math.round(limits.overloadRetry * (1 + random() / 2));
  return {
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes.EXCESSIVE_LOAD,
    // Told as one more, so that 0 stands for "never".
    retryInterval: BigInt(wait) + 1n,
    errorReason,
  };
}
