/**
 * Asking how far a track is.
 *
 * @module
 */

import type { Location } from "../moqt/mod.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import { parameter } from "./parameters.ts";
import { Attempts, type PlacedRequest } from "./placing.ts";
import type { RequestName } from "./target.ts";

export interface TrackStatusOptions extends Required<RequestName> {
  readonly signal?: AbortSignal;
}

export interface TrackStatus {
  /** The largest object so far; absent where nothing has been published. */
  readonly largest?: Location;
  /** Key-Value-Pairs of the track. */
  readonly trackProperties: Uint8Array;
}

/** @throws as `Placer.place` */
export async function trackStatus(
  { placer, signal }: ClientContext,
  { trackNamespace, trackName, signal: given }: TrackStatusOptions,
): Promise<TrackStatus> {
  const request: PlacedRequest<ClientSession> = {
    request: "TRACK_STATUS",
    name: { trackNamespace, trackName },
    send: (session, target) =>
      session.send(
        {
          type: "TRACK_STATUS",
          trackNamespace: target.trackNamespace,
          trackName: target.trackName ?? trackName,
          parameters: [],
        },
        target,
      ),
  };
  const both = given === undefined ? signal : AbortSignal.any([signal, given]);
  const { grant } = await placer.place(request, new Attempts(), both);
  const largest = parameter(grant.parameters, "LARGEST_OBJECT")?.location;
  const { trackProperties } = grant;
  return { trackProperties, ...(largest === undefined ? {} : { largest }) };
}
