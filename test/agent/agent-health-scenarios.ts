/** What the agent makes of what probes and instances say of relays. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { HealthPort, WatchedRelay } from "../../src/agent/health/port.ts";
import { toHex } from "../../src/bytes.ts";
import { act, assertWhole, bed, local, pool, type Running, rid, startedOn } from "./agent-bed.ts";

/** Health checks whose findings a test writes by hand. */
class Findings implements HealthPort {
  readonly down = new Set<string>();
  readonly heldByCap = new Set<string>();
  readonly draining = new Set<string>();
  relays: readonly WatchedRelay[] = [];
  onChange: (() => void) | undefined;

  setRelays(relays: readonly WatchedRelay[]): void {
    this.relays = relays;
    for (const { rid, verdict } of relays) if (verdict === "down") this.down.add(toHex(rid));
  }
  start(): void {}
  async stop(): Promise<void> {}
  state() {
    return undefined;
  }
  hint(): void {}
  hintOf(rid: string) {
    if (!this.draining.has(rid)) return undefined;
    return { state: "draining", until: 0, instances: 1 } as const;
  }

  find(relay: string, isDown: boolean): void {
    if (isDown) this.down.add(relay);
    else this.down.delete(relay);
    this.onChange?.();
  }
}

async function published() {
  const on = await bed();
  const health = new Findings();
  const running = await startedOn(on, { health });
  await running.machine.during(running.agent.publish(pool(3), local));
  return { on, health, running, ...running };
}

const healths = ({ agent }: Running) => agent.current?.snapshot.relays.map(({ health }) => health);

export function agentHealthScenarios(): void {
  describe("health", () => {
    test("that changes alone is a new version, and back again another [LB-CONF-11] [LB-CONF-3]", async () => {
      const { on, health, running, agent, machine } = await published();
      health.find(rid(2), true);
      await machine.until(() => agent.current?.version === 2, "a version for health");
      assert.deepEqual(healths(running), ["healthy", "unhealthy", "healthy"]);
      assert.equal(agent.current?.cause, "health");
      health.find(rid(2), false);
      await machine.until(() => agent.current?.version === 3, "the next one");
      assert.deepEqual(healths(running), ["healthy", "healthy", "healthy"]);
      const [entry] = await agent.history();
      assert.deepEqual(entry?.changes, ["relay r2: unhealthy is now healthy"]);
      assert.equal(entry?.operator, undefined);
      await assertWhole(on, agent);
    });

    test("that changes many times in a second is few versions", async () => {
      const { health, agent, machine } = await published();
      for (let i = 0; i < 40; i++) {
        health.find(rid(1), i % 2 === 0);
        await machine.pass(100, 100);
      }
      const versions = agent.current?.version ?? 0;
      assert.ok(versions > 1 && versions <= 1 + 5, `${versions - 1} versions in four seconds`);
    });

    test("that an operator fixed is published whatever probes find", async () => {
      const { on, health, running, agent, machine } = await published();
      health.find(rid(1), true);
      await machine.until(() => agent.current?.version === 2, "a version for health");
      await act(running, on.bob, { type: "health", rid: rid(1), health: "healthy" });
      assert.deepEqual(healths(running), ["healthy", "healthy", "healthy"]);
      await act(running, on.bob, { type: "health", rid: rid(1), health: "auto" });
      assert.deepEqual(healths(running), ["unhealthy", "healthy", "healthy"]);
    });

    test("that an instance sees draining is published as draining while it says so [LB-HEALTH-9]", async () => {
      const { health, running, agent, machine } = await published();
      health.draining.add(rid(3));
      health.onChange?.();
      await machine.until(() => agent.current?.version === 2, "a version for the hint");
      assert.deepEqual(healths(running), ["healthy", "healthy", "draining"]);
      health.draining.clear();
      health.onChange?.();
      await machine.until(() => agent.current?.version === 3, "its end");
      assert.deepEqual(healths(running), ["healthy", "healthy", "healthy"]);
    });

    test("goes on where the last agent stopped, through a rollback as well [LB-HEALTH-2]", async () => {
      const { on, health, agent, machine } = await published();
      health.find(rid(2), true);
      await machine.until(() => agent.current?.version === 2, "a version for health");
      await agent.stop();
      const again = new Findings();
      const next = await startedOn(on, { agentId: "b", health: again });
      assert.deepEqual(
        again.relays.map(({ verdict }) => verdict),
        [undefined, "down", undefined],
      );
      assert.equal(next.agent.current?.version, 2, "nothing has changed");
      const digest = (await next.agent.snapshotAt(1))?.digest ?? "";
      await act(next, on.ann, { type: "rollback", oldVersion: 1, digest });
      assert.deepEqual(healths(next), ["healthy", "unhealthy", "healthy"]);
      await assertWhole(on, next.agent);
    });

    test("tells the checks which relays an operator has taken out, and alarms where the cap holds", async () => {
      const { on, health, running, agent } = await published();
      await act(running, on.bob, { type: "drain", rid: rid(1) });
      assert.deepEqual(
        health.relays.map(({ out }) => out),
        [true, false, false],
      );
      health.heldByCap.add(rid(2));
      health.onChange?.();
      assert.deepEqual(
        agent.alarms.map(({ code }) => code),
        ["PROBE_CAP"],
      );
      assert.equal(agent.relays[1]?.heldByCap, true);
      health.heldByCap.clear();
      health.onChange?.();
      assert.deepEqual(agent.alarms, []);
    });
  });
}
