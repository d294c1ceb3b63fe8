import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../../../src/bytes.ts";
import type { Mapping, Mobility, Reissue } from "../../../../../src/moq-lb/proxy/mapping.ts";
import {
  type Destination,
  type MoveEvent,
  Mover,
} from "../../../../../src/moq-lb/proxy/moving/mover.ts";
import type { Backend } from "../../../../../src/moq-lb/proxy/relays/backend.ts";
import {
  type ActiveSnapshot,
  type Health,
  parseSnapshot,
} from "../../../../../src/snapshot/mod.ts";
import { ManualClock } from "../../../../support/manual-clock.ts";
import { settle } from "../../../../support/settle.ts";

const rids = ["r1", "r2", "r3"] as const;
type Rid = (typeof rids)[number];

const hex = (rid: string) => toHex(utf8(rid));

/** (live) is pinned to `rid`, so that tests say where requests go. */
function active(rid: Rid, health: Partial<Record<Rid, Health>> = {}): ActiveSnapshot {
  const snapshot = parseSnapshot({
    version: 1,
    relays: rids.map((each) => ({
      rid: each,
      uri: `moqt://${each}.example/moq`,
      health: health[each] ?? "healthy",
    })),
    routes: [{ prefix: ["live"], kind: "static", rid }],
  });
  return { snapshot, signedAt: 0, maximumAge: 1000, digest: "" };
}

class FakeBackend {
  readonly rid: string;
  readonly uri: string;
  isOver = false;
  isLeaving = false;
  goawayDeadline: number | undefined;

  constructor(rid: Rid) {
    this.rid = hex(rid);
    this.uri = `moqt://${rid}.example/moq`;
  }
}

class FakeMapping implements Mapping {
  readonly type = "SUBSCRIBE";
  readonly opener = "client";
  readonly key = [utf8("live"), utf8("a")];
  readonly message = {
    type: "SUBSCRIBE",
    requestId: 0n,
    trackNamespace: this.key,
    trackName: utf8("v"),
    parameters: [],
  } as const;
  readonly forwardedAs = Promise.resolve(undefined);
  backend: Backend;
  readonly mobility: Mobility;
  isPending = false;
  isOver = false;
  wasAsked = false;
  displacedAt: number | undefined;
  onOver: (() => void) | undefined;
  /** What happened to it, and when. */
  readonly done: string[] = [];
  /** What becomes of attempts, in order; the last one is used again. */
  results: Reissue[] = ["moved"];
  /** What the first attempt waits for. */
  answered: Promise<void> = Promise.resolve();
  readonly #clock: ManualClock;

  constructor(clock: ManualClock, backend: FakeBackend, mobility: Mobility) {
    this.#clock = clock;
    this.backend = backend as unknown as Backend;
    this.mobility = mobility;
  }

  async reissue(to: Backend): Promise<Reissue> {
    const result = (this.results.length > 1 ? this.results.shift() : this.results[0]) as Reissue;
    this.done.push(`${this.#clock.now()}: ${result} ${nameOf(to.rid)}`);
    await this.answered;
    if (result === "moved") this.backend = to;
    return result;
  }

  ask(timeout: number): void {
    this.wasAsked = true;
    this.done.push(`${this.#clock.now()}: asked for ${timeout}`);
  }

  end(): void {
    this.isOver = true;
    this.done.push(`${this.#clock.now()}: ended`);
  }
}

function nameOf(rid: string): string {
  return rids.find((each) => hex(each) === rid) ?? "?";
}

class Bed {
  readonly clock = new ManualClock();
  readonly mappings = new Set<Mapping>();
  readonly backends = new Map<Rid, FakeBackend>();
  readonly events: MoveEvent[] = [];
  readonly mover: Mover;
  inForce: ActiveSnapshot;
  /** Where the table sends requests; `undefined`: nowhere. */
  destination: Rid | undefined = "r2";

  constructor({ drainDeadline = 8000, reissues = true, random = 0 } = {}) {
    this.inForce = active("r1");
    this.mover = new Mover({
      clock: this.clock,
      random: () => random,
      drainDeadline,
      reissues,
      mappings: this.mappings,
      active: () => this.inForce,
      place: () => this.#place(),
      backendTo: ({ rid }) => this.backend(nameOf(rid) as Rid) as unknown as Backend,
      onMove: (event) => this.events.push(event),
    });
  }

  backend(rid: Rid): FakeBackend {
    const known = this.backends.get(rid) ?? new FakeBackend(rid);
    this.backends.set(rid, known);
    return known;
  }

  add(mobility: Mobility, rid: Rid = "r1"): FakeMapping {
    const mapping = new FakeMapping(this.clock, this.backend(rid), mobility);
    this.mappings.add(mapping);
    return mapping;
  }

  /** A version that maps (live) from r1 to r2. */
  rotate(health: Partial<Record<Rid, Health>> = {}, to: Rid = "r2"): void {
    const previous = this.inForce;
    this.inForce = active(to, health);
    this.mover.rotated(previous, this.inForce);
  }

  /** Lets time pass, and whatever comes of what happens in it. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.clock.now() + milliseconds;
    for (;;) {
      // Once more without time for what has come of it.
      this.clock.advance(0);
      await settle();
      const left = end - this.clock.now();
      if (left <= 0) return;
      this.clock.advance(Math.min(left, 125));
      await settle();
    }
  }

  #place(): Destination | undefined {
    const rid = this.destination;
    return rid && { rid: hex(rid), uri: `moqt://${rid}.example/moq` };
  }
}

describe("a displaced request", () => {
  test("is made again at the table's choice, well before the deadline [LB-DISPL-1] [LB-DISPL-5] [LB-PMOVE-1]", async () => {
    const bed = new Bed({ random: 0.75 });
    const mapping = bed.add("reissue");
    bed.rotate();
    assert.equal(mapping.displacedAt, 0);
    assert.equal(bed.mover.displaced, 1);
    await bed.pass(749);
    assert.deepEqual(mapping.done, []);
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["750: moved r2"]);
    assert.equal(bed.mover.displaced, 0);
    assert.equal(mapping.displacedAt, undefined);
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, ["750: moved r2"]);
    assert.deepEqual(
      bed.events.map(({ from, outcome }) => [nameOf(from), outcome]),
      [["r1", "moved"]],
    );
  });

  test("of another kind is one that the client is asked to make again [LB-PMOVE-15] [LB-S98]", async () => {
    const bed = new Bed({ random: 0.5 });
    const mapping = bed.add("ask");
    bed.rotate();
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, ["500: asked for 7500", "8000: ended"]);
  });

  test("is asked for where the balancer never makes it again [LB-PMOVE-18] [LB-PMOVE-19]", async () => {
    const bed = new Bed({ reissues: false });
    const mapping = bed.add("reissue");
    bed.rotate();
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["0: asked for 8000"]);
  });

  test("that is not moved stays until the deadline, and then ends [LB-DISPL-3] [LB-DISPL-4] [LB-PMOVE-12] [LB-PMOVE-13] [LB-S53]", async () => {
    const bed = new Bed();
    const mapping = bed.add("stay");
    bed.rotate();
    await bed.pass(7999);
    assert.deepEqual(mapping.done, []);
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["8000: ended"]);
  });

  test("does not get more time by being displaced again [LB-S48] [LB-A18]", async () => {
    const bed = new Bed();
    const mapping = bed.add("stay");
    bed.rotate();
    await bed.pass(5000);
    bed.rotate({}, "r3");
    await bed.pass(3000);
    assert.deepEqual(mapping.done, ["8000: ended"]);
  });

  test("waits for a relay that takes it, and ends at the deadline without one [LB-PMOVE-24] [LB-S99]", async () => {
    const bed = new Bed();
    bed.destination = undefined;
    const waits = bed.add("reissue");
    const asks = bed.add("ask");
    bed.rotate();
    await bed.pass(7999);
    assert.deepEqual(waits.done, []);
    await bed.pass(1);
    assert.deepEqual(waits.done, ["8000: ended"]);
    assert.deepEqual(asks.done, ["8000: ended"]);
  });

  test("is tried again with each version [LB-PMOVE-1]", async () => {
    const bed = new Bed();
    bed.destination = undefined;
    const mapping = bed.add("reissue");
    bed.rotate();
    await bed.pass(2000);
    bed.destination = "r3";
    bed.rotate({}, "r3");
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["2000: moved r3"]);
  });

  test("stays where the table has come back to its relay", async () => {
    const bed = new Bed({ random: 0.9 });
    const mapping = bed.add("reissue");
    bed.rotate();
    bed.destination = "r1";
    bed.rotate({}, "r1");
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, []);
    assert.equal(mapping.displacedAt, undefined);
    assert.equal(bed.mover.displaced, 0);
  });

  test("moves on where the table has changed while it moved [LB-DISPL-1] [LB-PMOVE-1]", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue");
    const answered = Promise.withResolvers<void>();
    mapping.answered = answered.promise;
    bed.rotate();
    await bed.pass(1);
    bed.destination = "r3";
    bed.rotate({}, "r3");
    answered.resolve();
    await bed.pass(1000);
    assert.deepEqual(mapping.done, ["0: moved r2", "1: moved r3"]);
    assert.equal(bed.mover.displaced, 0);
  });

  test("that the new relay refuses is the client's to make again [LB-PMOVE-11]", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue");
    mapping.results = ["refused"];
    bed.rotate();
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["0: refused r2", "0: asked for 8000"]);
  });

  test("of which nothing is left is not moved [LB-S92]", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue");
    mapping.results = ["complete"];
    bed.rotate();
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, ["0: complete r2", "8000: ended"]);
  });

  test("whose new relays cannot be reached waits for news after three", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue");
    mapping.results = ["unreachable"];
    bed.rotate();
    await bed.pass(1000);
    assert.equal(mapping.done.length, 3);
    mapping.results = ["moved"];
    bed.mover.healthChanged(hex("r3"));
    await bed.pass(1);
    assert.deepEqual(mapping.done.slice(3), ["1000: moved r2"]);
  });
});

describe("a relay that drains", () => {
  test("by the table displaces all of its requests [LB-DISPL-2]", async () => {
    const bed = new Bed();
    const here = [bed.add("reissue"), bed.add("ask"), bed.add("stay")];
    const elsewhere = bed.add("reissue", "r3");
    bed.rotate({ r1: "draining" }, "r1");
    assert.deepEqual(
      here.map(({ displacedAt }) => displacedAt),
      [0, 0, 0],
    );
    assert.equal(elsewhere.displacedAt, undefined);
    await bed.pass(1);
    assert.deepEqual(
      here.map(({ done }) => done),
      [["0: moved r2"], ["0: asked for 8000"], []],
    );
  });

  test("by its GOAWAY has them moved by the deadline that it set [LB-PGOAWAY-5] [LB-DISPL-6] [LB-GOAWAY-2]", async () => {
    const bed = new Bed({ random: 0.5 });
    const [moves, asks, stays] = [bed.add("reissue"), bed.add("ask"), bed.add("stay")];
    const other = bed.add("reissue", "r3");
    bed.backend("r1").isLeaving = true;
    bed.backend("r1").goawayDeadline = 2000;
    bed.mover.relayLeaves(bed.backend("r1") as unknown as Backend);
    await bed.pass(20_000);
    assert.deepEqual(moves.done, ["250: moved r2"]);
    assert.deepEqual(asks.done, ["250: asked for 1750", "2000: ended"]);
    assert.deepEqual(stays.done, ["2000: ended"]);
    assert.deepEqual(other.done, []);
  });

  test("and names no time leaves the Drain Deadline [LB-S49] [GA-05]", async () => {
    const bed = new Bed();
    const stays = bed.add("stay");
    bed.backend("r1").isLeaving = true;
    bed.mover.relayLeaves(bed.backend("r1") as unknown as Backend);
    await bed.pass(7999);
    assert.deepEqual(stays.done, []);
    await bed.pass(1);
    assert.deepEqual(stays.done, ["8000: ended"]);
  });

  test("is noticed by the other sessions too [LB-S90]", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue");
    bed.inForce = active("r1", { r1: "draining" });
    bed.mover.healthChanged(hex("r1"));
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["0: moved r2"]);
  });

  test("and comes back to nothing new: a relay that recovers moves nobody [LB-S50]", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue", "r2");
    bed.inForce = active("r1", { r1: "draining" });
    bed.rotate({}, "r1");
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, []);
  });
});

describe("a relay that wants one request gone", () => {
  const wish = { newSessionUri: "moqt://evil.example/", timeout: 0n };

  test("has that one moved alone [LB-PGOAWAY-6] [GA-06]", async () => {
    const bed = new Bed();
    const [one, other] = [bed.add("reissue"), bed.add("reissue")];
    bed.mover.requestLeaves(one, wish);
    await bed.pass(20_000);
    assert.deepEqual(one.done, ["0: moved r2"]);
    assert.deepEqual(other.done, []);
  });

  test("gets it again once where the table still selects it, and then it ends [LB-S89] [LB-A8]", async () => {
    const bed = new Bed();
    bed.destination = "r1";
    const mapping = bed.add("reissue");
    bed.mover.requestLeaves(mapping, wish);
    await bed.pass(1);
    assert.deepEqual(mapping.done, ["0: moved r1"]);
    bed.mover.requestLeaves(mapping, wish);
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, ["0: moved r1", "1: ended"]);
  });

  test("gets it again once at each relay that it comes to [LB-A8]", async () => {
    const bed = new Bed();
    bed.destination = "r1";
    const mapping = bed.add("reissue");
    bed.mover.requestLeaves(mapping, wish);
    await bed.pass(1);
    bed.destination = "r2";
    bed.rotate();
    await bed.pass(1);
    bed.mover.requestLeaves(mapping, wish);
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, ["0: moved r1", "1: moved r2", "2: moved r2"]);
  });

  test("and says when has the client asked within that time [LB-S98]", async () => {
    const bed = new Bed({ random: 0.5 });
    const mapping = bed.add("ask");
    bed.mover.requestLeaves(mapping, { ...wish, timeout: 1000n });
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, ["125: asked for 875", "1000: ended"]);
  });

  test("says nothing about what is not moved [LB-PMOVE-12] [LB-PMOVE-13]", async () => {
    const bed = new Bed();
    const mapping = bed.add("stay");
    bed.mover.requestLeaves(mapping, wish);
    await bed.pass(20_000);
    assert.deepEqual(mapping.done, []);
  });
});

describe("a relay that is lost", () => {
  function lose(bed: Bed) {
    bed.backend("r1").isOver = true;
    bed.mover.backendLost(bed.backend("r1") as unknown as Backend);
  }

  test("loses its requests at once [LB-DISPL-11] [LB-DISPL-6]", async () => {
    const bed = new Bed({ random: 0.999 });
    const [moves, asks, stays] = [bed.add("reissue"), bed.add("ask"), bed.add("stay")];
    const pending = bed.add("ask");
    pending.isPending = true;
    lose(bed);
    await settle();
    assert.deepEqual(moves.done, ["0: moved r2"]);
    assert.deepEqual(asks.done, ["0: asked for 5000"]);
    assert.deepEqual(stays.done, ["0: ended"]);
    assert.deepEqual(pending.done, ["0: ended"]);
  });

  test("has its requests ended where no other relay takes them [LB-PMOVE-24]", async () => {
    const bed = new Bed();
    bed.destination = undefined;
    const mapping = bed.add("reissue");
    lose(bed);
    await settle();
    assert.deepEqual(mapping.done, ["0: ended"]);
  });

  test("has them tried at three others, and then ended", async () => {
    const bed = new Bed();
    const mapping = bed.add("reissue");
    mapping.results = ["unreachable"];
    lose(bed);
    await bed.pass(1);
    assert.equal(mapping.done.length, 4);
    assert.equal(mapping.done[3], "0: ended");
  });

  test("by the agent's word, while its session lasts, keeps what cannot be moved [LB-DISPL-11]", async () => {
    const bed = new Bed({ random: 0.999 });
    const [moves, stays] = [bed.add("reissue"), bed.add("stay")];
    bed.rotate({ r1: "unhealthy" }, "r1");
    await settle();
    assert.deepEqual(moves.done, ["0: moved r2"]);
    await bed.pass(8000);
    assert.deepEqual(stays.done, ["8000: ended"]);
  });
});

test("a request that has ended by itself is left alone", async () => {
  const bed = new Bed({ random: 0.999 });
  const mapping = bed.add("reissue");
  bed.rotate();
  mapping.isOver = true;
  bed.mappings.delete(mapping);
  bed.mover.forget(mapping);
  await bed.pass(20_000);
  assert.deepEqual(mapping.done, []);
  assert.equal(bed.clock.pending, 0);
});

test("a session that is over needs no timer", () => {
  const bed = new Bed();
  bed.add("stay");
  bed.rotate();
  assert.equal(bed.clock.pending, 1);
  bed.mover.close();
  assert.equal(bed.clock.pending, 0);
});
