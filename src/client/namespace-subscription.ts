/**
 * Namespaces under a prefix, as they come and go.
 *
 * @module
 */

import type { TrackNamespace } from "../moqt/mod.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import type { Leg } from "./leg.ts";
import { type NamespaceChange, NamespaceChanges } from "./namespace-changes.ts";
import type { Placement } from "./placing.ts";
import { keepPlaced, type StandingRequest, type Tenure } from "./standing.ts";
import type { RequestName, Target } from "./target.ts";

export interface PrefixOptions {
  readonly prefix: TrackNamespace;
  /** Ends the subscription, and the wait for it. */
  readonly signal?: AbortSignal;
}

/**
 * Namespaces under a prefix. Iterate it once: first come those that have publishers, then changes.
 * Where the relay is lost, all are done until the next relay tells of them.
 */
export interface NamespaceSubscription extends AsyncIterable<NamespaceChange, undefined> {
  readonly prefix: TrackNamespace;
  cancel(): void;
}

/**
 * Subscribes to the namespaces under a prefix.
 *
 * @returns once a relay has granted it
 * @throws as `Placer.place`
 */
export async function subscribeNamespace(
  context: ClientContext,
  { prefix, signal }: PrefixOptions,
): Promise<NamespaceSubscription> {
  let cancel = () => {};
  const changes = new NamespaceChanges(() => cancel());
  const request = new SubscribeNamespaceRequest(context, prefix, changes);
  // Until draft 21, relays may also tell by PUBLISH_NAMESPACE, which is not on this request.
  const forget = context.namespaces.add(prefix, changes);
  try {
    const kept = await keepPlaced(request, context, signal);
    cancel = kept.cancel;
    kept.over
      .then(
        () => changes.end(),
        (error) => changes.end(error),
      )
      .finally(forget);
  } catch (error) {
    forget();
    throw error;
  }
  return { prefix, cancel: () => cancel(), [Symbol.asyncIterator]: () => changes };
}

class SubscribeNamespaceRequest implements StandingRequest<ClientSession> {
  readonly request = "SUBSCRIBE_NAMESPACE";
  readonly name: RequestName;
  readonly #context: ClientContext;
  readonly #changes: NamespaceChanges;
  #leg: Leg | undefined;

  constructor(context: ClientContext, prefix: TrackNamespace, changes: NamespaceChanges) {
    this.name = { trackNamespace: prefix };
    this.#context = context;
    this.#changes = changes;
  }

  send(session: ClientSession, target: Target): Leg {
    const { trackNamespace: trackNamespacePrefix } = target;
    return session.send(
      { type: "SUBSCRIBE_NAMESPACE", trackNamespacePrefix, parameters: [] },
      target,
    );
  }

  begin({ leg }: Placement<ClientSession>): Tenure {
    this.#leg = leg;
    const changes = this.#changes;
    const whole = (suffix: TrackNamespace) => [...leg.target.trackNamespace, ...suffix];
    leg.listen((message) => {
      if (message.type === "NAMESPACE") changes.add(leg, whole(message.trackNamespaceSuffix));
      if (message.type === "NAMESPACE_DONE")
        changes.remove(leg, whole(message.trackNamespaceSuffix));
    });
    // The end of the stream says NAMESPACE_DONE for all that came on it.
    void leg.ended.then(() => changes.removeAll(leg));
    return {
      over: leg.ended.then((end) => this.#context.placer.ended(leg.target, end)),
      retire: () => leg.cancel(),
    };
  }

  cancel(): void {
    // What the end of the stream would say is no news to whoever ends it.
    this.#changes.end();
    this.#leg?.cancel();
  }
}
