import { type Relay, type Route, sameServiceUri } from "../snapshot/mod.ts";
import type { Redirection } from "./placement.ts";

/** A relay of a snapshot, and whether requests may be sent to it at all. */
export class RelayTarget {
  readonly relay: Relay;
  #comparedWith: readonly string[] | undefined;
  #isOwn = false;

  constructor(relay: Relay) {
    this.relay = relay;
  }

  /**
   * Whether the relay's URI is one of `ownServiceUris`, however spelled (LB-S104). The answer for
   * the array object that was passed last is kept.
   */
  isOwn(ownServiceUris: readonly string[]): boolean {
    if (ownServiceUris !== this.#comparedWith) {
      this.#isOwn = ownServiceUris.some((own) => sameServiceUri(own, this.relay.uri));
      this.#comparedWith = ownServiceUris;
    }
    return this.#isOwn;
  }
}

/** A Selected Relay, with the answer that leads to it. */
export interface Selection {
  readonly target: RelayTarget;
  /** Shared by all requests that the route sends to this relay. */
  readonly redirection: Redirection;
}

/** The selection of `target` by `route`. */
export function selectionOf(target: RelayTarget, route: Route): Selection {
  const { rid, uri } = target.relay;
  return { target, redirection: Object.freeze({ kind: "redirect", rid, uri, route }) };
}
