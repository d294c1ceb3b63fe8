/**
 * Routable requests from the text form of a name.
 *
 * @module
 */

import type { Draft } from "./draft.ts";
import { draftFactsOf } from "./draft-facts.ts";
import { MalformedNameError } from "./errors.ts";
import type { RequestType, RoutableRequest } from "./message.ts";
import { parseName } from "./name-text.ts";
import type { MessageParameter } from "./parameter.ts";

/** What a request says besides its type. */
export interface RequestDetails {
  readonly requestId: bigint;
  /** Text form: `namespace--track`, or `namespace` for the requests that name no track. */
  readonly name: string;
  /** Default 22. A FETCH of drafts 18 and 19 asks for the whole group 0. */
  readonly draft?: Draft;
  readonly parameters?: readonly MessageParameter[];
  /** Of a PUBLISH; default 0. */
  readonly trackAlias?: bigint;
}

/**
 * The request of `type` for a name.
 *
 * @throws {MalformedNameError} `name` is no text form, lacks the Track Name that the request
 *   needs, or has one that it cannot have
 * @throws {UnknownDraftError}
 */
export function requestMessage(type: RequestType, details: RequestDetails): RoutableRequest {
  const { requestId, name, draft = 22, parameters = [], trackAlias = 0n } = details;
  const { trackNamespace, trackName } = parseName(name);
  switch (type) {
    case "PUBLISH_NAMESPACE":
    case "SUBSCRIBE_NAMESPACE":
    case "SUBSCRIBE_TRACKS":
      if (trackName !== undefined) {
        throw new MalformedNameError(`${type} names no track`, name.indexOf("--"));
      }
      return type === "PUBLISH_NAMESPACE"
        ? { type, requestId, trackNamespace, parameters }
        : { type, requestId, trackNamespacePrefix: trackNamespace, parameters };
  }
  if (trackName === undefined) {
    throw new MalformedNameError(`${type} needs a Track Name after --`, name.length);
  }
  const request = { requestId, trackNamespace, trackName, parameters };
  switch (type) {
    case "PUBLISH":
      return { type, ...request, trackAlias, trackProperties: new Uint8Array() };
    case "FETCH":
      return draftFactsOf(draft).typedFetch
        ? { type, ...request, ...wholeGroupZero }
        : { type, ...request };
    case "SUBSCRIBE":
    case "TRACK_STATUS":
      return { type, ...request };
  }
}

/** An end at object 0 means the whole group in drafts 18 and 19. */
const wholeGroupZero = {
  fetchType: "STANDALONE",
  startLocation: { group: 0n, object: 0n },
  endLocation: { group: 0n, object: 0n },
} as const;
