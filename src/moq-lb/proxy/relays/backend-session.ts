/**
 * One session to a relay, from the dial to its end.
 *
 * @module
 */

import { type Draft, draftName, type PeerSetup, sessionErrorCodes } from "../../../moqt/mod.ts";
import {
  type Clock,
  goawayTime,
  MoqtSession,
  type SessionClose,
  type SessionGoaway,
} from "../../../session/mod.ts";
import type { Transport } from "../../../transport/transport.ts";
import { closeCode } from "../../session-event.ts";
import {
  type BackendRequester,
  type SessionCredentials,
  sessionCredentials,
} from "../backend-credentials.ts";
import type { BackendTokens, DialRelay, ProxyLimits } from "../proxy-options.ts";
import { type Backend, BackendFailure, type BackendHandlers } from "./backend.ts";
import { backendSetup, type ClientLimits } from "./backend-setup.ts";
import {
  blamesUs,
  closeFailure,
  dialFailure,
  mismatch,
  noCredentials,
  reasonOf,
  refusesCredentials,
  unreachable,
} from "./failure.ts";
import type { LocalState } from "./health-view.ts";

/** What all sessions to relays share. */
export interface BackendContext {
  readonly dial: DialRelay;
  readonly backendTokens: BackendTokens;
  readonly limits: ProxyLimits;
  readonly implementation: string;
  readonly tokenCacheSize: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onFault: ((error: unknown) => void) | undefined;
}

/** The client session that a session to a relay is held for. */
export interface BackendClient {
  /** What was negotiated with the client: its relays are to speak the same (LB-PSETUP-7). */
  readonly draft: Draft;
  readonly requester: BackendRequester;
  readonly limits: ClientLimits;
  readonly handlers: BackendHandlers;
}

/** What a session to a relay tells of the relay. */
export interface BackendNews {
  /** @param reason for the log */
  noteHealth(state: LocalState, reason: string): void;
  /** The relay does not speak what it is said to. */
  mismatched(): void;
  opened(setup: PeerSetup): void;
  /** Comes once, whatever the end. */
  over(): void;
  /** Whether another session to the relay is open. */
  servesOthers(): boolean;
}

export class BackendSession implements Backend {
  readonly rid: string;
  readonly uri: string;
  readonly #context: BackendContext;
  readonly #client: BackendClient;
  readonly #news: BackendNews;
  readonly #opened = Promise.withResolvers<MoqtSession>();
  readonly #dialling = new AbortController();
  #running: MoqtSession | undefined;
  #isOpen = false;
  #isOver = false;
  #isLeaving = false;
  #goawayDeadline: number | undefined;
  #uses = 0;
  /** Whether it was closed here for want of requests. */
  #wasIdle = false;
  #cancelTimer: () => void = () => {};

  constructor(
    rid: string,
    uri: string,
    client: BackendClient,
    context: BackendContext,
    news: BackendNews,
  ) {
    this.rid = rid;
    this.uri = uri;
    this.#client = client;
    this.#context = context;
    this.#news = news;
    // Whoever waits for it hears of a failure; nobody has to.
    this.#opened.promise.catch(() => {});
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get goawayDeadline(): number | undefined {
    return this.#goawayDeadline;
  }

  get opened(): Promise<MoqtSession> {
    return this.#opened.promise;
  }

  get session(): MoqtSession | undefined {
    return this.#isOpen ? this.#running : undefined;
  }

  use(): () => void {
    this.#uses++;
    let isInUse = true;
    return () => {
      if (!isInUse) return;
      isInUse = false;
      this.#uses--;
      this.#maybeIdle();
    };
  }

  close(): void {
    if (this.#isOver) return;
    this.#end(unreachable("the session was given up"));
    this.#running?.close();
  }

  /** Opens the session. To be called once, or {@link fail} in its place. */
  open(): void {
    this.#connect().catch((cause) => {
      this.fail(cause instanceof BackendFailure ? cause : dialFailure(cause));
    });
  }

  /** There is to be no session. */
  fail(failure: BackendFailure): void {
    if (this.#isOver) return;
    this.#end(failure);
    this.#running?.close("INTERNAL_ERROR");
    if (failure.code === "BACKEND_UNREACHABLE") {
      this.#news.noteHealth("unhealthy", reasonOf(failure));
    }
    if (failure.code === "BACKEND_MISMATCH") this.#news.mismatched();
  }

  /** What comes next has to come in time, or this is why there is no session. */
  #limitTime(failure: BackendFailure): void {
    const { clock, limits } = this.#context;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(limits.connectTimeout, () => this.fail(failure));
  }

  async #connect(): Promise<void> {
    const { dial } = this.#context;
    const { draft } = this.#client;
    // Whoever is slow to give a token says nothing of the relay.
    this.#limitTime(noCredentials());
    const credentials = await this.#credentials();
    if (this.#isOver) return;
    this.#limitTime(unreachable("the relay did not answer in time"));
    const { bearerToken } = credentials;
    const { signal } = this.#dialling;
    const transport = await dial(this.uri, {
      draft,
      signal,
      ...(bearerToken !== undefined && { bearerToken }),
    });
    if (this.#isOver) transport.close(sessionErrorCodes.NO_ERROR, "");
    else this.#start(transport, credentials);
  }

  async #credentials(): Promise<SessionCredentials> {
    const { backendTokens } = this.#context;
    try {
      return await sessionCredentials(backendTokens, this, this.#client.requester);
    } catch (cause) {
      throw noCredentials({ cause });
    }
  }

  #start(transport: Transport, credentials: SessionCredentials): void {
    const { draft, handlers, limits: client } = this.#client;
    const { limits, implementation, tokenCacheSize, clock, random, onFault } = this.#context;
    // Codes that change on their way would make the two legs disagree.
    if (transport.protocol !== draftName(draft) || !transport.exactCodes) {
      transport.close(sessionErrorCodes.NO_ERROR, "");
      this.fail(mismatch());
      return;
    }
    const { uri } = this;
    const { kind } = transport;
    const session = new MoqtSession(transport, {
      role: "client",
      setupOptions: backendSetup({
        ...{ uri, kind, draft, implementation, tokenCacheSize, client, credentials },
      }),
      limits: { setupTime: limits.connectTimeout, requests: limits.maximumMappings },
      clock,
      random,
      onSetup: (setup) => this.#setupCame(session, setup),
      onRequest: (request) => handlers.onRequest(request, this),
      onDataStream: (stream) => handlers.onDataStream(stream, this),
      onDatagram: (datagram, bytes) => handlers.onDatagram(datagram, bytes, this),
      onGoaway: (goaway) => this.#goawayCame(goaway),
      onIdle: () => this.#maybeIdle(),
      ...(onFault && { onFault }),
    });
    this.#running = session;
    let wasBusy = true;
    // Before the session hears of it, and lets its requests go.
    void transport.closed.then(() => {
      wasBusy = this.#isBusy;
    });
    void session.run().then((close) => this.#closed(close, wasBusy));
  }

  #setupCame(session: MoqtSession, setup: PeerSetup): void {
    this.#cancelTimer();
    this.#isOpen = true;
    this.#news.opened(setup);
    this.#opened.resolve(session);
    this.#maybeIdle();
  }

  #goawayCame(goaway: SessionGoaway): void {
    const time = goawayTime(goaway);
    this.#isLeaving = true;
    // 0 says nothing of when (LB-A18).
    if (time > 0) this.#goawayDeadline = this.#context.clock.now() + time;
    this.#news.noteHealth("draining", "it said GOAWAY");
    this.#client.handlers.onGoaway(goaway, this);
    this.#maybeIdle();
  }

  get #isBusy(): boolean {
    return this.#uses > 0 || (this.#running?.openRequests ?? 0) > 0;
  }

  #maybeIdle(): void {
    if (!this.#isOpen || this.#isOver || this.#isBusy) return;
    this.#cancelTimer();
    const { clock, limits } = this.#context;
    // Not within what made it idle: an answer may be on its way out, a request on its way in.
    if (this.#isLeaving) queueMicrotask(() => this.#closeIdle());
    else this.#cancelTimer = clock.after(limits.backendIdleTimeout, () => this.#closeIdle());
  }

  #closeIdle(): void {
    if (this.#isOver || this.#isBusy) return;
    this.#wasIdle = true;
    // No request is to be made on it any more, although it ends only when its transport does.
    this.#isLeaving = true;
    this.#running?.close();
  }

  #closed(close: SessionClose, wasBusy: boolean): void {
    if (this.#isOver) return;
    if (!this.#isOpen) {
      this.fail(closeFailure(close));
      return;
    }
    const wasExpected = this.#isLeaving || this.#wasIdle || (close.by === "idle" && !wasBusy);
    this.#end(undefined);
    // What a client sends goes on as it is, and may have been too much for the relay.
    const isOthersFault = blamesUs(close) && this.#news.servesOthers();
    if (!wasExpected && !isOthersFault && speaksAgainstRelay(close)) {
      this.#news.noteHealth("unhealthy", `its session is over: ${closeCode(close)}`);
    }
    this.#client.handlers.onClosed({ close, isAbrupt: !wasExpected }, this);
  }

  /** Lets go of everything but the session itself. */
  #end(failure: BackendFailure | undefined): void {
    this.#isOver = true;
    this.#cancelTimer();
    if (!this.#isOpen && failure !== undefined) {
      this.#dialling.abort(failure);
      this.#opened.reject(failure);
    }
    this.#news.over();
  }
}

/**
 * Whether an abrupt end is the relay's: neither a fault of ours, nor a refusal of what a client has
 * shown, with which one client could take a relay from all others.
 */
function speaksAgainstRelay(close: SessionClose): boolean {
  const { by, code } = close;
  const isOwnFault = by === "local" && code === sessionErrorCodes.INTERNAL_ERROR;
  return !isOwnFault && !refusesCredentials(close);
}
