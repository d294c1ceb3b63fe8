/**
 * What a relay answers to FETCH: objects of its cache.
 *
 * @module
 */

import { concatBytes } from "../../src/bytes.ts";
import { isInRange, type LocationRange, locationRange } from "../../src/client/location-range.ts";
import { parameter } from "../../src/client/parameters.ts";
import { refusal } from "../../src/client/refusal.ts";
import {
  type Draft,
  draftFacts,
  encodeDataStreamHeader,
  FetchWriter,
  type Location,
  type MessageOf,
  type RequestErrorName,
} from "../../src/moqt/mod.ts";
import { QuicError } from "../../src/quic/errors.ts";
import type { IncomingRequest } from "../../src/session/mod.ts";
import type { TransportStream } from "../../src/transport/transport.ts";
import type { RelayNetwork } from "./network.ts";
import type { NetworkTrack } from "./network-track.ts";

/** The session that a FETCH came on. */
export interface FetchSession {
  readonly draft: Draft;
  openDataStream(): Promise<TransportStream>;
}

/** Answers a FETCH, and sends what it asks for. */
export function answerFetch(
  network: RelayNetwork,
  session: FetchSession,
  request: IncomingRequest,
): void {
  const { message } = request;
  if (message.type !== "FETCH") return;
  // Whoever subscribes here gets the newest group, so that there is nothing to join.
  if (!("trackNamespace" in message)) {
    request.refuse(refusal("INVALID_JOINING_REQUEST_ID"));
    return;
  }
  const { trackNamespace, trackName } = message;
  const track = network.track({ trackNamespace, trackName });
  const range = rangeOf(message, track.cache.largest);
  if (typeof range === "string") {
    request.refuse(refusal(range));
    return;
  }
  request.send({
    type: "FETCH_OK",
    endOfTrack: false,
    endLocation: endLocation(range, session.draft),
    parameters: [],
    trackProperties: track.trackProperties,
  });
  void send(track, range, session, request);
}

type ClosedRange = Required<LocationRange>;
type NamedFetch = Extract<MessageOf<"FETCH">, { readonly trackName: Uint8Array }>;

/** The range that is asked for, cut off at the largest object; or why there is none. */
function rangeOf(
  message: NamedFetch,
  largest: Location | undefined,
): ClosedRange | RequestErrorName {
  if (largest === undefined) return "INVALID_RANGE";
  const asked = askedRange(message, largest);
  const { start, end = largest } = asked;
  if (!isInRange({ start, end: largest }, largest.group, largest.object)) return "INVALID_RANGE";
  const isBeyond =
    end.group > largest.group || (end.group === largest.group && end.object === undefined);
  return { start, end: isBeyond ? largest : end };
}

function askedRange(message: NamedFetch, largest: Location): LocationRange {
  if (message.fetchType === undefined) {
    return locationRange(parameter(message.parameters, "LOCATION_FILTER")?.filter, largest);
  }
  const { startLocation: start, endLocation } = message;
  const { group, object } = endLocation;
  return { start, end: object === 0n ? { group } : { group, object: object - 1n } };
}

function endLocation({ end }: ClosedRange, draft: Draft): Location {
  const { group, object } = end;
  if (object === undefined) return { group, object: 0n };
  return draftFacts[draft].exclusiveEnd ? { group, object: object + 1n } : { group, object };
}

async function send(
  track: NetworkTrack,
  range: ClosedRange,
  session: FetchSession,
  request: IncomingRequest,
): Promise<void> {
  const { requestId, parameters } = request.message;
  const groupOrder = parameter(parameters, "GROUP_ORDER")?.value ?? "ASCENDING";
  const objects = track.cache.objects(range);
  if (groupOrder === "DESCENDING") {
    objects.sort((a, b) => Number(b.groupId - a.groupId) || Number(a.objectId - b.objectId));
  }
  const writer = new FetchWriter({ draft: session.draft, groupOrder });
  try {
    const stream = await session.openDataStream();
    const header = encodeDataStreamHeader({ type: "FETCH", requestId });
    await stream.write(
      concatBytes(header, ...objects.map((object) => writer.encode(object))),
      true,
    );
  } catch (error) {
    // The client cancelled, or is gone.
    if (!(error instanceof QuicError)) throw error;
  }
}
