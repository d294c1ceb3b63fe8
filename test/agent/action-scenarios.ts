/** What operators may ask for, how it is proved, and what stays of it in the history. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { agentApp } from "../../src/agent/http/app.ts";
import {
  type AgentError,
  type Published,
  parsePool,
  signAction,
  signOperatorToken,
  verifyOperatorToken,
} from "../../src/agent/mod.ts";
import { simulate } from "../../src/agent/simulate.ts";
import { sha256Hex } from "../../src/digest.ts";
import { encodeSnapshot, SnapshotError } from "../../src/snapshot/mod.ts";
import {
  act,
  agentOn,
  assertWhole,
  type Bed,
  bed,
  hour,
  local,
  person,
  pool,
  type Running,
  rid,
  signed,
  startedOn,
} from "./agent-bed.ts";

/** An agent with version 1 (three relays) and version 2 (two). */
async function published(settings: Parameters<typeof startedOn>[1] = {}) {
  const on = await bed();
  const running = await startedOn(on, settings);
  await running.machine.during(running.agent.publish(pool(3), local));
  // The configuration may ask for a signature from here on: ann gives it.
  const { version } = await publishSigned(on, running, pool(2));
  assert.equal(version, 2);
  return { on, running, ...running };
}

async function publishSigned(on: Bed, running: Running, json: object): Promise<Published> {
  const newVersion = (running.agent.current?.version ?? 0) + 1;
  const snapshot = { ...parsePool(json).snapshot, version: newVersion };
  const digest = await sha256Hex(encodeSnapshot(snapshot));
  const { authority } = await signed(running, on.ann, { type: "publish", digest });
  return running.machine.during(running.agent.publish(json, authority));
}

/** The error's code, and how the agent wrote the refusal down. */
async function refusal(running: Running, work: Promise<unknown>) {
  const before = running.agent.current?.version;
  const error: AgentError = await running.machine.during(work).then(
    () => assert.fail("it was allowed"),
    (fault) => fault,
  );
  assert.equal(running.agent.current?.version, before, "nothing was published");
  const { code, operator, type } = running.agent.refusals.at(-1) ?? {};
  assert.equal(code, error.code);
  return { code, operator, type };
}

/** `POST /v1/actions` of the agent's app. */
function submitterOf({ ann, bob }: Bed, { agent, machine }: Running) {
  const app = agentApp({
    agent,
    operators: new Map([ann, bob].map(({ operator }) => [operator.kid, operator])),
    simulate,
    now: machine.time.now,
  });
  return async (action: string) =>
    app.request("http://agent.example/v1/actions", {
      method: "POST",
      body: JSON.stringify({ action }),
    });
}

const healths = ({ agent }: Running) => agent.relays.map(({ health }) => health);

export function actionScenarios(): void {
  describe("rollback", () => {
    test("publishes the earlier contents as a new, higher version, and the history names who signed [LB-ROT-4] [LB-ROT-5]", async () => {
      const { on, running, agent } = await published();
      const digest = (await agent.snapshotAt(1))?.digest ?? "";
      const back = await act(running, on.ann, { type: "rollback", oldVersion: 1, digest });
      assert.equal(back.version, 3);
      const [first, third] = [await agent.snapshotAt(1), await agent.snapshotAt(3)];
      assert.deepEqual(third?.snapshot, { ...first?.snapshot, version: 3 });
      const [entry] = await agent.history();
      assert.equal(entry?.cause, "rollback");
      assert.equal(entry?.rolledBackTo, 1);
      assert.deepEqual(entry?.operator, {
        name: "ann",
        kid: on.ann.key.kid,
        reason: "a reason",
        signed: true,
      });
      assert.equal(typeof entry?.action, "string");
      await assertWhole(on, agent);
    });

    test("needs the operator's own signature, whatever the configuration says [LB-ROT-5]", async () => {
      const { on, running, agent } = await published();
      const digest = (await agent.snapshotAt(1))?.digest ?? "";
      const action = {
        type: "rollback",
        oldVersion: 1,
        digest,
        newVersion: 3,
        reason: "",
      } as const;
      assert.equal((await refusal(running, agent.act(action, local))).code, "SIGNATURE_REQUIRED");
      const session = { kind: "session", operator: on.ann.operator, login: "token" } as const;
      assert.deepEqual(await refusal(running, agent.act(action, session)), {
        code: "SIGNATURE_REQUIRED",
        operator: "ann",
        type: "rollback",
      });
    });

    test("refuses a stranger, a forged signature and other contents than were signed for [LB-SEC-5]", async () => {
      const { on, running, agent } = await published();
      const digest = (await agent.snapshotAt(1))?.digest ?? "";
      const request = { type: "rollback", oldVersion: 1, digest } as const;
      const stranger = await person("eve", ["routes"]);
      const strange = await signed(running, stranger, request);
      assert.deepEqual(await refusal(running, agent.act(strange.action, strange.authority)), {
        code: "UNAUTHENTICATED",
        operator: undefined,
        type: "rollback",
      });
      // By the stranger's key, in ann's name.
      const named = { ...stranger.key, kid: on.ann.key.kid };
      const jws = await signAction(strange.action, named, running.machine.time.now());
      const forged = agent.act(strange.action, { kind: "signed", jws });
      assert.equal((await refusal(running, forged)).code, "BAD_SIGNATURE");
      const honest = await signed(running, on.ann, request);
      const other = agent.act({ ...honest.action, reason: "another" }, honest.authority);
      assert.equal((await refusal(running, other)).code, "BAD_SIGNATURE");
      const wrong = await signed(running, on.ann, { ...request, digest: "0".repeat(64) });
      const mismatch = agent.act(wrong.action, wrong.authority);
      assert.equal((await refusal(running, mismatch)).code, "DIGEST_MISMATCH");
      const none = await signed(running, on.ann, { ...request, oldVersion: 9 });
      assert.equal(
        (await refusal(running, agent.act(none.action, none.authority))).code,
        "UNKNOWN_VERSION",
      );
    });

    test("takes back what operators did, and not what probes find now", async () => {
      const { on, running, agent } = await published();
      await act(running, on.bob, { type: "drain", rid: rid(1) });
      assert.deepEqual(healths(running), ["draining", "healthy"]);
      const digest = (await agent.snapshotAt(2))?.digest ?? "";
      await act(running, on.ann, { type: "rollback", oldVersion: 2, digest });
      assert.deepEqual(healths(running), ["healthy", "healthy"]);
    });
  });

  describe("an operator's action", () => {
    test("counts once: replayed, it is for a version that has passed [LB-SEC-7]", async () => {
      const { on, running, agent } = await published();
      const drain = await signed(running, on.bob, { type: "drain", rid: rid(1) });
      await running.machine.during(agent.act(drain.action, drain.authority));
      await act(running, on.bob, { type: "undrain", rid: rid(1) });
      const error = await agent.act(drain.action, drain.authority).catch((fault) => fault);
      assert.equal(error.code, "VERSION_MOVED");
      assert.equal(error.currentVersion, 4);
      assert.equal(agent.current?.version, 4);
      assert.deepEqual(healths(running), ["healthy", "healthy"]);
      assert.equal(agent.refusals.at(-1)?.code, "VERSION_MOVED");
    });

    test("is refused and audited where the operator has not the role [LB-SEC-6]", async () => {
      const { on, running, agent } = await published();
      const digest = (await agent.snapshotAt(1))?.digest ?? "";
      const back = await signed(running, on.bob, { type: "rollback", oldVersion: 1, digest });
      assert.deepEqual(await refusal(running, agent.act(back.action, back.authority)), {
        code: "FORBIDDEN",
        operator: "bob",
        type: "rollback",
      });
      const publish = await signed(running, on.bob, { type: "publish", digest });
      assert.deepEqual(await refusal(running, agent.publish(pool(1), publish.authority)), {
        code: "FORBIDDEN",
        operator: "bob",
        type: "publish",
      });
      // The next agent still knows.
      await agent.stop();
      const next = agentOn(on, { agentId: "b" });
      await next.machine.during(next.agent.start());
      await next.machine.until(() => next.agent.refusals.length === 2, "the refusals");
      assert.deepEqual(
        next.agent.refusals.map(({ code, operator, type }) => [code, operator, type]),
        [
          ["FORBIDDEN", "bob", "rollback"],
          ["FORBIDDEN", "bob", "publish"],
        ],
      );
    });

    test("is too old after ten minutes, and refused from the future [LB-SEC-7]", async () => {
      const { on, running, agent, machine } = await published();
      for (const at of [machine.time.now() - 600_000, machine.time.now() + 120_000]) {
        const old = await signed(running, on.bob, { type: "drain", rid: rid(1) }, { at });
        assert.equal(
          (await refusal(running, agent.act(old.action, old.authority))).code,
          "EXPIRED",
        );
      }
    });

    test("that nobody is proved to have sent leaves its trace, whichever way it comes [LB-SEC-6] [LB-ROT-5]", async () => {
      const { on, running, agent, machine, events } = await published();
      const submit = submitterOf(on, running);
      const request = { type: "drain", rid: rid(1) } as const;
      const eve = await person("eve", ["routes"]);
      const now = machine.time.now();
      const { jws: honest, action } = await signed(running, on.bob, request);
      const [strange, forged, old, early] = await Promise.all([
        signAction(action, eve.key, now),
        signAction(action, { ...eve.key, kid: on.bob.key.kid }, now),
        signAction(action, on.bob.key, now - 601_000),
        signAction(action, on.bob.key, now + 120_000),
      ]);
      for (const jws of [strange, forged, old, early, "no.jws.atall"]) {
        assert.equal((await submit(jws)).status, 401);
      }
      const { kid } = on.bob.key;
      const traces = agent.refusals.map(({ type, code, operator, kid }) => [
        type,
        code,
        operator,
        kid,
      ]);
      assert.deepEqual(traces, [
        ["drain", "UNAUTHENTICATED", undefined, eve.key.kid],
        ["drain", "BAD_SIGNATURE", undefined, kid],
        ["drain", "EXPIRED", "bob", kid],
        ["drain", "EXPIRED", "bob", kid],
        ["unknown", "UNAUTHENTICATED", undefined, undefined],
      ]);
      assert.deepEqual(
        events.flatMap((event) => (event.event === "refused" ? [event.code] : [])),
        ["UNAUTHENTICATED", "BAD_SIGNATURE", "EXPIRED", "EXPIRED", "UNAUTHENTICATED"],
      );
      const publish = await signed(running, on.ann, { type: "publish", digest: "0".repeat(64) });
      assert.equal((await submit(publish.jws)).status, 400);
      assert.equal(agent.refusals.at(-1)?.operator, "ann");
      // What strangers send pushes out no more than their own.
      for (let i = 0; i < 30; i++) await submit(strange);
      const ofStrangers = agent.refusals.filter(({ operator }) => operator === undefined);
      assert.equal(ofStrangers.length, 20);
      assert.equal(agent.refusals.length, 23);
      // And the same way lets the honest one through.
      const done = await machine.during(submit(honest));
      assert.equal(done.status, 200);
      assert.deepEqual(healths(running), ["draining", "healthy"]);
    });

    test("without proof leaves no item of an agent that waits, and takes no turn of its queue [LB-SEC-6]", async () => {
      const { on, running } = await published();
      const waiting = agentOn(on, { agentId: "b" }, running.machine);
      const starting = waiting.agent.start();
      starting.catch(() => {});
      await running.machine.until(() => waiting.agent.role === "waiting", "the second waits");
      const { jws } = await signed(running, await person("eve", ["routes"]), {
        type: "drain",
        rid: rid(1),
      });
      await assert.rejects(waiting.agent.submit(jws), { code: "UNAUTHENTICATED" });
      assert.deepEqual(waiting.agent.refusals, []);
      assert.equal(waiting.events.at(-1)?.event, "refused");
      const odd = jws.replace(/^[^.]+/, btoa('{"alg":"EdDSA","typ":"moq-lb-action+jwt","kid":5}'));
      await assert.rejects(waiting.agent.submit(odd), { code: "UNAUTHENTICATED" });
    });

    test("may come from a session where no signature is asked for, and may not where it is", async () => {
      const { on, running, agent } = await published();
      const session = { kind: "session", operator: on.bob.operator, login: "token" } as const;
      const drain = { type: "drain", rid: rid(2), newVersion: 3, reason: "disk" } as const;
      await running.machine.during(agent.act(drain, session));
      const [entry] = await agent.history();
      assert.deepEqual(
        [entry?.cause, entry?.operator?.name, entry?.operator?.reason, entry?.operator?.signed],
        ["drain", "bob", "disk", false],
      );
      const strict = await published({ operatorSignatures: new Set(["pool", "publish"]) });
      const asked = strict.agent.act(drain, session);
      const bob = { ...session, operator: strict.on.bob.operator };
      assert.equal((await refusal(strict.running, asked)).code, "UNAUTHENTICATED");
      const again = strict.agent.act(drain, bob);
      assert.equal((await refusal(strict.running, again)).code, "SIGNATURE_REQUIRED");
      const file = strict.agent.publish(pool(1), local);
      assert.equal((await refusal(strict.running, file)).code, "SIGNATURE_REQUIRED");
    });

    test("drains and fixes health, and weighs routes, each as a new version [LB-HEALTH-1] [LB-RESIZE-6] [LB-CONF-11]", async () => {
      const { on, running, agent } = await published();
      await act(running, on.bob, { type: "drain", rid: rid(1) });
      assert.deepEqual(healths(running), ["draining", "healthy"]);
      await act(running, on.bob, { type: "health", rid: rid(1), health: "unhealthy" });
      assert.deepEqual(healths(running), ["unhealthy", "healthy"]);
      await act(running, on.bob, { type: "health", rid: rid(1), health: "auto" });
      assert.deepEqual(healths(running), ["draining", "healthy"]);
      await act(running, on.bob, { type: "weight", rid: rid(2), weight: 5 });
      const route = agent.current?.snapshot.routes[0];
      assert.deepEqual(route?.kind === "hashed" && route.rids.map(({ weight }) => weight), [1, 5]);
      assert.equal(agent.current?.version, 6);
      const [weight, , , drain] = await agent.history();
      assert.deepEqual(weight?.changes, ["route example.2ecom: weight of r2 1 is now 5"]);
      assert.deepEqual(drain?.changes, ["relay r1: healthy is now draining"]);
    });

    test("is refused where it changes nothing, or names what is not there", async () => {
      const { on, running, agent } = await published();
      for (const [request, code] of [
        [{ type: "undrain", rid: rid(1) }, "NO_CHANGE"],
        [{ type: "health", rid: rid(1), health: "auto" }, "NO_CHANGE"],
        [{ type: "weight", rid: rid(1), weight: 1 }, "NO_CHANGE"],
        [{ type: "drain", rid: rid(9) }, "UNKNOWN_RELAY"],
        [{ type: "weight", rid: rid(1), weight: 17 }, "INVALID_ACTION"],
        [{ type: "weight", rid: rid(1), weight: 2, prefix: ["00"] }, "INVALID_ACTION"],
      ] as const) {
        const { action, authority } = await signed(running, on.ann, request);
        assert.equal((await refusal(running, agent.act(action, authority))).code, code);
      }
    });
  });

  describe("publishing a pool", () => {
    test("refuses an invalid one with every problem, and the version stays [LB-CONF-16] [LB-CONF-14]", async () => {
      const { running, agent } = await published();
      const bad = {
        relays: [
          { rid: "r1", uri: "https://r1.example/moq", probe: "ping" },
          { rid: "r1", uri: "https://r1.example/moq", probe: { url: "ftp://r1.example" } },
        ],
        routes: [{ prefix: [], kind: "static", rid: "r9" }],
        version: -1,
      };
      const error = await running.machine.during(agent.publish(bad, local)).catch((fault) => fault);
      assert.ok(error instanceof SnapshotError);
      assert.deepEqual(error.problems.map(({ path }) => path).sort(), [
        "relays[0].probe",
        "relays[1].probe",
        "relays[1].rid",
        "routes[0].rid",
        "version",
      ]);
      assert.equal(agent.current?.version, 2);
    });

    test("takes the signature for exactly these contents [LB-SEC-5] [LB-SEC-6]", async () => {
      const { on, running, agent } = await published({ operatorSignatures: new Set(["publish"]) });
      const digest = await sha256Hex(
        encodeSnapshot({ ...parsePool(pool(4)).snapshot, version: 3 }),
      );
      const { authority } = await signed(running, on.ann, { type: "publish", digest });
      const other = agent.publish(pool(5), authority);
      assert.equal((await refusal(running, other)).code, "DIGEST_MISMATCH");
      const { version } = await running.machine.during(agent.publish(pool(4), authority));
      assert.equal(version, 3);
      assert.equal(
        (await refusal(running, agent.publish(pool(4), authority))).code,
        "VERSION_MOVED",
      );
    });

    test("keeps what operators did to relays that stay, and forgets those that go", async () => {
      const { on, running, agent, machine } = await published();
      await act(running, on.bob, { type: "drain", rid: rid(1) });
      await machine.during(agent.publish(pool(4), local));
      assert.deepEqual(healths(running), ["draining", "healthy", "healthy", "healthy"]);
      const others = pool(4);
      const without = {
        relays: others.relays.slice(1),
        routes: [{ prefix: [], kind: "hashed", rids: ["r2"] }],
      };
      await machine.during(agent.publish(without, local));
      await machine.during(agent.publish(pool(2), local));
      assert.deepEqual(healths(running), ["healthy", "healthy"]);
    });

    test("remembers which pools came last, whatever was done to their relays since", async () => {
      const { on, running, agent, machine } = await published();
      await machine.during(agent.publish(pool(4), local, { fromFile: true }));
      await publishSigned(on, running, pool(5));
      await act(running, on.bob, { type: "drain", rid: rid(1) });
      await act(running, on.bob, { type: "weight", rid: rid(2), weight: 3 });
      await agent.stop();
      const next = await startedOn(on, { agentId: "b" });
      await next.machine.during(next.agent.republish());
      const loaded = [3, 4, 5].map((count) => next.agent.isLoaded(JSON.stringify(pool(count))));
      assert.deepEqual(await Promise.all(loaded), [false, true, true]);
    });

    test("remembers drains and overrides through a restart [LB-HEALTH-2]", async () => {
      const { on, running, agent } = await published();
      await act(running, on.bob, { type: "drain", rid: rid(1) });
      await act(running, on.bob, { type: "health", rid: rid(2), health: "unhealthy" });
      await agent.stop();
      const next = await startedOn(on, { agentId: "b" });
      assert.deepEqual(healths(next), ["draining", "unhealthy"]);
      await act(next, on.bob, { type: "undrain", rid: rid(1) });
      await act(next, on.bob, { type: "health", rid: rid(2), health: "auto" });
      assert.deepEqual(healths(next), ["healthy", "healthy"]);
      await assertWhole(on, next.agent);
    });
  });

  describe("an operator's token", () => {
    test("is in force for five minutes, and only as an operator's [LB-SEC-5]", async () => {
      const on = await bed();
      const operators = new Map([[on.ann.key.kid, on.ann.operator]]);
      const token = await signOperatorToken(on.ann.key, hour);
      const { operator, exp } = await verifyOperatorToken(token, operators, hour + 299_000);
      assert.equal(operator.name, "ann");
      assert.equal(exp, hour + 300_000);
      const code = (work: Promise<unknown>) =>
        work.then(
          () => "none",
          (fault) => fault.code,
        );
      assert.equal(await code(verifyOperatorToken(token, operators, hour + 300_000)), "EXPIRED");
      assert.equal(await code(verifyOperatorToken(token, operators, hour - 61_000)), "EXPIRED");
      assert.equal(await code(verifyOperatorToken(token, new Map(), hour)), "UNAUTHENTICATED");
      const action = { type: "drain", rid: "72", newVersion: 1, reason: "" } as const;
      const other = await signAction(action, on.ann.key, hour);
      assert.equal(await code(verifyOperatorToken(other, operators, hour)), "UNAUTHENTICATED");
    });
  });
}
