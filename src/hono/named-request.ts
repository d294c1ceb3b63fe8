/**
 * Routable requests from their text form, for clients that can build a URL but no MOQT message.
 *
 * @module
 */

import {
  type Draft,
  MalformedNameError,
  type ParsedName,
  parseName,
  type RequestType,
  type RoutableRequest,
  type TrackNamespace,
} from "../moqt/mod.ts";

/** The draft that named requests are read as: the one where every request can be redirected. */
export const namedRequestDraft: Draft = 22;

/**
 * The request of `type` for what `text` names: a Full Track Name with its `--`, or a namespace
 * without one. Everything that does not matter to placement has its default.
 *
 * @throws {MalformedNameError} `text` is no text form, or names a track where the request is for a
 *   namespace, or the other way round
 */
export function namedRequest(type: RequestType, text: string): RoutableRequest {
  const name = parseName(text);
  switch (type) {
    case "SUBSCRIBE":
      return { type, ...defaults, ...track(name, text) };
    case "FETCH":
      return { type, ...defaults, ...track(name, text) };
    case "TRACK_STATUS":
      return { type, ...defaults, ...track(name, text) };
    case "PUBLISH":
      return { type, ...defaults, ...track(name, text), ...publishDefaults };
    case "PUBLISH_NAMESPACE":
      return { type, ...defaults, trackNamespace: namespaceAlone(name, text) };
    case "SUBSCRIBE_NAMESPACE":
      return { type, ...defaults, trackNamespacePrefix: namespaceAlone(name, text) };
    case "SUBSCRIBE_TRACKS":
      return { type, ...defaults, trackNamespacePrefix: namespaceAlone(name, text) };
  }
}

const defaults = { requestId: 0n, parameters: [] };
const publishDefaults = { trackAlias: 0n, trackProperties: new Uint8Array(0) };

function track({ trackNamespace, trackName }: ParsedName, text: string) {
  if (trackName !== undefined) return { trackNamespace, trackName };
  throw new MalformedNameError('expected "--" and a Track Name', text.length);
}

function namespaceAlone({ trackNamespace, trackName }: ParsedName, text: string): TrackNamespace {
  if (trackName === undefined) return trackNamespace;
  throw new MalformedNameError("expected a namespace without a Track Name", text.indexOf("--"));
}
