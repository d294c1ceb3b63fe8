import assert from "node:assert/strict";
import type { KVNamespace } from "@cloudflare/workers-types";
import { describe, test } from "#test";
import {
  createReporter,
  createTally,
  openReport,
  type Receipt,
  type ReportEvent,
  type ReporterOptions,
  reportDigest,
  reportKey,
  signReceipt,
  verifyInstanceToken,
} from "../../../src/report/mod.ts";
import {
  generateSigningKey,
  type HolderStatus,
  type SigningKey,
  trustSigningKeys,
} from "../../../src/snapshot/mod.ts";
import { cloudflareKvStore } from "../../../src/store/cloudflare-kv.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { TestTimers } from "../snapshot/fixtures.ts";
import { digest, HOUR, someKey, T0 } from "./fixtures.ts";

const status: HolderStatus = {
  version: 7,
  digest,
  signedAt: T0 - 12_900,
  age: 12_900,
  stale: false,
  failures: 0,
};

interface Call {
  readonly url: string;
  readonly init: RequestInit;
}

/** A reporter whose clock, timers and agent are in the hands of the test. */
async function bench(changes: Partial<ReporterOptions> = {}) {
  const key = await someKey();
  const agentKey = await generateSigningKey("agent");
  const clock = { now: T0 };
  const timers = new TestTimers();
  const events: ReportEvent[] = [];
  const calls: Call[] = [];
  let answer = (jws: string): Promise<Response> => receiptFor(jws, agentKey);
  const reporter = createReporter({
    instanceId: "edge-1",
    key,
    holder: { status: () => status },
    tally: createTally(),
    url: "https://agent.example/",
    trustedKeys: trustSigningKeys(agentKey),
    interval: 10_000,
    fetch: (url, init) => {
      calls.push({ url, init });
      return answer(init.body as string);
    },
    now: () => clock.now,
    timers,
    random: () => 0.5,
    onEvent: (event) => events.push(event),
    ...changes,
  });
  const sent = async (i: number) => openReport(calls[i]?.init.body as string, () => key.publicKey);
  return {
    reporter,
    key,
    agentKey,
    clock,
    timers,
    events,
    calls,
    sent,
    answerWith(next: typeof answer) {
      answer = next;
    },
  };
}

async function receiptFor(
  jws: string,
  key: SigningKey,
  changes: Partial<Receipt> = {},
): Promise<Response> {
  const claims = {
    instanceId: "edge-1",
    sequence: 1,
    report: await reportDigest(jws),
    currentVersion: 8,
    at: T0,
    ...changes,
  };
  return new Response((await signReceipt(claims, key)).jws);
}

describe("a reporter", () => {
  test("tells what an instance sees of relays within a second, changes at one time together [LB-HEALTH-9] [LB-PSETUP-12]", async () => {
    const health: { rid: string; state: "draining" | "unhealthy"; at: number }[] = [];
    const mismatches: { rid: string; at: number }[] = [];
    const { reporter, timers, calls, sent } = await bench({
      health: () => health,
      mismatches: () => mismatches,
    });
    reporter.reportSoon();
    assert.deepEqual(timers.delays, []);
    reporter.start();
    await reporter.reportNow();
    const first = await sent(0);
    assert.deepEqual(first.health, []);
    assert.equal("mismatches" in first, false);
    health.push({ rid: "7231", state: "unhealthy", at: T0 });
    reporter.reportSoon();
    mismatches.push({ rid: "7232", at: T0 });
    reporter.reportSoon();
    const soon = timers.delays.filter((delay) => delay < 1000);
    assert.equal(soon.length, 1);
    timers.fire();
    while (calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const second = await sent(1);
    assert.deepEqual(second.health, health);
    assert.deepEqual(second.mismatches, mismatches);
    await reporter.stop();
  });

  test("gives the times of what it sees in whole milliseconds, though its clock counts fractions [LB-HEALTH-9] [LB-PSETUP-12]", async () => {
    const { reporter, sent } = await bench({
      now: () => T0 + 0.75,
      health: () => [{ rid: "7231", state: "unhealthy", at: T0 + 0.4 }],
      mismatches: () => [{ rid: "7232", at: T0 + 0.6 }],
    });
    assert.equal((await reporter.reportNow()).error, undefined);
    const { at, health, mismatches } = await sent(0);
    assert.equal(at, T0 + 1);
    assert.deepEqual(health, [{ rid: "7231", state: "unhealthy", at: T0 }]);
    assert.deepEqual(mismatches, [{ rid: "7232", at: T0 + 1 }]);
  });

  test("follows a report under way with one of what happened meanwhile [LB-HEALTH-9]", async () => {
    const health: { rid: string; state: "unhealthy"; at: number }[] = [];
    const { reporter, timers, calls, sent, answerWith, agentKey } = await bench({
      health: () => health,
    });
    const answer = Promise.withResolvers<void>();
    answerWith(async (jws) => {
      await answer.promise;
      return receiptFor(jws, agentKey);
    });
    reporter.start();
    while (calls.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    health.push({ rid: "7231", state: "unhealthy", at: T0 });
    reporter.reportSoon();
    timers.fire();
    assert.equal(calls.length, 1);
    answer.resolve();
    while (calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual((await sent(0)).health, []);
    assert.deepEqual((await sent(1)).health, health);
    await reporter.stop();
  });

  test("posts a signed report of version, age and decisions [LB-CONF-24] [LB-CONF-25]", async () => {
    const tally = createTally();
    for (const outcome of ["REDIRECT", "REDIRECT", "UNAUTHORIZED", "example.com"]) {
      tally.onDecision({ outcome });
    }
    const { reporter, key, calls, sent } = await bench({ tally, sessions: () => 3 });
    const event = await reporter.reportNow();
    assert.equal(event.outcome, "sent");
    assert.equal(event.currentVersion, 8);
    assert.equal(calls[0]?.url, "https://agent.example/v1/reports");
    assert.equal(calls[0]?.init.method, "POST");
    assert.equal(calls[0]?.init.redirect, "manual");
    const authorization = new Headers(calls[0]?.init.headers).get("authorization") ?? "";
    assert.match(authorization, /^Bearer /);
    const instances = new Map([["edge-1", key.publicKey]]);
    const { instanceId } = await verifyInstanceToken(authorization.slice(7), instances, T0);
    assert.equal(instanceId, "edge-1");
    assert.deepEqual(await sent(0), {
      instanceId: "edge-1",
      sequence: 1,
      at: T0,
      startedAt: T0,
      activeVersion: 7,
      digest,
      ageSeconds: 12,
      mode: "redirect",
      stale: false,
      health: [],
      decisions: { REDIRECT: 2, UNAUTHORIZED: 1, OTHER: 1 },
      sessions: 3,
    });
  });

  test("says that there is no snapshot yet", async () => {
    const holder = { status: () => ({ stale: true, failures: 2 }) };
    const { reporter, sent } = await bench({ holder });
    await reporter.reportNow();
    const { activeVersion, ageSeconds, stale, digest: none } = await sent(0);
    assert.deepEqual([activeVersion, ageSeconds, stale, none], [null, null, true, undefined]);
  });

  test("notices an agent that is not the one whose snapshots it trusts [LB-CONF-18]", async () => {
    const { reporter, answerWith, agentKey } = await bench();
    const impostor = await generateSigningKey("agent");
    const stranger = await generateSigningKey("stranger");
    const answers: ((jws: string) => Promise<Response>)[] = [
      (jws) => receiptFor(jws, impostor),
      (jws) => receiptFor(jws, stranger),
      () => receiptFor("another report", agentKey),
      async () => new Response("OK"),
      async () => new Response(""),
      async () => new Response("x".repeat(1_000_000)),
      async (jws) => new Response(jws),
    ];
    for (const answer of answers) {
      answerWith(answer);
      const event = await reporter.reportNow();
      assert.equal(event.error?.code, "AGENT_UNVERIFIED");
      assert.deepEqual([event.outcome, event.level], ["failed", "alarm"]);
      assert.equal(event.currentVersion, undefined);
    }
    answerWith((jws) => receiptFor(jws, agentKey));
    assert.equal((await reporter.reportNow()).outcome, "sent");
  });

  test("does not take an old answer for a new report [LB-CONF-18]", async () => {
    const { reporter, answerWith, agentKey } = await bench();
    let first: string | undefined;
    answerWith(async (jws) => {
      first ??= await (await receiptFor(jws, agentKey)).text();
      return new Response(first);
    });
    assert.equal((await reporter.reportNow()).outcome, "sent");
    assert.equal((await reporter.reportNow()).error?.code, "AGENT_UNVERIFIED");
  });

  test("tells what a refusal says only as far as that is safe", async () => {
    const { reporter, answerWith } = await bench();
    const refuse = async (status: number, body: string) => {
      answerWith(async () => new Response(body, { status }));
      return (await reporter.reportNow()).error;
    };
    const replayed = await refuse(409, '{"code":"REPLAYED","detail":"<script>"}');
    assert.deepEqual(
      [replayed?.code, replayed?.message],
      ["AGENT_REFUSED", "the agent answered 409 (REPLAYED)"],
    );
    assert.equal((await refuse(502, "<html>"))?.message, "the agent answered 502");
    assert.equal((await refuse(403, '{"code":"a b"}'))?.message, "the agent answered 403");
    assert.equal((await refuse(302, ""))?.code, "AGENT_REFUSED");
  });

  test("survives an agent that is away, and asks it less often", async () => {
    const { reporter, answerWith, timers, events, agentKey } = await bench();
    const turns = async (count: number) => {
      while (events.length < count) await new Promise((resolve) => setTimeout(resolve, 0));
      while (timers.delays.length === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    };
    answerWith(() => Promise.reject(new TypeError("connection refused")));
    reporter.start();
    const pauses: (number | undefined)[] = [];
    for (let count = 1; count <= 5; count++) {
      await turns(count);
      pauses.push(timers.delays[0]);
      if (count === 4) answerWith((jws) => receiptFor(jws, agentKey));
      timers.fire();
    }
    assert.deepEqual(pauses, [20_000, 40_000, 80_000, 80_000, 10_000]);
    assert.equal(events[0]?.error?.code, "AGENT_UNREACHABLE");
    assert.equal(events[4]?.outcome, "sent");
    await reporter.stop();
    timers.fire();
    assert.equal(timers.delays.length, 0);
  });

  test("numbers its reports upwards whatever the clock does, an hour back or ahead", async () => {
    const { reporter, clock, sent } = await bench();
    for (const now of [T0, T0 - HOUR, T0 + HOUR]) {
      clock.now = now;
      await reporter.reportNow();
    }
    const reports = await Promise.all([0, 1, 2].map(sent));
    assert.deepEqual(
      reports.map(({ sequence, startedAt, at }) => [sequence, startedAt, at]),
      [
        [1, T0, T0],
        [2, T0, T0 - HOUR],
        [3, T0, T0 + HOUR],
      ],
    );
  });

  test("is due once an interval for runtimes without timers, and soon after a clock jumped", async () => {
    const { reporter, clock, calls } = await bench();
    await reporter.reportIfDue();
    assert.equal(reporter.reportIfDue(), undefined);
    clock.now += 9_999;
    assert.equal(reporter.reportIfDue(), undefined);
    clock.now += 1;
    await reporter.reportIfDue();
    assert.equal(calls.length, 2);
    clock.now -= HOUR;
    await reporter.reportIfDue();
    assert.equal(calls.length, 3);
  });

  test("goes on after a report whose end is never heard of", async () => {
    const { reporter, clock, calls, answerWith, agentKey } = await bench();
    answerWith(() => new Promise(() => {}));
    void reporter.reportIfDue();
    while (calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    clock.now += 30_000;
    assert.equal(reporter.reportIfDue(), undefined);
    clock.now += 31_000;
    answerWith((jws) => receiptFor(jws, agentKey));
    assert.equal((await reporter.reportIfDue())?.outcome, "sent");
  });

  test("is not disturbed by a listener that throws", async () => {
    const onEvent = () => {
      throw new Error("full");
    };
    const { reporter } = await bench({ onEvent });
    assert.equal((await reporter.reportNow()).outcome, "sent");
  });

  test("sends to https alone, or to the loopback [LB-CONF-20]", async () => {
    for (const url of ["http://agent.example", "https://u:p@agent.example", "agent", "ftp://a"]) {
      await assert.rejects(bench({ url }), { code: "INVALID_CONFIGURATION" });
    }
    for (const url of ["http://127.0.0.1:8790", "http://[::1]:1", "http://localhost/agent/"]) {
      const { reporter, calls } = await bench({ url });
      await reporter.reportNow();
      assert.equal(calls[0]?.url, `${url.replace(/\/$/, "")}/v1/reports`);
    }
    await assert.rejects(bench({ instanceId: "a/b" }), { code: "INVALID_CONFIGURATION" });
    await assert.rejects(bench({ interval: 0 }), { code: "INVALID_CONFIGURATION" });
  });
});

/** A KV namespace in memory. */
function namespace() {
  const values = new Map<string, ArrayBuffer>();
  let puts = 0;
  const binding = {
    get: async (key: string) => values.get(key)?.slice(0) ?? null,
    async put(key: string, value: Uint8Array) {
      puts++;
      values.set(key, new Uint8Array(value).buffer);
    },
  };
  return { binding: binding as unknown as KVNamespace, puts: () => puts };
}

describe("reports through the store", () => {
  const inStore = { url: undefined as never };

  for (const [name, open] of [
    ["memory", () => memoryStore()],
    ["Workers KV", () => cloudflareKvStore(namespace().binding)],
  ] as const) {
    test(`lie where the agent looks for them, in ${name}`, async () => {
      const store = open();
      const { reporter, key, calls } = await bench({ ...inStore, store });
      const event = await reporter.reportNow();
      assert.deepEqual([event.channel, event.outcome], ["store", "sent"]);
      assert.equal(calls.length, 0);
      const bytes = await store.get("moq-lb:report:edge-1");
      const report = await openReport(new TextDecoder().decode(bytes), () => key.publicKey);
      assert.deepEqual([report.sequence, report.activeVersion], [1, 7]);
    });
  }

  test("of many isolates of one worker cost one write an interval", async () => {
    const { binding, puts } = namespace();
    const store = cloudflareKvStore(binding);
    const clock = { now: T0 };
    const now = () => clock.now;
    const isolates = await Promise.all(
      Array.from({ length: 20 }, () => bench({ ...inStore, store, now })),
    );
    for (const { reporter } of isolates) await reporter.reportNow();
    assert.equal(puts(), 1);
    clock.now += 10_000;
    for (const { reporter } of isolates) await reporter.reportIfDue();
    assert.equal(puts(), 2);
  });

  test("tell news although the report of a process before is young [LB-HEALTH-9]", async () => {
    const store = memoryStore();
    const before = await bench({ ...inStore, store });
    await before.reporter.reportNow();
    const health = [{ rid: "7231", state: "unhealthy" as const, at: T0 + 1 }];
    const after = await bench({ ...inStore, store, now: () => T0 + 2, health: () => health });
    after.reporter.start();
    after.reporter.reportSoon();
    after.timers.fire();
    while (after.events.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const jws = new TextDecoder().decode(await store.get("moq-lb:report:edge-1"));
    const report = await openReport(jws, () => after.key.publicKey);
    assert.deepEqual([report.startedAt, report.health], [T0 + 2, health]);
    await after.reporter.stop();
  });

  test("fail where the store fails, and cannot go to one that is read-only", async () => {
    const failing = {
      get: async () => undefined,
      set: async () => {
        throw new Error("disk full");
      },
    };
    const { reporter } = await bench({ ...inStore, store: failing });
    assert.equal((await reporter.reportNow()).error?.code, "STORE_FAILED");
    const readOnly = { get: async () => undefined };
    await assert.rejects(bench({ ...inStore, store: readOnly }), { code: "INVALID_CONFIGURATION" });
    await assert.rejects(bench(inStore), { code: "INVALID_CONFIGURATION" });
  });

  test("have a key of their own for each instance", () => {
    assert.equal(reportKey("edge-1"), "moq-lb:report:edge-1");
    assert.throws(() => reportKey("edge:1"), { code: "INVALID_CONFIGURATION" });
  });
});
