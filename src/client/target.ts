/**
 * What a request asks for, and where.
 *
 * @module
 */

import { formatName, type RequestType, type TrackNamespace } from "../moqt/mod.ts";

/** What a request names. */
export interface RequestName {
  /** The namespace, or the prefix of one, for requests that name a prefix. */
  readonly trackNamespace: TrackNamespace;
  /** Absent for requests that name no track. */
  readonly trackName?: Uint8Array;
}

/** A request at one service. */
export interface Target extends RequestName {
  readonly request: RequestType;
  /** Normalised; see `normaliseUri`. */
  readonly uri: string;
}

/** Two targets with the same key are the same request at the same service (RD-10). */
export function targetKey({ uri, trackNamespace, trackName }: Target): string {
  return `${uri} ${formatName(trackNamespace, trackName)}`;
}
