/**
 * What a request is refused with.
 *
 * @module
 */

import { type RequestError, type RequestErrorName, requestErrorCodes } from "../moqt/mod.ts";

/** A REQUEST_ERROR after which the request is not to be made again. */
export function refusal(code: RequestErrorName): RequestError {
  return {
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes[code],
    retryInterval: 0n,
    errorReason: "",
  };
}
