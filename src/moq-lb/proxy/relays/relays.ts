/**
 * All sessions to relays of one server: how many there may be, and what they tell of the relays.
 *
 * @module
 */

import { toHex } from "../../../bytes.ts";
import { tell } from "../../../hook.ts";
import type { Draft, PeerSetup } from "../../../moqt/mod.ts";
import type { Clock } from "../../../session/mod.ts";
import { poolOf } from "../../../snapshot/mod.ts";
import type { BackendTokens, DialRelay, ProxyLimits } from "../proxy-options.ts";
import { type Backend, BackendFailure } from "./backend.ts";
import { type BackendClient, type BackendContext, BackendSession } from "./backend-session.ts";
import { hasLimits } from "./backend-setup.ts";
import type { RelayLimits } from "./capabilities.ts";
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
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random?: () => number;
  /** A relay is found not to be what the configuration makes of it (LB-PSETUP-12). */
  readonly onMismatch?: (mismatch: RelayMismatch) => void;
  /** Told of what a handler of a session threw, which ends that session. */
  readonly onFault?: (error: unknown) => void;
}

/**
 * A relay that does not fit into its pool: it refuses the version or the extensions that clients
 * were promised, or keeps less than its `attributes.moqt` say.
 */
export interface RelayMismatch {
  /** Lower-case hexadecimal. */
  readonly rid: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface Relays {
  /** Sessions that are open or being opened, of all client sessions. */
  readonly count: number;
  /**
   * Limits that relays have set in their last SETUP, by RID: for the promises to later clients
   * (LB-PSETUP-4, LB-S56). Drafts without such limits teach nothing.
   */
  readonly learned: ReadonlyMap<string, RelayLimits>;
  /**
   * Relays that do not fit, each once: until one opens a session as it should, or a newer snapshot
   * than that of the mismatch is in force.
   */
  readonly mismatches: readonly RelayMismatch[];
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

interface Misfit extends RelayMismatch {
  readonly draft: Draft;
  /** Version of the snapshot in force. */
  readonly version: number;
}

class RelayPool implements Relays {
  readonly #context: BackendContext;
  readonly #health: HealthView;
  readonly #now: () => number;
  readonly #onMismatch: RelaysOptions["onMismatch"];
  /** By RID. */
  readonly #misfits = new Map<string, Misfit>();
  /** Sessions that are open, by RID. */
  readonly #open = new Map<string, number>();
  readonly learned = new Map<string, RelayLimits>();
  count = 0;

  constructor({ health, now, onMismatch, ...options }: RelaysOptions) {
    const { random = Math.random, onFault } = options;
    this.#context = { ...options, random, onFault };
    this.#health = health;
    this.#now = now;
    this.#onMismatch = onMismatch;
  }

  get limits(): ProxyLimits {
    return this.#context.limits;
  }

  get mismatches(): readonly RelayMismatch[] {
    const version = this.#version;
    return [...this.#misfits.values()]
      .filter((misfit) => misfit.version >= version)
      .map(({ rid, at }) => ({ rid, at }));
  }

  forSession(client: BackendClient): SessionRelays {
    return new ClientBackends(client, this);
  }

  /** A session to a relay, which nothing has begun to open. */
  make(rid: string, uri: string, client: BackendClient, over: () => void): BackendSession {
    const { draft } = client;
    let isOpen = false;
    return new BackendSession(rid, uri, client, this.#context, {
      noteHealth: (state, reason) => this.#health.note(rid, state, reason),
      mismatched: () => this.#mismatched(rid, draft),
      opened: (setup) => {
        isOpen = true;
        this.#countOpen(rid, 1);
        this.#opened(rid, draft, setup);
      },
      over: () => {
        if (isOpen) this.#countOpen(rid, -1);
        over();
      },
      servesOthers: () => this.#open.has(rid),
    });
  }

  #countOpen(rid: string, change: number): void {
    const count = (this.#open.get(rid) ?? 0) + change;
    if (count > 0) this.#open.set(rid, count);
    else this.#open.delete(rid);
  }

  get #version(): number {
    return this.#health.active?.snapshot.version ?? Number.NEGATIVE_INFINITY;
  }

  #opened(rid: string, draft: Draft, setup: PeerSetup): void {
    if (hasLimits(draft)) {
      const { maxRequestUpdates, maxFilterRanges } = setup;
      this.#learn(rid, { maxRequestUpdates, maxFilterRanges });
      if (this.#promisesMore(rid, setup)) {
        this.#mismatched(rid, draft);
        return;
      }
    }
    // What another draft has shown is not taken back by this one.
    if (this.#misfits.get(rid)?.draft === draft) this.#misfits.delete(rid);
  }

  /** Of the relays that there are: what is remembered does not grow with those that there were. */
  #learn(rid: string, limits: RelayLimits): void {
    this.learned.set(rid, limits);
    const relays = this.#health.active?.snapshot.relays ?? [];
    if (this.learned.size <= relays.length) return;
    const present = new Set(relays.map((relay) => toHex(relay.rid)));
    for (const known of this.learned.keys()) {
      if (!present.has(known)) this.learned.delete(known);
    }
  }

  /** Whether the relay's attributes say more than it keeps (LB-PSETUP-4). */
  #promisesMore(rid: string, { maxRequestUpdates, maxFilterRanges }: PeerSetup): boolean {
    const active = this.#health.active;
    if (active === undefined) return false;
    const relay = poolOf(active.snapshot).relays.find(({ ridName }) => ridName === rid);
    const { maxRequestUpdates: updates, maxFilterRanges: ranges } = relay?.capabilities ?? {};
    // 0 is no limit for the one and none at all for the other (LB-S55).
    const promisesUpdates =
      updates !== undefined &&
      maxRequestUpdates !== 0n &&
      (updates === 0 || BigInt(updates) > maxRequestUpdates);
    return promisesUpdates || (ranges !== undefined && BigInt(ranges) > maxFilterRanges);
  }

  #mismatched(rid: string, draft: Draft): void {
    const version = this.#version;
    for (const [known, misfit] of this.#misfits) {
      if (misfit.version < version) this.#misfits.delete(known);
    }
    const isNew = !this.#misfits.has(rid);
    const at = this.#now();
    this.#misfits.set(rid, { rid, at, draft, version });
    if (isNew) tell(this.#onMismatch, { rid, at });
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
