/**
 * A namespace that this client publishes in: relays send it the SUBSCRIBEs for its tracks.
 *
 * @module
 */

import type { TrackNamespace } from "../moqt/mod.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import type { Leg } from "./leg.ts";
import type { Placement } from "./placing.ts";
import { keepPlaced, type StandingRequest, type Tenure } from "./standing.ts";
import type { RequestName, Target } from "./target.ts";

export interface PublishNamespaceOptions {
  readonly trackNamespace: TrackNamespace;
  /** Withdraws the namespace, and ends the wait for it. */
  readonly signal?: AbortSignal;
}

/** A namespace that a relay knows to be published here. */
export interface Announcement {
  readonly trackNamespace: TrackNamespace;
  /**
   * Resolves when it is over: it was withdrawn, or the relay wants it no more. Rejects where it
   * cannot be placed any more.
   */
  readonly ended: Promise<void>;
  /** Withdraws the namespace. Subscriptions that came of it go on. */
  withdraw(): void;
}

/**
 * Announces a namespace.
 *
 * @returns once a relay has taken it
 * @throws as `Placer.place`
 */
export async function publishNamespace(
  context: ClientContext,
  { trackNamespace, signal }: PublishNamespaceOptions,
): Promise<Announcement> {
  const request = new PublishNamespaceRequest(context, { trackNamespace });
  const { over, cancel } = await keepPlaced(request, context, signal);
  return { trackNamespace, ended: over, withdraw: cancel };
}

class PublishNamespaceRequest implements StandingRequest<ClientSession> {
  readonly request = "PUBLISH_NAMESPACE";
  readonly name: RequestName;
  readonly #context: ClientContext;
  #leg: Leg | undefined;

  constructor(context: ClientContext, name: RequestName) {
    this.#context = context;
    this.name = name;
  }

  send(session: ClientSession, target: Target): Leg {
    const { trackNamespace } = target;
    return session.send({ type: "PUBLISH_NAMESPACE", trackNamespace, parameters: [] }, target);
  }

  begin({ leg }: Placement<ClientSession>): Tenure {
    this.#leg = leg;
    return {
      over: leg.ended.then((end) => this.#context.placer.ended(leg.target, end)),
      retire: () => leg.cancel(),
    };
  }

  cancel(): void {
    this.#leg?.cancel();
  }
}
