/**
 * Which tracks the peer's Track Aliases stand for.
 *
 * @module
 */

import { MoqtError } from "../errors.ts";
import type { TrackNamespace } from "../name.ts";
import { formatName } from "../name-text.ts";

/** A subscription of ours, as far as its alias is concerned. */
export interface Subscription {
  readonly track: TrackKey;
  readonly alias: bigint;
}

/** A Full Track Name as the key of a map. */
export type TrackKey = string;

export function trackKey(name: {
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
}): TrackKey {
  return formatName(name.trackNamespace, name.trackName);
}

/** The aliases of the subscriptions that are established with the peer as publisher. */
export class TrackAliases {
  readonly #tracks = new Map<bigint, { readonly track: TrackKey; subscriptions: number }>();

  /** @throws {MoqtError} DUPLICATE_TRACK_ALIAS where the alias stands for another track */
  check({ alias, track }: Subscription): void {
    const known = this.#tracks.get(alias);
    if (known === undefined || known.track === track) return;
    throw new MoqtError("DUPLICATE_TRACK_ALIAS", `Track Alias ${alias} stands for two tracks`);
  }

  /** @throws {MoqtError} DUPLICATE_TRACK_ALIAS */
  add(subscription: Subscription): void {
    this.check(subscription);
    const { alias, track } = subscription;
    const known = this.#tracks.get(alias);
    if (known === undefined) this.#tracks.set(alias, { track, subscriptions: 1 });
    else known.subscriptions++;
  }

  /** The end of a subscription that was added. */
  remove({ alias }: Subscription): void {
    const known = this.#tracks.get(alias);
    if (known === undefined) return;
    known.subscriptions--;
    if (known.subscriptions === 0) this.#tracks.delete(alias);
  }
}
