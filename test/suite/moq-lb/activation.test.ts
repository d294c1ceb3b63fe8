/** Snapshots on their way from an envelope to the requests that are placed by them. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { createRedirector, type DecisionEvent } from "../../../src/moq-lb/mod.ts";
import { parseSnapshot, type Snapshot, signSnapshot } from "../../../src/snapshot/mod.ts";
import { fields, request } from "../routing/fixtures.ts";
import { bench, turn } from "../snapshot/fixtures.ts";
import { answerTo } from "./fixtures.ts";

const asked = request("SUBSCRIBE", fields("live", "a"), utf8("v"));

/**
 * The snapshot of a version: all of (live) goes to the one relay that is Healthy, which is r1 in
 * odd and r2 in even versions, at the URI of the version. Routes of one version would find every
 * relay Unhealthy in the other.
 */
function snapshotOf(version: number, kind: "static" | "hashed" = "static"): Snapshot {
  const [relay, other] = version % 2 === 1 ? ["r1", "r2"] : ["r2", "r1"];
  const relays = [
    { rid: relay, uri: uriOf(version), health: "healthy" },
    { rid: other, uri: "https://unhealthy.example/moq", health: "unhealthy" },
  ];
  const selects = kind === "static" ? { rid: relay } : { rids: [relay] };
  return parseSnapshot({ version, relays, routes: [{ prefix: ["live"], kind, ...selects }] });
}

function uriOf(version: number): string {
  return `https://v${version}.example/moq`;
}

describe("a snapshot that becomes active", () => {
  /** Where a request goes once `snapshot` was offered. */
  async function placedBy(snapshot: Snapshot): Promise<string | undefined> {
    const { holder, key, clock } = await bench();
    const now = () => clock.now;
    const envelope = await signSnapshot(snapshot, key, { issuedAt: clock.now });
    assert.equal((await holder.offer(envelope)).reason, "activated");
    const redirector = createRedirector({ holder, authorization: "allow-all", now });
    return (await answerTo(redirector, asked)).redirect?.connectUri;
  }

  test("of static routes alone places requests [LB-IANA-6]", async () => {
    assert.equal(await placedBy(snapshotOf(1, "static")), uriOf(1));
  });

  test("of hashed routes alone places requests [LB-IANA-7]", async () => {
    assert.equal(await placedBy(snapshotOf(2, "hashed")), uriOf(2));
  });

  test("is the only one that a request sees, routes and health alike, however many swap under load [LB-CONF-22] [LB-HEALTH-10]", async () => {
    const { holder, key, clock } = await bench();
    const sign = (version: number, kind: "static" | "hashed") =>
      signSnapshot(snapshotOf(version, kind), key, { issuedAt: clock.now });
    const last = 60;
    const envelopes: Uint8Array[] = [];
    for (let version = 1; version <= last; version++) {
      envelopes.push(await sign(version, version % 3 === 0 ? "hashed" : "static"));
    }
    await holder.offer(envelopes[0] as Uint8Array);

    const events: DecisionEvent[] = [];
    let turns = 0;
    const redirector = createRedirector({
      holder,
      now: () => clock.now,
      onDecision: (event) => events.push(event),
      // Requests wait for their policy one to seven turns, so that snapshots swap in between.
      authorization: {
        name: "slow",
        async authorize() {
          for (let turn = turns++ % 7; turn >= 0; turn--) await undefined;
          return true;
        },
      },
    });
    const places = async () => {
      const seen: string[] = [];
      while (holder.active?.snapshot.version !== last) {
        const decision = await redirector.decide(asked, 22);
        assert.ok(decision.kind === "redirect");
        const version = Number(/v(\d+)/.exec(decision.uri)?.[1]);
        assert.equal(decision.uri, uriOf(version));
        assert.deepEqual(decision.rid, utf8(version % 2 === 1 ? "r1" : "r2"));
        seen.push(decision.uri);
        await turn();
      }
      return seen;
    };
    const offers = (async () => {
      for (const envelope of envelopes) await holder.offer(envelope);
    })();
    const [seen] = await Promise.all([
      Promise.all(Array.from({ length: 20 }, places)).then((all) => all.flat()),
      offers,
    ]);
    assert.ok(new Set(seen).size > 5, `${new Set(seen).size} versions`);
    // What is told of a decision is one version too.
    for (const { version = 0, relay, outcome } of events) {
      assert.deepEqual([outcome, relay], ["REDIRECT", version % 2 === 1 ? "r1" : "r2"]);
    }
  });
});
