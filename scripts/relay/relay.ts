/**
 * A small MOQT relay in memory: enough to publish and subscribe through, for tests and for trying
 * things out. It asks nobody for permission, and keeps nothing beyond its process.
 *
 * @module
 */

import {
  formatName,
  hasPrefix,
  type RequestType,
  requestTrackName,
  routingKey,
  type TrackNamespace,
} from "../../src/moqt/mod.ts";
import type { SessionClose } from "../../src/session/mod.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { RelayNetwork } from "./network.ts";
import { RelaySession } from "./relay-session.ts";

export interface RelayOptions {
  readonly name: string;
  /** Default: a network of its own. */
  readonly network?: RelayNetwork;
  /** Milliseconds that a SUBSCRIBE may wait for its track, however long it asks; default 30,000. */
  readonly longestRendezvous?: number;
  /** Told of each request. */
  readonly onRequest?: (request: SeenRequest) => void;
}

/** A request that a relay got. */
export interface SeenRequest {
  readonly relay: string;
  readonly type: RequestType;
  /** In text form. */
  readonly name: string;
}

export class Relay {
  readonly name: string;
  /** The requests that it got, oldest first. */
  readonly seen: SeenRequest[] = [];
  readonly #options: RelayOptions;
  readonly #network: RelayNetwork;
  readonly #sessions = new Set<RelaySession>();
  /** How many sessions it has had. */
  sessionsSoFar = 0;

  constructor(options: RelayOptions) {
    this.name = options.name;
    this.#options = options;
    this.#network = options.network ?? new RelayNetwork();
  }

  /** How many sessions are open. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** Serves a session to its end. */
  async serve(transport: Transport): Promise<SessionClose> {
    const { longestRendezvous = 30_000, onRequest } = this.#options;
    const session = new RelaySession(transport, {
      network: this.#network,
      implementation: `yardmaster test relay ${this.name}`,
      longestRendezvous,
      onRequest: ({ message }) => {
        const name = formatName(routingKey(message) ?? [], requestTrackName(message));
        const seen = { relay: this.name, type: message.type, name };
        this.seen.push(seen);
        onRequest?.(seen);
      },
    });
    this.#sessions.add(session);
    this.sessionsSoFar++;
    const close = await session.run();
    this.#sessions.delete(session);
    return close;
  }

  /**
   * Asks every client to leave (GOAWAY on the control stream), as before maintenance.
   *
   * @param newSessionUri where to; a relay behind a balancer names that (LB-RGOAWAY-2)
   * @param timeout milliseconds until sessions that are still there are closed; 0: never
   */
  drain(newSessionUri = "", timeout = 0): void {
    for (const session of this.#sessions) session.goaway(newSessionUri, timeout);
  }

  /** Asks clients to make the requests under a namespace elsewhere (GOAWAY on request streams). */
  move(namespace: TrackNamespace, newSessionUri = "", timeout = 0): void {
    for (const session of this.#sessions) {
      session.move(
        ({ message }) => hasPrefix(routingKey(message) ?? [], namespace),
        newSessionUri,
        timeout,
      );
    }
  }

  /** Ends every session at once, as where the process dies. */
  fail(): void {
    for (const session of this.#sessions) session.close("INTERNAL_ERROR", "the relay failed");
  }
}
