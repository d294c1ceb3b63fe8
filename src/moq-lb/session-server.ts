/**
 * The live sessions of a balancer, whatever mode each is served in: who is let in, how many at a
 * time, and how they are asked to leave.
 *
 * @module
 */

import { tell, textIfAny } from "../hook.ts";
import {
  type Draft,
  type PeerSetup,
  parseDraftName,
  type SessionErrorName,
  sessionErrorCodes,
} from "../moqt/mod.ts";
import { type Clock, type SessionClose, systemClock } from "../session/mod.ts";
import type { Transport, TransportKind } from "../transport/transport.ts";
import { authorizationPolicy } from "./authorization.ts";
import { clientKey } from "./client-key.ts";
import { ClientSession, type ClientSessionContext } from "./client-session.ts";
import { requireFunction } from "./configuration-error.ts";
import type { LimitStatus } from "./limit-status.ts";
import type { Mode } from "./mode.ts";
import { type ModeAt, Modes } from "./modes.ts";
import { createRedirector } from "./redirect.ts";
import { redirectMode } from "./redirect-mode.ts";
import type { RedirectorOptions } from "./redirector-options.ts";
import { type Address, type AddressFault, type ExactAddresses, Service } from "./service.ts";
import {
  closeCode,
  printable,
  type RedirectSessionEvent,
  type RefusalCause,
} from "./session-event.ts";
import { type RedirectSessionLimits, sessionLimits } from "./session-limits.ts";

/** Options of {@link createRedirectServer}; those of a redirector count for each request. */
export interface RedirectServerOptions extends RedirectorOptions {
  /** The path that sessions are served at, besides those of `ownServiceUris`. Default `/moqt`. */
  readonly path?: string;
  /** Those of `defaultSessionLimits` that are to be different. */
  readonly limits?: Partial<RedirectSessionLimits>;
  /**
   * The tenant that authorization policies see. Default: none. A session whose tenant it cannot
   * tell is closed with INTERNAL_ERROR, and `onError` hears why.
   */
  readonly tenantOf?: (transport: Transport) => string | undefined;
  /** What SETUP calls this implementation. Default `yardmaster`. */
  readonly implementation?: string;
  /** Told of what happens to sessions, for logs and metrics. What it throws is dropped. */
  readonly onSession?: (event: RedirectSessionEvent) => void;
  /** Told of errors that no rule foresees; the session is closed with INTERNAL_ERROR. */
  readonly onError?: (error: unknown) => void;
  /** The clock of sessions; `now` is the one of snapshots. Default: the machine's. */
  readonly clock?: Clock;
}

/** Why a connection cannot become a session. */
export type Refusal =
  | AddressFault
  | Extract<RefusalCause, "draining" | "session-limit" | "client-limit">;

/** What the sessions of a server come to. */
export interface RedirectServerStatus {
  readonly sessions: number;
  /** How each of the limits on sessions stands. */
  readonly limits: Readonly<Record<keyof RedirectSessionLimits, LimitStatus>>;
  readonly draining: boolean;
}

export interface RedirectServer {
  /**
   * Why a connection from `remote` to `address` would be refused, if it would: for listeners that
   * can say so before there is a session.
   */
  refusalOf(remote: string, address: Address): Refusal | undefined;
  /**
   * Drafts that a session at `address` may have now, best first, for listeners that choose one
   * before there is a session (LB-PSETUP-2); none where nothing is served there, or nothing can be.
   */
  draftsAt(address: Address): readonly Draft[];
  /**
   * Serves a session. Never throws nor rejects: what goes wrong in a hook ends this session alone.
   *
   * @returns how it ended; a session that is refused ends at once
   */
  serve(transport: Transport): Promise<SessionClose>;
  /**
   * Sends GOAWAY on every session and refuses new ones. What remains after `timeout` milliseconds
   * is closed with GOAWAY_TIMEOUT (GA-10).
   *
   * @returns resolves when the last session has ended
   */
  drain(timeout: number): Promise<void>;
  status(): RedirectServerStatus;
}

export class LiveSessions implements RedirectServer {
  readonly #options: RedirectServerOptions;
  readonly #context: ClientSessionContext;
  readonly #sessions = new Set<ClientSession>();
  readonly #sessionsOfClient = new Map<string, number>();
  /** How often a session was refused for want of room. */
  readonly #exceeded = { maximumSessions: 0, maximumSessionsPerClient: 0 };
  #opened = 0;
  #draining: Promise<void> | undefined;
  /** Called when the last session of a draining server has ended. */
  #onEmpty: (() => void) | undefined;

  /**
   * @param proxy the mode of addresses that are not redirect mode's
   * @param neverSent URIs that are never sent as a Connect URI (LB-REDIR-18)
   * @throws {ConfigurationError} an option is missing or wrong
   */
  constructor(
    options: RedirectServerOptions,
    proxy?: ModeAt<ExactAddresses>,
    neverSent = options.ownServiceUris ?? [],
  ) {
    for (const hook of ["onSession", "onError", "tenantOf"] as const) {
      requireFunction(hook, options[hook]);
    }
    this.#options = options;
    const limits = sessionLimits(options.limits);
    const { maximumRequests } = limits;
    const onError = (error: unknown) => tell(options.onError, error);
    const redirector = createRedirector({ ...options, ownServiceUris: neverSent });
    const addresses = new Service({
      path: options.path ?? "/moqt",
      serviceUris: options.ownServiceUris ?? [],
    });
    const mode = redirectMode({ redirector, maximumRequests, onError });
    this.#context = {
      modes: new Modes({ mode, addresses }, proxy),
      policy: authorizationPolicy(options.authorization),
      limits,
      implementation: options.implementation ?? "yardmaster",
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
      onError,
    };
  }

  refusalOf(remote: string, address: Address): Refusal | undefined {
    const overload = this.#overload(clientKey(remote));
    if (overload !== undefined) return overload;
    const mode = this.#context.modes.at(address);
    return typeof mode === "string" ? mode : undefined;
  }

  draftsAt(address: Address): readonly Draft[] {
    const mode = this.#context.modes.at(address);
    return typeof mode === "string" ? [] : mode.drafts;
  }

  async serve(transport: Transport): Promise<SessionClose> {
    try {
      return await this.#admit(transport);
    } catch (error) {
      tell(this.#options.onError, error);
      transport.close(sessionErrorCodes.INTERNAL_ERROR, "");
      return await transport.closed;
    }
  }

  drain(timeout: number): Promise<void> {
    this.#draining ??= this.#drain(timeout);
    return this.#draining;
  }

  status(): RedirectServerStatus {
    return {
      sessions: this.#sessions.size,
      limits: this.#limits(),
      draining: this.#draining !== undefined,
    };
  }

  #admit(transport: Transport): Promise<SessionClose> {
    const client = clientKey(transport.remote);
    const draft = parseDraftName(transport.protocol);
    if (draft === undefined) {
      return this.#refuse(transport, client, "protocol", "INTERNAL_ERROR");
    }
    const overload = this.#overload(client);
    if (overload !== undefined) {
      return this.#refuse(transport, client, overload, "INTERNAL_ERROR");
    }
    let mode: Mode | undefined;
    // On raw QUIC it is SETUP that says what is addressed.
    if (transport.kind !== "quic") {
      const judged = this.#context.modes.judge(transport, transport);
      if ("code" in judged) return this.#refuse(transport, client, judged.cause, judged.code);
      ({ mode } = judged);
    }
    let tenant: string | undefined;
    try {
      tenant = textIfAny("tenantOf", this.#options.tenantOf?.(transport));
    } catch (error) {
      tell(this.#options.onError, error);
      return this.#refuse(transport, client, "tenant-fault", "INTERNAL_ERROR");
    }
    const session = new ClientSession(transport, client, tenant, this.#context, mode);
    return this.#serve(session, transport.kind, client, draft);
  }

  async #serve(
    session: ClientSession,
    transport: TransportKind,
    client: string,
    draft: Draft,
  ): Promise<SessionClose> {
    const { clock } = this.#context;
    const number = ++this.#opened;
    const openedAt = clock.now();
    const duration = () => clock.now() - openedAt;
    session.onSetup = (setup) => {
      this.#tell({ type: "setup", session: number, ...safeSetup(setup), duration: duration() });
    };
    this.#add(session, client);
    this.#tell({ type: "opened", session: number, transport, client, draft });
    let close: SessionClose;
    try {
      close = await session.run();
    } finally {
      this.#remove(session, client);
    }
    const { counts, refusal, mode } = session;
    this.#tell({
      type: "closed",
      session: number,
      by: close.by,
      code: closeCode(close),
      ...(close.reason !== "" && { reason: printable(close.reason) }),
      ...(refusal !== undefined && { refusal }),
      ...counts,
      ...(mode === "proxy" && { mode }),
      duration: duration(),
    });
    return close;
  }

  #overload(client: string): Exclude<Refusal, AddressFault> | undefined {
    const { maximumSessions, maximumSessionsPerClient } = this.#context.limits;
    if (this.#draining !== undefined) return "draining";
    if (this.#sessions.size >= maximumSessions) {
      this.#exceeded.maximumSessions++;
      return "session-limit";
    }
    const ofClient = this.#sessionsOfClient.get(client) ?? 0;
    if (ofClient < maximumSessionsPerClient) return undefined;
    this.#exceeded.maximumSessionsPerClient++;
    return "client-limit";
  }

  #limits(): RedirectServerStatus["limits"] {
    const sessions = [...this.#sessions];
    const most = (counts: Iterable<number>) => {
      let found = 0;
      for (const count of counts) found = Math.max(found, count);
      return found;
    };
    const inUse: Partial<Record<keyof RedirectSessionLimits, number>> = {
      maximumSessions: sessions.length,
      maximumSessionsPerClient: most(this.#sessionsOfClient.values()),
      maximumRequests: most(
        sessions.map(({ mode, openRequests }) => (mode === "proxy" ? 0 : openRequests)),
      ),
      maximumQueuedBytes: most(sessions.map(({ queuedBytes }) => queuedBytes)),
    };
    const exceeded: typeof inUse = this.#exceeded;
    const entries = Object.entries(this.#context.limits).map(([name, limit]) => {
      const used = inUse[name as keyof RedirectSessionLimits];
      const met = exceeded[name as keyof RedirectSessionLimits];
      const status: LimitStatus = {
        limit,
        ...(used !== undefined && { inUse: used }),
        ...(met !== undefined && { exceeded: met }),
      };
      return [name, status] as const;
    });
    return Object.fromEntries(entries) as RedirectServerStatus["limits"];
  }

  /** No registered code says that there is no room; that a service ends is no error. */
  #refuse(
    transport: Transport,
    client: string,
    cause: RefusalCause,
    code: SessionErrorName,
  ): Promise<SessionClose> {
    transport.close(sessionErrorCodes[code], refusalReasons[cause]);
    this.#tell({ type: "refused", transport: transport.kind, client, cause });
    return transport.closed;
  }

  #add(session: ClientSession, client: string): void {
    this.#sessions.add(session);
    this.#sessionsOfClient.set(client, (this.#sessionsOfClient.get(client) ?? 0) + 1);
  }

  #remove(session: ClientSession, client: string): void {
    this.#sessions.delete(session);
    const left = (this.#sessionsOfClient.get(client) as number) - 1;
    if (left === 0) this.#sessionsOfClient.delete(client);
    else this.#sessionsOfClient.set(client, left);
    if (this.#sessions.size === 0) this.#onEmpty?.();
  }

  async #drain(timeout: number): Promise<void> {
    if (this.#sessions.size === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    // Before the timers of the sessions, which would let go of idle ones without an error.
    const cancel = this.#context.clock.after(timeout, () => {
      for (const session of this.#sessions) session.close("GOAWAY_TIMEOUT", "the service ends");
    });
    for (const session of this.#sessions) session.drain(timeout);
    await empty;
    cancel();
  }

  #tell(event: RedirectSessionEvent): void {
    tell(this.#options.onSession, event);
  }
}

/** What a client is told that is refused. */
const refusalReasons: Readonly<Record<RefusalCause, string>> = {
  "session-limit": "too many sessions",
  "client-limit": "too many sessions of this client",
  draining: "the service ends",
  address: "this is not the service for it",
  protocol: "the protocol is not served here",
  draft: "not in this version of the protocol",
  carrier: "not over this carrier: it does not keep the codes of streams",
  "tenant-fault": "the session could not be checked",
};

function safeSetup({ implementation }: PeerSetup): { implementation?: string } {
  return implementation === undefined ? {} : { implementation: printable(implementation) };
}
