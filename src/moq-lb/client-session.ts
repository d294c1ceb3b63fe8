/**
 * One live session of a client, whatever mode it is served in: whether it may be, by its address and
 * its credentials, how long it may be idle, and how it is asked to leave.
 *
 * @module
 */

import { isPromise } from "../hook.ts";
import {
  draftFactsOf,
  type PeerSetup,
  parseDraftName,
  type SetupOption,
  type SetupRefusal,
} from "../moqt/mod.ts";
import {
  type Clock,
  type IncomingRequest,
  MoqtSession,
  type SessionClose,
} from "../session/mod.ts";
import type { Transport } from "../transport/transport.ts";
import type { Requester } from "./admission.ts";
import type { AuthorizationDecision, AuthorizationPolicy } from "./authorization.ts";
import { safeFault, safeReason } from "./decision-event.ts";
import type { Mode, ModeSession, RequestCounts } from "./mode.ts";
import type { Modes } from "./modes.ts";
import type { RedirectSessionLimits } from "./session-limits.ts";

/** What all sessions of a server share. */
export interface ClientSessionContext {
  readonly modes: Modes;
  readonly policy: AuthorizationPolicy;
  readonly limits: RedirectSessionLimits;
  readonly implementation: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of errors that no rule foresees; the session is closed with INTERNAL_ERROR. */
  readonly onError: (error: unknown) => void;
}

export class ClientSession {
  /** The policy's reason for refusing the session, made safe. */
  refusal: string | undefined;
  /** Told once, when the client's SETUP has come. */
  onSetup: ((setup: PeerSetup) => void) | undefined;

  readonly #context: ClientSessionContext;
  readonly #session: MoqtSession;
  /** Known before SETUP where the request that opened the session says what is addressed. */
  #mode: Mode | undefined;
  /** There once SETUP is. */
  #served: ModeSession | undefined;
  /** Who sends the requests of this session; known in full once SETUP is there. */
  #requester: Requester;
  /** Where the policy takes its time: resolves with whether the session is let in. */
  #admission: Promise<boolean> | undefined;
  #activeAt: number;
  #cancelIdleTimer: () => void = () => {};

  /** @param mode absent where SETUP is to say what is addressed */
  constructor(
    transport: Transport,
    client: string,
    tenant: string | undefined,
    context: ClientSessionContext,
    mode: Mode | undefined,
  ) {
    const { modes, limits, implementation, clock, random, onError } = context;
    this.#context = context;
    this.#mode = mode;
    this.#activeAt = clock.now();
    this.#requester = {
      client,
      tenant,
      bearerToken: transport.bearerToken,
      authority: transport.authority,
    };
    // Our SETUP does not wait for the client's: where that settles the mode, it holds for any.
    const promises = mode ?? modes;
    this.#session = new MoqtSession(transport, {
      role: "server",
      setupOptions: [
        ...ownSetup(implementation, limits.tokenCacheSize),
        ...sayable(promises.setupOptions, transport.protocol),
      ],
      limits: {
        setupTime: limits.setupTimeout,
        messageTime: limits.messageTimeout,
        messageBytes: limits.maximumMessageSize,
        requests: promises.maximumRequests,
        // Two of the longest messages in all, and in any case what waits for a SETUP in practice.
        bufferedBytes: Math.max(2 * limits.maximumMessageSize, 0x4000),
      },
      maximumQueuedBytes: limits.maximumQueuedBytes,
      clock,
      random,
      judgeSetup: (setup) => this.#judge(setup),
      onSetup: (setup) => this.#admit(setup),
      onRequest: (request) => this.#requested(request),
      onDataStream: (stream) => this.#served?.onDataStream(stream),
      onDatagram: (datagram, bytes) => this.#served?.onDatagram(datagram, bytes),
      onGoaway: (goaway) => this.#served?.onGoaway(goaway),
      onFault: onError,
    });
  }

  /** Name of its mode; absent before that is known. */
  get mode(): Mode["name"] | undefined {
    return this.#mode?.name;
  }

  /** Requests that were answered, and how. */
  get counts(): RequestCounts {
    return this.#served?.counts ?? { redirects: 0, rejections: 0 };
  }

  /** Requests that are not over. */
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
    this.#served?.onClosed(close);
    return close;
  }

  /** Asks the client to leave; GOAWAY_TIMEOUT if it has not after `timeout` milliseconds. */
  drain(timeout: number): void {
    if (!this.#session.isOver) this.#session.goaway({ timeout });
  }

  close(code: "GOAWAY_TIMEOUT" | "NO_ERROR", reason: string): void {
    this.#session.close(code, reason);
  }

  #judge(address: PeerSetup): SetupRefusal | undefined {
    if (this.#mode !== undefined) return undefined;
    const judged = this.#context.modes.judge(address, this.#session.transport);
    if ("code" in judged) return { code: judged.code, reason: judged.reason };
    this.#mode = judged.mode;
    return undefined;
  }

  /** Authorization of the session; its tokens count for each of its requests. */
  #admit(setup: PeerSetup): void {
    const { tokens } = setup;
    const authority = this.#requester.authority ?? setup.authority;
    this.#requester = { ...this.#requester, tokens, authority };
    this.#served = this.#mode?.open(this.#session, () => this.#requester);
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
    if (this.#admission === undefined) this.#serve(request);
    else {
      this.#admission
        .then((admitted) => admitted && this.#serve(request))
        .catch((error) => this.#broken(error));
    }
  }

  #serve(request: IncomingRequest): void {
    if (!request.isOver && !this.#session.isOver) this.#served?.onRequest(request);
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
      if (this.#served?.isIdle === false) this.#activeAt = clock.now();
      const left = this.#activeAt + limits.idleTimeout - clock.now();
      if (left > 0) this.#watchIdleTime(left);
      else this.#session.close("NO_ERROR", "idle");
    });
  }
}

/** Those that the draft of the session has: draft 18 cannot say all of them. */
function sayable(options: readonly SetupOption[], protocol: string): SetupOption[] {
  const draft = parseDraftName(protocol);
  if (draft === undefined) return [];
  const absent: readonly string[] = draftFactsOf(draft).absentSetupOptions;
  return options.filter(({ type }) => !absent.includes(type));
}

function ownSetup(implementation: string, tokenCacheSize: number): SetupOption[] {
  return [
    { type: "MOQT_IMPLEMENTATION", value: implementation },
    { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: BigInt(tokenCacheSize) },
  ];
}
