/**
 * What a client answers to the requests of its relays.
 *
 * @module
 */

import { formatName } from "../moqt/mod.ts";
import type { IncomingRequest } from "../session/mod.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import type { LocalTrack } from "./local-track.ts";
import { refusal } from "./refusal.ts";

const nothing = new Uint8Array(0);

/**
 * Answers a request: subscribers of tracks that are published here are served, tracks and namespaces
 * that were asked for are taken, everything else is refused.
 */
export function answerPeer(
  context: ClientContext,
  tracks: ReadonlyMap<string, LocalTrack>,
  session: ClientSession,
  request: IncomingRequest,
): void {
  const { message } = request;
  switch (message.type) {
    case "SUBSCRIBE": {
      const track = tracks.get(formatName(message.trackNamespace, message.trackName));
      if (track === undefined) request.refuse(refusal("DOES_NOT_EXIST"));
      else track.accept(session, request);
      break;
    }
    case "TRACK_STATUS": {
      const track = tracks.get(formatName(message.trackNamespace, message.trackName));
      if (track === undefined) request.refuse(refusal("DOES_NOT_EXIST"));
      else answerStatus(request, track);
      break;
    }
    case "PUBLISH": {
      // A track under several prefixes is taken once.
      const [accept] = context.tracks.matching(message.trackNamespace);
      if (accept === undefined) request.refuse(refusal("UNINTERESTED"));
      else accept(session, request);
      break;
    }
    case "PUBLISH_NAMESPACE":
      answerNamespace(context, request);
      break;
    default:
      request.refuse(refusal("NOT_SUPPORTED"));
  }
}

function answerStatus(request: IncomingRequest, { largest, trackProperties }: LocalTrack): void {
  request.send({
    type: "REQUEST_OK",
    parameters: largest === undefined ? [] : [{ type: "LARGEST_OBJECT", location: largest }],
    trackProperties,
  });
}

/** Until draft 21, relays tell of namespaces in this way too. */
function answerNamespace({ namespaces }: ClientContext, request: IncomingRequest): void {
  const { message } = request;
  if (message.type !== "PUBLISH_NAMESPACE") return;
  const interested = namespaces.matching(message.trackNamespace);
  if (interested.length === 0) {
    request.refuse(refusal("UNINTERESTED"));
    return;
  }
  const ok = { type: "REQUEST_OK", parameters: [], trackProperties: nothing } as const;
  request.send(ok);
  request.onMessage = ({ type }) => {
    if (type === "REQUEST_UPDATE") request.send(ok);
  };
  for (const changes of interested) changes.add(request, message.trackNamespace);
  void request.ended.then(() => {
    for (const changes of interested) changes.removeAll(request);
  });
}
