/**
 * A track that is published with PUBLISH, to the relay that the service chooses for it.
 *
 * @module
 */

import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import type { Leg } from "./leg.ts";
import { LocalTrack, type TrackOptions } from "./local-track.ts";
import { OutgoingLeg } from "./outgoing-leg.ts";
import type { Placement } from "./placing.ts";
import { keepPlaced, type StandingRequest, type Tenure } from "./standing.ts";
import type { RequestName, Target } from "./target.ts";

export interface PublishOptions extends Required<RequestName>, TrackOptions {
  /** Ends the publication, and the wait for it. */
  readonly signal?: AbortSignal;
}

/**
 * A published track. Where its relay drains, groups that were begun end there and new ones go to the
 * next relay (MOQT, graceful publisher switchover); where its relay is lost, what is on its way is
 * lost with it, and an open group goes on at the next one.
 */
export class Publication extends LocalTrack {
  readonly #over = Promise.withResolvers<void>();

  constructor(options: PublishOptions, onEnd: () => void) {
    super(options, options, onEnd);
    // Not everybody asks how it ended.
    this.#over.promise.catch(() => {});
  }

  /**
   * Resolves when it is over: it was ended, or the relay wants it no more. Rejects where it cannot
   * be placed any more.
   */
  get ended(): Promise<void> {
    return this.#over.promise;
  }

  /**
   * Places it. Called once, by the client.
   *
   * @throws as `Placer.place`
   */
  async start(context: ClientContext, signal?: AbortSignal): Promise<void> {
    const { over } = await keepPlaced(new PublishRequest(context, this), context, signal);
    this.#over.resolve(over.finally(() => this.end()));
  }
}

class PublishRequest implements StandingRequest<ClientSession> {
  readonly request = "PUBLISH";
  readonly name: Required<RequestName>;
  readonly #context: ClientContext;
  readonly #track: LocalTrack;

  constructor(context: ClientContext, track: LocalTrack) {
    const { trackNamespace, trackName } = track;
    this.name = { trackNamespace, trackName };
    this.#context = context;
    this.#track = track;
  }

  send(session: ClientSession, target: Target): Leg {
    const { trackNamespace, trackName = this.name.trackName } = target;
    const { largest, trackProperties } = this.#track;
    return session.send(
      {
        type: "PUBLISH",
        trackNamespace,
        trackName,
        trackAlias: session.newAlias(),
        parameters: largest === undefined ? [] : [{ type: "LARGEST_OBJECT", location: largest }],
        trackProperties,
      },
      target,
    );
  }

  cancel(): void {
    void this.#track.end();
  }

  begin({ session, leg, grant }: Placement<ClientSession>): Tenure {
    const { message } = leg.request;
    if (message.type !== "PUBLISH") throw new TypeError("not the leg of a PUBLISH");
    // Until draft 19 the answer has the subscriber's settings; later they come as an update.
    const own = new OutgoingLeg(
      session,
      leg,
      message.trackAlias,
      grant.parameters,
      () => this.#track.largest,
    );
    this.#track.add(own);
    return {
      over: leg.ended.then((end) => this.#context.placer.ended(leg.target, end)),
      retire: () => own.retire(),
    };
  }
}
