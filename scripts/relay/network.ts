/**
 * What the relays of one network know together: any of them serves any track (LB-KEY-8). They share
 * it in memory, so a network lives in one process.
 *
 * @module
 */

import { PrefixTable } from "../../src/client/prefix-table.ts";
import type { RequestName } from "../../src/client/target.ts";
import {
  formatName,
  hasPrefix,
  type RequestError,
  type TrackNamespace,
} from "../../src/moqt/mod.ts";
import { type Clock, systemClock } from "../../src/session/mod.ts";
import { NetworkTrack } from "./network-track.ts";

/** Whoever has announced a namespace, and can be asked for its tracks. */
export interface NamespacePublisher {
  /** @returns the refusal, if it refuses */
  subscribe(track: NetworkTrack): Promise<RequestError | undefined>;
}

/** Told of namespaces that come and go. */
export interface NamespaceListener {
  onNamespace(trackNamespace: TrackNamespace, isActive: boolean): void;
}

/** Told of tracks that begin to be published, and by whom. */
export type TrackListener = (track: NetworkTrack, publisher: object) => void;

interface ActiveNamespace {
  readonly trackNamespace: TrackNamespace;
  /** What makes it active: announcements, and publishers of tracks in it. */
  readonly causes: Set<object>;
}

export class RelayNetwork {
  readonly clock: Clock;
  readonly namespaceListeners = new PrefixTable<NamespaceListener>();
  readonly trackListeners = new PrefixTable<TrackListener>();
  readonly #tracks = new Map<string, NetworkTrack>();
  readonly #namespaces = new Map<string, ActiveNamespace>();
  readonly #announcements = new Map<NamespacePublisher, TrackNamespace>();
  /** Requests for tracks that are on their way to whoever announced them. */
  readonly #asking = new Map<NetworkTrack, Promise<RequestError | undefined>>();

  constructor(clock: Clock = systemClock) {
    this.clock = clock;
  }

  track(name: Required<RequestName>): NetworkTrack {
    const key = formatName(name.trackNamespace, name.trackName);
    const known = this.#tracks.get(key);
    if (known !== undefined) return known;
    const track = new NetworkTrack(name, this.clock);
    this.#tracks.set(key, track);
    return track;
  }

  /** Tracks under `prefix` that somebody publishes. */
  publishedTracks(prefix: TrackNamespace): NetworkTrack[] {
    return [...this.#tracks.values()].filter(
      ({ isPublished, name }) => isPublished && hasPrefix(name.trackNamespace, prefix),
    );
  }

  /** Namespaces under `prefix` that have publishers. */
  activeNamespaces(prefix: TrackNamespace): TrackNamespace[] {
    return [...this.#namespaces.values()]
      .map(({ trackNamespace }) => trackNamespace)
      .filter((trackNamespace) => hasPrefix(trackNamespace, prefix));
  }

  /** A track is published. @param publisher who does, so that it is not told itself */
  trackPublished(track: NetworkTrack, publisher: object): void {
    for (const tell of this.trackListeners.matching(track.name.trackNamespace)) {
      tell(track, publisher);
    }
  }

  /** A namespace is active because of `cause`. @returns it is not any more */
  activate(trackNamespace: TrackNamespace, cause: object): () => void {
    const key = formatName(trackNamespace);
    const known = this.#namespaces.get(key) ?? { trackNamespace, causes: new Set() };
    this.#namespaces.set(key, known);
    known.causes.add(cause);
    if (known.causes.size === 1) this.#tell(trackNamespace, true);
    return () => {
      known.causes.delete(cause);
      if (known.causes.size > 0 || this.#namespaces.get(key) !== known) return;
      this.#namespaces.delete(key);
      this.#tell(trackNamespace, false);
    };
  }

  /** A namespace is announced. @returns it is withdrawn */
  announce(trackNamespace: TrackNamespace, publisher: NamespacePublisher): () => void {
    this.#announcements.set(publisher, trackNamespace);
    const deactivate = this.activate(trackNamespace, publisher);
    for (const track of this.#tracks.values()) {
      const isInside = hasPrefix(track.name.trackNamespace, trackNamespace);
      if (isInside && track.isAwaited) void this.findPublisher(track);
    }
    return () => {
      this.#announcements.delete(publisher);
      deactivate();
    };
  }

  /** Asks whoever announced the namespace of `track` for it. @returns the last refusal, if all refuse */
  findPublisher(track: NetworkTrack): Promise<RequestError | undefined> {
    const known = this.#asking.get(track);
    if (known !== undefined) return known;
    const asking = this.#ask(track).finally(() => this.#asking.delete(track));
    this.#asking.set(track, asking);
    return asking;
  }

  async #ask(track: NetworkTrack): Promise<RequestError | undefined> {
    let refusal: RequestError | undefined;
    for (const [publisher, trackNamespace] of this.#announcements) {
      if (!hasPrefix(track.name.trackNamespace, trackNamespace)) continue;
      refusal = await publisher.subscribe(track);
      if (refusal === undefined) return undefined;
    }
    return refusal;
  }

  #tell(trackNamespace: TrackNamespace, isActive: boolean): void {
    for (const listener of this.namespaceListeners.matching(trackNamespace)) {
      listener.onNamespace(trackNamespace, isActive);
    }
  }
}
