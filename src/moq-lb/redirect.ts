/**
 * Redirect mode for one request: limits, authorization, placement, answer. No I/O, and nothing is
 * kept of a request that is answered (LB-REDIR-16, LB-AFFIN-4).
 *
 * @module
 */

import { isPromise, tell } from "../hook.ts";
import {
  type Draft,
  draftFactsOf,
  type RequestError,
  type RoutableRequest,
  requestTrackName,
  routingKey,
} from "../moqt/mod.ts";
import { jitteredRetryInterval, type PlacementOptions, placeRequest } from "../routing/mod.ts";
import {
  type AuthorizationPolicy,
  type AuthorizationRequest,
  authorizationPolicy,
} from "./authorization.ts";
import { type Decision, type Rejection, toRequestError } from "./decision.ts";
import { decisionEvent, safeFault, safeReason } from "./decision-event.ts";
import type { LimitStatuses } from "./limit-status.ts";
import { operationOf } from "./operation.ts";
import {
  checkRedirectorOptions,
  defaultMaximumPending,
  defaultRetryAfter,
  type RedirectorOptions,
} from "./redirector-options.ts";
import type { AuthorizationToken } from "./tokens.ts";

/** Who sent a request, and with what credentials. */
export interface Requester {
  /** As the rate limit tells clients apart. Default: all are one. */
  readonly client?: string | undefined;
  /** From an HTTP `Authorization: Bearer` field. */
  readonly bearerToken?: string | undefined;
  /** The tokens of the message or of its session, aliases resolved. */
  readonly tokens?: readonly AuthorizationToken[] | undefined;
  /** The authority that was addressed. */
  readonly authority?: string | undefined;
  readonly tenant?: string | undefined;
}

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

/** Why a request may not be placed, if it may not. */
type Refusal = Rejection | undefined;

const anybody: Requester = {};
const noTokens: readonly AuthorizationToken[] = [];

class RequestRedirector implements Redirector {
  readonly #options: RedirectorOptions;
  readonly #policy: AuthorizationPolicy;
  /** Whether everybody may ask for everything. */
  readonly #isOpen: boolean;
  readonly #maximumPending: number;
  readonly #now: () => number;
  readonly #placement: Required<PlacementOptions>;
  #pending = 0;
  readonly #exceeded = { maximumPending: 0, rateLimit: 0 };

  constructor(options: RedirectorOptions) {
    checkRedirectorOptions(options);
    this.#options = options;
    this.#policy = authorizationPolicy(options.authorization);
    this.#isOpen = options.authorization === "allow-all";
    this.#maximumPending = options.maximumPending ?? defaultMaximumPending;
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
    const refusal = this.#admit(request, requester, receivedAt);
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
    this.#exceeded.maximumPending++;
    return this.#reject("EXCESSIVE_LOAD", "pending-limit");
  }

  limits(): LimitStatuses {
    const { maximumPending, rateLimit: limited } = this.#exceeded;
    const { rateLimit } = this.#options;
    return {
      maximumPending: {
        limit: this.#maximumPending,
        inUse: this.#pending,
        exceeded: maximumPending,
      },
      ...(rateLimit && {
        rateLimit: {
          ...(rateLimit.limit !== undefined && { limit: rateLimit.limit }),
          exceeded: limited,
        },
      }),
    };
  }

  /** Limits, then authorization. */
  #admit(
    request: RoutableRequest,
    given: Requester | (() => Requester),
    now: number,
  ): Refusal | Promise<Refusal> {
    if (this.#pending >= this.#maximumPending) return this.overload();
    let requester: Requester;
    try {
      requester = typeof given === "function" ? given() : given;
    } catch (error) {
      return this.#reject("INTERNAL_ERROR", "requester-fault", { fault: safeFault(error) });
    }
    const limited = this.#limit(requester, now);
    const refusal = isPromise(limited)
      ? limited.then((refused) => refused ?? this.#authorize(request, requester))
      : (limited ?? this.#authorize(request, requester));
    if (!isPromise(refusal)) return refusal;
    this.#pending++;
    return refusal.finally(() => {
      this.#pending--;
    });
  }

  #limit({ client = "", tenant }: Requester, now: number): Refusal | Promise<Refusal> {
    const { rateLimit } = this.#options;
    if (rateLimit === undefined) return undefined;
    return ask(
      () => rateLimit(client, now, tenant),
      (admitted) => {
        if (admitted === true) return undefined;
        this.#exceeded.rateLimit++;
        return this.#reject("EXCESSIVE_LOAD", "rate-limit");
      },
      (fault) => this.#reject("INTERNAL_ERROR", "rate-limit-fault", { fault }),
    );
  }

  #authorize(request: RoutableRequest, requester: Requester): Refusal | Promise<Refusal> {
    // Nothing is looked at then, so that no header field has to be read.
    if (this.#isOpen) return undefined;
    const trackNamespace = routingKey(request);
    // A joining FETCH names nothing to authorize, and is never placed (LB-A1).
    if (trackNamespace === undefined) return undefined;
    const question: AuthorizationRequest = {
      operation: operationOf[request.type],
      trackNamespace,
      trackName: requestTrackName(request),
      bearerToken: requester.bearerToken,
      tokens: requester.tokens ?? noTokens,
      authority: requester.authority,
      tenant: requester.tenant,
    };
    return ask(
      () => this.#policy.authorize(question),
      (decision) => {
        const { granted, reason = undefined } =
          typeof decision === "boolean" ? { granted: decision } : decision;
        if (granted === true) return undefined;
        return this.#reject("UNAUTHORIZED", "unauthorized", { reason: safeReason(reason) });
      },
      (fault) => this.#reject("INTERNAL_ERROR", "authorization-fault", { fault }),
    );
  }

  #place(request: RoutableRequest, draft: Draft): Decision {
    const { active } = this.#options.holder;
    const placement = placeRequest(request, active, this.#now(), this.#placement);
    if (placement.kind === "redirect" && !draftFactsOf(draft).redirectable.includes(request.type)) {
      return this.#reject("NOT_SUPPORTED", "draft-forbids-redirect");
    }
    return placement;
  }

  #reject(
    code: Rejection["code"],
    cause: Rejection["cause"],
    detail: Pick<Rejection, "reason" | "fault"> = {},
  ): Rejection {
    const retry = code === "EXCESSIVE_LOAD" || code === "INTERNAL_ERROR";
    const { retryAfter, random } = this.#placement;
    return {
      kind: "rejection",
      code,
      cause,
      retryInterval: retry ? jitteredRetryInterval(retryAfter, random) : 0n,
      ...detail,
    };
  }

  #report(request: RoutableRequest, draft: Draft, decision: Decision, receivedAt: number): void {
    const { onDecision, holder, logNames = false } = this.#options;
    if (onDecision === undefined) return;
    const version = holder.active?.snapshot.version;
    const duration = this.#now() - receivedAt;
    tell(onDecision, decisionEvent(request, draft, decision, { version, duration, logNames }));
  }
}

/** What a hook answers, at once or later, put through `judge`; what it throws, through `failed`. */
function ask<Answer>(
  hook: () => Answer | Promise<Answer>,
  judge: (answer: Answer) => Refusal,
  failed: (fault: string) => Refusal,
): Refusal | Promise<Refusal> {
  try {
    const answer = hook();
    if (!isPromise(answer)) return judge(answer);
    return Promise.resolve(answer)
      .then(judge)
      .catch((error) => failed(safeFault(error)));
  } catch (error) {
    return failed(safeFault(error));
  }
}
