/**
 * Requests of one session for namespaces and prefixes.
 *
 * @module
 */

import { refusal } from "../../src/client/refusal.ts";
import { hasPrefix, type TrackNamespace } from "../../src/moqt/mod.ts";
import type { IncomingRequest } from "../../src/session/mod.ts";
import type { NamespacePublisher, RelayNetwork } from "./network.ts";
import type { NetworkTrack } from "./network-track.ts";

/** What a session does for the tracks that concern it. */
export interface TrackPeer extends NamespacePublisher {
  publish(track: NetworkTrack): Promise<void>;
}

const granted = { type: "REQUEST_OK", parameters: [], trackProperties: new Uint8Array(0) } as const;

export class PrefixRequests {
  readonly #network: RelayNetwork;
  readonly #peer: TrackPeer;
  /** Prefixes that the peer subscribes to, by type of request. */
  readonly #prefixes = new Map<IncomingRequest, TrackNamespace>();
  /** Undoes what was asked for, by request. */
  readonly #undo = new Map<IncomingRequest, () => void>();

  constructor(network: RelayNetwork, peer: TrackPeer) {
    this.#network = network;
    this.#peer = peer;
  }

  /** Answers PUBLISH_NAMESPACE, SUBSCRIBE_NAMESPACE and SUBSCRIBE_TRACKS. */
  answer(request: IncomingRequest): void {
    const { message } = request;
    if (message.type === "PUBLISH_NAMESPACE") {
      request.send(granted);
      this.#keep(request, this.#network.announce(message.trackNamespace, this.#announcer()));
    } else if ("trackNamespacePrefix" in message)
      this.#subscribed(request, message.trackNamespacePrefix);
    request.onMessage = ({ type }) => {
      if (type === "REQUEST_UPDATE") request.send(refusal("NOT_SUPPORTED"));
    };
  }

  /** The session is over. */
  close(): void {
    for (const undo of this.#undo.values()) undo();
    this.#undo.clear();
  }

  #subscribed(request: IncomingRequest, prefix: TrackNamespace): void {
    const { type } = request.message;
    if (this.#overlaps(type, prefix)) {
      request.refuse(refusal("PREFIX_OVERLAP"));
      return;
    }
    this.#prefixes.set(request, prefix);
    request.send(granted);
    const stop =
      type === "SUBSCRIBE_TRACKS"
        ? this.#tellTracks(prefix)
        : this.#tellNamespaces(request, prefix);
    this.#keep(request, stop);
  }

  #tellNamespaces(request: IncomingRequest, prefix: TrackNamespace): () => void {
    const tell = (trackNamespace: TrackNamespace, isActive: boolean) => {
      const trackNamespaceSuffix = trackNamespace.slice(prefix.length);
      request.send({ type: isActive ? "NAMESPACE" : "NAMESPACE_DONE", trackNamespaceSuffix });
    };
    for (const trackNamespace of this.#network.activeNamespaces(prefix)) tell(trackNamespace, true);
    return this.#network.namespaceListeners.add(prefix, { onNamespace: tell });
  }

  /** Its own tracks are not offered to a session. */
  #tellTracks(prefix: TrackNamespace): () => void {
    for (const track of this.#network.publishedTracks(prefix)) {
      if (!track.isPublishedBy(this.#peer)) void this.#peer.publish(track);
    }
    return this.#network.trackListeners.add(prefix, (track, publisher) => {
      if (publisher !== this.#peer) void this.#peer.publish(track);
    });
  }

  /** Overlapping prefixes in one session would tell everything twice. */
  #overlaps(type: string, prefix: TrackNamespace): boolean {
    return [...this.#prefixes].some(
      ([{ message }, other]) =>
        message.type === type && (hasPrefix(prefix, other) || hasPrefix(other, prefix)),
    );
  }

  /** Each announcement counts by itself, although one session makes them. */
  #announcer(): NamespacePublisher {
    return { subscribe: (track) => this.#peer.subscribe(track) };
  }

  #keep(request: IncomingRequest, undo: () => void): void {
    this.#undo.set(request, undo);
    void request.ended.then(() => {
      this.#prefixes.delete(request);
      this.#undo.delete(request);
      undo();
    });
  }
}
