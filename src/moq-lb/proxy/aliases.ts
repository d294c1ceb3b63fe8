/**
 * Track Aliases on legs where the balancer publishes: each session has its own (LB-PMAP-13).
 *
 * @module
 */

import { formatName, type TrackNamespace } from "../../moqt/mod.ts";
import type { MoqtSession } from "../../session/mod.ts";

export interface TrackName {
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array;
}

/** The alias of one subscription; to be released once when it is over. */
export interface AliasLease {
  readonly alias: bigint;
  /** The Full Track Name in text form. */
  readonly track: string;
  /** Whether another subscription has it too. */
  readonly isShared: boolean;
  /**
   * The publisher's alias may come to mean another track, or nothing: who leases it from now on gets
   * another alias here. This one stays the subscription's own.
   */
  part(): void;
  release(): void;
}

interface Shared {
  readonly alias: bigint;
  leases: number;
}

/** The aliases of one session, whose other end subscribes. */
class LegAliases {
  /** Used up, never used again: a late stream is not to be taken for another track's. */
  #next = 0n;
  /** By the publisher's session, its alias there, and the track that it has said that this is. */
  readonly #shared = new Map<MoqtSession, Map<bigint, Map<string, Shared>>>();

  isTaken(publisher: MoqtSession, theirs: bigint, track: string): boolean {
    const tracks = this.#shared.get(publisher)?.get(theirs);
    return tracks !== undefined && (tracks.size > 1 || !tracks.has(track));
  }

  lease(publisher: MoqtSession, theirs: bigint, track: string): AliasLease {
    const ofPublisher = this.#shared.get(publisher) ?? new Map<bigint, Map<string, Shared>>();
    this.#shared.set(publisher, ofPublisher);
    const tracks = ofPublisher.get(theirs) ?? new Map<string, Shared>();
    ofPublisher.set(theirs, tracks);
    const shared = tracks.get(track) ?? { alias: this.#next++, leases: 0 };
    tracks.set(track, shared);
    shared.leases++;
    let isReleased = false;
    const part = () => {
      if (tracks.get(track) !== shared) return;
      tracks.delete(track);
      if (tracks.size === 0 && ofPublisher.get(theirs) === tracks) ofPublisher.delete(theirs);
      if (ofPublisher.size === 0 && this.#shared.get(publisher) === ofPublisher) {
        this.#shared.delete(publisher);
      }
    };
    return {
      alias: shared.alias,
      track,
      get isShared() {
        return shared.leases > 1;
      },
      part,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        shared.leases--;
        if (shared.leases === 0) part();
      },
    };
  }
}

/** The aliases of all legs of one client session. */
export class Aliases {
  readonly #legs = new WeakMap<MoqtSession, LegAliases>();

  /**
   * The alias on `subscriber` for what `publisher` sends of `track` under `theirs`. Subscriptions to
   * one track may share an alias at their publisher; then they share one here too, or each object
   * would arrive once for each of them (LB-S71). Tracks never share one, whatever their publisher
   * does: the subscriber would close its session for what it takes for our fault (LB-S76).
   */
  lease(
    subscriber: MoqtSession,
    publisher: MoqtSession,
    theirs: bigint,
    track: TrackName,
  ): AliasLease {
    let leg = this.#legs.get(subscriber);
    if (leg === undefined) {
      leg = new LegAliases();
      this.#legs.set(subscriber, leg);
    }
    return leg.lease(publisher, theirs, keyOf(track));
  }

  /** Whether what `publisher` sends under `theirs` is of another track, for all that it has said. */
  isTaken(
    subscriber: MoqtSession,
    publisher: MoqtSession,
    theirs: bigint,
    track: TrackName,
  ): boolean {
    return this.#legs.get(subscriber)?.isTaken(publisher, theirs, keyOf(track)) ?? false;
  }
}

function keyOf({ trackNamespace, trackName }: TrackName): string {
  return formatName(trackNamespace, trackName);
}
