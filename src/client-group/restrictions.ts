/**
 * What an origin has imposed on clients: BLOCK and LIMIT, and connections of their own.
 *
 * @module
 */

import { ClientGroupError } from "./errors.ts";
import { MAX_BLOCK_SECONDS } from "./group-action.ts";
import type { OriginKey, RestrictionScope } from "./origin-key.ts";

/** BLOCK and LIMIT that other processes of the same intermediary have heard of. */
export interface RestrictionsElsewhere<Client> {
  /** Seconds until a BLOCK ends, rounded up; 0 for none. */
  secondsBlocked(client: Client, scope: RestrictionScope): number;
  /**
   * How many requests of the client may be in progress in this process, where a LIMIT holds over all
   * of them; `undefined` where none does.
   */
  ceiling(client: Client, scope: RestrictionScope, inProgress: number): number | undefined;
}

export interface RestrictionsOptions<Client> {
  /** Milliseconds on a clock that never goes back (CG-S39). */
  readonly now: () => number;
  /** No BLOCK is honoured for longer, in seconds (CG-SEC-8); a day by default. */
  readonly longestBlock?: number;
  /** Asked beside what was heard here; none where the intermediary is one process. */
  readonly elsewhere?: RestrictionsElsewhere<Client> | undefined;
}

/** BLOCK, LIMIT or both of one client in one scope. */
export interface RestrictionInForce<Client> {
  readonly client: Client;
  readonly scope: RestrictionScope;
  /** 0 for no BLOCK. */
  readonly secondsBlocked: number;
  readonly limit: number | undefined;
  readonly inProgress: number;
  readonly queued: number;
}

/** Whether a request may go to the origin now. */
export type Verdict = "free" | "blocked" | "limited";

interface Entry {
  /** Milliseconds on the clock. */
  blockedUntil: number | undefined;
  limit: number | undefined;
  inProgress: number;
  queued: number;
}

/** Fewer entries than this are not worth looking through for those that mean nothing any more. */
const fewEntries = 64;

/**
 * BLOCK and LIMIT of every client, wherever its requests go: they follow it over all connections of
 * a scope (CG-ACT-6), and touch no other scope (CG-SEC-6). Memory is bounded by what is in progress,
 * queued or blocked.
 *
 * @typeParam Client what stands for a client group, the same on all connections; compared as keys of
 *   a `Map`
 */
export class Restrictions<Client> {
  readonly #now: () => number;
  #longestBlock = MAX_BLOCK_SECONDS;
  readonly #elsewhere: RestrictionsElsewhere<Client> | undefined;
  readonly #entries = new Map<RestrictionScope, Map<Client, Entry>>();
  readonly #alone = new Map<Client, Set<OriginKey>>();
  #size = 0;
  #sweepAt = fewEntries;

  /** @throws {ClientGroupError} INVALID_CONFIGURATION where `longestBlock` is not in 1..86400 */
  constructor(options: RestrictionsOptions<Client>) {
    const { now, longestBlock = MAX_BLOCK_SECONDS, elsewhere } = options;
    this.#now = now;
    this.capBlocks(longestBlock);
    this.#elsewhere = elsewhere;
  }

  /**
   * From now on no BLOCK is honoured for longer, in seconds; those in force stay.
   *
   * @throws {ClientGroupError} INVALID_CONFIGURATION where it is not in 1..86400
   */
  capBlocks(seconds: number): void {
    if (!(seconds >= 1 && seconds <= MAX_BLOCK_SECONDS)) {
      throw new ClientGroupError(
        "INVALID_CONFIGURATION",
        "the longest BLOCK has to be 1 to 86400 seconds",
      );
    }
    this.#longestBlock = seconds;
  }

  /** How many pairs of client and scope are kept. */
  get size(): number {
    return this.#size;
  }

  /** BLOCK from now on; it replaces the one in force (CG-BLOCK-5) and no LIMIT (CG-A13). */
  block(client: Client, scope: RestrictionScope, seconds: number): void {
    const entry = this.#entryFor(client, scope);
    entry.blockedUntil = this.#now() + Math.min(seconds, this.#longestBlock) * 1_000;
  }

  /**
   * LIMIT from now on; the latest wins (CG-LIMIT-6). It lasts while the client has requests in
   * progress or queued (CG-LIMIT-5, CG-A20), so that for a client without any it ends as it begins.
   */
  limit(client: Client, scope: RestrictionScope, requests: number): void {
    const entry = this.#entry(client, scope);
    if (entry !== undefined && entry.inProgress + entry.queued > 0) entry.limit = requests;
  }

  /** Ends BLOCK and LIMIT (CG-CLEAR-1), nothing else (CG-CLEAR-3); without them nothing (CG-S48). */
  clear(client: Client, scope: RestrictionScope): void {
    const entry = this.#entry(client, scope);
    if (entry === undefined) return;
    entry.blockedUntil = undefined;
    entry.limit = undefined;
    this.#dropIfEmpty(client, scope, entry);
  }

  /**
   * Seconds until the BLOCK ends, rounded up, as Retry-After says them (CG-BLOCK-2); 0 where there is
   * none.
   */
  secondsBlocked(client: Client, scope: RestrictionScope): number {
    const until = this.#entry(client, scope)?.blockedUntil;
    const here = until === undefined ? 0 : Math.max(0, Math.ceil((until - this.#now()) / 1_000));
    return Math.max(here, this.#elsewhere?.secondsBlocked(client, scope) ?? 0);
  }

  /** The LIMIT in force; `undefined` for none. */
  limitOf(client: Client, scope: RestrictionScope): number | undefined {
    return this.#entry(client, scope)?.limit;
  }

  /** The client's requests in progress in the scope, over all connections. */
  inProgress(client: Client, scope: RestrictionScope): number {
    return this.#entry(client, scope)?.inProgress ?? 0;
  }

  /** The client's requests that wait, in the scope. */
  queued(client: Client, scope: RestrictionScope): number {
    return this.#entry(client, scope)?.queued ?? 0;
  }

  /**
   * Whether anything is imposed on the client, wherever: whoever forgets it would free it of that.
   */
  isRestricted(client: Client): boolean {
    if (this.#alone.has(client)) return true;
    for (const clients of this.#entries.values()) {
      const entry = clients.get(client);
      if (entry === undefined) continue;
      if (entry.limit !== undefined) return true;
      if (entry.blockedUntil !== undefined && this.#now() < entry.blockedUntil) return true;
    }
    return false;
  }

  /** What was heard here and holds now, for those who look at it. */
  *inForce(): Iterable<RestrictionInForce<Client>> {
    for (const [scope, clients] of this.#entries) {
      for (const [client, entry] of clients) {
        const { blockedUntil = 0, limit, inProgress, queued } = entry;
        const secondsBlocked = Math.max(0, Math.ceil((blockedUntil - this.#now()) / 1_000));
        if (secondsBlocked === 0 && limit === undefined) continue;
        yield { client, scope, secondsBlocked, limit, inProgress, queued };
      }
    }
  }

  /** Whether a further request may go to the origin. Those in progress go on (CG-BLOCK-3, CG-S41). */
  judge(client: Client, scope: RestrictionScope): Verdict {
    const entry = this.#entry(client, scope);
    const elsewhere = this.#elsewhere;
    const until = entry?.blockedUntil;
    if (until !== undefined && this.#now() < until) return "blocked";
    if (elsewhere !== undefined && elsewhere.secondsBlocked(client, scope) > 0) return "blocked";
    const inProgress = entry?.inProgress ?? 0;
    if (entry?.limit !== undefined && inProgress >= entry.limit) return "limited";
    const ceiling = elsewhere?.ceiling(client, scope, inProgress);
    return ceiling !== undefined && inProgress >= ceiling ? "limited" : "free";
  }

  /**
   * A request goes to the origin.
   *
   * @param from `queue` where it was counted by {@link enqueue}
   * @returns `free`; where it is anything else, nothing has changed
   * @throws {ClientGroupError} OUT_OF_ORDER where no request of the client is queued
   */
  start(client: Client, scope: RestrictionScope, from: "fresh" | "queue" = "fresh"): Verdict {
    if (from === "queue") this.#countedEntry(client, scope, "queued");
    const verdict = this.judge(client, scope);
    if (verdict !== "free") return verdict;
    const entry = this.#entryFor(client, scope);
    entry.inProgress++;
    if (from === "queue") entry.queued--;
    return verdict;
  }

  /**
   * A request that was started has ended, in whatever way.
   *
   * @throws {ClientGroupError} OUT_OF_ORDER where none of the client is in progress
   */
  end(client: Client, scope: RestrictionScope): void {
    const entry = this.#countedEntry(client, scope, "inProgress");
    entry.inProgress--;
    this.#dropIfEmpty(client, scope, entry);
  }

  /** A request waits; while it does, a LIMIT lasts (CG-S42). How many may wait is the queue's matter. */
  enqueue(client: Client, scope: RestrictionScope): void {
    this.#entryFor(client, scope).queued++;
  }

  /**
   * A request that waited has been answered or given up, not started.
   *
   * @throws {ClientGroupError} OUT_OF_ORDER where none of the client is queued
   */
  dequeue(client: Client, scope: RestrictionScope): void {
    const entry = this.#countedEntry(client, scope, "queued");
    entry.queued--;
    this.#dropIfEmpty(client, scope, entry);
  }

  /** From now on the client's requests for the key need a connection of their own (CG-GOAWAY-4). */
  setAlone(client: Client, key: OriginKey): void {
    const keys = this.#alone.get(client);
    if (keys === undefined) this.#alone.set(client, new Set([key]));
    else keys.add(key);
  }

  /** Whether they do. Nothing but {@link forget} undoes it (CG-S31, CG-A14). */
  isAlone(client: Client, key: OriginKey): boolean {
    return this.#alone.get(client)?.has(key) ?? false;
  }

  /**
   * The client has no state left here. A BLOCK stays until it ends, for one that stands for the same
   * client may return.
   */
  forget(client: Client): void {
    this.#alone.delete(client);
  }

  #entry(client: Client, scope: RestrictionScope): Entry | undefined {
    return this.#entries.get(scope)?.get(client);
  }

  #entryFor(client: Client, scope: RestrictionScope): Entry {
    const found = this.#entry(client, scope);
    if (found !== undefined) return found;
    if (this.#size >= this.#sweepAt) this.#sweep();
    let clients = this.#entries.get(scope);
    if (clients === undefined) {
      clients = new Map();
      this.#entries.set(scope, clients);
    }
    const entry = { blockedUntil: undefined, limit: undefined, inProgress: 0, queued: 0 };
    clients.set(client, entry);
    this.#size++;
    return entry;
  }

  #countedEntry(client: Client, scope: RestrictionScope, count: "inProgress" | "queued"): Entry {
    const entry = this.#entry(client, scope);
    if (entry !== undefined && entry[count] > 0) return entry;
    throw new ClientGroupError(
      "OUT_OF_ORDER",
      `the client has no request ${count === "queued" ? "queued" : "in progress"} in this scope`,
    );
  }

  /** Lets a LIMIT go with the last request, and the entry with the last thing in it. */
  #dropIfEmpty(client: Client, scope: RestrictionScope, entry: Entry): void {
    if (entry.inProgress + entry.queued > 0) return;
    entry.limit = undefined;
    if (entry.blockedUntil !== undefined && this.#now() < entry.blockedUntil) return;
    const clients = this.#entries.get(scope);
    if (!clients?.delete(client)) return;
    this.#size--;
    if (clients.size === 0) this.#entries.delete(scope);
  }

  /** Drops what only a BLOCK that has ended kept. */
  #sweep(): void {
    for (const [scope, clients] of this.#entries) {
      for (const [client, entry] of clients) this.#dropIfEmpty(client, scope, entry);
    }
    this.#sweepAt = Math.max(fewEntries, 2 * this.#size);
  }
}
