/**
 * What a change of the Routing Table does to requests before it is published: which share of keys
 * each relay gets, against its weight, and which keys move, from where to where (LB-RESIZE-2,
 * LB-RESIZE-4). Every key is placed as a load balancer would place it.
 *
 * @module
 */

import { toHex, utf8 } from "../bytes.ts";
import { selectRelay } from "../hrw/mod.ts";
import type { TrackNamespace } from "../moqt/mod.ts";
import { hashKeyFields, isEligible, isReserved, routingTable } from "../routing/mod.ts";
import {
  type HashedRoute,
  type Relay,
  type Route,
  type RouteCandidate,
  type Snapshot,
  snapshotLimits,
} from "../snapshot/mod.ts";

export interface SimulationOptions {
  /**
   * How many keys are made, spread evenly over the prefixes of hashed routes; 100,000 by default.
   * Without meaning where `namespaces` are given.
   */
  readonly keys?: number;
  /** Namespaces to place instead. */
  readonly namespaces?: readonly TrackNamespace[];
  /** Hears how many keys of how many are placed, now and then. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Ends the simulation early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds since some moment; `performance.now` by default. */
  readonly monotonic?: () => number;
}

/** What one relay gets. Counts are of keys. */
export interface SimulatedRelay {
  readonly rid: Uint8Array;
  readonly before: number;
  readonly after: number;
  /** What its weights make one expect: the sum over routes of keys times weight share. */
  readonly expectedBefore: number;
  readonly expectedAfter: number;
}

/** Keys that go elsewhere. An absent end means that no relay is selected there. */
export interface Move {
  readonly from?: Uint8Array;
  readonly to?: Uint8Array;
  readonly keys: number;
}

export interface Simulation {
  readonly keys: number;
  /** Relays of both snapshots: those of `to` in their order, then those that are gone. */
  readonly relays: readonly SimulatedRelay[];
  /** Keys that another relay is selected for, or none any more, or one for the first time. */
  readonly moved: number;
  /** Most keys first. */
  readonly moves: readonly Move[];
  /** Keys that no relay is selected for. */
  readonly unplaced: { readonly before: number; readonly after: number };
}

const DEFAULT_KEYS = 100_000;
/** Milliseconds of work between two looks at the clock of others. */
const TURN = 12;
/** Keys between two looks at our own clock. */
const STEP = 64;

/**
 * Places keys under both snapshots. Health counts as each snapshot has it; age does not.
 *
 * The event loop gets its turn all the time, so that a server can simulate beside its work.
 *
 * @throws {RangeError} `keys` is not a positive integer
 */
export async function simulate(
  from: Snapshot,
  to: Snapshot,
  options: SimulationOptions = {},
): Promise<Simulation> {
  const { namespaces, keys = DEFAULT_KEYS, onProgress, signal } = options;
  const { monotonic = () => performance.now() } = options;
  if (!Number.isSafeInteger(keys) || keys < 1) throw new RangeError("keys: expected 1 or more");
  const given = namespaces ?? new MadeNamespaces(from, to, keys);
  const total = given.length;
  const tally = new Tally(from, to);
  let turnEnds = monotonic() + TURN;
  for (let i = 0; i < total; i++) {
    tally.place(given.at(i) as TrackNamespace);
    if (i % STEP !== 0 || monotonic() < turnEnds) continue;
    onProgress?.(i + 1, total);
    await new Promise((resume) => setTimeout(resume, 0));
    signal?.throwIfAborted();
    turnEnds = monotonic() + TURN;
  }
  onProgress?.(total, total);
  return tally.result(total);
}

/**
 * Namespaces below the prefixes of hashed routes, one route after the other. Each has a field of
 * its own at the end of its hash key where `key_fields` reaches beyond the prefix; where it does
 * not, all keys of the route are one, which is what happens to real ones too.
 */
class MadeNamespaces {
  readonly length: number;
  readonly #stems: readonly TrackNamespace[];

  constructor(from: Snapshot, to: Snapshot, keys: number) {
    const stems = new Map<string, TrackNamespace>();
    for (const route of [...to.routes, ...from.routes]) {
      if (route.kind !== "hashed" || isReserved(route.prefix)) continue;
      const name = route.prefix.map((field) => `${toHex(field)}.`).join("");
      if (!stems.has(name)) stems.set(name, stemOf(route));
    }
    this.#stems = [...stems.values()];
    this.length = this.#stems.length === 0 ? 0 : keys;
  }

  at(i: number): TrackNamespace {
    const stem = this.#stems[i % this.#stems.length] as TrackNamespace;
    return stem.length < snapshotLimits.prefixFields ? [...stem, utf8(`key-${i}`)] : stem;
  }
}

/** The prefix, filled up so that one field more ends the hash key. */
function stemOf({ prefix, key_fields = 0 }: HashedRoute): TrackNamespace {
  const filler = { length: Math.max(0, key_fields - 1 - prefix.length) };
  return [...prefix, ...Array.from(filler, () => utf8("x"))];
}

/** In place of the number of a relay where none is selected. */
const NONE = 0;

/** Counts what becomes of keys under two snapshots. Relays have numbers here, from 1 on. */
class Tally {
  readonly #rids: readonly Uint8Array[];
  readonly #before: Side;
  readonly #after: Side;
  /** By the placing before, the last one after that was met with it. */
  readonly #changes = new Map<Placing, RouteChange>();
  /** Keys by their old and new relay: the number of the old one times `#stride` plus the new. */
  readonly #flows = new Map<number, number>();
  readonly #stride: number;

  constructor(from: Snapshot, to: Snapshot) {
    const numbers = new Map<string, number>();
    const rids: Uint8Array[] = [];
    for (const { rid } of [...to.relays, ...from.relays]) {
      const key = toHex(rid);
      if (!numbers.has(key)) numbers.set(key, rids.push(rid));
    }
    this.#rids = rids;
    this.#stride = rids.length + 1;
    this.#before = new Side(from, numbers);
    this.#after = new Side(to, numbers);
  }

  place(namespace: TrackNamespace): void {
    const before = this.#before.match(namespace);
    const after = this.#after.match(namespace);
    const change = before && after && this.#changeOf(before, after);
    const [from, to] = change?.select(namespace) ?? [
      before?.select(namespace) ?? NONE,
      after?.select(namespace) ?? NONE,
    ];
    const flow = from * this.#stride + to;
    this.#flows.set(flow, (this.#flows.get(flow) ?? 0) + 1);
  }

  /** `undefined` where the two hash differently and have nothing in common. */
  #changeOf(before: Placing, after: Placing): RouteChange | undefined {
    if (before.hashing === undefined || before.hashing !== after.hashing) return undefined;
    let change = this.#changes.get(before);
    if (change?.after !== after) {
      change = new RouteChange(before, after);
      this.#changes.set(before, change);
    }
    return change;
  }

  result(keys: number): Simulation {
    const before = new Float64Array(this.#stride);
    const after = new Float64Array(this.#stride);
    const moves: Move[] = [];
    for (const [flow, count] of this.#flows) {
      const to = flow % this.#stride;
      const from = (flow - to) / this.#stride;
      before[from] = (before[from] as number) + count;
      after[to] = (after[to] as number) + count;
      if (from !== to) moves.push(this.#move(from, to, count));
    }
    const expectedBefore = this.#before.expected(this.#stride);
    const expectedAfter = this.#after.expected(this.#stride);
    return {
      keys,
      relays: this.#rids.map((rid, i) => ({
        rid,
        before: before[i + 1] as number,
        after: after[i + 1] as number,
        expectedBefore: expectedBefore[i + 1] as number,
        expectedAfter: expectedAfter[i + 1] as number,
      })),
      moved: moves.reduce((sum, move) => sum + move.keys, 0),
      moves: moves.sort((a, b) => b.keys - a.keys),
      unplaced: { before: before[NONE] as number, after: after[NONE] as number },
    };
  }

  #move(from: number, to: number, keys: number): Move {
    const source = this.#rids[from - 1];
    const target = this.#rids[to - 1];
    return { ...(source && { from: source }), ...(target && { to: target }), keys };
  }
}

/** One of the two snapshots. */
class Side {
  readonly #snapshot: Snapshot;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #health: ReadonlyMap<string, Relay>;
  readonly #placings = new Map<Route, Placing>();

  constructor(snapshot: Snapshot, numbers: ReadonlyMap<string, number>) {
    this.#snapshot = snapshot;
    this.#numbers = numbers;
    this.#health = new Map(snapshot.relays.map((relay) => [toHex(relay.rid), relay]));
  }

  /** How keys like `namespace` are placed; `undefined` where no route takes it. */
  match(namespace: TrackNamespace): Placing | undefined {
    if (isReserved(namespace)) return undefined;
    const route = routingTable(this.#snapshot).match(namespace)?.route;
    if (route === undefined) return undefined;
    let placing = this.#placings.get(route);
    if (placing === undefined) {
      placing = new Placing(route, this.#candidatesOf(route));
      this.#placings.set(route, placing);
    }
    placing.keys++;
    return placing;
  }

  #candidatesOf(route: Route): NumberedCandidate[] {
    const named = route.kind === "static" ? [{ rid: route.rid, weight: 1 }] : route.rids;
    return named.flatMap(({ rid, weight }) => {
      const key = toHex(rid);
      const relay = this.#health.get(key);
      const number = this.#numbers.get(key);
      if (relay === undefined || number === undefined || !isEligible(relay, weight)) return [];
      return [{ rid, weight, number }];
    });
  }

  /** Keys that each relay, by its number, would have if weights were met to the letter. */
  expected(size: number): Float64Array {
    const counts = new Float64Array(size);
    for (const { keys, candidates } of this.#placings.values()) {
      const weights = candidates.reduce((sum, { weight }) => sum + weight, 0);
      for (const { number, weight } of candidates) {
        counts[number] = (counts[number] as number) + (keys * weight) / weights;
      }
    }
    return counts;
  }
}

interface NumberedCandidate extends RouteCandidate {
  readonly number: number;
}

/** A route with its Eligible candidates. */
class Placing {
  /** Keys that it was asked for. */
  keys = 0;
  readonly route: Route;
  readonly candidates: readonly NumberedCandidate[];
  /** Equal where equal candidates have equal hashes for every key; absent on a static route. */
  readonly hashing: string | undefined;

  constructor(route: Route, candidates: readonly NumberedCandidate[]) {
    this.route = route;
    this.candidates = candidates;
    if (route.kind === "hashed") this.hashing = `${route.profile} ${route.key_fields}`;
  }

  /** The number of the Selected Relay, or `NONE`. */
  select(namespace: TrackNamespace): number {
    return this.best(namespace, this.candidates)?.number ?? NONE;
  }

  best(
    namespace: TrackNamespace,
    candidates: readonly NumberedCandidate[],
  ): NumberedCandidate | undefined {
    const { route } = this;
    // One candidate wins whatever its hash is.
    if (route.kind === "static" || candidates.length < 2) return candidates[0];
    const hashKey = namespace.slice(0, hashKeyFields(route, namespace));
    const selected = selectRelay(route.profile, hashKey, candidates);
    return candidates.find(({ rid }) => rid === selected?.rid);
  }
}

/**
 * A hashed route before and after. What both have in common is hashed once: the best of it meets
 * the others of each side, and whoever wins there wins among all (LB-RESIZE-3).
 */
class RouteChange {
  readonly after: Placing;
  readonly #before: Placing;
  readonly #common: readonly NumberedCandidate[];
  readonly #onlyBefore: readonly NumberedCandidate[];
  readonly #onlyAfter: readonly NumberedCandidate[];

  constructor(before: Placing, after: Placing) {
    this.#before = before;
    this.after = after;
    const weights = new Map(after.candidates.map(({ number, weight }) => [number, weight]));
    const isCommon = ({ number, weight }: NumberedCandidate) => weights.get(number) === weight;
    this.#common = before.candidates.filter(isCommon);
    this.#onlyBefore = before.candidates.filter((candidate) => !isCommon(candidate));
    const common = new Set(this.#common.map(({ number }) => number));
    this.#onlyAfter = after.candidates.filter(({ number }) => !common.has(number));
  }

  /** The numbers of the Selected Relays before and after. */
  select(namespace: TrackNamespace): readonly [number, number] {
    const best = this.#before.best(namespace, this.#common);
    const winner = (others: readonly NumberedCandidate[]) =>
      this.#before.best(namespace, best === undefined ? others : [best, ...others])?.number ?? NONE;
    return [winner(this.#onlyBefore), winner(this.#onlyAfter)];
  }
}
