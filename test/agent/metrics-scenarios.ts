/** Metrics of instances and of the agent, read as Prometheus reads them. On Bun and Deno. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { createAgentMetrics, createInstanceMetrics } from "../../src/metrics/mod.ts";
import { createRedirector, type DecisionEvent } from "../../src/moq-lb/mod.ts";
import { type RequestType, requestMessage } from "../../src/moqt/mod.ts";
import type { ActiveSnapshot, HolderStatus } from "../../src/snapshot/mod.ts";
import { parseSnapshot } from "../../src/snapshot/mod.ts";

/** Samples by name and labels, as `name{a="b"}`; a line that is none of the format fails. */
export function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || /^# (HELP|TYPE) yardmaster_[a-z_]+ /.test(line)) continue;
    const match =
      /^(yardmaster_[a-z_]+(?:\{[a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*\})?) (\S+)$/.exec(line);
    assert.ok(match, `not a sample: ${line}`);
    const [, series, value] = match;
    assert.equal(samples.has(series as string), false, `twice: ${series}`);
    samples.set(series as string, Number(value === "Nan" ? Number.NaN : value));
  }
  return samples;
}

/** Those of one metric, without its name. */
function samplesOfMetric(samples: Map<string, number>, name: string): Record<string, number> {
  const found = [...samples].filter(([series]) => series.split("{")[0] === name);
  return Object.fromEntries(found.map(([series, value]) => [series.slice(name.length), value]));
}

const T0 = 1_700_000_000_000;

function snapshot(version: number): ActiveSnapshot {
  const relays = ["r1", "r2"].map((rid) => ({
    rid,
    uri: `https://${rid}.example/moq`,
    health: "healthy",
  }));
  const routes = [{ prefix: ["a"], kind: "hashed", rids: ["r1", "r2"] }];
  const parsed = parseSnapshot({ version, relays, routes });
  return { snapshot: parsed, signedAt: T0 - 30_000, maximumAge: 600_000, digest: "" };
}

/** Metrics of an instance whose holder is in the hands of the test. */
function instanceBench() {
  const holder = {
    active: undefined as ActiveSnapshot | undefined,
    status(): HolderStatus {
      const { active } = holder;
      if (active === undefined) return { stale: true, failures: 3 };
      const { version } = active.snapshot;
      return { version, age: 30_000, signedAt: active.signedAt, stale: false, failures: 0 };
    },
  };
  const metrics = createInstanceMetrics({
    holder,
    maximumAge: 600_000,
    limits: () => [
      { limit: "maximumSessions", value: 10_000, use: 2 },
      { limit: "idleTimeout", value: 300_000 },
    ],
  });
  const redirector = createRedirector({
    holder,
    authorization: {
      name: "all-but-secret",
      authorize: ({ bearerToken }) => bearerToken !== "s3cret",
    },
    now: () => T0,
    onDecision: metrics.onDecision,
    logNames: true,
  });
  const ask = (name: string, type: RequestType = "SUBSCRIBE", bearerToken?: string) =>
    redirector.decide(requestMessage(type, { requestId: 0n, name }) as never, 22, { bearerToken });
  const samples = async () => samplesOf(await metrics.render());
  return { holder, metrics, ask, samples };
}

const decision: DecisionEvent = {
  requestType: "SUBSCRIBE",
  draft: 22,
  outcome: "REDIRECT",
  cause: "placed",
  duration: 3,
};

export function metricsScenarios(): void {
  describe("metrics of an instance", () => {
    test("count decisions by outcome and cause, and the cache of placements", async () => {
      const { holder, metrics, ask, samples } = instanceBench();
      await ask("a-m1--video");
      holder.active = snapshot(1);
      for (const name of ["a-m1--video", "a-m1--audio", "a-m2--video", "b-m1--video"])
        await ask(name);
      await ask("a-m1--video", "SUBSCRIBE", "s3cret");
      const first = await samples();
      assert.deepEqual(samplesOfMetric(first, "yardmaster_decisions_total"), {
        '{outcome="INTERNAL_ERROR",cause="no-configuration"}': 1,
        '{outcome="REDIRECT",cause="placed"}': 3,
        '{outcome="DOES_NOT_EXIST",cause="no-route"}': 1,
        '{outcome="UNAUTHORIZED",cause="unauthorized"}': 1,
      });
      assert.equal(first.get("yardmaster_decision_duration_seconds_count"), 6);
      const cache = '{result="hit"}';
      assert.deepEqual(samplesOfMetric(first, "yardmaster_placement_cache_total"), {
        [cache]: 1,
        '{result="miss"}': 2,
      });
      // Another snapshot has a cache of its own; the counts go on all the same.
      await ask("a-m1--video");
      holder.active = snapshot(2);
      metrics.onOutcome({ reason: "activated", level: "info", from: "store", at: T0 });
      await ask("a-m1--video");
      assert.deepEqual(samplesOfMetric(await samples(), "yardmaster_placement_cache_total"), {
        [cache]: 2,
        '{result="miss"}': 3,
      });
    });

    test("tell version, age and staleness, also where there is no snapshot [LB-CONF-24]", async () => {
      const { holder, samples } = instanceBench();
      const none = await samples();
      assert.equal(none.get("yardmaster_configuration_stale"), 1);
      assert.ok(Number.isNaN(none.get("yardmaster_active_version")));
      assert.ok(Number.isNaN(none.get("yardmaster_configuration_age_seconds")));
      assert.equal(none.get("yardmaster_snapshot_failures"), 3);
      holder.active = snapshot(7);
      const some = await samples();
      assert.equal(some.get("yardmaster_active_version"), 7);
      assert.equal(some.get("yardmaster_configuration_age_seconds"), 30);
      assert.equal(some.get("yardmaster_configuration_maximum_age_seconds"), 600);
      assert.equal(some.get("yardmaster_configuration_stale"), 0);
    });

    test("tell sessions by transport, as they come and go, and those refused", async () => {
      const { metrics, samples } = instanceBench();
      const opened = (session: number, transport: "quic" | "qmux") =>
        metrics.onSession({ type: "opened", session, transport, client: "192.0.2.7", draft: 22 });
      opened(1, "quic");
      opened(2, "qmux");
      opened(3, "quic");
      const close = { code: "NO_ERROR", redirects: 1, rejections: 0, duration: 5 };
      metrics.onSession({ type: "closed", session: 1, by: "remote", ...close });
      metrics.onSession({ type: "closed", session: 99, by: "idle", ...close });
      metrics.onSession({
        type: "refused",
        transport: "qmux",
        client: "192.0.2.7",
        cause: "session-limit",
      });
      const now = await samples();
      assert.deepEqual(samplesOfMetric(now, "yardmaster_sessions_open"), {
        '{transport="quic"}': 1,
        '{transport="webtransport-h3"}': 0,
        '{transport="webtransport-h2"}': 0,
        '{transport="qmux"}': 1,
      });
      assert.deepEqual(samplesOfMetric(now, "yardmaster_sessions_closed_total"), {
        '{by="remote"}': 1,
        '{by="idle"}': 1,
      });
      assert.deepEqual(samplesOfMetric(now, "yardmaster_sessions_refused_total"), {
        '{transport="qmux",cause="session-limit"}': 1,
      });
    });

    test("list limits and how much of them is used [LB-SEC-32]", async () => {
      const now = await instanceBench().samples();
      assert.deepEqual(samplesOfMetric(now, "yardmaster_limit"), {
        '{limit="maximumSessions"}': 10_000,
        '{limit="idleTimeout"}': 300_000,
      });
      assert.deepEqual(samplesOfMetric(now, "yardmaster_limit_use"), {
        '{limit="maximumSessions"}': 2,
      });
    });

    test("hold no namespace, token, client or relay, whatever is asked for [LB-SEC-17] [LB-SEC-34]", async () => {
      const { holder, metrics, ask } = instanceBench();
      holder.active = snapshot(1);
      for (let i = 0; i < 200; i++) {
        await ask(`a-marker${i}--video`, "SUBSCRIBE", i % 2 === 0 ? "s3cret" : "token-marker");
      }
      const text = await metrics.render();
      for (const secret of ["marker", "s3cret", "192.0.2", "r1", "example"]) {
        assert.equal(text.includes(secret), false, secret);
      }
    });

    test("have no more series than their closed lists allow, whatever they are told", async () => {
      const { metrics, samples } = instanceBench();
      const before = (await samples()).size;
      for (let i = 0; i < 1000; i++) {
        const wild = { ...decision, outcome: `OUT${i}`, cause: `cause ${i}` };
        metrics.onDecision(wild as unknown as DecisionEvent);
        metrics.onOutcome({ reason: `r${i}` as never, level: "info", from: "store", at: T0 });
        metrics.onSession({ type: "closed", session: i, by: `b${i}` as never } as never);
      }
      const after = await samples();
      assert.equal(after.size - before, 3);
      assert.equal(after.get('yardmaster_decisions_total{outcome="other",cause="other"}'), 1000);
    });

    test("count reports by what came of them", async () => {
      const { metrics, samples } = instanceBench();
      const base = { at: T0, sequence: 1, channel: "agent" } as const;
      metrics.onReport({ ...base, outcome: "sent", level: "info" });
      metrics.onReport({ ...base, outcome: "failed", level: "warning" });
      metrics.onReport({ ...base, outcome: "failed", level: "alarm" });
      assert.deepEqual(samplesOfMetric(await samples(), "yardmaster_reports_sent_total"), {
        '{outcome="sent"}': 1,
        '{outcome="failed"}': 1,
        '{outcome="unverified"}': 1,
      });
    });
  });

  describe("metrics of the agent", () => {
    const relay = {
      health: "healthy",
      drained: false,
      heldByCap: false,
      probe: { verdict: "up" },
    } as const;
    const agent = {
      role: "publishing",
      current: { version: 42, signedAt: T0 - 15_000 },
      relays: [
        relay,
        relay,
        { ...relay, health: "draining" as const, drained: true },
        {
          ...relay,
          health: "unhealthy" as const,
          probe: { verdict: "down" },
          override: "unhealthy",
        },
        { ...relay, heldByCap: true, probe: { verdict: "down" }, hint: {} },
      ],
      alarms: [{ code: "PROBE_CAP" }],
    };
    const view = { behind: 0, ahead: 0, differs: false, silent: false, never: false };
    const collector = {
      instances: () => [
        { ...view, report: { ageSeconds: 12, stale: false } },
        { ...view, behind: 3, report: { ageSeconds: 95, stale: true } },
        { ...view, silent: true, never: true },
      ],
      alarms: () => [{ code: "INSTANCE_SILENT" }],
      counts: { accepted: 9, refused: { REPLAYED: 2, BAD_SIGNATURE: 1 } },
    };

    test("tell version, role, relays, instances, reports and alarms [LB-CONF-25] [LB-SEC-9]", async () => {
      const metrics = createAgentMetrics({ agent, collector, maximumAge: 900_000, now: () => T0 });
      const now = samplesOf(await metrics.render());
      assert.equal(now.get("yardmaster_current_version"), 42);
      assert.equal(now.get("yardmaster_configuration_age_seconds"), 15);
      const of = (name: string) => samplesOfMetric(now, name);
      assert.deepEqual(of("yardmaster_agent_role"), {
        '{role="starting"}': 0,
        '{role="waiting"}': 0,
        '{role="publishing"}': 1,
        '{role="stopped"}': 0,
      });
      assert.deepEqual(of("yardmaster_relays"), {
        '{health="healthy"}': 3,
        '{health="draining"}': 1,
        '{health="unhealthy"}': 1,
      });
      assert.deepEqual(of("yardmaster_relay_verdicts"), {
        '{verdict="unknown"}': 0,
        '{verdict="up"}': 3,
        '{verdict="down"}': 2,
      });
      assert.deepEqual(of("yardmaster_relay_marks"), {
        '{mark="drained"}': 1,
        '{mark="override"}': 1,
        '{mark="hinted"}': 1,
        '{mark="held-by-cap"}': 1,
      });
      assert.deepEqual(of("yardmaster_reports_total"), {
        '{result="accepted"}': 9,
        '{result="REPLAYED"}': 2,
        '{result="BAD_SIGNATURE"}': 1,
      });
      assert.deepEqual(of("yardmaster_instances"), {
        '{state="known"}': 3,
        '{state="behind"}': 1,
        '{state="ahead"}': 0,
        '{state="differs"}': 0,
        '{state="silent"}': 1,
        '{state="never"}': 1,
        '{state="stale"}': 1,
      });
      assert.equal(now.get("yardmaster_instance_versions_behind"), 3);
      assert.equal(now.get("yardmaster_instance_age_seconds"), 95);
      assert.deepEqual(of("yardmaster_alarm"), {
        '{code="PROBE_CAP"}': 1,
        '{code="INSTANCE_SILENT"}': 1,
      });
    });

    test("count publications, refused actions and probes as they happen", async () => {
      const metrics = createAgentMetrics({ agent, maximumAge: 900_000, now: () => T0 });
      for (const cause of ["publish", "health", "health", "of my own"]) {
        metrics.onEvent({ event: "published", cause });
      }
      metrics.onEvent({ event: "refused", type: "rollback", code: "BAD_SIGNATURE" });
      metrics.onEvent({ event: "role" });
      const probe = metrics.countProbes(async (works: boolean, _: AbortSignal) => {
        if (!works) throw new Error("no answer");
      });
      const { signal } = new AbortController();
      await probe(true, signal);
      await assert.rejects(probe(false, signal), { message: "no answer" });
      const now = samplesOf(await metrics.render());
      assert.deepEqual(samplesOfMetric(now, "yardmaster_publications_total"), {
        '{cause="publish"}': 1,
        '{cause="health"}': 2,
        '{cause="other"}': 1,
      });
      assert.deepEqual(samplesOfMetric(now, "yardmaster_actions_refused_total"), {
        '{type="rollback",code="BAD_SIGNATURE"}': 1,
      });
      assert.deepEqual(samplesOfMetric(now, "yardmaster_probes_total"), {
        '{result="ok"}': 1,
        '{result="failed"}': 1,
      });
    });

    test("have as many series for 5,000 relays as for 5", async () => {
      const series = async (relays: typeof agent.relays) => {
        const metrics = createAgentMetrics({ agent: { ...agent, relays }, maximumAge: 1 });
        return samplesOf(await metrics.render()).size;
      };
      const many = Array.from({ length: 5000 }, () => relay);
      assert.equal(await series(many), await series(agent.relays));
    });
  });
}
