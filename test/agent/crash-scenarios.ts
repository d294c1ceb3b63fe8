/** An agent that is killed at every step of what it does, and the one that comes after it. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  agentOn,
  assertWhole,
  type Bed,
  bed,
  local,
  Machine,
  meddled,
  pool,
  type Running,
  rid,
  signed,
  startedOn,
  turn,
} from "./agent-bed.ts";

/** When the process dies: before an operation, after it, or in the middle of writing. */
type Moment = "before" | "after" | "half";

const never = () => new Promise<never>(() => {});

/** A process that dies at its `step`th operation after it was `armed`. */
function mortal(on: Bed, step: number, moment: Moment) {
  const state = { armed: false, count: 0, dead: false, cut: "" };
  const store = meddled(on.store, async ({ key, bytes }, proceed) => {
    if (state.dead) return never();
    if (!state.armed || state.count++ < step) return proceed();
    state.dead = true;
    if (moment === "before") return never();
    if (moment === "half" && bytes !== undefined) {
      state.cut = key;
      await on.store.set(key, bytes.subarray(0, bytes.length >> 1));
      return never();
    }
    await proceed();
    return never();
  });
  return { store, state };
}

/** None of it needs time to pass, so that nothing else of the agent runs meanwhile. */
const works: Readonly<Record<string, (running: Running, on: Bed) => Promise<unknown>>> = {
  publish: ({ agent }) => agent.publish(pool(4), local),
  async drain(running, on) {
    const { action, authority } = await signed(running, on.bob, { type: "drain", rid: rid(1) });
    return running.agent.act(action, authority);
  },
  async rollback(running, on) {
    const digest = (await running.agent.snapshotAt(1))?.digest ?? "";
    const request = { type: "rollback", oldVersion: 1, digest } as const;
    const { action, authority } = await signed(running, on.ann, request);
    return running.agent.act(action, authority);
  },
  republish: ({ agent }) => agent.republish(),
};

/** @returns whether the process died before its work was done */
async function crash(work: string, step: number, moment: Moment): Promise<boolean> {
  const on = await bed();
  const { store, state } = mortal(on, step, moment);
  const first = await startedOn(on, { store });
  await first.machine.during(first.agent.publish(pool(3), local));
  await first.machine.during(first.agent.publish(pool(2), local));
  state.armed = true;
  let done = false;
  (works[work] as (typeof works)[string])(first, on).then(
    () => {
      done = true;
    },
    () => {},
  );
  while (!done && !state.dead) await turn();
  state.armed = false;
  if (!state.dead) {
    await assertWhole(on, first.agent);
    return false;
  }
  // Only the dead have reason to be quiet: another machine, another clock.
  const second = agentOn(on, { agentId: "b" }, new Machine());
  await second.machine.during(second.agent.start());
  const cut = /^moq-lb:snapshot:(\d+)$/.exec(state.cut)?.[1];
  const except = cut === undefined ? [] : [Number(cut)];
  await assertWhole(on, second.agent, except);
  const recovered = second.agent.current?.version ?? 0;
  assert.ok(recovered >= 2, "what was published before is not lost");
  const { version } = await second.machine.during(second.agent.publish(pool(5), local));
  assert.equal(version, recovered + 1);
  await assertWhole(on, second.agent, except);
  await second.agent.stop();
  return true;
}

export function crashScenarios(): void {
  describe("an agent that is killed", () => {
    for (const work of Object.keys(works)) {
      for (const moment of ["before", "after", "half"] as const) {
        test(`at any step of a ${work}, ${moment} it, leaves what the next one completes [LB-CONF-2] [LB-SEC-8]`, async () => {
          let step = 0;
          while (await crash(work, step, moment)) step++;
          // lease, record, version, current, and a look at each
          assert.ok(step >= 8, `a publication has at least eight steps, and ${step} were tried`);
        });
      }
    }
  });
}
