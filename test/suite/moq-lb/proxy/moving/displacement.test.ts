import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../../../src/bytes.ts";
import { healthOf, isRemapped } from "../../../../../src/moq-lb/proxy/moving/displacement.ts";
import { placeRequest } from "../../../../../src/routing/mod.ts";
import {
  type ActiveSnapshot,
  type Health,
  type JsonSnapshot,
  parseSnapshot,
} from "../../../../../src/snapshot/mod.ts";

const now = 1_800_000_000_000;

interface Pool {
  readonly health?: Readonly<Record<string, Health>>;
  readonly routes?: JsonSnapshot["routes"];
  readonly relays?: readonly string[];
}

const threeRelays = [{ prefix: ["live"], kind: "hashed", rids: ["r1", "r2", "r3"] }] as const;

function active({ health = {}, routes, relays = ["r1", "r2", "r3"] }: Pool = {}): ActiveSnapshot {
  const snapshot = parseSnapshot({
    version: 1,
    relays: relays.map((rid) => ({
      rid,
      uri: `moqt://${rid}.example/moq`,
      health: health[rid] ?? "healthy",
    })),
    routes: routes ?? threeRelays,
  } as never);
  return { snapshot, signedAt: now, maximumAge: 1000, digest: "" };
}

const keys = Array.from({ length: 200 }, (_, index) => [utf8("live"), utf8(`n${index}`)]);

function relayOf(key: readonly Uint8Array[], under: ActiveSnapshot): string {
  const request = { type: "PUBLISH_NAMESPACE", requestId: 0n, trackNamespace: key, parameters: [] };
  const placement = placeRequest(request as never, under, now);
  assert.equal(placement.kind, "redirect");
  return toHex((placement as { rid: Uint8Array }).rid);
}

/** Keys that a rotation displaces, of those placed before it. */
function remapped(previous: ActiveSnapshot, next: ActiveSnapshot) {
  return keys.filter((key) => isRemapped({ key, rid: relayOf(key, previous) }, previous, next));
}

describe("a rotation displaces", () => {
  test("nothing where the table is the same [LB-DISPL-1] [LB-ROT-2]", () => {
    assert.deepEqual(remapped(active(), active()), []);
  });

  test("what another table sends to another relay, and that alone [LB-DISPL-1] [LB-ROT-2]", () => {
    const next = active({ routes: [{ prefix: ["live"], kind: "hashed", rids: ["r1", "r3"] }] });
    const moved = keys.filter((key) => relayOf(key, active()) === toHex(utf8("r2")));
    assert.ok(moved.length > 20 && moved.length < 150);
    assert.deepEqual(remapped(active(), next), moved);
  });

  test("what a weight of 0 takes off a relay [LB-DISPL-1] [LB-S18]", () => {
    const rids = ["r1", { rid: "r2", weight: 0 }, "r3"];
    const next = active({ routes: [{ prefix: ["live"], kind: "hashed", rids }] });
    const moved = keys.filter((key) => relayOf(key, active()) === toHex(utf8("r2")));
    assert.deepEqual(remapped(active(), next), moved);
  });

  test("nothing by an order of candidates that differs [LB-ROT-2]", () => {
    const next = active({
      routes: [{ prefix: ["live"], kind: "hashed", rids: ["r3", "r2", "r1"] }],
    });
    assert.deepEqual(remapped(active(), next), []);
  });

  test("what a longer prefix pins to another relay [LB-DISPL-1]", () => {
    const pinned = { prefix: ["live", "n7"], kind: "static", rid: "r2" } as const;
    const key = [utf8("live"), utf8("n7")];
    const isElsewhere = relayOf(key, active()) !== toHex(utf8("r2"));
    const found = remapped(active(), active({ routes: [...threeRelays, pinned] }));
    assert.deepEqual(found, isElsewhere ? [key] : []);
  });

  test("by another profile only what selects another relay [LB-PROFILE-10] [LB-A17]", () => {
    const profile = "HRW-SHA256-64";
    const next = active({
      routes: [{ prefix: ["live"], kind: "hashed", profile, rids: ["r1", "r2", "r3"] }],
    });
    const differ = keys.filter((key) => relayOf(key, active()) !== relayOf(key, next));
    assert.deepEqual(remapped(active(), next), differ);
  });

  test("nothing when a relay recovers [LB-S50] [LB-CONF-12] [LB-A5]", () => {
    const before = active({ health: { r2: "unhealthy" } });
    assert.ok(keys.some((key) => relayOf(key, before) !== relayOf(key, active())));
    assert.deepEqual(remapped(before, active()), []);
  });

  test("nothing as a remap when a relay drains or fails: that is for its health [LB-CONF-12]", () => {
    for (const health of ["draining", "unhealthy"] as const) {
      const next = active({ health: { r2: health } });
      assert.deepEqual(remapped(active(), next), []);
      assert.equal(healthOf(toHex(utf8("r2")), next), health);
      assert.equal(healthOf(toHex(utf8("r1")), next), "healthy");
    }
  });

  test("what has no route any more", () => {
    const next = active({ routes: [{ prefix: ["other"], kind: "static", rid: "r1" }] });
    assert.deepEqual(remapped(active(), next), keys);
  });

  test("nothing where a changed route has no Eligible relay, and still names this one", () => {
    const next = active({
      health: { r1: "draining", r2: "draining" },
      routes: [{ prefix: ["live"], kind: "hashed", rids: ["r1", "r2"] }],
    });
    const before = active();
    const gone = keys.filter((key) => relayOf(key, before) === toHex(utf8("r3")));
    assert.deepEqual(remapped(before, next), gone);
  });
});

test("a relay that the snapshot does not name any more takes nothing new [LB-DISPL-2]", () => {
  const next = active({
    relays: ["r1", "r3"],
    routes: [{ prefix: ["live"], kind: "hashed", rids: ["r1", "r3"] }],
  });
  assert.equal(healthOf(toHex(utf8("r2")), next), "draining");
});
