/** The instance's side and the agent's HTTP face, each as it is, without a socket between them. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { createCollector } from "../../../src/agent/reports/mod.ts";
import { createReporter, createTally, type Fetch, instanceToken } from "../../../src/report/mod.ts";
import { currentKey, generateSigningKey, trustSigningKeys } from "../../../src/snapshot/mod.ts";
import { httpStore } from "../../../src/store/http.ts";
import { noon, poolOf } from "../../support/agent-double.ts";
import { world } from "../agent-http/fixtures.ts";

/** An agent at version 7 with a real collector, and what edge-1 needs to talk to it. */
async function bench() {
  const agentKey = await generateSigningKey("agent");
  const edgeKey = await generateSigningKey("edge");
  const instances = new Map([["edge-1", edgeKey.publicKey]]);
  const collector = createCollector({
    instances,
    signingKey: agentKey,
    current: () => there.agent.current,
    now: () => noon,
  });
  const there = await world({ collector, instances });
  const fetch: Fetch = async (url, init) => there.app.request(url, init);
  const reporter = (key = edgeKey, trusted = agentKey) =>
    createReporter({
      instanceId: "edge-1",
      key,
      holder: { status: () => ({ version: 6, age: 1000, stale: false, failures: 0 }) },
      tally: createTally(),
      url: "https://agent.example",
      trustedKeys: trustSigningKeys(trusted),
      interval: 10_000,
      fetch,
      now: () => noon,
    });
  const store = httpStore({
    url: "https://agent.example",
    token: () => instanceToken("edge-1", edgeKey, noon),
    fetch,
  });
  return { there, collector, reporter, store, edgeKey };
}

describe("an instance and the agent's HTTP face", () => {
  test("a report arrives, is answered and shows who is behind [LB-CONF-18] [LB-CONF-25]", async () => {
    const { collector, reporter } = await bench();
    const event = await reporter().reportNow();
    assert.deepEqual([event.outcome, event.currentVersion], ["sent", 7]);
    assert.deepEqual(
      collector.instances().map(({ id, behind }) => [id, behind]),
      [["edge-1", 1]],
    );
  });

  test("neither side takes the other for granted [LB-CONF-18]", async () => {
    const { collector, reporter, edgeKey } = await bench();
    const stranger = await generateSigningKey("stranger");
    const forged = await reporter(stranger).reportNow();
    assert.equal(forged.error?.message, "the agent answered 401 (UNAUTHENTICATED)");
    assert.equal(collector.instances()[0]?.never, true);
    const elsewhere = await reporter(edgeKey, stranger).reportNow();
    assert.equal(elsewhere.error?.code, "AGENT_UNVERIFIED");
  });

  test("the snapshot is had once, and then only where it is another", async () => {
    const { store, there } = await bench();
    const first = await store.get(currentKey);
    assert.equal(new TextDecoder().decode(first), "envelope of version 7");
    // The very bytes that are kept: nothing came over.
    assert.equal(await store.get(currentKey), first);
    there.agent.put(poolOf([{ rid: "r2" }], 8));
    assert.equal(new TextDecoder().decode(await store.get(currentKey)), "envelope of version 8");
  });

  test("a watch hears of a version that is published while it waits", async () => {
    const { store, there } = await bench();
    let looks = 0;
    const follower = {
      active: { snapshot: { version: 7 } },
      async refresh() {
        looks++;
        follower.active = { snapshot: { version: 8 } };
      },
    };
    const end = store.watch(follower, { random: () => 0 });
    while (there.agent.listeners === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(looks, 0);
    there.agent.put(poolOf([{ rid: "r2" }], 8));
    while (looks === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    end();
    assert.equal(looks, 1);
  });
});
