/**
 * Rules that depend on who sent a message, or on the request that it answers. The codec cannot
 * know either.
 *
 * @module
 */

import { MoqtError } from "./errors.ts";
import type { ControlMessage, RequestError, RoutableRequest } from "./message.ts";

/** An end of a session. */
export type Endpoint = "client" | "server";

/**
 * Checks a message that a server received: a client cannot send it elsewhere.
 *
 * @throws {MoqtError} PROTOCOL_VIOLATION for a GOAWAY or a Redirect with a URI
 */
export function checkReceivedByServer(message: ControlMessage): void {
  if (message.type === "GOAWAY" && message.newSessionUri !== "") {
    throw new MoqtError("PROTOCOL_VIOLATION", "GOAWAY to a server has a New Session URI");
  }
  if (message.type === "REQUEST_ERROR" && (message.redirect?.connectUri ?? "") !== "") {
    throw new MoqtError("PROTOCOL_VIOLATION", "Redirect to a server has a Connect URI");
  }
}

/**
 * Checks the error that answers `request`.
 *
 * @throws {MoqtError} PROTOCOL_VIOLATION for a Redirect with a Track Name where the request names
 *   a namespace only
 */
export function checkAnswer(request: Pick<RoutableRequest, "type">, answer: RequestError): void {
  if (!isNamespaceScoped(request) || answer.redirect === undefined) return;
  if (answer.redirect.trackName.length > 0) {
    throw new MoqtError("PROTOCOL_VIOLATION", `Redirect of ${request.type} has a Track Name`);
  }
}

/**
 * Checks that the Request ID of `message` belongs to its sender: clients number their requests
 * with even, servers with odd integers. The Request ID of a GOAWAY is one of its receiver's.
 *
 * @throws {MoqtError} INVALID_REQUEST_ID
 */
export function checkRequestId(message: ControlMessage, from: Endpoint): void {
  if (!("requestId" in message) || message.requestId === undefined) return;
  const isEven = message.requestId % 2n === 0n;
  const belongsToClient = (from === "client") !== (message.type === "GOAWAY");
  if (isEven !== belongsToClient) {
    throw new MoqtError(
      "INVALID_REQUEST_ID",
      `Request ID ${message.requestId} of a ${message.type} from the ${from} has the wrong parity`,
    );
  }
}

function isNamespaceScoped({ type }: Pick<RoutableRequest, "type">): boolean {
  return (
    type === "PUBLISH_NAMESPACE" || type === "SUBSCRIBE_NAMESPACE" || type === "SUBSCRIBE_TRACKS"
  );
}
