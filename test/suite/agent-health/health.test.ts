import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { createHealth } from "../../../src/agent/health/health.ts";
import { type Behaviour, HealthBed, hex, numbered, relay, relays, turns } from "./bed.ts";

const second = 1_000;
const hour = 3_600 * second;

/** Probes every second, three failures to fall, two successes to rise. */
const quick = { interval: second, timeout: 400, jitter: 0, fall: 3, rise: 2 };

describe("health checks", () => {
  test("take a relay out after its failures, and back after its successes", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays(relays("r1", "r2", "r3"));
    bed.health.start();
    await bed.pass(second);
    assert.equal(bed.health.state(hex("r1"))?.verdict, "up");
    bed.behaviour.set("r1", "down");
    await bed.pass(2 * second);
    assert.deepEqual([bed.down, bed.health.state(hex("r1"))?.streak], [[], -2]);
    await bed.pass(second);
    assert.deepEqual(bed.down, ["r1"]);
    const { at = 0, duration = -1, ...state } = bed.health.state(hex("r1")) ?? assert.fail();
    const fault = "CONNECT_FAILED";
    assert.deepEqual(state, { verdict: "down", streak: -3, flaps: 1, fault });
    // The time of the bed goes in steps of 10 ms.
    assert.ok(duration >= 0 && duration <= 10);
    assert.equal(at, (bed.times("r1").at(-1) ?? 0) + duration + bed.wallOffset);
    bed.behaviour.set("r1", "up");
    await bed.pass(second);
    assert.deepEqual(bed.down, ["r1"]);
    await bed.pass(second);
    assert.deepEqual(bed.down, []);
    assert.equal(bed.health.state(hex("r1"))?.fault, undefined);
    await bed.health.stop();
  });

  test("tell of a verdict once, and of what changes together once", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays(relays("r1", "r2", "r3"));
    bed.health.start();
    await bed.pass(10 * second);
    // Each came up at a time of its own.
    assert.equal(bed.changes, 3);
    bed.behaviour.set("r1", "down");
    await bed.pass(10 * second);
    assert.equal(bed.changes, 4);
    bed.health.hint({ rid: hex("r2"), state: "draining", instance: "a" });
    bed.health.hint({ rid: hex("r3"), state: "draining", instance: "a" });
    await turns();
    assert.equal(bed.changes, 5);
    await bed.health.stop();
  });

  test("count an answer that does not come in time as a failure, also of a probe that does not let go", async () => {
    const bed = new HealthBed({ ...quick, concurrency: 1 });
    bed.behaviour.set("hangs", "hangs").set("deaf", "deaf");
    bed.health.setRelays(relays("hangs", "deaf", "well"));
    bed.health.start();
    await bed.pass(5 * second);
    for (const rid of ["hangs", "deaf"]) {
      const { fault, duration } = bed.health.state(hex(rid)) ?? assert.fail();
      assert.deepEqual([fault, duration], ["TIMEOUT", 400]);
    }
    assert.equal(bed.health.state(hex("well"))?.verdict, "up");
    await bed.health.stop();
  });

  test("go on from what the last agent published", () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays([relay("r1", { verdict: "down" }), relay("r2", { verdict: "up" })]);
    assert.deepEqual(bed.down, ["r1"]);
    assert.equal(bed.health.state(hex("r2"))?.verdict, "up");
  });

  test("probe nothing where a relay has no probe", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays([relay("r1", { target: { kind: "none" } }), relay("r2")]);
    bed.health.start();
    await bed.pass(3 * second);
    assert.deepEqual([bed.times("r1").length, bed.times("r2").length], [0, 3]);
    assert.equal(bed.health.state(hex("r1")), undefined);
    await bed.health.stop();
  });

  test("forget a relay that leaves the pool, and what its last probe would have said", async () => {
    const bed = new HealthBed(quick);
    bed.behaviour.set("r2", "down");
    bed.health.setRelays(relays("r1", "r2", "r3"));
    bed.health.start();
    await bed.pass(3 * second);
    assert.deepEqual(bed.down, ["r2"]);
    bed.health.setRelays(relays("r1", "r3"));
    assert.deepEqual([bed.down, bed.health.state(hex("r2"))], [[], undefined]);
    bed.behaviour.set("r1", "hangs");
    while (bed.running === 0) await bed.pass(10);
    bed.health.setRelays(relays("r3"));
    await turns();
    assert.equal(bed.running, 0);
    bed.health.setRelays(relays("r1", "r3"));
    assert.deepEqual(bed.health.state(hex("r1")), { verdict: "unknown", streak: 0, flaps: 0 });
    await bed.health.stop();
  });

  test("keep the verdict of a relay that moves, and probe it where it is now", async () => {
    const asked: string[] = [];
    const bed = new HealthBed(quick, async ({ uri }) => {
      asked.push(uri);
      if (uri.includes("old")) throw new Error("gone");
    });
    const at = (uri: string) => [relay("r1", { uri }), ...relays("r2", "r3")];
    bed.health.setRelays(at("moqt://old.example/"));
    bed.health.start();
    await bed.pass(10 * second);
    assert.deepEqual(bed.down, ["r1"]);
    asked.length = 0;
    bed.health.setRelays(at("moqt://new.example/"));
    assert.deepEqual(bed.down, ["r1"]);
    await bed.pass(2 * second);
    assert.deepEqual(bed.down, []);
    assert.equal(asked.filter((uri) => uri === "moqt://new.example/").length, 2);
    assert.ok(!asked.includes("moqt://old.example/"));
    await bed.health.stop();
  });

  test("list all that is wrong with their settings", () => {
    const wrong = {
      interval: 0,
      timeout: Number.NaN,
      jitter: 2,
      fall: 0,
      rise: 1.5,
      maximumShare: -1,
      hintTtl: Number.POSITIVE_INFINITY,
      concurrency: "9" as unknown as number,
    };
    const { clock } = new HealthBed();
    const dependencies = {
      probe: async () => {},
      now: Date.now,
      monotonic: () => clock.now(),
      timers: { setTimeout: () => 0, clearTimeout() {} },
      random: Math.random,
    };
    assert.throws(
      () => createHealth(wrong, dependencies),
      (error: { code: string; message: string }) =>
        error.code === "INVALID_OPTION" &&
        Object.keys(wrong).every((name) => error.message.includes(`${name} has to be`)),
    );
    createHealth({}, dependencies);
  });
});

describe("the cap on what probes may take out", () => {
  test("keeps half of the pool where every relay fails at once", async () => {
    const bed = new HealthBed(quick);
    const all = numbered(9);
    bed.health.setRelays(relays(...all));
    bed.health.start();
    await bed.pass(2 * second);
    for (const rid of all) bed.behaviour.set(rid, "down");
    await bed.pass(3 * second);
    const { down, held } = bed;
    assert.deepEqual([down.length, held.length], [4, 5]);
    await bed.pass(60 * second);
    // No two relays take turns.
    assert.deepEqual([bed.down, bed.held], [down, held]);
    const [back = ""] = down;
    bed.behaviour.set(back, "up");
    await bed.pass(2 * second);
    assert.deepEqual([bed.down.length, bed.held.length], [4, 4]);
    assert.ok(!bed.down.includes(back));
    for (const rid of all) bed.behaviour.set(rid, "up");
    await bed.pass(2 * second);
    assert.deepEqual([bed.down, bed.held], [[], []]);
    await bed.health.stop();
  });

  test("keeps the only relay of a pool", async () => {
    const bed = new HealthBed(quick);
    bed.behaviour.set("r1", "down");
    bed.health.setRelays(relays("r1"));
    bed.health.start();
    await bed.pass(60 * second);
    assert.deepEqual([bed.down, bed.held], [[], ["r1"]]);
    assert.equal(bed.health.state(hex("r1"))?.verdict, "down");
    await bed.health.stop();
  });

  test("counts neither for nor against relays that the operator has taken out", async () => {
    const bed = new HealthBed(quick);
    const pool = (out: boolean) => [
      relay("r1", { out }),
      relay("r2", { out }),
      ...relays("r3", "r4"),
    ];
    for (const rid of ["r1", "r3", "r4"]) bed.behaviour.set(rid, "down");
    bed.health.setRelays(pool(true));
    bed.health.start();
    await bed.pass(4 * second);
    // Of r3 and r4 one may be out. What is drained may be known to be dead as well.
    assert.equal(bed.down.length, 2);
    assert.ok(bed.down.includes("r1"));
    const [held = ""] = bed.held;
    assert.ok(["r3", "r4"].includes(held));
    // Of all four two may be out: whoever has waited longer goes first.
    bed.health.setRelays(pool(false));
    assert.deepEqual([bed.down, bed.held], [["r3", "r4"], ["r1"]]);
    await bed.health.stop();
  });

  test("lets fewer out where the pool shrinks", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays([
      relay("r1", { verdict: "down" }),
      relay("r2", { verdict: "down" }),
      ...relays("r3", "r4"),
    ]);
    assert.deepEqual(bed.down, ["r1", "r2"]);
    bed.health.setRelays(relays("r1", "r2", "r3"));
    assert.deepEqual([bed.down, bed.held], [["r1"], ["r2"]]);
  });

  test("holds whatever happens, hints and operators included", async () => {
    const rid = fc.constantFrom(...numbered(6));
    const event = fc.oneof(
      fc.record({ rid, becomes: fc.constantFrom<Behaviour>("up", "down", "hangs") }),
      fc.record({ rid, hint: fc.constantFrom("draining" as const, "unhealthy" as const) }),
      fc.record({ pool: fc.uniqueArray(rid), out: fc.uniqueArray(rid) }),
      fc.record({ pass: fc.integer({ min: 1, max: 5_000 }) }),
    );
    const share = fc.constantFrom(0, 0.2, 0.34, 0.5, 0.9);
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 25 }), share, async (events, maximumShare) => {
        const bed = new HealthBed({ ...quick, fall: 1, hintTtl: 3_000, maximumShare });
        let inService = numbered(6);
        bed.health.setRelays(inService.map((rid) => relay(rid, targetOf(rid))));
        bed.health.start();
        for (const event of events) {
          if ("becomes" in event) bed.behaviour.set(event.rid, event.becomes);
          else if ("hint" in event) {
            bed.health.hint({ rid: hex(event.rid), state: event.hint, instance: "a" });
          } else if ("pool" in event) {
            const { pool, out } = event;
            inService = pool.filter((rid) => !out.includes(rid));
            const entries = pool.map((rid) =>
              relay(rid, { ...targetOf(rid), out: out.includes(rid) }),
            );
            bed.health.setRelays(entries);
          } else await bed.pass(event.pass, 100);
          const gone = inService.filter((rid) => {
            const isDraining = bed.health.hintOf(hex(rid))?.state === "draining";
            return bed.health.down.has(hex(rid)) || isDraining;
          });
          assert.ok(gone.length <= Math.floor(maximumShare * inService.length));
          assert.ok(gone.every((rid) => !bed.held.includes(rid)));
        }
        await bed.health.stop();
        assert.equal(bed.clock.pending, 0);
      }),
      { numRuns: 60 },
    );
  });
});

/** Of r1 and r2 nothing but hints tells. */
function targetOf(rid: string) {
  return rid === "r1" || rid === "r2" ? { target: { kind: "none" as const } } : {};
}

describe("the schedule of probes", () => {
  test("spreads the probes of a pool over the interval, and does not drift in a thousand of them", async () => {
    const bed = new HealthBed({ ...quick, interval: 5_000, jitter: 0.1 });
    const all = numbered(20);
    bed.health.setRelays(relays(...all));
    bed.health.start();
    const rounds = 1_000;
    await bed.pass(rounds * 5_000, 50);
    const firsts = all.map((rid) => bed.times(rid)[0] ?? 0);
    // Twenty at random in 5 s: they are not all in one half of it.
    assert.ok(Math.max(...firsts) - Math.min(...firsts) > 2_500);
    for (const rid of all) {
      const times = bed.times(rid);
      const [first = 0] = times;
      assert.ok(times.length === rounds || times.length === rounds - 1);
      for (const [round, time] of times.entries()) {
        const late = time - first - round * 5_000;
        assert.ok(late >= -1 && late <= 501, `${late}`);
      }
    }
    await bed.health.stop();
  });

  test("takes 2,000 relays with as many probes at once as it may, and each in its turn", async () => {
    // Each takes 50 ms, so that 20 run at once if they come evenly.
    const probe = (_: unknown, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        bed.clock.after(50, resolve);
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    const settings = { interval: 5_000, timeout: 2_000, concurrency: 50 };
    const bed: HealthBed = new HealthBed(settings, probe);
    const all = numbered(2_000);
    bed.health.setRelays(relays(...all));
    bed.health.start();
    await bed.pass(15_000);
    assert.ok(bed.mostRunning > 15 && bed.mostRunning <= 50, `${bed.mostRunning}`);
    for (const rid of all) {
      const probes = bed.times(rid).length;
      assert.ok(probes === 3 || probes === 2, `${rid}: ${probes}`);
    }
    await bed.health.stop();
  });

  test("has no more at once than it may, and leaves nobody out, where all of 200 relays hang", async () => {
    const bed = new HealthBed({ interval: 1_000, timeout: 500, concurrency: 20, jitter: 0 });
    const all = numbered(200);
    for (const rid of all) bed.behaviour.set(rid, "hangs");
    bed.health.setRelays(relays(...all));
    bed.health.start();
    // 20 at once, 500 ms each: 5 s for all of them.
    await bed.pass(26_000);
    assert.equal(bed.mostRunning, 20);
    for (const rid of all) {
      const probes = bed.times(rid).length;
      assert.ok(probes >= 4 && probes <= 6, `${rid}: ${probes}`);
    }
    await bed.health.stop();
  });

  test("never probes a relay twice at once, however long it takes", async () => {
    const bed = new HealthBed({ interval: 100, timeout: 1_000, jitter: 0 });
    bed.behaviour.set("r1", "hangs");
    bed.health.setRelays(relays("r1"));
    bed.health.start();
    await bed.pass(10 * second);
    assert.equal(bed.mostRunning, 1);
    assert.ok(bed.times("r1").length >= 8);
    await bed.health.stop();
  });

  test("does not mind a wall clock that jumps an hour forward or back", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays([...relays("r1", "r2"), relay("r3", { target: { kind: "none" } })]);
    bed.health.start();
    await bed.pass(5 * second);
    bed.health.hint({ rid: hex("r3"), state: "draining", instance: "a" });
    for (const jump of [hour, -2 * hour, hour]) {
      const count = bed.probes.length;
      bed.wallOffset += jump;
      await bed.pass(10 * second);
      assert.equal(bed.probes.length - count, 20);
      assert.equal(bed.health.state(hex("r1"))?.verdict, "up");
      assert.equal(bed.health.hintOf(hex("r3"))?.state, "draining");
    }
    await bed.pass(29 * second);
    assert.equal(bed.health.hintOf(hex("r3"))?.state, "draining");
    await bed.pass(2 * second);
    assert.equal(bed.health.hintOf(hex("r3")), undefined);
    await bed.health.stop();
  });

  test("makes up for nothing after an hour in which the machine was asleep", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays(relays("r1", "r2"));
    bed.health.start();
    await bed.pass(5 * second);
    const count = bed.probes.length;
    await bed.pass(hour, hour);
    assert.equal(bed.probes.length - count, 2);
    await bed.pass(10 * second);
    assert.equal(bed.probes.length - count, 22);
    await bed.health.stop();
  });

  test("lets a relay that flaps every second change the pool a few times in an hour, and no more", async () => {
    // The last two would change with every probe, but for the damping.
    for (const [interval, fall, rise] of [
      [1_000, 3, 2],
      [2_500, 3, 2],
      [5_000, 1, 2],
      [1_500, 1, 1],
      [1_000, 1, 1],
    ] as const) {
      const bed = new HealthBed({ ...quick, interval, fall, rise });
      bed.behaviour.set("r1", () => (Math.floor(bed.clock.now() / 1_000) % 2 ? "up" : "down"));
      bed.health.setRelays(relays("r1", "r2", "r3"));
      let before = bed.health.down;
      let changes = 0;
      bed.health.onChange = () => {
        if (bed.health.down.has(hex("r1")) !== before.has(hex("r1"))) changes++;
        before = bed.health.down;
      };
      bed.health.start();
      await bed.pass(hour, 50);
      // Six falls until it is fully damped, and then at most one in fall + 32 * rise probes.
      const falls = 6 + hour / interval / (fall + 32 * rise);
      assert.ok(changes <= Math.min(2 * falls, 20), `${changes}`);
      await bed.health.stop();
    }
  });

  test("leaves no timer and no probe behind when it stops, and counts nothing that it gave up", async () => {
    const bed = new HealthBed({ ...quick, hintTtl: 10_000 });
    bed.behaviour.set("r1", "hangs").set("r2", "deaf");
    bed.health.setRelays(relays("r1", "r2", "r3"));
    bed.health.hint({ rid: hex("r3"), state: "draining", instance: "a" });
    bed.health.start();
    while (!["r1", "r2"].every((rid) => bed.times(rid).length > 0)) await bed.pass(10);
    const before = ["r1", "r2"].map((rid) => bed.health.state(hex(rid))?.streak);
    await bed.health.stop();
    assert.equal(bed.clock.pending, 0);
    const { length } = bed.probes;
    await bed.pass(10 * second);
    assert.equal(bed.probes.length, length);
    const after = ["r1", "r2"].map((rid) => bed.health.state(hex(rid))?.streak);
    assert.deepEqual(after, before);
    bed.health.start();
    bed.health.start();
    await bed.pass(2 * second);
    assert.deepEqual(bed.times("r3").slice(-2).length, 2);
    await bed.health.stop();
    assert.equal(bed.clock.pending, 0);
  });
});

describe("hints of instances", () => {
  const hint = (rid: string, state: "draining" | "unhealthy", instance = "a") =>
    ({ rid: hex(rid), state, instance }) as const;

  test("drain a relay for a limited time after the last of them [LB-HEALTH-9]", async () => {
    const bed = new HealthBed({ ...quick, hintTtl: 10_000 });
    bed.health.setRelays(relays("r1", "r2", "r3"));
    bed.health.start();
    bed.health.hint(hint("r1", "draining"));
    await bed.pass(4 * second);
    bed.health.hint(hint("r1", "draining", "b"));
    const { until = 0, ...rest } = bed.health.hintOf(hex("r1")) ?? {};
    assert.deepEqual(rest, { state: "draining", instances: 2 });
    assert.equal(until, bed.clock.now() + bed.wallOffset + 10_000);
    await bed.pass(8 * second);
    assert.equal(bed.health.hintOf(hex("r1"))?.instances, 1);
    const { changes } = bed;
    await bed.pass(2 * second);
    assert.equal(bed.health.hintOf(hex("r1")), undefined);
    assert.equal(bed.changes, changes + 1);
    assert.deepEqual(bed.down, []);
    await bed.health.stop();
  });

  test("bring on a probe at once, and again for news alone", async () => {
    const bed = new HealthBed({ ...quick, interval: 60_000, timeout: 1_000 });
    bed.health.setRelays(relays("r1", "r2"));
    bed.health.start();
    await bed.pass(60_000, 100);
    const count = bed.times("r1").length;
    await bed.pass(13_000);
    const planned = bed.times("r1").length - count;
    bed.health.hint(hint("r1", "unhealthy"));
    await turns();
    assert.equal(bed.times("r1").length, count + planned + 1);
    for (let again = 0; again < 10; again++) {
      bed.health.hint(hint("r1", "unhealthy"));
      await turns();
    }
    assert.equal(bed.times("r1").length, count + planned + 1);
    // What it says of itself, the relay says: it is up.
    assert.deepEqual(bed.down, []);
    await bed.health.stop();
  });

  test("cause at most five probes in an interval, whatever instances say", async () => {
    const bed = new HealthBed({ ...quick, interval: 10_000, hintTtl: 1_000 });
    bed.health.setRelays(relays("r1", "r2"));
    bed.health.start();
    await bed.pass(10_000);
    const { length } = bed.times("r1");
    for (let report = 0; report < 1_000; report++) {
      bed.health.hint(hint("r1", report % 2 ? "draining" : "unhealthy", `i${report % 7}`));
      await bed.pass(100);
    }
    const probes = bed.times("r1").length - length;
    assert.ok(probes >= 45 && probes <= 61, `${probes}`);
    await bed.health.stop();
  });

  test("take out a relay that nothing probes, until they end", async () => {
    const bed = new HealthBed({ ...quick, hintTtl: 10_000 });
    const pool = ["r1", "r2"].map((rid) => relay(rid, { target: { kind: "none" } }));
    bed.health.setRelays(pool);
    bed.health.start();
    bed.health.hint(hint("r1", "unhealthy"));
    assert.deepEqual(bed.down, ["r1"]);
    bed.health.hint(hint("r2", "unhealthy"));
    assert.deepEqual([bed.down, bed.held], [["r1"], ["r2"]]);
    await bed.pass(9_900);
    assert.deepEqual(bed.down, ["r1"]);
    await bed.pass(200);
    assert.deepEqual([bed.down, bed.held], [[], []]);
    await bed.health.stop();
  });

  test("drain no more than the cap lets them, together with probes", async () => {
    const bed = new HealthBed(quick);
    bed.behaviour.set("r1", "down");
    bed.health.setRelays(relays("r1", "r2", "r3", "r4"));
    bed.health.start();
    await bed.pass(3 * second);
    for (const rid of ["r2", "r3", "r4"]) bed.health.hint(hint(rid, "draining"));
    assert.deepEqual([bed.down, bed.held], [["r1"], ["r3", "r4"]]);
    const draining = ["r2", "r3", "r4"].filter((rid) => bed.health.hintOf(hex(rid)));
    assert.deepEqual(draining, ["r2"]);
    await bed.health.stop();
  });

  test("count for nothing about a relay that is not in the pool", async () => {
    const bed = new HealthBed(quick);
    bed.health.setRelays(relays("r1"));
    bed.health.hint(hint("r9", "unhealthy"));
    await turns();
    assert.deepEqual([bed.health.hintOf(hex("r9")), bed.changes], [undefined, 0]);
    bed.health.start();
    assert.equal(bed.clock.pending, 1);
    await bed.health.stop();
  });
});
