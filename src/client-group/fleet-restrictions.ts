/**
 * BLOCK and LIMIT of one intermediary that runs as several processes.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import { messageOf } from "../errors.ts";
import { FleetJournal } from "./fleet-journal.ts";
import { FleetSlots, sweepSlots } from "./fleet-slots.ts";
import { type FleetStore, type FleetTimers, inTime, timedFleetStore } from "./fleet-store.ts";
import { MAX_BLOCK_SECONDS } from "./group-action.ts";
import type { RestrictionScope } from "./origin-key.ts";
import {
  decodeRecord,
  encodeRecord,
  isOver,
  MAX_RECORD_BYTES,
  mergeRecords,
  type RestrictionRecord,
  restrictionId,
  type Stamp,
  sameRecord,
} from "./restriction-record.ts";
import type { Restrictions, RestrictionsElsewhere } from "./restrictions.ts";

export interface FleetOptions<Client> {
  readonly store: FleetStore;
  /** Names this process among all: letters, digits and dashes, never used again. */
  readonly process: string;
  /** Milliseconds since the epoch: what deadlines are told in. */
  readonly wallClock: () => number;
  /** Milliseconds on a clock that never goes back: what they are held by here (CG-S39). */
  readonly now: () => number;
  readonly timers: FleetTimers;
  /** The same for the same client in every process. */
  readonly keyOf: (client: Client) => string;
  /** No BLOCK is honoured for longer, in seconds (CG-SEC-8); a day by default. */
  readonly longestBlock?: number;
  /** Whether the client is the same in other processes at all. */
  readonly isShared: (client: Client) => boolean;
  /** Something changed that decides on requests that wait. */
  readonly onChange?: (client: Client, scope: RestrictionScope) => void;
  /** The store was lost, or is back. */
  readonly onState?: (state: FleetView["state"], reason: string) => void;
  /** Milliseconds between two looks for news. Default 250. */
  readonly interval?: number;
  /** Milliseconds that a first request of a client waits for the store at most. Default 100. */
  readonly lookUpTime?: number;
  /** Milliseconds that an operation of the store may take. Default 1 s. */
  readonly storeTime?: number;
}

/** As pages and metrics show it. */
export interface FleetView {
  /** `lost`: each process goes by what it knew and hears itself. */
  readonly state: "starting" | "connected" | "lost";
  /** Why it was lost. */
  readonly fault: string | undefined;
  /** Clients in scopes that something is known of. */
  readonly records: number;
  /** What was not written yet. */
  readonly pending: number;
}

/** What is known of one client in one scope. */
interface Known<Client> {
  record: RestrictionRecord;
  /** On the clock that never goes back. */
  blockedUntil: number;
  limitedUntil: number;
  /** None before it was seen here. */
  client?: Client;
  scope?: RestrictionScope;
  slots?: { readonly of: string; readonly slots: FleetSlots };
  /** Until when somebody is taken to be waiting for a slot, on the clock that never goes back. */
  wantedUntil?: number;
  /** When all slots were found taken, on the clock that never goes back. */
  triedAt?: number;
}

interface Seen {
  readonly id: string;
  /** The number of the connection to the store in which it was looked up. */
  lookedUp: number;
}

const INTERVAL = 250;
/** Milliseconds that a LIMIT lasts past the last requests of its client that some process has. */
const LIMIT_LEASE = 10_000;
const SLOT_LEASE = 5_000;
/** Milliseconds that a slot is kept for somebody who was turned away for want of it. */
const WANTED = 1_000;
/** Milliseconds that a CLEAR is remembered that ended nothing known. */
const CLEAR_KEPT = 60_000;
/** Records that are read at once. */
const BATCH = 64;
/** Milliseconds between two looks through everything. */
const RESYNC = 30_000;
/** Milliseconds between two attempts at a store that is lost, at most. */
const LONGEST_PAUSE = 2_000;
const MOST_RECORDS = 100_000;

/** Where the store has the record of an id, which follows. */
export const recordPrefix = "gateway:restriction:";
const slotPrefix = "gateway:slot:";
const journalPrefix = "gateway:journal:";

/**
 * Shares what one process hears of clients with the others: BLOCK holds in all of them until its
 * deadline or CLEAR, LIMIT over the requests of all of them together. Without the store, each goes by
 * what it knows and hears; once it is back, they tell each other what they missed, and the latest
 * word counts.
 *
 * It is asked by {@link Restrictions} as what holds `elsewhere`.
 */
export class FleetRestrictions<Client extends object> implements RestrictionsElsewhere<Client> {
  readonly #options: FleetOptions<Client>;
  readonly #store: FleetStore;
  readonly #journal: FleetJournal;
  readonly #known = new Map<string, Known<Client>>();
  readonly #seen = new WeakMap<Client, Map<RestrictionScope, Seen>>();
  /** Ids of records that others do not know of yet. */
  readonly #pending = new Set<string>();
  #restrictions: Restrictions<Client> | undefined;
  #state: FleetView["state"] = "starting";
  #fault: string | undefined;
  #connection = 0;
  #failures = 0;
  #lastStamp = 0;
  #resyncAt = 0;
  #timer: unknown;
  #turn: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(options: FleetOptions<Client>) {
    this.#options = options;
    this.#store = timedFleetStore(options.store, options.timers, options.storeTime ?? 1_000);
    this.#journal = new FleetJournal(this.#store, journalPrefix, (record) => this.#hear(record));
  }

  /** Begins to share what `restrictions` has; resolves once the store was read, or was found lost. */
  async start(restrictions: Restrictions<Client>): Promise<void> {
    this.#restrictions = restrictions;
    await this.#run();
  }

  /** Ends, and closes the store; what is left to tell is told first, as far as the store takes it. */
  async close(): Promise<void> {
    if (this.#pending.size > 0 && this.#state === "connected") await this.#run();
    this.#closed = true;
    this.#options.timers.clearTimeout(this.#timer);
    await this.#turn;
    await this.#options.store.close?.();
  }

  view(): FleetView {
    return {
      state: this.#state,
      fault: this.#fault,
      records: this.#known.size,
      pending: this.#pending.size,
    };
  }

  /** What holds now, whoever heard it; `client` where it was seen here. */
  *inForce(): Iterable<{
    readonly id: string;
    readonly client: Client | undefined;
    readonly scope: RestrictionScope | undefined;
    readonly secondsBlocked: number;
    readonly limit: number | undefined;
  }> {
    const now = this.#options.now();
    for (const [id, known] of this.#known) {
      const { client, scope, record, blockedUntil, limitedUntil } = known;
      const secondsBlocked = Math.max(0, Math.ceil((blockedUntil - now) / 1_000));
      const limit = limitedUntil > now ? record.limit?.requests : undefined;
      if (secondsBlocked > 0 || limit !== undefined) {
        yield { id, client, scope, secondsBlocked, limit };
      }
    }
  }

  /** This process has heard a BLOCK. */
  block(client: Client, scope: RestrictionScope, seconds: number): void {
    const { wallClock, longestBlock = MAX_BLOCK_SECONDS } = this.#options;
    this.#say(client, scope, ({ block }, stamp) => {
      const until = wallClock() + Math.min(seconds, longestBlock) * 1_000;
      return { block: { ...stamp, until, keep: Math.max(until, block?.keep ?? 0) } };
    });
  }

  /** This process has heard a LIMIT; one that holds for no request here is told to nobody. */
  limit(client: Client, scope: RestrictionScope): void {
    const requests = this.#restrictions?.limitOf(client, scope);
    if (requests === undefined) return;
    this.#say(client, scope, ({ limit }, stamp) => {
      const until = this.#options.wallClock() + LIMIT_LEASE;
      return { limit: { ...stamp, requests, until, keep: Math.max(until, limit?.keep ?? 0) } };
    });
  }

  /**
   * This process has heard a CLEAR. It is told also where nothing is known that it could end: word of
   * that may be under way.
   */
  clear(client: Client, scope: RestrictionScope): void {
    this.#say(client, scope, ({ block, limit }, stamp) => {
      const shortly = this.#options.wallClock() + CLEAR_KEPT;
      const ended = (keep = 0) => ({ ...stamp, until: 0, keep: Math.max(keep, shortly) });
      return { block: ended(block?.keep), limit: { ...ended(limit?.keep), requests: 0 } };
    });
  }

  /**
   * Before the first request of a client goes anywhere: what others know of it. It takes no longer
   * than the time that is set for it, and none where the store is lost or was asked before.
   */
  lookUp(client: Client, scope: RestrictionScope): Promise<void> | undefined {
    if (this.#state !== "connected" || !this.#options.isShared(client)) return undefined;
    const seen = this.#seenOf(client, scope);
    if (seen.lookedUp === this.#connection) return undefined;
    return this.#lookUp(seen);
  }

  /** The client has no state here any more. */
  forget(client: Client): void {
    for (const { id } of this.#seen.get(client)?.values() ?? []) {
      const known = this.#known.get(id);
      if (known?.client !== client) continue;
      delete known.client;
      delete known.scope;
    }
    this.#seen.delete(client);
  }

  secondsBlocked(client: Client, scope: RestrictionScope): number {
    const known = this.#knownOf(client, scope);
    if (known === undefined) return 0;
    return Math.max(0, Math.ceil((known.blockedUntil - this.#options.now()) / 1_000));
  }

  ceiling(client: Client, scope: RestrictionScope, inProgress: number): number | undefined {
    const known = this.#knownOf(client, scope);
    const limit = known?.record.limit;
    if (known === undefined || limit === undefined) return undefined;
    if (known.limitedUntil <= this.#options.now()) return undefined;
    // Without the store the LIMIT holds in each process by itself.
    if (this.#state !== "connected") return limit.requests;
    const allowed = this.#slotsOf(known).allowed;
    if (inProgress >= allowed && allowed < limit.requests) {
      const { interval = INTERVAL, now } = this.#options;
      known.wantedUntil = now() + WANTED;
      if (now() - (known.triedAt ?? Number.NEGATIVE_INFINITY) >= interval) this.#soon();
    }
    return allowed;
  }

  #seenOf(client: Client, scope: RestrictionScope): Seen {
    let scopes = this.#seen.get(client);
    if (scopes === undefined) {
      scopes = new Map();
      this.#seen.set(client, scopes);
    }
    let seen = scopes.get(scope);
    if (seen === undefined) {
      seen = { id: restrictionId(this.#options.keyOf(client), scope), lookedUp: 0 };
      scopes.set(scope, seen);
    }
    return seen;
  }

  #knownOf(client: Client, scope: RestrictionScope): Known<Client> | undefined {
    if (this.#known.size === 0 || !this.#options.isShared(client)) return undefined;
    const known = this.#known.get(this.#seenOf(client, scope).id);
    if (known !== undefined && known.client === undefined) {
      known.client = client;
      known.scope = scope;
    }
    return known;
  }

  async #lookUp(seen: Seen): Promise<void> {
    const { timers, lookUpTime = 100, store } = this.#options;
    const connection = this.#connection;
    try {
      const read = () => store.get(recordPrefix + seen.id, MAX_RECORD_BYTES);
      const bytes = await inTime(timers, lookUpTime, read);
      seen.lookedUp = connection;
      const record = bytes && decodeRecord(bytes);
      if (record !== undefined && record.id === seen.id) this.#hear(record);
    } catch {
      // The next turn finds out what is wrong with the store; the request goes by what is known.
      this.#soon();
    }
  }

  /** Changes a record here, and has the others told. */
  #say(
    client: Client,
    scope: RestrictionScope,
    change: (
      before: Partial<RestrictionRecord>,
      stamp: Stamp,
    ) => Pick<RestrictionRecord, "block" | "limit">,
  ): void {
    const { isShared, wallClock, process } = this.#options;
    if (!isShared(client)) return;
    const { id } = this.#seenOf(client, scope);
    const before = this.#known.get(id)?.record ?? { id };
    // Two words of this process are never of the same time; nor is one earlier than what it answers.
    const heard = Math.max(before.block?.at ?? 0, before.limit?.at ?? 0);
    this.#lastStamp = Math.max(wallClock(), this.#lastStamp + 1, heard + 1);
    const stamp = { at: this.#lastStamp, process };
    this.#take({ ...before, ...change(before, stamp) });
    this.#knownOf(client, scope);
    this.#pending.add(id);
    this.#soon();
  }

  /** Takes what another process has said. */
  #hear(record: RestrictionRecord): void {
    const before = this.#known.get(record.id)?.record;
    const merged = before === undefined ? record : mergeRecords(before, record);
    if (sameRecord(before, merged)) return;
    const known = this.#take(merged);
    const { client, scope } = known;
    if (client === undefined || scope === undefined) return;
    // What was heard here before holds no more, or as the record has it.
    if (isNews(before?.block, merged.block) || isNews(before?.limit, merged.limit)) {
      this.#restrictions?.clear(client, scope);
    }
    this.#options.onChange?.(client, scope);
  }

  #take(record: RestrictionRecord): Known<Client> {
    const { now, wallClock, longestBlock = MAX_BLOCK_SECONDS } = this.#options;
    // No clock of another process makes a BLOCK longer than there are.
    const left = (until = 0) => now() + Math.min(until - wallClock(), longestBlock * 1_000);
    const known = this.#known.get(record.id) ?? { record, blockedUntil: 0, limitedUntil: 0 };
    known.record = record;
    known.blockedUntil = left(record.block?.until);
    known.limitedUntil = left(record.limit?.until);
    if (!this.#known.has(record.id)) {
      if (this.#known.size >= MOST_RECORDS) this.#dropOne();
      this.#known.set(record.id, known);
    }
    return known;
  }

  /** The oldest of a client that was not seen here: a look-up finds it again. */
  #dropOne(): void {
    for (const [id, { client }] of this.#known) {
      if (client !== undefined) continue;
      this.#known.delete(id);
      return;
    }
  }

  #slotsOf(known: Known<Client>): FleetSlots {
    const limit = known.record.limit as NonNullable<RestrictionRecord["limit"]>;
    const name = slotsName(known.record);
    if (known.slots?.of === name) return known.slots.slots;
    const { process, wallClock, now } = this.#options;
    const slots = new FleetSlots({
      store: this.#store,
      name,
      requests: limit.requests,
      process,
      wallClock,
      now,
      lease: SLOT_LEASE,
    });
    known.slots = { of: name, slots };
    return slots;
  }

  /** Has a turn begin at once, or once more after the one that runs. */
  #soon(): void {
    if (this.#turn !== undefined) this.#again = true;
    else if (this.#state === "connected") void this.#run();
  }

  /** One turn; they never overlap. */
  #run(): Promise<void> {
    if (this.#turn !== undefined) {
      this.#again = true;
      return this.#turn;
    }
    this.#options.timers.clearTimeout(this.#timer);
    this.#turn = this.#turns().finally(() => {
      this.#turn = undefined;
      if (this.#closed) return;
      this.#timer = this.#options.timers.setTimeout(() => void this.#run(), this.#pause());
    });
    return this.#turn;
  }

  async #turns(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#onceThrough();
        this.#succeeded();
      } catch (error) {
        this.#failed(messageOf(error));
        return;
      }
    } while (this.#again && !this.#closed);
  }

  #pause(): number {
    const { interval = INTERVAL } = this.#options;
    return Math.min(LONGEST_PAUSE, interval * 2 ** Math.min(10, this.#failures));
  }

  #succeeded(): void {
    this.#failures = 0;
    if (this.#state === "connected") return;
    this.#state = "connected";
    this.#fault = undefined;
    // Whatever was looked up before may have changed while nobody listened.
    this.#connection++;
    this.#options.onState?.("connected", "the store answers");
  }

  #failed(fault: string): void {
    this.#failures++;
    this.#fault = fault;
    this.#resyncAt = 0;
    if (this.#state === "lost") return;
    this.#state = "lost";
    this.#options.onState?.("lost", fault);
  }

  async #onceThrough(): Promise<void> {
    if (this.#options.now() >= this.#resyncAt || this.#state !== "connected") await this.#resync();
    await this.#journal.catchUp();
    for (const id of this.#pending) await this.#publish(id);
    await this.#keepLimits();
    this.#dropOver();
  }

  /** Reads every record, and writes those that the store has lost or has older. */
  async #resync(): Promise<void> {
    await this.#journal.skipToEnd();
    const there = new Set<string>();
    const keys = await this.#store.keys(recordPrefix);
    for (let i = 0; i < keys.length; i += BATCH) {
      await Promise.all(keys.slice(i, i + BATCH).map((key) => this.#readAgain(key, there)));
      // Nobody waits for news until all of it is read.
      await this.#journal.catchUp();
    }
    for (const id of this.#known.keys()) if (!there.has(id)) this.#pending.add(id);
    const inForce = new Set([...this.#known.values()].map(({ record }) => slotsName(record)));
    await sweepSlots(this.#store, slotPrefix, this.#options.wallClock(), (name) =>
      inForce.has(name),
    );
    this.#resyncAt = this.#options.now() + RESYNC;
  }

  async #readAgain(key: string, there: Set<string>): Promise<void> {
    const bytes = await this.#store.get(key, MAX_RECORD_BYTES);
    const record = bytes && decodeRecord(bytes);
    if (record === undefined || key !== recordPrefix + record.id) return;
    if (isOver(record, this.#options.wallClock())) return this.#store.remove(key);
    there.add(record.id);
    this.#hear(record);
    if (!sameRecord(this.#known.get(record.id)?.record, record)) this.#pending.add(record.id);
  }

  /** The record first, for those who look it up, then the word of it. */
  async #publish(id: string): Promise<void> {
    if (await this.#write(id)) {
      const record = this.#known.get(id)?.record;
      if (record !== undefined) await this.#journal.append(record);
    }
    this.#pending.delete(id);
  }

  /** @returns whether the others may not know it */
  async #write(id: string): Promise<boolean> {
    const bytes = await this.#store.get(recordPrefix + id, MAX_RECORD_BYTES);
    const stored = bytes && decodeRecord(bytes);
    if (stored !== undefined) this.#hear(stored);
    const record = this.#known.get(id)?.record;
    if (record === undefined || sameRecord(stored, record)) return false;
    await this.#store.set(recordPrefix + id, utf8(encodeRecord(record)));
    return true;
  }

  /** Prolongs LIMITs of clients that have requests here, and holds slots for those requests. */
  async #keepLimits(): Promise<void> {
    const { now, wallClock } = this.#options;
    for (const known of this.#known.values()) {
      const { record, client, scope } = known;
      if (record.limit === undefined || client === undefined || scope === undefined) continue;
      if (record.limit.until === 0 || known.limitedUntil <= now()) continue;
      const inProgress = this.#restrictions?.inProgress(client, scope) ?? 0;
      const queued = this.#restrictions?.queued(client, scope) ?? 0;
      const slots = this.#slotsOf(known);
      // Whoever was turned away may not have been counted.
      const isWanted = now() < (known.wantedUntil ?? 0);
      const wanted = inProgress + Math.max(queued, isWanted ? 1 : 0);
      await slots.keep(wanted);
      if (slots.allowed < Math.min(wanted, record.limit.requests)) {
        if (await slots.claim(wanted)) this.#options.onChange?.(client, scope);
        else known.triedAt = now();
      }
      if (known.limitedUntil - now() > LIMIT_LEASE / 2) continue;
      if (inProgress + queued > 0) {
        const until = wallClock() + LIMIT_LEASE;
        this.#take({ ...record, limit: { ...record.limit, until, keep: until } });
      }
      await this.#write(record.id);
    }
  }

  /** Lets go of what nobody has to know any more. */
  #dropOver(): void {
    const time = this.#options.wallClock();
    for (const [id, { record }] of this.#known) {
      if (!isOver(record, time)) continue;
      this.#known.delete(id);
      this.#pending.delete(id);
    }
  }
}

/** Names the slots of the LIMIT that a record has. */
function slotsName({ id, limit }: RestrictionRecord): string {
  return `${slotPrefix}${id}:${limit?.at ?? 0}-${limit?.process ?? ""}`;
}

/** Whether `after` is another word than `before`, and not the same one prolonged. */
function isNews(before: Stamp | undefined, after: Stamp | undefined): boolean {
  return after !== undefined && (after.at !== before?.at || after.process !== before.process);
}
