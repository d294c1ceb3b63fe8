/** Stores that fail, agents that come in twos, clocks that jump, keys that are rotated. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { agentApp } from "../../src/agent/http/app.ts";
import { simulate } from "../../src/agent/simulate.ts";
import {
  currentKey,
  generateSigningKey,
  verifySnapshot,
  versionKey,
} from "../../src/snapshot/mod.ts";
import {
  act,
  agentOn,
  assertWhole,
  bed,
  type Call,
  epoch,
  hour,
  leaseTtl,
  local,
  Machine,
  maximumAge,
  meddled,
  pool,
  type Running,
  rid,
  startedOn,
  trustBoth,
  turn,
  versionsIn,
} from "./agent-bed.ts";

/** A store whose behaviour a test changes while it runs. */
function fickle(base: Parameters<typeof meddled>[0]) {
  const state: { meddle?: (call: Call, proceed: () => Promise<unknown>) => Promise<unknown> } = {};
  const store = meddled(base, (call, proceed) =>
    state.meddle === undefined
      ? proceed()
      : (state.meddle(call, proceed) as ReturnType<typeof proceed>),
  );
  return { store, state };
}

/** A door that stays shut until it is opened. */
function door() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}

const alarmCodes = (agent: { alarms: readonly { code: string }[] }) =>
  agent.alarms.map(({ code }) => code);

/** Status and code of `GET /healthz`. */
async function healthOf({ agent, machine }: Running) {
  const { now } = machine.time;
  const app = agentApp({ agent, operators: new Map(), simulate, now, maximumAge });
  const response = await app.request("http://agent.example/healthz");
  const { code } = (await response.json()) as { code?: string };
  return [response.status, code];
}

export function faultScenarios(): void {
  describe("a store", () => {
    test("that is gone for a while costs no version and no history [LB-CONF-2]", async () => {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const { agent, machine } = await startedOn(on, { store });
      await machine.during(agent.publish(pool(3), local));
      state.meddle = () => Promise.reject(new Error("connection refused"));
      const error = await agent.publish(pool(2), local).catch((fault) => fault);
      assert.equal(error.code, "STORE_FAILED");
      await machine.until(() => agent.role === "waiting", "the end of a lease without renewal");
      assert.ok(alarmCodes(agent).includes("STORE_FAILED"));
      assert.equal(
        (await agent.publish(pool(2), local).catch((fault) => fault)).code,
        "NOT_PUBLISHING",
      );
      await machine.until(() => alarmCodes(agent).includes("AGE_AT_RISK"), "an age at risk");
      delete state.meddle;
      await machine.until(() => agent.role === "publishing", "publishing again");
      await machine.until(() => agent.alarms.length === 0, "the end of all alarms");
      const before = agent.current?.version ?? 0;
      const { version } = await machine.during(agent.publish(pool(2), local));
      assert.equal(version, before + 1);
      await assertWhole(on, agent);
    });

    test("that is gone shows in the agent's health, and an agent that publishes in that of one that waits", async () => {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const first = await startedOn(on, { store });
      const { machine } = first;
      await machine.during(first.agent.publish(pool(3), local));
      const second = agentOn(on, { store, agentId: "b" }, machine);
      second.agent.start().catch(() => {});
      await machine.until(() => second.agent.role === "waiting", "the second waits");
      // It has not seen yet whether anybody renews the lease that it found.
      assert.deepEqual(await healthOf(second), [503, "NOT_PUBLISHING"]);
      await machine.pass(leaseTtl);
      assert.deepEqual(await healthOf(first), [200, undefined]);
      assert.deepEqual(await healthOf(second), [200, undefined]);
      assert.equal(second.agent.holder?.agentId, "a");
      state.meddle = () => Promise.reject(new Error("connection refused"));
      await machine.pass(leaseTtl);
      assert.deepEqual([first.agent.role, second.agent.role], ["waiting", "waiting"]);
      assert.deepEqual(await healthOf(first), [503, "STORE_FAILED"]);
      assert.deepEqual(await healthOf(second), [503, "STORE_FAILED"]);
      delete state.meddle;
      await machine.until(() => first.agent.role === "publishing", "publishing again");
      await machine.pass(leaseTtl);
      assert.deepEqual(await healthOf(first), [200, undefined]);
      assert.deepEqual(await healthOf(second), [200, undefined]);
    });

    test("that is slow fails in time, and what it does late is completed [LB-CONF-2]", async () => {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const { agent, machine } = await startedOn(on, { store });
      await machine.during(agent.publish(pool(3), local));
      const late = door();
      state.meddle = async ({ operation, key }, proceed) => {
        if (operation === "create" && key === versionKey(2)) await late.passed;
        return proceed();
      };
      const asked = agent.publish(pool(2), local);
      const error = await machine.during(asked).catch((fault) => fault);
      assert.equal(error.code, "STORE_FAILED");
      late.open();
      await turn();
      delete state.meddle;
      // The version came to be after all: the agent finds it, and goes on above it.
      const { version } = await machine.during(agent.publish(pool(4), local));
      assert.equal(version, 3);
      await assertWhole(on, agent);
    });

    test("that gives back old and truncated items changes nothing that is published [LB-SEC-8]", async () => {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const { agent, machine } = await startedOn(on, { store });
      await machine.during(agent.publish(pool(3), local));
      const old = (await on.store.get(currentKey)) as Uint8Array;
      await machine.during(agent.publish(pool(2), local));
      for (const stale of [old, old.subarray(0, 40)]) {
        state.meddle = async ({ operation, key }, proceed) =>
          operation === "get" && key === currentKey ? stale : proceed();
        await machine.until(() => alarmCodes(agent).includes("PUBLISHING_FAILED"), "an alarm");
        assert.equal(agent.current?.snapshot.relays.length, 2);
        delete state.meddle;
        await machine.until(() => !alarmCodes(agent).includes("PUBLISHING_FAILED"), "its end");
      }
      const { version } = await machine.during(agent.publish(pool(4), local));
      assert.equal(version, 3);
      await assertWhole(on, agent);
    });

    test("that lists old versions to an agent that starts cannot make it take one again [LB-SEC-8]", async () => {
      const on = await bed();
      const first = await startedOn(on);
      for (const count of [3, 2, 4])
        await first.machine.during(first.agent.publish(pool(count), local));
      await first.agent.stop();
      const { store, state } = fickle(on.store);
      const one = (await on.store.get(versionKey(1))) as Uint8Array;
      state.meddle = async ({ operation, key }, proceed) => {
        if (operation === "get" && key === currentKey) return one;
        if (operation !== "keys" || key !== "moq-lb:snapshot:") return proceed();
        return [versionKey(1), currentKey];
      };
      const second = agentOn(on, { store, agentId: "b" });
      const starting = second.agent.start();
      await second.machine.pass(5000);
      const error = await second.agent.publish(pool(5), local).catch((fault) => fault);
      assert.ok(["NOT_PUBLISHING", "VERSION_MOVED"].includes(error.code), error.code);
      delete state.meddle;
      await second.machine.during(starting);
      await second.machine.until(
        () => (second.agent.current?.version ?? 0) >= 3,
        "the newest version",
      );
      const { version } = await second.machine.during(second.agent.publish(pool(5), local));
      assert.ok(version >= 4);
      await assertWhole(on, second.agent);
    });

    test("that lost everything gets back what the agent knows, and versions go on [LB-CONF-2]", async () => {
      const on = await bed();
      const { agent, machine } = await startedOn(on);
      for (const count of [3, 2]) await machine.during(agent.publish(pool(count), local));
      for (const key of await on.store.keys("moq-lb:snapshot:")) await on.store.remove(key);
      await machine.pass(2 * leaseTtl);
      assert.deepEqual(await versionsIn(on.store), [2]);
      await assertWhole(on, agent);
      assert.equal((await machine.during(agent.publish(pool(4), local))).version, 3);
      await assertWhole(on, agent);
    });
  });

  describe("two agents on one store", () => {
    test("do not both publish: the second waits, and takes over at once where the first ends well", async () => {
      const on = await bed();
      const first = await startedOn(on);
      await first.machine.during(first.agent.publish(pool(3), local));
      const second = agentOn(on, { agentId: "b" }, first.machine);
      const started = second.agent.start();
      await first.machine.pass(5 * leaseTtl);
      assert.equal(second.agent.role, "waiting");
      assert.equal(
        (await second.agent.publish(pool(2), local).catch((e) => e)).code,
        "NOT_PUBLISHING",
      );
      assert.equal(second.agent.current?.version, 1, "it knows what is current all the same");
      await first.agent.stop();
      const at = first.machine.clock.now();
      await first.machine.during(started);
      assert.ok(first.machine.clock.now() - at < leaseTtl, "a lease that was released is free");
      assert.equal(second.agent.current?.version, 1, "nothing had to be published for that");
      await second.machine.during(second.agent.publish(pool(2), local));
      await assertWhole(on, second.agent);
    });

    test("of which one sleeps in the middle of a publication: it cannot publish when it wakes [LB-CONF-2]", async () => {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const first = await startedOn(on, { store });
      await first.machine.during(first.agent.publish(pool(3), local));
      const sleep = door();
      let asleep = false;
      state.meddle = async ({ operation, key }, proceed) => {
        if (operation === "create" && key === versionKey(2)) {
          asleep = true;
          await sleep.passed;
        }
        return proceed();
      };
      const asked = first.agent.publish(pool(2), local).catch((fault) => fault);
      while (!asleep) await turn();
      const second = await startedOn(on, { agentId: "b" });
      assert.equal(
        second.agent.current?.version,
        2,
        "the version that the sleeper wanted is taken",
      );
      sleep.open();
      const error = await asked;
      assert.equal(error.code, "NOT_PUBLISHING");
      assert.equal(second.agent.current?.snapshot.relays.length, 3);
      await first.machine.pass(leaseTtl / 2);
      assert.notEqual(first.agent.role, "publishing");
      assert.equal(
        (await first.agent.publish(pool(2), local).catch((e) => e)).code,
        "NOT_PUBLISHING",
      );
      await second.machine.during(second.agent.publish(pool(4), local));
      await assertWhole(on, second.agent);
    });

    test("of which one sleeps before it writes what is current: the newest version stays current [LB-ROT-3]", async () => {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const first = await startedOn(on, { store });
      await first.machine.during(first.agent.publish(pool(3), local));
      const sleep = door();
      let asleep = false;
      state.meddle = async ({ operation, key }, proceed) => {
        if (operation === "set" && key === currentKey && !asleep) {
          asleep = true;
          await sleep.passed;
        }
        return proceed();
      };
      const asked = first.agent.publish(pool(2), local);
      while (!asleep) await turn();
      const second = await startedOn(on, { agentId: "b" });
      // It completed version 2, and made one of its own.
      assert.equal(second.agent.current?.version, 3);
      assert.equal(second.agent.current?.snapshot.relays.length, 2);
      sleep.open();
      assert.equal((await asked).version, 2);
      await assertWhole(on, second.agent);
    });

    test("of which one dies after it wrote an old item as current: the other repairs that", async () => {
      const on = await bed();
      const { agent, machine } = await startedOn(on);
      await machine.during(agent.publish(pool(3), local));
      const old = (await on.store.get(currentKey)) as Uint8Array;
      await machine.during(agent.publish(pool(2), local));
      await on.store.set(currentKey, old);
      await machine.pass(2 * leaseTtl);
      await assertWhole(on, agent);
    });
  });

  describe("an agent that a publication keeps busy", () => {
    /** Two agents, the first of which publishes; `work` happens in several steps of a publication. */
    async function busyPair(steps: { work: () => void }) {
      const on = await bed();
      const { store, state } = fickle(on.store);
      const machine = new Machine();
      // Read when somebody is authorized, and when a version is about to be signed.
      const now = () => {
        steps.work();
        return machine.time.now();
      };
      const first = await startedOn(on, { store, now }, machine);
      await machine.during(first.agent.publish(pool(3), local));
      const second = agentOn(on, { agentId: "b" });
      second.agent.start().catch(() => {});
      await second.machine.pass(leaseTtl / 4);
      await first.machine.pass(leaseTtl / 4);
      return { on, state, first, second };
    }

    const roles = (events: readonly { event: string; role?: string }[]) =>
      events.flatMap(({ event, role: name }) => (event === "role" ? [name] : []));

    test("for longer than its lease keeps it where nobody else wants it, and publishes once [LB-CONF-2]", async () => {
      const steps = { work: () => {} };
      const { on, state, first, second } = await busyPair(steps);
      await second.agent.stop();
      const { agent, machine, events } = first;
      const work = () => {
        machine.busy += 2 * leaseTtl;
      };
      steps.work = work;
      state.meddle = async ({ operation }, proceed) => {
        if (operation === "create") work();
        return proceed();
      };
      const { version } = await agent.publish(pool(2), local);
      assert.equal(version, 2);
      assert.ok(machine.busy >= 6 * leaseTtl, "it was busy in several steps");
      steps.work = () => {};
      delete state.meddle;
      assert.equal((await agent.publish(pool(4), local)).version, 3, "it goes on at once");
      await machine.pass(2 * leaseTtl);
      assert.deepEqual(roles(events), ["publishing"]);
      assert.ok(!events.some((event) => event.event === "alarm" && event.code === "LEASE_LOST"));
      assert.deepEqual(await versionsIn(on.store), [1, 2, 3]);
      await assertWhole(on, agent);
    });

    test("in steps shorter than its lease keeps it from one that waits [LB-CONF-2]", async () => {
      const steps = { work: () => {} };
      const { on, state, first, second } = await busyPair(steps);
      const step = 0.7 * leaseTtl;
      const work = () => {
        first.machine.busy += step;
        second.machine.clock.advance(step);
      };
      state.meddle = async ({ operation }, proceed) => {
        if (operation === "create") work();
        const result = await proceed();
        await turn();
        return result;
      };
      let readings = 0;
      steps.work = () => {
        if (readings++ < 2) work();
      };
      const { version } = await first.agent.publish(pool(2), local);
      steps.work = () => {};
      delete state.meddle;
      assert.equal(version, 2);
      assert.ok(first.machine.busy >= 3 * step, "all steps together took longer than the lease");
      assert.deepEqual(roles(second.events), ["waiting"]);
      for (let i = 0; i < 8; i++) {
        await first.machine.pass(leaseTtl / 4);
        await second.machine.pass(leaseTtl / 4);
      }
      assert.deepEqual(roles(first.events), ["publishing"]);
      assert.deepEqual(roles(second.events), ["waiting"]);
      assert.deepEqual(await versionsIn(on.store), [1, 2]);
      assert.equal(second.agent.current?.version, 2);
      await assertWhole(on, first.agent);
    });

    test("steps back, with nothing written, where another has taken over in that time [LB-CONF-2]", async () => {
      const steps = { work: () => {} };
      const { on, state, first, second } = await busyPair(steps);
      let signing = false;
      let readings = 0;
      steps.work = () => {
        signing = ++readings > 1;
      };
      const written: string[] = [];
      state.meddle = async ({ operation, key }, proceed) => {
        if (signing) {
          signing = false;
          steps.work = () => {};
          first.machine.busy += 3 * leaseTtl;
          await second.machine.until(() => second.agent.role === "publishing", "a take-over");
        }
        if (operation === "set" || operation === "create") written.push(key);
        return proceed();
      };
      const error = await first.agent.publish(pool(2), local).catch((fault) => fault);
      assert.equal(error.code, "NOT_PUBLISHING");
      assert.equal(first.agent.role, "waiting");
      assert.deepEqual(written, []);
      delete state.meddle;
      assert.deepEqual(await versionsIn(on.store), [1, 2]);
      assert.equal(second.agent.current?.snapshot.relays.length, 3, "what was current stayed so");
      await turn();
      assert.ok(alarmCodes(first.agent).includes("LEASE_LOST"));
      const again = await first.agent.publish(pool(2), local).catch((fault) => fault);
      assert.equal(again.code, "NOT_PUBLISHING");
      await second.machine.during(second.agent.publish(pool(4), local));
      assert.deepEqual(await versionsIn(on.store), [1, 2, 3]);
      await assertWhole(on, second.agent);
    });
  });

  describe("a clock", () => {
    test("that is quiet for long: a version is published at least three times per maximum age [LB-CONF-27]", async () => {
      const on = await bed();
      const { agent, machine, events } = await startedOn(on, { random: Math.random });
      await machine.during(agent.publish(pool(3), local));
      const times = () =>
        events.flatMap((event) => (event.event === "published" ? [event.at] : []));
      await machine.pass(3 * maximumAge, 1000);
      const gaps = times()
        .slice(1)
        .map((at, i) => at - (times()[i] as number));
      assert.ok(gaps.length >= 9, `${gaps.length} publications in three maximum ages`);
      assert.ok(Math.max(...gaps) <= maximumAge / 3, `${Math.max(...gaps)} ms`);
      // Of what only repeats, the history keeps the first and the last.
      assert.deepEqual(await versionsIn(on.store), [1, agent.current?.version]);
      assert.equal(agent.current?.since, 1);
      await assertWhole(on, agent);
    });

    test("that jumps an hour ahead and stays there is alarmed about for as long as that lasts [LB-CONF-27]", async () => {
      const on = await bed();
      const { agent, machine } = await startedOn(on);
      await machine.during(agent.publish(pool(3), local));
      machine.offset = hour;
      await machine.pass(maximumAge);
      assert.deepEqual(alarmCodes(agent), ["CLOCK_JUMPED"]);
      machine.offset = 400;
      await machine.pass(leaseTtl);
      assert.deepEqual(alarmCodes(agent), []);
    });

    test("that a time service slews is no reason for an alarm", async () => {
      const on = await bed();
      const { agent, machine, events } = await startedOn(on);
      await machine.during(agent.publish(pool(3), local));
      for (let i = 0; i < 20; i++) {
        machine.offset += 500;
        await machine.pass(leaseTtl);
      }
      assert.deepEqual(
        events.flatMap((event) => (event.event === "alarm" ? [event.code] : [])),
        ["NOTHING_PUBLISHED"],
        "before the first pool, and nothing since",
      );
    });

    test("that jumps an hour ahead and back leaves a fresh version after each [LB-CONF-27]", async () => {
      const on = await bed();
      const { agent, machine } = await startedOn(on);
      await machine.during(agent.publish(pool(3), local));
      machine.offset = hour;
      await machine.pass(leaseTtl);
      assert.ok((agent.current?.signedAt ?? 0) >= epoch + hour);
      assert.deepEqual(alarmCodes(agent), ["CLOCK_JUMPED"]);
      assert.match(agent.alarms[0]?.message ?? "", /set ahead by 3600 s/);
      machine.offset = 0;
      await machine.pass(leaseTtl);
      assert.deepEqual(alarmCodes(agent), []);
      const age = machine.time.now() - (agent.current?.signedAt ?? 0);
      assert.ok(age >= 0 && age <= leaseTtl + 1000, `signed ${age} ms ago by the right clock`);
      await assertWhole(on, agent);
    });

    test("that is set back an hour signs nothing an hour ago, raises an alarm, and is believed in the end [LB-CONF-27]", async () => {
      const on = await bed();
      const { agent, machine } = await startedOn(on);
      await machine.during(agent.publish(pool(3), local));
      machine.offset = -hour;
      await machine.pass(leaseTtl);
      assert.ok(alarmCodes(agent).includes("CLOCK_JUMPED"));
      await machine.during(agent.publish(pool(2), local));
      const right = epoch + machine.clock.now();
      assert.ok(right - (agent.current?.signedAt ?? 0) <= 2000);
      await machine.pass(maximumAge / 4 + leaseTtl);
      assert.deepEqual(alarmCodes(agent), ["CLOCK_JUMPED"], "it is still not where it was");
      const age = machine.time.now() - (agent.current?.signedAt ?? 0);
      assert.ok(
        age >= 0 && age <= 2 * leaseTtl + 1000,
        "by the clock that stayed back, it is fresh",
      );
      machine.offset = 0;
      await machine.pass(leaseTtl);
      assert.deepEqual(alarmCodes(agent), []);
      await assertWhole(on, agent);
    });
  });

  describe("a signing key", () => {
    test("that is rotated signs what is current at once, and the history stays whole [LB-SEC-5]", async () => {
      const on = await bed();
      const first = await startedOn(on);
      await first.machine.during(first.agent.publish(pool(3), local));
      await act(first, on.bob, { type: "drain", rid: rid(1) });
      await first.agent.stop();
      const signingKey = await generateSigningKey();
      const trustedKeys = await trustBoth(on.signingKey, signingKey);
      const second = await startedOn(on, { agentId: "b", signingKey, trustedKeys });
      const { current } = second.agent;
      assert.equal(current?.version, 3);
      assert.equal(current?.kid, signingKey.kid);
      assert.deepEqual(
        second.agent.relays.map(({ health, drained }) => [health, drained]),
        [
          ["draining", true],
          ["healthy", false],
          ["healthy", false],
        ],
      );
      const history = await second.agent.history();
      assert.deepEqual(
        history.map(({ version, kid, cause }) => [version, kid, cause]),
        [
          [3, signingKey.kid, "republish"],
          [2, on.signingKey.kid, "drain"],
          [1, on.signingKey.kid, "first"],
        ],
      );
      const digest = (await second.agent.snapshotAt(1))?.digest ?? "";
      const back = await act(second, on.ann, { type: "rollback", oldVersion: 1, digest });
      assert.equal(back.version, 4);
      const envelope = (await on.store.get(currentKey)) as Uint8Array;
      const now = { now: second.machine.time.now() };
      const seen = await verifySnapshot(envelope, trustedKeys, now);
      assert.equal(seen.kid, signingKey.kid);
    });

    test("that nobody trusts is no key to start with [LB-SEC-5]", async () => {
      const on = await bed();
      const signingKey = await generateSigningKey();
      assert.throws(() => agentOn(on, { signingKey }, new Machine()), /not among trustedKeys/);
    });
  });
}
