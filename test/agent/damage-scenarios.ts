/** Agents that come to a store whose newest version cannot be read, or was only begun. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { AgentSettings } from "../../src/agent/mod.ts";
import { currentKey, generateSigningKey, versionKey } from "../../src/snapshot/mod.ts";
import {
  act,
  assertWhole,
  type Bed,
  bed,
  leaseTtl,
  local,
  meddled,
  pool,
  rid,
  signed,
  startedOn,
  trustBoth,
  versionsIn,
} from "./agent-bed.ts";

const publishSigned: Partial<AgentSettings> = { operatorSignatures: new Set(["publish"]) };

const codes = (agent: { alarms: readonly { code: string }[] }) =>
  agent.alarms.map(({ code }) => code);

const half = (bytes: Uint8Array) => bytes.subarray(0, bytes.length >> 1);

async function truncate({ store }: Bed, key: string): Promise<void> {
  await store.set(key, half((await store.get(key)) as Uint8Array));
}

/** Version 1 has three relays, version 2 has r1 drained; the agent has stopped. */
async function drainedBed(settings: Partial<AgentSettings> = {}): Promise<Bed> {
  const on = await bed();
  const first = await startedOn(on, settings);
  await first.machine.during(first.agent.publish(pool(3), local));
  await act(first, on.bob, { type: "drain", rid: rid(1) });
  await first.agent.stop();
  return on;
}

const refusal = (work: Promise<unknown>): Promise<{ code?: string }> =>
  work.then(
    () => ({}),
    (error) => error,
  );

export function damageScenarios(): void {
  describe("an agent that comes to a store", () => {
    test("whose newest version is truncated and whose current one is the one before does not go back by itself [LB-ROT-5] [LB-SEC-8]", async () => {
      const on = await drainedBed();
      const one = (await on.store.get(versionKey(1))) as Uint8Array;
      await truncate(on, versionKey(2));
      await on.store.set(currentKey, one);
      const second = await startedOn(on, { agentId: "b" });
      await second.machine.pass(3 * leaseTtl);
      assert.deepEqual(codes(second.agent), ["STORE_DAMAGED"]);
      assert.deepEqual(await versionsIn(on.store), [1, 2]);
      assert.deepEqual(await on.store.get(currentKey), one);
      const { action, authority } = await signed(
        second,
        on.bob,
        { type: "drain", rid: rid(2) },
        { newVersion: 3 },
      );
      assert.equal((await refusal(second.agent.act(action, authority))).code, "UNKNOWN_VERSION");
      const { version } = await second.machine.during(second.agent.publish(pool(3), local));
      assert.equal(version, 3);
      assert.deepEqual(codes(second.agent), []);
      assert.deepEqual(
        second.agent.current?.snapshot.relays.map(({ health }) => health),
        ["draining", "healthy", "healthy"],
        "what the record of version 2 says of relays holds",
      );
      await second.agent.stop();
      const third = await startedOn(on, { agentId: "c" }, second.machine);
      assert.deepEqual(codes(third.agent), []);
      assert.equal(third.agent.current?.version, 3);
    });

    test("whose newest version is gone goes on by a rollback that an operator signed [LB-ROT-5]", async () => {
      const on = await drainedBed();
      const one = (await on.store.get(versionKey(1))) as Uint8Array;
      await on.store.remove(versionKey(2));
      await on.store.set(currentKey, one);
      const second = await startedOn(on, { agentId: "b" });
      await second.machine.pass(leaseTtl);
      assert.deepEqual(codes(second.agent), ["STORE_DAMAGED"]);
      const digest = (await second.agent.snapshotAt(1))?.digest ?? "";
      const request = { type: "rollback", oldVersion: 1, digest } as const;
      const { action, authority } = await signed(second, on.ann, request, { newVersion: 3 });
      const published = await second.machine.during(second.agent.act(action, authority));
      assert.equal(published.version, 3);
      assert.deepEqual(codes(second.agent), []);
    });

    test("that has versions none of which can be read takes no pool as its first, without a signature [LB-ROT-5] [LB-SEC-8]", async () => {
      const on = await drainedBed(publishSigned);
      for (const key of [versionKey(1), versionKey(2), currentKey]) await truncate(on, key);
      const second = await startedOn(on, { agentId: "b", ...publishSigned });
      await second.machine.pass(leaseTtl);
      assert.deepEqual(codes(second.agent), ["STORE_DAMAGED"]);
      const error = await refusal(second.agent.publish(pool(3), local));
      assert.equal(error.code, "SIGNATURE_REQUIRED");
      assert.deepEqual(await versionsIn(on.store), [1, 2]);
    });

    test("that has records and no version takes no pool as its first [LB-ROT-5]", async () => {
      const on = await drainedBed(publishSigned);
      for (const key of await on.store.keys("moq-lb:snapshot:")) await on.store.remove(key);
      await on.store.remove("moq-lb:agent:confirmed");
      const second = await startedOn(on, { agentId: "b", ...publishSigned });
      assert.deepEqual(codes(second.agent), ["STORE_DAMAGED"]);
      const error = await refusal(second.agent.publish(pool(3), local));
      assert.equal(error.code, "SIGNATURE_REQUIRED");
    });

    for (const [what, spoil] of [
      ["nothing", () => undefined],
      ["half of each item", half],
    ] as const) {
      test(`that gives back ${what} for a moment goes on from the newest version by itself [LB-SEC-8]`, async () => {
        const on = await drainedBed();
        let faulty = true;
        const store = meddled(on.store, async ({ operation, key }, proceed) => {
          const answer = await proceed();
          if (!faulty || operation !== "get" || !key.startsWith("moq-lb:snapshot:")) return answer;
          return spoil(answer as Uint8Array) as typeof answer;
        });
        const second = await startedOn(on, { store, agentId: "b" });
        const request = { type: "undrain", rid: rid(1) } as const;
        const { action, authority } = await signed(second, on.bob, request, { newVersion: 3 });
        const error = await refusal(second.agent.act(action, authority));
        assert.equal(error.code, "UNKNOWN_VERSION");
        await second.machine.pass(1500);
        assert.deepEqual(codes(second.agent), ["STORE_DAMAGED"]);
        faulty = false;
        await second.machine.until(() => codes(second.agent).length === 0, "the end of the alarm");
        assert.equal(second.agent.current?.version, 2);
        assert.deepEqual(
          second.agent.relays.map(({ drained }) => drained),
          [true, false, false],
        );
        await assertWhole(on, second.agent);
      });
    }

    test("in which a version was begun and is half written goes on above it, and the history has nothing of it [LB-SEC-8]", async () => {
      const on = await drainedBed();
      let cut = false;
      const store = meddled(on.store, async ({ operation, key, bytes }, proceed) => {
        if (cut) return new Promise<never>(() => {});
        if (operation !== "create" || key !== versionKey(3)) return proceed();
        cut = true;
        await on.store.set(key, half(bytes as Uint8Array));
        return new Promise<never>(() => {});
      });
      const second = await startedOn(on, { store, agentId: "b" });
      const { action, authority } = await signed(second, on.bob, { type: "drain", rid: rid(2) });
      second.agent.act(action, authority).catch(() => {});
      await second.machine.pass(1000);
      assert.ok(cut);
      const third = await startedOn(on, { agentId: "c" });
      await third.machine.pass(leaseTtl);
      assert.equal(third.agent.current?.version, 4);
      assert.deepEqual(
        third.agent.relays.map(({ health }) => health),
        ["draining", "healthy", "healthy"],
      );
      assert.ok(!third.events.some((event) => event.event === "alarm"));
      assert.deepEqual(
        (await third.agent.history()).map(({ version, cause }) => [version, cause]),
        [
          [4, "republish"],
          [2, "drain"],
          [1, "first"],
        ],
      );
    });

    test("in which the item of the current version is truncated puts it back", async () => {
      const on = await drainedBed();
      await truncate(on, versionKey(2));
      const second = await startedOn(on, { agentId: "b" });
      assert.deepEqual(codes(second.agent), []);
      assert.equal(second.agent.current?.version, 2);
      await assertWhole(on, second.agent);
    });

    test("whose newest version a replaced key signed never makes the one before current again [LB-ROT-3]", async () => {
      const on = await drainedBed();
      const stolen = await generateSigningKey();
      const trustedKeys = await trustBoth(on.signingKey, stolen);
      const second = await startedOn(on, { agentId: "b", signingKey: stolen, trustedKeys });
      assert.equal(second.agent.current?.version, 3);
      await second.agent.stop();
      const before = on.seen.length;
      const written: (Uint8Array | undefined)[] = [];
      const store = meddled(on.store, ({ operation, key, bytes }, proceed) => {
        if (operation === "set" && key === currentKey) written.push(bytes);
        return proceed();
      });
      const third = await startedOn(on, { store, agentId: "c" });
      assert.equal(third.agent.current?.version, 4);
      assert.equal(written.length, 1, "version 4 alone was written as the current one");
      assert.ok(!third.events.some(({ event }) => event === "repaired"));
      await on.looked();
      assert.deepEqual(
        on.seen.slice(before).map(({ version }) => version),
        [4],
      );
    });
  });
}
