/**
 * Getting one request to the relay that serves it: ask the service, follow its redirects, wait and
 * ask again where that may help.
 *
 * @module
 */

import { YardmasterError } from "../errors.ts";
import {
  type Draft,
  type RequestError,
  type RequestType,
  type SessionErrorName,
  SessionUseError,
  sessionErrorName,
  streamResetName,
} from "../moqt/mod.ts";
import {
  type Clock,
  type RequestAnswer,
  type RequestEnd,
  RequestEndedError,
  type SessionClose,
} from "../session/mod.ts";
import { sameServiceUri } from "../snapshot/mod.ts";
import { backoffDelay, retryDelay } from "./backoff.ts";
import { closeName } from "./close-name.ts";
import { ClientError, RequestRefused } from "./errors.ts";
import type { OnEvent } from "./events.ts";
import type { Departure, Leg } from "./leg.ts";
import type { RequestName, Target } from "./target.ts";
import { Trail } from "./trail.ts";
import { sessionUri } from "./uri.ts";
import { sleep, within } from "./waiting.ts";

/** A session, as far as requests are placed on it. */
export interface PlacingSession {
  readonly draft: Draft;
}

/** A request that is to be placed. */
export interface PlacedRequest<Session> {
  readonly request: RequestType;
  readonly name: RequestName;
  /** Milliseconds that it asks to be kept waiting for its answer, if any. */
  readonly patience?: number;
  /** Sends the request for `target` on `session`. */
  send(session: Session, target: Target): Leg;
}

/** What grants a request. */
export type Grant = Exclude<RequestAnswer, RequestError>;

/** A request that was granted, and where. */
export interface Placement<Session> {
  readonly session: Session;
  readonly leg: Leg;
  readonly grant: Grant;
}

/**
 * How often in a row a request was not granted, or was granted only to be lost again. Whoever keeps
 * a request placed hands the same count to each placing, so that a relay that grants and drains in
 * turn does not keep its clients busy (LB-S101, LB-S107).
 */
export class Attempts {
  failed = 0;
}

/** Why a request has to be made again, and how. */
export interface Again {
  /** For people. */
  readonly cause: string;
  /** What the caller is told where no attempt is left. */
  readonly error: ClientError;
  /** Milliseconds to wait; absent: as the backoff says. */
  readonly delay?: number;
  /** Normalised; absent: at the service, under the table that is in force then (LB-REDIR-10). */
  readonly uri?: string;
  /** The peer asked for it (GOAWAY), and serves the request until it has moved. */
  readonly isWish?: boolean;
}

export interface PlacerOptions<Session> {
  /** Normalised. */
  readonly serviceUri: string;
  readonly sessions: { get(uri: string, signal?: AbortSignal): Promise<Session> };
  readonly clock: Clock;
  readonly random: () => number;
  readonly onEvent: OnEvent;
  /** Redirects that one request follows before it comes back to the service (LB-REDIR-19). */
  readonly maximumHops: number;
  /** Attempts in a row that may fail before a request is given up. */
  readonly maximumAttempts: number;
  /** Milliseconds that an answer may take, beyond what its request asks for. */
  readonly answerTime: number;
  /** Longest Retry Interval that is waited for, in milliseconds. */
  readonly longestRetry: number;
}

export class Placer<Session extends PlacingSession> {
  readonly #options: PlacerOptions<Session>;
  /** Once the service has been there, it is worth waiting for. */
  #serviceReached = false;
  /** Where the service has moved to, if it has. */
  #movedTo: string | undefined;

  constructor(options: PlacerOptions<Session>) {
    this.#options = options;
  }

  /**
   * A session has to move. Where it is that of the service, and the peer names a new URI, requests
   * go there from now on, until nobody is there any more.
   */
  sessionMoves(uri: string, newSessionUri: string): void {
    if (uri === this.#serviceUri) this.#movedTo = sessionUri(newSessionUri) ?? this.#movedTo;
  }

  /**
   * Makes `request` until it is granted.
   *
   * @param again where it is not made for the first time: why, when and where it is made anew
   * @throws {RequestRefused} it is refused for good, or for longer than `longestRetry`
   * @throws {ClientError} REDIRECT_LOOP, TOO_MANY_REDIRECTS, INVALID_REDIRECT; CONNECT_FAILED or
   *   REQUEST_FAILED where no attempt is left or another one would not help
   * @throws the reason of `signal`
   */
  async place(
    request: PlacedRequest<Session>,
    attempts: Attempts,
    signal: AbortSignal,
    again?: Again,
  ): Promise<Placement<Session>> {
    for (let failure = again; ; ) {
      const uri = failure?.uri ?? this.#serviceUri;
      const target: Target = { request: request.request, uri, ...request.name };
      if (failure !== undefined) await this.#wait(failure, target, attempts, signal);
      const outcome = await this.#walk(request, target, signal);
      if (!("cause" in outcome)) return outcome;
      failure = outcome;
    }
  }

  /**
   * What the end of a request that had been granted means for it.
   *
   * @returns `undefined` where it is over for good: either end has cancelled it, or all was said
   */
  ended(target: Target, end: RequestEnd): Again | undefined {
    switch (end.how) {
      case "finished":
        return undefined;
      case "closed":
        return this.#lost(target, end.close);
      case "cancelled": {
        const name = end.code === undefined ? undefined : streamResetName(end.code);
        if (end.cause === "LOCAL" || name === "CANCELLED") return undefined;
        return failed(target, `broken off (${name ?? end.cause})`);
      }
    }
  }

  /**
   * What a GOAWAY means for its request. Without a URI that is the service: its table, not the
   * relay, decides where moved work goes (LB-GOAWAY-3, LB-RGOAWAY-3), and a service that only wants
   * this request made anew is asked on the session it has (LB-PMOVE-17).
   */
  depart({ request }: Target, { newSessionUri }: Departure): Again {
    const uri = sessionUri(newSessionUri);
    const serviceUri = this.#serviceUri;
    const elsewhere = uri !== undefined && uri !== serviceUri && !sameServiceUri(uri, serviceUri);
    return {
      cause: "GOAWAY",
      error: new ClientError("REQUEST_FAILED", `${request} was asked to move again and again`),
      ...(elsewhere ? { uri } : {}),
      isWish: true,
    };
  }

  get #serviceUri(): string {
    return this.#movedTo ?? this.#options.serviceUri;
  }

  async #wait(again: Again, target: Target, attempts: Attempts, signal: AbortSignal) {
    const { maximumAttempts, random, clock, onEvent } = this.#options;
    attempts.failed++;
    if (attempts.failed >= maximumAttempts) throw again.error;
    const { cause, delay = backoffDelay(attempts.failed, random) } = again;
    onEvent({ type: "retrying", target, delay, cause });
    if (delay > 0) await sleep(clock, delay, signal);
  }

  /** Follows redirects from `start` on, until somebody grants or refuses. */
  async #walk(
    request: PlacedRequest<Session>,
    start: Target,
    signal: AbortSignal,
  ): Promise<Placement<Session> | Again> {
    const { onEvent, maximumHops } = this.#options;
    const trail = new Trail(start, maximumHops);
    for (let target = start; ; ) {
      const session = await this.#session(target, signal);
      if ("cause" in session) return session;
      const leg = this.#send(request, session, target);
      if ("cause" in leg) return leg;
      const answer = await this.#answer(leg, request.patience ?? 0, signal);
      if ("cause" in answer) return answer;
      if (answer.type !== "REQUEST_ERROR") {
        onEvent({ type: "accepted", target, draft: session.draft });
        return { session, leg, grant: answer };
      }
      if (answer.redirect === undefined) return this.#refused(target, answer, session.draft);
      const next = trail.follow(target, answer.redirect, session.draft);
      onEvent({ type: "redirected", from: target, to: next, hops: trail.hops });
      target = next;
    }
  }

  async #session(target: Target, signal: AbortSignal): Promise<Session | Again> {
    const isService = target.uri === this.#serviceUri;
    try {
      const session = await this.#options.sessions.get(target.uri, signal);
      this.#serviceReached ||= isService;
      return session;
    } catch (cause) {
      signal.throwIfAborted();
      const why = cause instanceof YardmasterError ? `: ${cause.message}` : "";
      const message = `no session with the ${role(isService)}${why}`;
      const error = new ClientError("CONNECT_FAILED", message, { cause });
      if (isService && this.#movedTo !== undefined) this.#movedTo = undefined;
      else if (isService && !this.#serviceReached) throw error;
      return { cause: `${role(isService)} unreachable`, error };
    }
  }

  /** A session may have been lost, or have been asked to move, since it was chosen. */
  #send(request: PlacedRequest<Session>, session: Session, target: Target): Leg | Again {
    try {
      return request.send(session, target);
    } catch (error) {
      if (!(error instanceof SessionUseError)) throw error;
      return failed(target, "the session takes no requests any more");
    }
  }

  /** The answer; a request that gets none is given up. */
  async #answer(leg: Leg, patience: number, signal: AbortSignal): Promise<RequestAnswer | Again> {
    const { clock } = this.#options;
    const answerTime = this.#options.answerTime + patience;
    const { target } = leg;
    let answer: RequestAnswer | Again | undefined;
    try {
      const departure = leg.departure.then((wish) => this.depart(target, wish));
      answer = await within(clock, answerTime, Promise.race([leg.answer, departure]), signal);
      answer ??= failed(target, "no answer");
    } catch (error) {
      if (!(error instanceof RequestEndedError)) throw error;
      answer = this.#unanswered(target, error.end);
    } finally {
      if (answer === undefined || "cause" in answer) leg.cancel();
    }
    return answer;
  }

  #unanswered(target: Target, end: RequestEnd): Again {
    if (end.how !== "closed") return failed(target, "broken off");
    const again = this.#lost(target, end.close);
    const isService = target.uri === this.#serviceUri;
    if (isService && isPermanent(end.close)) {
      throw new ClientError("CONNECT_FAILED", again.error.message);
    }
    return again;
  }

  #refused(target: Target, error: RequestError, draft: Draft): Again {
    const refusal = new RequestRefused(target, error, draft);
    // Whoever goes away means that the request should be made elsewhere, not never.
    if (refusal.errorName === "GOING_AWAY") return { cause: refusal.errorName, error: refusal };
    const delay = retryDelay(error.retryInterval, this.#options.random);
    if (delay === undefined || delay > this.#options.longestRetry) throw refusal;
    return { cause: refusal.errorName, error: refusal, delay };
  }

  #lost(target: Target, close: SessionClose): Again {
    const name = closeName(close);
    const which = role(target.uri === this.#serviceUri);
    const error = new ClientError(
      "REQUEST_FAILED",
      `the session with the ${which} ended with ${name}`,
    );
    return { cause: `session lost (${name})`, error };
  }
}

/** Closes that the next session would meet again. */
const permanent: ReadonlySet<string> = new Set<SessionErrorName>([
  "UNAUTHORIZED",
  "INVALID_PATH",
  "MALFORMED_PATH",
  "INVALID_AUTHORITY",
  "MALFORMED_AUTHORITY",
  "MALFORMED_AUTH_TOKEN",
  "EXPIRED_AUTH_TOKEN",
  "VERSION_NEGOTIATION_FAILED",
]);

function isPermanent({ by, app, code }: SessionClose): boolean {
  return by === "remote" && app && permanent.has(sessionErrorName(code) ?? "");
}

function failed({ request }: Target, cause: string): Again {
  return { cause, error: new ClientError("REQUEST_FAILED", `${request}: ${cause}`) };
}

function role(isService: boolean): string {
  return isService ? "service" : "relay";
}
