/**
 * Redirect mode for one request: limits, authorization, placement, answer. No I/O, and nothing is
 * kept of a request that is answered (LB-REDIR-16, LB-AFFIN-4).
 *
 * @module
 */

import { isPromise, tell } from "../hook.ts";
import { type Draft, draftFactsOf, type RequestError, type RoutableRequest } from "../moqt/mod.ts";
import { type PlacementOptions, placeRequest } from "../routing/mod.ts";
import { Admission, type Refusal, type Requester } from "./admission.ts";
import { type Decision, type Rejection, toRequestError } from "./decision.ts";
import { decisionEvent } from "./decision-event.ts";
import type { LimitStatuses } from "./limit-status.ts";
import {
  checkRedirectorOptions,
  defaultRetryAfter,
  type RedirectorOptions,
} from "./redirector-options.ts";

export type { Requester } from "./admission.ts";

export interface Redirector {
  /**
   * Decides where a request goes. Checks come in this order, and the first that fails decides:
   * limits (EXCESSIVE_LOAD), authorization (UNAUTHORIZED), reserved names and routes
   * (DOES_NOT_EXIST, UNINTERESTED), configuration age and eligibility (INTERNAL_ERROR), and last
   * whether the draft lets this type of request be redirected (NOT_SUPPORTED): whatever else is
   * wrong with a request is said first, in every draft alike. A hook that throws counts as a
   * failed check, INTERNAL_ERROR with a retry.
   *
   * @param requester who asks, or what finds that out, which counts as a hook
   * @returns a promise where a hook answers with one, else the decision itself
   * @throws {UnknownDraftError}
   */
  decide(
    request: RoutableRequest,
    draft: Draft,
    requester?: Requester | (() => Requester),
  ): Decision | Promise<Decision>;
  /** The REQUEST_ERROR that answers a request: {@link Redirector.decide}, as a message. */
  answer(request: RoutableRequest, draft: Draft, requester?: Requester): Promise<RequestError>;
  /** EXCESSIVE_LOAD for what is turned away before it is read, for want of room (LB-SEC-33). */
  overload(): Rejection;
  /** The limits on requests. */
  limits(): LimitStatuses;
}

/**
 * Redirect mode for one request after another, whatever they come over.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function createRedirector(options: RedirectorOptions): Redirector {
  return new RequestRedirector(options);
}

const anybody: Requester = {};

class RequestRedirector implements Redirector {
  readonly #options: RedirectorOptions;
  readonly #admission: Admission;
  readonly #now: () => number;
  readonly #placement: Required<PlacementOptions>;

  constructor(options: RedirectorOptions) {
    checkRedirectorOptions(options);
    this.#options = options;
    this.#admission = new Admission(options);
    this.#now = options.now ?? Date.now;
    this.#placement = {
      random: options.random ?? Math.random,
      retryAfter: options.retryAfter ?? defaultRetryAfter,
      ownServiceUris: options.ownServiceUris ?? [],
    };
  }

  decide(
    request: RoutableRequest,
    draft: Draft,
    requester: Requester | (() => Requester) = anybody,
  ): Decision | Promise<Decision> {
    const receivedAt = this.#now();
    const refusal = this.#admission.admit(request, requester, receivedAt);
    const conclude = (refused: Refusal): Decision => {
      const decision = refused ?? this.#place(request, draft);
      this.#report(request, draft, decision, receivedAt);
      return decision;
    };
    return isPromise(refusal) ? refusal.then(conclude) : conclude(refusal);
  }

  async answer(request: RoutableRequest, draft: Draft, requester?: Requester) {
    return toRequestError(await this.decide(request, draft, requester), request);
  }

  overload(): Rejection {
    return this.#admission.overload();
  }

  limits(): LimitStatuses {
    return this.#admission.limits();
  }

  #place(request: RoutableRequest, draft: Draft): Decision {
    const { active } = this.#options.holder;
    const placement = placeRequest(request, active, this.#now(), this.#placement);
    if (placement.kind === "redirect" && !draftFactsOf(draft).redirectable.includes(request.type)) {
      return this.#admission.reject("NOT_SUPPORTED", "draft-forbids-redirect");
    }
    return placement;
  }

  #report(request: RoutableRequest, draft: Draft, decision: Decision, receivedAt: number): void {
    const { onDecision, holder, logNames = false } = this.#options;
    if (onDecision === undefined) return;
    const version = holder.active?.snapshot.version;
    const duration = this.#now() - receivedAt;
    tell(onDecision, decisionEvent(request, draft, decision, { version, duration, logNames }));
  }
}
