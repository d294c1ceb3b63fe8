import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type Collector,
  type CollectorOptions,
  type CurrentVersion,
  createCollector,
} from "../../../src/agent/reports/mod.ts";
import { utf8 } from "../../../src/bytes.ts";
import {
  type InstanceReport,
  reportKey,
  signReport,
  verifyReceipt,
} from "../../../src/report/mod.ts";
import {
  currentKey,
  generateSigningKey,
  type SigningKey,
  trustSigningKeys,
} from "../../../src/snapshot/mod.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { digest, HOUR, reportWith, someKey, T0 } from "../report/fixtures.ts";
import { TestStore } from "../snapshot/fixtures.ts";

interface Bench {
  readonly collector: Collector;
  readonly key: SigningKey;
  readonly agentKey: SigningKey;
  readonly clock: { wall: number; monotonic: number };
  readonly hinted: string[];
  current: CurrentVersion | undefined;
  /** Both clocks. */
  pass(milliseconds: number): void;
  /** Signs by the key of all instances and hands over. */
  send(changes?: Partial<InstanceReport>): Promise<number | null>;
  refused(changes?: Partial<InstanceReport>): Promise<string>;
}

/** A collector of edge-1, edge-2 and edge-3, with version 7 published. */
async function bench(changes: Partial<CollectorOptions> = {}): Promise<Bench> {
  const key = await someKey();
  const agentKey = await generateSigningKey("agent");
  const clock = { wall: T0, monotonic: 5_000 };
  const hinted: string[] = [];
  const ids = ["edge-1", "edge-2", "edge-3"];
  const collector = createCollector({
    instances: new Map(ids.map((id) => [id, key.publicKey])),
    signingKey: agentKey,
    current: () => it.current,
    hints: { hint: ({ rid, state, instance }) => hinted.push(`${instance} ${rid} ${state}`) },
    now: () => clock.wall,
    monotonic: () => clock.monotonic,
    ...changes,
  });
  const it: Bench = {
    collector,
    key,
    agentKey,
    clock,
    hinted,
    current: { version: 7, digest },
    pass(milliseconds) {
      clock.wall += milliseconds;
      clock.monotonic += milliseconds;
    },
    async send(report = {}) {
      const jws = await signReport(reportWith({ at: clock.wall, ...report }), key);
      return (await collector.accept(jws)).currentVersion;
    },
    async refused(report = {}) {
      const jws = await signReport(reportWith({ at: clock.wall, ...report }), key);
      return codeOf(collector.accept(jws));
    },
  };
  collector.noteVersion();
  return it;
}

async function codeOf(accepting: Promise<unknown>): Promise<string> {
  try {
    await accepting;
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "accepted";
}

describe("the collector", () => {
  test("answers a report with a receipt by the agent's key [LB-CONF-18]", async () => {
    const { collector, key, agentKey } = await bench();
    const jws = await signReport(reportWith(), key);
    const receipt = await collector.accept(jws);
    const claims = await verifyReceipt(receipt.jws, jws, trustSigningKeys(agentKey));
    assert.deepEqual(
      [claims.instanceId, claims.sequence, claims.currentVersion, claims.at],
      ["edge-1", 1, 7, T0],
    );
  });

  test("refuses strangers, other keys, junk and what is too long, and counts each [LB-CONF-18]", async () => {
    const { collector, key, refused } = await bench();
    const other = await generateSigningKey();
    assert.equal(await refused({ instanceId: "edge-9" }), "UNKNOWN_INSTANCE");
    assert.equal(
      await codeOf(collector.accept(await signReport(reportWith(), other))),
      "BAD_SIGNATURE",
    );
    assert.equal(await codeOf(collector.accept("junk")), "MALFORMED_REPORT");
    assert.equal(await codeOf(collector.accept(undefined)), "MALFORMED_REPORT");
    assert.equal(await codeOf(collector.accept("x".repeat(16_385))), "REPORT_TOO_LARGE");
    assert.deepEqual(collector.counts, {
      accepted: 0,
      refused: { UNKNOWN_INSTANCE: 1, BAD_SIGNATURE: 1, MALFORMED_REPORT: 2, REPORT_TOO_LARGE: 1 },
    });
    assert.equal(collector.instances()[0]?.never, true);
    assert.equal(await codeOf(collector.accept(await signReport(reportWith(), key))), "accepted");
  });

  test("takes each report once, and none from before the last", async () => {
    const { send, refused, pass } = await bench();
    await send({ sequence: 5 });
    pass(2000);
    assert.equal(await refused({ sequence: 5 }), "REPLAYED");
    assert.equal(await refused({ sequence: 4 }), "REPLAYED");
    pass(2000);
    assert.equal(await send({ sequence: 6 }), 7);
  });

  test("takes one of two equal reports that come at one time", async () => {
    const { collector, key } = await bench();
    const jws = await signReport(reportWith(), key);
    const codes = await Promise.all([jws, jws].map((text) => codeOf(collector.accept(text))));
    assert.deepEqual(codes.sort(), ["REPLAYED", "accepted"]);
  });

  test("begins anew with an instance that restarts, yet does not go back to its former run", async () => {
    const { send, refused, pass } = await bench();
    await send({ sequence: 100, startedAt: T0 - HOUR });
    pass(10_000);
    await send({ sequence: 1, startedAt: T0 + 9_000 });
    pass(10_000);
    assert.equal(await refused({ sequence: 100, startedAt: T0 - HOUR, at: T0 }), "REPLAYED");
  });

  test("hears all isolates of an edge worker, and replays of none, however many there are", async () => {
    const { send, refused, pass } = await bench();
    for (let isolate = 0; isolate < 100; isolate++) {
      pass(1000);
      await send({ sequence: 1, startedAt: T0 + isolate });
    }
    // The first is long forgotten: its report is older than the floor that was left behind.
    pass(1000);
    assert.equal(await refused({ sequence: 1, startedAt: T0, at: T0 + 1000 }), "REPLAYED");
    pass(1000);
    assert.equal(await send({ sequence: 2, startedAt: T0 }), 7);
  });

  test("takes one report a second of an instance, and five at once after a pause", async () => {
    const { send, refused, pass } = await bench();
    for (let sequence = 1; sequence <= 5; sequence++) await send({ sequence });
    assert.equal(await refused({ sequence: 6 }), "TOO_MANY_REPORTS");
    // Others are not held back by that.
    await send({ instanceId: "edge-2", sequence: 1 });
    pass(1000);
    assert.equal(await send({ sequence: 7 }), 7);
    assert.equal(await refused({ sequence: 8 }), "TOO_MANY_REPORTS");
  });

  test("does not let others use up what an instance may send", async () => {
    const { collector, send } = await bench();
    const forged = await signReport(reportWith(), await generateSigningKey());
    for (let i = 0; i < 50; i++)
      assert.equal(await codeOf(collector.accept(forged)), "BAD_SIGNATURE");
    assert.equal(await send(), 7);
  });

  test("takes 200 instances that report in the same second", async () => {
    const key = await someKey();
    const ids = Array.from({ length: 200 }, (_, i) => `edge-${i}`);
    const instances = new Map(ids.map((id) => [id, key.publicKey]));
    const { collector } = await bench({ instances });
    const reports = await Promise.all(
      ids.map((instanceId) => signReport(reportWith({ instanceId }), key)),
    );
    const codes = await Promise.all(reports.map((jws) => codeOf(collector.accept(jws))));
    assert.ok(codes.every((code) => code === "accepted"));
    assert.equal(collector.counts.accepted, 200);
    const views = collector.instances();
    assert.equal(views.length, 200);
    assert.ok(views.every(({ behind, silent, never }) => behind === 0 && !silent && !never));
  });

  test("turns reports away once as many wait as may [LB-SEC-33]", async () => {
    const { collector, key } = await bench({ maximumPending: 2 });
    const reports = await Promise.all(
      ["edge-1", "edge-2", "edge-3"].map((id) => signReport(reportWith({ instanceId: id }), key)),
    );
    const codes = await Promise.all(reports.map((jws) => codeOf(collector.accept(jws))));
    assert.deepEqual(codes, ["accepted", "accepted", "TOO_MANY_REPORTS"]);
    assert.equal(await codeOf(collector.accept(reports[2])), "accepted");
  });
});

describe("clocks that jump", () => {
  for (const [side, jump] of [
    ["ahead", HOUR],
    ["back", -HOUR],
  ] as const) {
    test(`an hour ${side} on an instance: it is still heard, and its offset shows`, async () => {
      const { collector, send, pass, clock } = await bench();
      await send({ sequence: 1 });
      pass(10_000);
      await send({ sequence: 2, at: clock.wall + jump });
      const [view] = collector.instances();
      assert.deepEqual(
        [view?.clockOffset, view?.silent, view?.receivedAt],
        [jump, false, T0 + 10_000],
      );
    });

    test(`an hour ${side} on the agent: nobody goes silent, nothing is replayed`, async () => {
      const { collector, send, refused, pass, clock } = await bench();
      await send({ sequence: 1, at: T0 });
      clock.wall += jump;
      const [before] = collector.instances();
      assert.deepEqual([before?.silent, before?.receivedAt], [false, T0 + jump]);
      pass(10_000);
      await send({ sequence: 2, at: T0 + 10_000 });
      assert.equal(await refused({ sequence: 1, at: T0 }), "REPLAYED");
      assert.equal(collector.instances()[0]?.silent, false);
    });
  }

  test("a first report of more than 5 minutes ago, or ahead, is refused and says so", async () => {
    const { collector, refused, send } = await bench();
    assert.equal(await refused({ at: T0 - 300_001 }), "CLOCK_APART");
    assert.equal(await refused({ at: T0 + 300_001 }), "CLOCK_APART");
    const { never, refusal } = collector.instances()[0] ?? {};
    assert.deepEqual([never, refusal], [true, { code: "CLOCK_APART", at: T0 }]);
    assert.equal(await send({ at: T0 - 300_000 }), 7);
  });
});

describe("what the collector shows", () => {
  test("who is behind and since when, by a timeline written by hand [LB-CONF-25]", async () => {
    const it = await bench();
    const at = (seconds: number) => it.pass(T0 + seconds * 1000 - it.clock.wall);
    const rows = () =>
      it.collector
        .instances()
        .map(({ id, behind, behindSince }) => [
          id,
          behind,
          behindSince === undefined ? "" : (behindSince - T0) / 1000,
        ]);
    for (const instanceId of ["edge-1", "edge-2", "edge-3"]) await it.send({ instanceId });
    assert.deepEqual(rows(), [
      ["edge-1", 0, ""],
      ["edge-2", 0, ""],
      ["edge-3", 0, ""],
    ]);
    at(10);
    it.current = { version: 8, digest: "08".repeat(32) };
    it.collector.noteVersion();
    at(20);
    await it.send({ sequence: 2, activeVersion: 8, digest: "08".repeat(32) });
    at(30);
    it.current = { version: 9, digest: "09".repeat(32) };
    it.collector.noteVersion();
    at(40);
    await it.send({ instanceId: "edge-2", sequence: 2, activeVersion: 9, digest: "09".repeat(32) });
    // edge-1 is on 8 since 9 came at 30, edge-3 is on 7 since 8 came at 10.
    assert.deepEqual(rows(), [
      ["edge-1", 1, 30],
      ["edge-2", 0, ""],
      ["edge-3", 2, 10],
    ]);
    at(50);
    await it.send({
      instanceId: "edge-3",
      sequence: 2,
      activeVersion: 9,
      digest: "09".repeat(32),
    });
    assert.deepEqual(rows()[2], ["edge-3", 0, ""]);
  });

  test("two instances on N and N - 1: a skew of 1 [LB-CONF-25]", async () => {
    const { collector, send } = await bench();
    await send();
    await send({ instanceId: "edge-2", activeVersion: 6, digest: "06".repeat(32) });
    const [first, second] = collector.instances(7, T0);
    assert.deepEqual([first?.behind, second?.behind], [0, 1]);
  });

  test("the age that each instance reports, as it grows [LB-CONF-24]", async () => {
    const { collector, send, pass } = await bench();
    const ages: unknown[] = [];
    for (const [sequence, ageSeconds] of [12, 22, 32].entries()) {
      await send({ sequence: sequence + 1, ageSeconds });
      ages.push(collector.instances()[0]?.report?.ageSeconds);
      pass(10_000);
    }
    assert.deepEqual(ages, [12, 22, 32]);
  });

  test("who went silent, since when, and who was never heard of", async () => {
    const { collector, send, pass } = await bench();
    pass(10_000);
    await send();
    const rows = () =>
      collector
        .instances()
        .map(({ silent, silentSince = T0 - 1, never }) => [
          silent,
          (silentSince - T0) / 1000,
          never,
        ]);
    pass(50_001);
    // Nothing of edge-2 and edge-3 for the 60 s since the agent started.
    assert.deepEqual(rows(), [
      [false, -0.001, false],
      [true, 0, true],
      [true, 0, true],
    ]);
    pass(10_000);
    assert.deepEqual(rows()[0], [true, 10, false]);
    await send({ sequence: 2 });
    assert.deepEqual(rows()[0], [false, -0.001, false]);
  });

  test("an instance without any snapshot is behind by all versions, from when it began", async () => {
    const { collector, key, pass, clock } = await bench();
    pass(30_000);
    const { digest: _, ...none } = reportWith({
      at: clock.wall,
      activeVersion: null,
      ageSeconds: null,
      stale: true,
    });
    await collector.accept(await signReport(none, key));
    const view = collector.instances()[0];
    assert.deepEqual([view?.behind, view?.behindSince], [7, T0 + 30_000]);
  });

  test("alarms where skew lasts: behind, silent, ahead, other contents [LB-SEC-9]", async () => {
    const it = await bench({ behindAfter: 30_000, silentAfter: 45_000 });
    for (const instanceId of ["edge-1", "edge-2", "edge-3"]) await it.send({ instanceId });
    it.current = { version: 8, digest: "08".repeat(32) };
    it.collector.noteVersion();
    it.pass(30_000);
    assert.deepEqual(it.collector.alarms(), []);
    it.pass(1000);
    assert.deepEqual(it.collector.alarms(), [
      {
        code: "INSTANCE_BEHIND",
        since: T0,
        message: "behind the current version: edge-1, edge-2, edge-3",
      },
    ]);
    const eight = { activeVersion: 8, digest: "08".repeat(32) };
    await it.send({ sequence: 2, ...eight, digest: "ff".repeat(32) });
    await it.send({ instanceId: "edge-2", sequence: 2, activeVersion: 9 });
    it.pass(20_000);
    assert.deepEqual(
      it.collector.alarms().map(({ code, message }) => [code, message]),
      [
        ["INSTANCE_DIFFERS", "other contents under the same version: edge-1"],
        ["INSTANCE_AHEAD", "a version above the current one: edge-2"],
        ["INSTANCE_SILENT", "no report: edge-3"],
      ],
    );
  });

  test("alarms name relays that do not fit into their pool, for as long as instances say so [LB-PSETUP-12]", async () => {
    const it = await bench();
    await it.send({ mismatches: [{ rid: "7231", at: T0 }] });
    await it.send({
      instanceId: "edge-2",
      mismatches: [
        { rid: "7231", at: T0 },
        { rid: "7232", at: T0 },
      ],
    });
    assert.deepEqual(it.collector.alarms(), [
      {
        code: "POOL_MISMATCH",
        message: "relays that do not speak what their pool promises: 7231, 7232",
      },
    ]);
    await it.send({ sequence: 2 });
    await it.send({ instanceId: "edge-2", sequence: 2 });
    assert.deepEqual(it.collector.alarms(), []);
  });

  test("alarms name ten instances and count the others", async () => {
    const key = await someKey();
    const ids = Array.from({ length: 25 }, (_, i) => `edge-${10 + i}`);
    const { collector, pass } = await bench({
      instances: new Map(ids.map((id) => [id, key.publicKey])),
    });
    pass(60_001);
    const [alarm] = collector.alarms();
    assert.equal(alarm?.message, `no report: ${ids.slice(0, 10).join(", ")} and 15 more`);
    assert.equal(alarm?.since, T0);
  });

  test("forgets an instance that is taken out of the configuration", async () => {
    const key = await someKey();
    const instances = new Map([
      ["edge-1", key.publicKey],
      ["edge-2", key.publicKey],
    ]);
    const { collector, send, refused } = await bench({ instances });
    await send();
    instances.delete("edge-1");
    assert.deepEqual(
      collector.instances().map(({ id }) => id),
      ["edge-2"],
    );
    assert.equal(await refused({ sequence: 2 }), "UNKNOWN_INSTANCE");
  });
});

describe("reports and routing", () => {
  test("what a report says of versions changes nothing that is published: it has no way there", async () => {
    const it = await bench();
    const store = memoryStore();
    await store.set(currentKey, utf8("the envelope"));
    await store.set(
      reportKey("edge-1"),
      utf8(await signReport(reportWith({ activeVersion: 99 }), it.key)),
    );
    await it.collector.pollStore(store);
    await it.send({ sequence: 2, activeVersion: 100, stale: true, health: [] });
    assert.deepEqual(it.current, { version: 7, digest });
    assert.deepEqual(await store.get(currentKey), utf8("the envelope"));
    assert.deepEqual((await store.keys("")).sort(), [reportKey("edge-1"), currentKey].sort());
    assert.equal(it.collector.instances()[0]?.ahead, 93);
  });

  test("views of relays become hints, those of an instance whose clock is wrong too", async () => {
    const { send, hinted, pass, clock } = await bench();
    await send({ sequence: 1 });
    pass(10_000);
    const at = clock.wall + HOUR;
    await send({
      sequence: 2,
      at,
      health: [
        { rid: "7231", state: "unhealthy", at: at - 300_000 },
        { rid: "7232", state: "draining", at: at - 300_001 },
      ],
    });
    assert.deepEqual(hinted, ["edge-1 7231 draining", "edge-1 7231 unhealthy"]);
  });

  test("views in a report that somebody kept are no hints of a new agent's, live ones are at once [LB-SEC-7]", async () => {
    const { send, pass, hinted } = await bench();
    const sick = { health: [{ rid: "7231", state: "unhealthy" as const, at: T0 - 280_000 }] };
    // Made four and a half minutes ago, and kept since; then the next of the same recording.
    await send({ sequence: 40, startedAt: T0 - HOUR, at: T0 - 270_000, ...sick });
    pass(10_000);
    await send({ sequence: 41, startedAt: T0 - HOUR, at: T0 - 260_000, ...sick });
    assert.deepEqual(hinted, []);
    // The instance itself.
    await send({ sequence: 70, startedAt: T0 - HOUR, at: T0 + 9_000, ...sick });
    assert.deepEqual(hinted, ["edge-1 7231 unhealthy"]);
    // 30 seconds are fresh and one millisecond more is not, on either side.
    for (const [i, apart] of [-30_001, 30_001, -30_000, 30_000].entries()) {
      pass(2_000);
      const at = T0 + 10_000 + 2_000 * (i + 1) + apart;
      const health = [{ rid: `723${i}`, state: "draining" as const, at }];
      await send({ instanceId: "edge-2", startedAt: T0 + i, sequence: 1, at, health });
    }
    assert.deepEqual(hinted.slice(1), ["edge-2 7232 draining", "edge-2 7233 draining"]);
  });

  test("views of an instance whose clock is two minutes off are hints once its clock went on by ten", async () => {
    const { send, clock, pass, hinted } = await bench();
    const off = (sequence: number) => {
      const at = clock.wall - 120_000;
      const health = [{ rid: "7231", state: "unhealthy" as const, at }];
      return send({ sequence, at, health });
    };
    await off(1);
    pass(599_999);
    await off(2);
    assert.deepEqual(hinted, []);
    pass(1);
    await off(3);
    assert.deepEqual(hinted, ["edge-1 7231 unhealthy"]);
  });

  test("views that are refused, or of relays that the pool has not, are no hints", async () => {
    const { collector, send, refused, hinted } = await bench({ isRelay: (rid) => rid === "7231" });
    const unhealthy = (rid: string) => ({ rid, state: "unhealthy" as const, at: T0 });
    await send({ sequence: 2, health: [unhealthy("7231"), unhealthy("9999")] });
    assert.equal(await refused({ sequence: 2, health: [unhealthy("7231")] }), "REPLAYED");
    const forged = await signReport(
      reportWith({ sequence: 3, health: [unhealthy("7231")] }),
      await generateSigningKey(),
    );
    assert.equal(await codeOf(collector.accept(forged)), "BAD_SIGNATURE");
    assert.deepEqual(hinted, ["edge-1 7231 unhealthy"]);
  });
});

describe("reports that lie in the store", () => {
  test("are found, once each, and only where they are new", async () => {
    const { collector, key, pass } = await bench();
    const store = memoryStore();
    const put = async (report: Partial<InstanceReport>) =>
      store.set(reportKey("edge-1"), utf8(await signReport(reportWith(report), key)));
    await collector.pollStore(store);
    assert.deepEqual(collector.counts, { accepted: 0, refused: {} });
    await put({ sequence: 3 });
    await collector.pollStore(store);
    await collector.pollStore(store);
    assert.deepEqual(collector.counts, { accepted: 1, refused: {} });
    pass(10_000);
    await put({ sequence: 4 });
    await collector.pollStore(store);
    // A store that answers with an old value shows it as a replay.
    await put({ sequence: 3 });
    await collector.pollStore(store);
    assert.deepEqual(collector.counts, { accepted: 2, refused: { REPLAYED: 1 } });
    assert.equal(collector.instances()[0]?.report?.sequence, 4);
  });

  test("do no harm where they are junk, too long, another's or unreadable", async () => {
    const { collector, key } = await bench();
    const store = memoryStore();
    await store.set(reportKey("edge-1"), utf8("junk"));
    await store.set(reportKey("edge-2"), new Uint8Array(16_385));
    await store.set(
      reportKey("edge-3"),
      utf8(await signReport(reportWith({ instanceId: "edge-1" }), key)),
    );
    await collector.pollStore(store);
    assert.deepEqual(collector.counts, {
      accepted: 1,
      refused: { MALFORMED_REPORT: 1, STORE_FAILED: 1 },
    });
    const failing = new TestStore();
    failing.fails = true;
    await collector.pollStore(failing);
    assert.equal(collector.counts.refused.STORE_FAILED, 4);
    assert.deepEqual(
      collector.instances().map(({ never }) => never),
      [false, true, true],
    );
  });

  test("do not hold the collector up where the store hangs", async () => {
    const { collector } = await bench({ storeTimeout: 5 });
    await collector.pollStore({ get: () => new Promise(() => {}) });
    assert.equal(collector.counts.refused.STORE_FAILED, 3);
  });

  test("are looked for at an interval until that is ended", async () => {
    const waiting: (() => void)[] = [];
    const timers = {
      setTimeout: (callback: () => void, delay: number) => {
        if (delay === 2000) waiting.push(callback);
        return delay;
      },
      clearTimeout: () => {},
    };
    const { collector } = await bench({ timers });
    let reads = 0;
    const store = {
      async get() {
        reads++;
        return undefined;
      },
    };
    const stop = collector.watchStore(store, 2000);
    const settled = async () => {
      while (waiting.length === 0) await Promise.resolve();
    };
    await settled();
    assert.equal(reads, 3);
    waiting.shift()?.();
    await settled();
    assert.equal(reads, 6);
    stop();
    waiting.shift()?.();
    for (let i = 0; i < 100; i++) await Promise.resolve();
    assert.equal(waiting.length, 0);
  });
});
