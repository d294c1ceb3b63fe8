/**
 * All sessions to relays of one server: how many there may be, and what they tell of the relays.
 *
 * @module
 */

import type { PeerSetup } from "../../../moqt/mod.ts";
import type { Clock } from "../../../session/mod.ts";
import type { BackendTokens, DialRelay, ProxyLimits } from "../proxy-options.ts";
import { type Backend, BackendFailure } from "./backend.ts";
import { type BackendClient, type BackendContext, BackendSession } from "./backend-session.ts";
import type { HealthView } from "./health-view.ts";

export type { BackendClient } from "./backend-session.ts";

export interface RelaysOptions {
  readonly dial: DialRelay;
  readonly backendTokens: BackendTokens;
  readonly limits: ProxyLimits;
  readonly health: HealthView;
  /** MOQT_IMPLEMENTATION towards relays (LB-PSETUP-10). */
  readonly implementation: string;
  /** Bytes of tokens that a relay may register with us. */
  readonly tokenCacheSize: number;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Told of what a handler of a session threw, which ends that session. */
  readonly onFault?: (error: unknown) => void;
}

export interface Relays {
  /** Sessions that are open or being opened, of all client sessions. */
  readonly count: number;
  /** Sessions to relays that this client session is to have. */
  forSession(client: BackendClient): SessionRelays;
}

/** The sessions to relays of one client session; one for each relay at most that takes requests. */
export interface SessionRelays {
  /** Those that are not over, leaving ones included. */
  readonly backends: ReadonlySet<Backend>;
  /**
   * The session to this relay that requests can be made on; where there is none, or not under this
   * URI any more (LB-A23), one that is being opened (LB-PSETUP-5, LB-PSETUP-6). What keeps it from
   * opening shows in its `opened`, a limit included.
   *
   * @param rid lower-case hexadecimal
   */
  open(rid: string, uri: string): Backend;
  /** Ends all of them; none can be opened any more. */
  close(): void;
}

export function createRelays(options: RelaysOptions): Relays {
  return new RelayPool(options);
}

class RelayPool implements Relays {
  readonly #context: BackendContext;
  readonly #health: HealthView;
  count = 0;

  constructor({ health, random = Math.random, onFault, ...options }: RelaysOptions) {
    this.#context = { ...options, random, onFault };
    this.#health = health;
  }

  forSession(client: BackendClient): SessionRelays {
    return new ClientBackends(client, this);
  }

  /** A session to a relay, which nothing has begun to open. */
  make(rid: string, uri: string, client: BackendClient, over: () => void): BackendSession {
    return new BackendSession(rid, uri, client, this.#context, {
      noteHealth: (state) => this.#health.note(rid, state),
      mismatched: () => {},
      opened: (_setup: PeerSetup) => {},
      over,
    });
  }

  get limits(): ProxyLimits {
    return this.#context.limits;
  }
}

class ClientBackends implements SessionRelays {
  readonly backends = new Set<BackendSession>();
  readonly #client: BackendClient;
  readonly #pool: RelayPool;
  #isClosed = false;

  constructor(client: BackendClient, pool: RelayPool) {
    this.#client = client;
    this.#pool = pool;
  }

  open(rid: string, uri: string): Backend {
    for (const backend of this.backends) {
      if (backend.rid === rid && backend.uri === uri && !backend.isLeaving) return backend;
    }
    const pool = this.#pool;
    let counts = false;
    const backend = pool.make(rid, uri, this.#client, () => {
      this.backends.delete(backend);
      if (counts) pool.count--;
    });
    const failure = this.#limit();
    if (failure !== undefined) {
      backend.fail(failure);
      return backend;
    }
    counts = true;
    pool.count++;
    this.backends.add(backend);
    backend.open();
    return backend;
  }

  close(): void {
    this.#isClosed = true;
    for (const backend of [...this.backends]) backend.close();
  }

  /** What forbids one more session. */
  #limit(): BackendFailure | undefined {
    const { limits, count } = this.#pool;
    if (this.#isClosed) {
      return new BackendFailure("BACKEND_LIMIT", "the client's session is over");
    }
    if (this.backends.size >= limits.maximumBackendsPerSession) {
      return new BackendFailure("BACKEND_LIMIT", "the client's session has too many relays");
    }
    if (count >= limits.maximumBackends) {
      return new BackendFailure("BACKEND_LIMIT", "there are too many sessions to relays");
    }
    return undefined;
  }
}
