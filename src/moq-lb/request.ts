/**
 * One routable request as bytes, without the session it would come in.
 *
 * @module
 */

import {
  checkRequestId,
  type Draft,
  decodeControlMessage,
  isRoutableRequest,
  MoqtError,
  type RoutableRequest,
} from "../moqt/mod.ts";

/**
 * The request that `bytes` would open a request stream of a client's session with.
 *
 * @param bytes given away: the request consists of views of them
 * @throws {MoqtError} the session error that the standard names: PROTOCOL_VIOLATION also where the
 *   message cannot open a request stream, INVALID_REQUEST_ID where it is odd, as only a server's is
 */
export function decodeRequest(bytes: Uint8Array, draft: Draft): RoutableRequest {
  const message = decodeControlMessage(bytes, draft, {}, true);
  if (!isRoutableRequest(message)) {
    throw new MoqtError("PROTOCOL_VIOLATION", `${message.type} cannot open a request stream`);
  }
  checkRequestId(message, "client");
  return message;
}
