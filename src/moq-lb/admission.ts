/**
 * Who is let in: limits, then authorization, the same for both modes and before anything else
 * (LB-S38, LB-SEC-11).
 *
 * @module
 */

import { isPromise } from "../hook.ts";
import {
  type RequestType,
  type RoutableRequest,
  requestTrackName,
  routingKey,
  type TrackNamespace,
} from "../moqt/mod.ts";
import { jitteredRetryInterval } from "../routing/mod.ts";
import {
  type AuthorizationPolicy,
  type AuthorizationRequest,
  authorizationPolicy,
} from "./authorization.ts";
import type { Rejection } from "./decision.ts";
import { safeFault, safeReason } from "./decision-event.ts";
import type { LimitStatuses } from "./limit-status.ts";
import { operationOf } from "./operation.ts";
import type { RateLimit } from "./rate-limit.ts";
import { defaultMaximumPending, defaultRetryAfter } from "./redirector-options.ts";
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

/** Why a request may not be placed, if it may not. */
export type Refusal = Rejection | undefined;

export interface AdmissionOptions {
  readonly authorization: AuthorizationPolicy | "allow-all";
  readonly rateLimit?: RateLimit;
  /** Requests that may wait for hooks at a time. Default 10,000. */
  readonly maximumPending?: number;
  readonly retryAfter?: number;
  readonly random?: () => number;
}

/** What is asked for, where the message does not say it. */
export interface Target {
  readonly type: RequestType;
  readonly trackNamespace: TrackNamespace;
  readonly trackName: Uint8Array | undefined;
}

const noTokens: readonly AuthorizationToken[] = [];

export class Admission {
  readonly #policy: AuthorizationPolicy;
  readonly #rateLimit: RateLimit | undefined;
  readonly #maximumPending: number;
  readonly #retryAfter: number;
  readonly #random: () => number;
  #pending = 0;
  readonly #exceeded = { maximumPending: 0, rateLimit: 0 };
  /** Whether everybody may ask for everything. */
  readonly #isOpen: boolean;

  /** @throws {ConfigurationError} there is no policy */
  constructor(options: AdmissionOptions) {
    this.#policy = authorizationPolicy(options.authorization);
    this.#isOpen = options.authorization === "allow-all";
    this.#rateLimit = options.rateLimit;
    this.#maximumPending = options.maximumPending ?? defaultMaximumPending;
    this.#retryAfter = options.retryAfter ?? defaultRetryAfter;
    this.#random = options.random ?? Math.random;
  }

  /**
   * Limits, then authorization of a request.
   *
   * @param given who asks, or what finds that out, which counts as a hook
   * @param now milliseconds since 1970
   */
  admit(
    request: RoutableRequest,
    given: Requester | (() => Requester),
    now: number,
  ): Refusal | Promise<Refusal> {
    const trackNamespace = routingKey(request);
    // A joining FETCH names nothing to authorize, and is never redirected (LB-A1).
    const target = trackNamespace && {
      type: request.type,
      trackNamespace,
      trackName: requestTrackName(request),
    };
    return this.admitFor(target, given, now);
  }

  /** The same for what the message itself does not name; what names nothing is not authorized. */
  admitFor(
    target: Target | undefined,
    given: Requester | (() => Requester),
    now: number,
  ): Refusal | Promise<Refusal> {
    if (this.#pending >= this.#maximumPending) return this.overload();
    let requester: Requester;
    try {
      requester = typeof given === "function" ? given() : given;
    } catch (error) {
      return this.reject("INTERNAL_ERROR", "requester-fault", { fault: safeFault(error) });
    }
    const limited = this.#limit(requester, now);
    const refusal = isPromise(limited)
      ? limited.then((refused) => refused ?? this.#authorize(target, requester))
      : (limited ?? this.#authorize(target, requester));
    if (!isPromise(refusal)) return refusal;
    this.#pending++;
    return refusal.finally(() => {
      this.#pending--;
    });
  }

  /** EXCESSIVE_LOAD for want of room (LB-SEC-33). */
  overload(): Rejection {
    this.#exceeded.maximumPending++;
    return this.reject("EXCESSIVE_LOAD", "pending-limit");
  }

  reject(
    code: Rejection["code"],
    cause: Rejection["cause"],
    detail: Pick<Rejection, "reason" | "fault"> = {},
  ): Rejection {
    const retry = code === "EXCESSIVE_LOAD" || code === "INTERNAL_ERROR";
    const retryInterval = retry ? jitteredRetryInterval(this.#retryAfter, this.#random) : 0n;
    return { kind: "rejection", code, cause, retryInterval, ...detail };
  }

  limits(): LimitStatuses {
    const { maximumPending, rateLimit: limited } = this.#exceeded;
    const rateLimit = this.#rateLimit;
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

  #limit({ client = "", tenant }: Requester, now: number): Refusal | Promise<Refusal> {
    const rateLimit = this.#rateLimit;
    if (rateLimit === undefined) return undefined;
    return ask(
      () => rateLimit(client, now, tenant),
      (admitted) => {
        if (admitted === true) return undefined;
        this.#exceeded.rateLimit++;
        return this.reject("EXCESSIVE_LOAD", "rate-limit");
      },
      (fault) => this.reject("INTERNAL_ERROR", "rate-limit-fault", { fault }),
    );
  }

  #authorize(target: Target | undefined, requester: Requester): Refusal | Promise<Refusal> {
    // Nothing is looked at then, so that no header field has to be read.
    if (this.#isOpen || target === undefined) return undefined;
    const question: AuthorizationRequest = {
      operation: operationOf[target.type],
      trackNamespace: target.trackNamespace,
      trackName: target.trackName,
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
        return this.reject("UNAUTHORIZED", "unauthorized", { reason: safeReason(reason) });
      },
      (fault) => this.reject("INTERNAL_ERROR", "authorization-fault", { fault }),
    );
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
