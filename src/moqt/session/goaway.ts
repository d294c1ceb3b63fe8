/**
 * GOAWAY as we send it.
 *
 * @module
 */

import type { Goaway } from "../message.ts";
import type { Endpoint } from "../peer-checks.ts";
import { SessionUseError } from "./use-error.ts";

/** Asks the peer to go on elsewhere. */
export interface GoawayDetails {
  /** Default: the URI of this session. Only a server may name another one. */
  readonly newSessionUri?: string;
  /**
   * Whole milliseconds until we end what is still there then. 0, the default: no time is named,
   * and nothing is ended.
   */
  readonly timeout?: number;
  /** Whether the application itself ends the request in time; default `false`. */
  readonly isEndedByApplication?: boolean;
}

/**
 * The message that an endpoint sends.
 *
 * @throws {SessionUseError} OUT_OF_PLACE for a URI of a client, or a timeout that is no time
 */
export function goawayMessage(details: GoawayDetails, from: Endpoint): Goaway {
  const { newSessionUri = "", timeout = 0 } = details;
  if (newSessionUri !== "" && from === "client") {
    throw new SessionUseError("OUT_OF_PLACE", "a client cannot name a New Session URI");
  }
  if (!Number.isSafeInteger(timeout) || timeout < 0) {
    throw new SessionUseError("OUT_OF_PLACE", "a timeout is 0 or more whole milliseconds");
  }
  return { type: "GOAWAY", newSessionUri, timeout: BigInt(timeout) };
}
