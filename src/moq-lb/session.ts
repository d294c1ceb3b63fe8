/**
 * Redirect mode for one live session: every request is answered with one REQUEST_ERROR, mostly a
 * REDIRECT, by the snapshot that is in force when it comes (LB-KEY-11). The session holds nothing
 * of a request that is answered (LB-REDIR-16).
 *
 * @module
 */

import { isPromise } from "../hook.ts";
import {
  type PeerSetup,
  type SetupOption,
  type SetupRefusal,
  streamResetCodes,
} from "../moqt/mod.ts";
import {
  type Clock,
  type IncomingDataStream,
  type IncomingRequest,
  MoqtSession,
  type SessionClose,
} from "../session/mod.ts";
import type { Transport } from "../transport/transport.ts";
import { encodeAnswer } from "./answer.ts";
import type { AuthorizationDecision, AuthorizationPolicy } from "./authorization.ts";
import type { Decision } from "./decision.ts";
import { safeFault, safeReason } from "./decision-event.ts";
import type { Redirector, Requester } from "./redirect.ts";
import type { Service } from "./service.ts";
import type { RedirectSessionLimits } from "./session-limits.ts";

/** What all sessions of a server share. */
export interface RedirectSessionContext {
  readonly redirector: Redirector;
  readonly policy: AuthorizationPolicy;
  readonly service: Service;
  readonly limits: RedirectSessionLimits;
  readonly implementation: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of errors that no rule foresees; the session is closed with INTERNAL_ERROR. */
  readonly onError: (error: unknown) => void;
}

export class RedirectSession {
  /** Requests that were answered, and how. */
  redirects = 0;
  rejections = 0;
  /** The policy's reason for refusing the session, made safe. */
  refusal: string | undefined;
  /** Told once, when the client's SETUP has come. */
  onSetup: ((setup: PeerSetup) => void) | undefined;

  readonly #context: RedirectSessionContext;
  readonly #session: MoqtSession;
  /** Who sends the requests of this session; known in full once SETUP is there. */
  #requester: Requester;
  /** Where the policy takes its time: resolves with whether the session is let in. */
  #admission: Promise<boolean> | undefined;
  #activeAt: number;
  #cancelIdleTimer: () => void = () => {};

  constructor(
    transport: Transport,
    client: string,
    tenant: string | undefined,
    context: RedirectSessionContext,
  ) {
    const { limits, implementation, clock, random, onError } = context;
    this.#context = context;
    this.#activeAt = clock.now();
    this.#requester = {
      client,
      tenant,
      bearerToken: transport.bearerToken,
      authority: transport.authority,
    };
    this.#session = new MoqtSession(transport, {
      role: "server",
      setupOptions: ownSetup(implementation, limits.tokenCacheSize),
      limits: {
        setupTime: limits.setupTimeout,
        messageTime: limits.messageTimeout,
        messageBytes: limits.maximumMessageSize,
        requests: limits.maximumRequests,
        // Two of the longest messages in all, and in any case what waits for a SETUP in practice.
        bufferedBytes: Math.max(2 * limits.maximumMessageSize, 0x4000),
      },
      maximumQueuedBytes: limits.maximumQueuedBytes,
      clock,
      random,
      judgeSetup: (setup) => this.#judge(setup),
      onSetup: (setup) => this.#admit(setup),
      onRequest: (request) => this.#requested(request),
      onDataStream,
      onFault: onError,
    });
  }

  /** Requests that wait for their answer. */
  get openRequests(): number {
    return this.#session.openRequests;
  }

  /** Bytes that the client has not read. */
  get queuedBytes(): number {
    return this.#session.queuedBytes;
  }

  /** Serves the session until its end. */
  async run(): Promise<SessionClose> {
    const closed = this.#session.run();
    this.#watchIdleTime(this.#context.limits.idleTimeout);
    const close = await closed;
    this.#cancelIdleTimer();
    return close;
  }

  /** Asks the client to leave; GOAWAY_TIMEOUT if it has not after `timeout` milliseconds. */
  drain(timeout: number): void {
    if (!this.#session.isOver) this.#session.goaway({ timeout });
  }

  close(code: "GOAWAY_TIMEOUT" | "NO_ERROR", reason: string): void {
    this.#session.close(code, reason);
  }

  #judge({ path, authority }: PeerSetup): SetupRefusal | undefined {
    const code = this.#context.service.faultOf({ path, authority });
    return code === undefined ? undefined : { code, reason: "this is not the service for it" };
  }

  /** Authorization of the session; its tokens count for each of its requests. */
  #admit(setup: PeerSetup): void {
    const { tokens } = setup;
    const authority = this.#requester.authority ?? setup.authority;
    this.#requester = { ...this.#requester, tokens, authority };
    this.onSetup?.(setup);
    const { policy } = this.#context;
    if (policy.authorizeSession === undefined) return;
    const { bearerToken, tenant } = this.#requester;
    const path = this.#session.transport.path ?? setup.path;
    try {
      const decision = policy.authorizeSession({ bearerToken, tokens, authority, path, tenant });
      if (isPromise(decision)) this.#admission = this.#await(decision);
      else this.#conclude(decision);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #await(decision: PromiseLike<AuthorizationDecision>): Promise<boolean> {
    try {
      return this.#conclude(await decision);
    } catch (error) {
      return this.#fail(error);
    } finally {
      this.#admission = undefined;
    }
  }

  /** @returns whether the session is let in */
  #conclude(decision: AuthorizationDecision): boolean {
    const { granted, reason = undefined } =
      typeof decision === "boolean" ? { granted: decision } : decision;
    if (granted === true) return true;
    this.refusal = safeReason(reason);
    this.#session.close("UNAUTHORIZED", "not authorized");
    return false;
  }

  #fail(error: unknown): false {
    this.refusal = safeFault(error);
    this.#session.close("INTERNAL_ERROR", "the session could not be checked");
    return false;
  }

  #requested(request: IncomingRequest): void {
    this.#activeAt = this.#context.clock.now();
    // Requests keep their order: those that wait are answered before any that comes later.
    if (this.#admission === undefined) this.#decide(request);
    else {
      this.#admission
        .then((admitted) => admitted && this.#decide(request))
        .catch((error) => this.#broken(error));
    }
  }

  #decide(request: IncomingRequest): void {
    if (request.isOver || this.#session.isOver) return;
    const { message, tokens } = request;
    const { tokens: ofSession = [] } = this.#requester;
    const requester =
      tokens.length === 0
        ? this.#requester
        : { ...this.#requester, tokens: [...tokens, ...ofSession] };
    const decision = this.#context.redirector.decide(message, this.#session.draft, requester);
    if (!isPromise(decision)) this.#answer(request, decision);
    else decision.then((made) => this.#answer(request, made)).catch((error) => this.#broken(error));
  }

  #answer(request: IncomingRequest, decision: Decision): void {
    if (decision.kind === "redirect") this.redirects++;
    else this.rejections++;
    // Its client may have given it up while the policy thought.
    if (request.isOver || this.#session.isOver) return;
    request.refuse(encodeAnswer(decision, request.message, this.#session.draft));
  }

  /** A fault of ours in what was to be answered. */
  #broken(error: unknown): void {
    this.#session.close("INTERNAL_ERROR", "");
    this.#context.onError(error);
  }

  /** One timer, set anew when it fires early, so that requests cost none (LB-REDIR-17). */
  #watchIdleTime(rest: number): void {
    const { clock, limits } = this.#context;
    this.#cancelIdleTimer = clock.after(rest, () => {
      const idleSince = this.#session.openRequests > 0 ? clock.now() : this.#activeAt;
      const left = idleSince + limits.idleTimeout - clock.now();
      if (left > 0) this.#watchIdleTime(left);
      else this.#session.close("NO_ERROR", "idle");
    });
  }
}

function ownSetup(implementation: string, tokenCacheSize: number): SetupOption[] {
  return [
    { type: "MOQT_IMPLEMENTATION", value: implementation },
    { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: BigInt(tokenCacheSize) },
  ];
}

/** A publisher may send objects before it is answered; they belong at the relay (LB-S7). */
function onDataStream({ stream }: IncomingDataStream): void {
  stream.stopSending(streamResetCodes.CANCELLED);
}
