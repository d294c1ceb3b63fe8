import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import { hashProfiles, selectRelay } from "../../../src/hrw/mod.ts";
import type { RequestType } from "../../../src/moqt/mod.ts";
import { placeRequest } from "../../../src/routing/mod.ts";
import {
  type Health,
  healthStates,
  parseSnapshot,
  type Snapshot,
} from "../../../src/snapshot/mod.ts";
import {
  activate,
  assertFinal,
  assertRetry,
  decoded,
  fields,
  hashed,
  meetings,
  now,
  pinned,
  place,
  relayFor,
  request,
  requestTypes,
  ridOf,
  snapshotOf,
} from "./fixtures.ts";

/** The relays of (example.com, m0), (example.com, m1), … */
function selectionMap(snapshot: Snapshot, count: number): (string | undefined)[] {
  return Array.from({ length: count }, (_, i) => relayFor(snapshot, "example.com", `m${i}`));
}

describe("placing on hashed routes", () => {
  test("redirects to the Selected Relay's URI as the snapshot has it [LB-REDIR-4] [LB-SEC-21]", () => {
    const snapshot = snapshotOf([meetings("example.com")]);
    const placement = place(snapshot, "example.com", "m1", "alice");
    assert.deepEqual(placement, {
      kind: "redirect",
      rid: utf8("r2"),
      uri: "https://r2.example/moq",
      route: snapshot.routes[0],
    });
  });

  test("all seven types go where their namespace belongs [LB-KEY-15] [LB-KEY-16] [LB-KEY-17] [LB-KEY-18] [LB-KEY-19] [LB-KEY-20] [LB-KEY-21]", () => {
    const active = activate(snapshotOf([meetings("example.com")]));
    for (const type of requestTypes) {
      const relays = ["m1", "m2", "m3"].map((meeting) =>
        ridOf(placeRequest(request(type, fields("example.com", meeting)), active, now)),
      );
      assert.deepEqual(relays, ["r2", "r2", "r3"]);
    }
  });

  test("Track Names play no part [LB-KEY-18] [LB-HASH-7]", () => {
    const active = activate(snapshotOf([meetings()]));
    const placed = (name: string) =>
      placeRequest(request("SUBSCRIBE", fields("live", "a"), utf8(name)), active, now);
    for (let i = 0; i < 50; i++) assert.equal(placed(`track-${i}`), placed("video"));
  });

  test("TRACK_STATUS goes where SUBSCRIBE goes [RQ-18] [LB-KEY-21]", () => {
    const active = activate(snapshotOf([hashed(["live"], { key_fields: 1 })]));
    const status = placeRequest(decoded("0d000a0001046c697665017600"), active, now);
    assert.ok(ridOf(status));
    assert.deepEqual(status, placeRequest(request("SUBSCRIBE", fields("live")), active, now));
  });

  test("namespaces meet that share their first key_fields fields [LB-HASHED-6] [RT-05] [LB-EX-5]", () => {
    const snapshot = snapshotOf([meetings("example.com")]);
    for (let i = 0; i < 1000; i++) {
      const one = relayFor(snapshot, "example.com", `s${i}`, "p1");
      assert.equal(relayFor(snapshot, "example.com", `s${i}`, "p2", "audio"), one);
      assert.equal(relayFor(snapshot, "example.com", `s${i}`), one);
    }
    assert.equal(relayFor(snapshot, "example.com", "m1"), "r2");
    assert.equal(relayFor(snapshot, "example.com", "m3", "alice"), "r3");
  });

  test("hash the name and not the bytes that it came in: integers longer than needed change nothing [LB-A6] [LB-S24]", () => {
    // (n1) goes to r1; its raw bytes with a count of 8001 would go to r2.
    const active = activate(snapshotOf([hashed([], { rids: ["r1", "r2"] })]));
    for (const wire of [
      "0300080001026e31017400",
      "030009008001026e31017400",
      "03000a00800180026e31017400",
      "03001100e0000001e0000002" + "6e31c0000174" + "8000",
    ]) {
      assert.equal(ridOf(placeRequest(decoded(wire), active, now)), "r1", wire);
    }
  });

  test("fewer fields than key_fields are hashed as they are [LB-HASHED-8] [LB-S20] [RT-05]", () => {
    const snapshot = snapshotOf([meetings("example.com")]);
    assert.equal(relayFor(snapshot, "example.com"), "r1");
    assert.equal(relayFor(snapshot, "example.com", "m1"), "r2");
  });

  test("without key_fields the whole namespace is the key [LB-HASHED-5] [LB-HASHED-7]", () => {
    const snapshot = snapshotOf([hashed(["example.com"])]);
    assert.equal(relayFor(snapshot, "example.com", "m1", "alice"), "r1");
    assert.equal(relayFor(snapshot, "example.com", "m1", "bob"), "r2");
    assert.equal(relayFor(snapshot, "example.com", "m1"), "r2");
  });

  test("key_fields as long as the prefix sends a route to one relay at a time [LB-S21]", () => {
    const one = snapshotOf([hashed(["example.com"], { key_fields: 1 })]);
    for (let i = 0; i < 100; i++) assert.equal(relayFor(one, "example.com", `m${i}`), "r1");
    const long = snapshotOf([hashed(["example.com"], { key_fields: 33 })]);
    assert.equal(relayFor(long, "example.com", "m1", "alice"), "r1");
    assert.equal(relayFor(long, "example.com", "m1", "bob"), "r2");
  });

  test("both profiles place requests [LB-PROFILE-4]", () => {
    const rids = ["r1", "r2", "r3"];
    const snapshot = snapshotOf([
      hashed(["wide"], { profile: "HRW-SHA256", rids }),
      hashed(["narrow"], { profile: "HRW-SHA256-64", rids }),
    ]);
    for (const [prefix, profile] of [
      ["wide", "HRW-SHA256"],
      ["narrow", "HRW-SHA256-64"],
    ] as const) {
      const candidates = rids.map((rid) => ({ rid: utf8(rid) }));
      const expected = selectRelay(profile, fields(prefix, "x"), candidates);
      const placed = place(snapshot, prefix, "x");
      assert.ok(placed.kind === "redirect");
      assert.deepEqual(placed.rid, expected?.rid);
    }
  });

  test("the draft's figures hold [LB-EX-1] [LB-EX-2]", () => {
    const uris = { R1: "https://r1.example/moq", R2: "https://r2.example/moq" };
    const relays = Object.entries(uris).map(([rid, uri]) => ({ rid, uri, health: "healthy" }));
    const routes = [hashed(["live"], { rids: ["R1", "R2"] })];
    const snapshot = parseSnapshot({ version: 1, relays, routes });
    const uriFor = (...namespace: string[]) => {
      const placed = place(snapshot, ...namespace);
      return placed.kind === "redirect" ? placed.uri : placed.cause;
    };
    assert.equal(uriFor("live", "sports", "game-7"), uris.R2);
    assert.equal(uriFor("live", "news", "ch-2"), uris.R1);
  });

  test("two instances and repeated requests agree [LB-AFFIN-1] [LB-KEY-10] [LB-TABLE-13]", () => {
    const [one, other] = [snapshotOf([meetings()]), snapshotOf([meetings()])];
    for (let i = 0; i < 500; i++) {
      const first = relayFor(one, "example.com", `m${i}`);
      assert.equal(relayFor(other, "example.com", `m${i}`), first);
      assert.equal(relayFor(one, "example.com", `m${i}`), first);
    }
  });

  test("agrees with selecting over the Eligible candidates [LB-HASHED-1] [LB-HEALTH-10] [LB-S30]", () => {
    const profile = fc.constantFrom(...Object.values(hashProfiles).map(({ name }) => name));
    const states = fc.record({
      r1: fc.constantFrom(...healthStates),
      r2: fc.constantFrom(...healthStates),
      r3: fc.constantFrom(...healthStates),
      r4: fc.constantFrom(...healthStates),
    });
    const weights = fc.array(fc.integer({ min: 0, max: 16 }), { minLength: 3, maxLength: 3 });
    const names = fc.array(fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 4 }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(
        states,
        weights,
        profile,
        fc.option(fc.integer({ min: 1, max: 4 })),
        names,
        (health, listed, name, keyFields, namespaces) => {
          const rids = [...listed, 1].map((weight, i) => ({ rid: `r${i + 1}`, weight }));
          const keys = keyFields === null ? {} : { key_fields: keyFields };
          const snapshot = snapshotOf([hashed([], { profile: name, rids, ...keys })], health);
          const eligible = rids
            .filter(({ rid }) => health[rid as keyof typeof health] === "healthy")
            .map(({ rid, weight }) => ({ rid: utf8(rid), weight }));
          for (const namespace of namespaces) {
            const hashKey = fields(...namespace).slice(0, keyFields ?? namespace.length);
            const expected = selectRelay(name, hashKey, eligible);
            const rid = expected && new TextDecoder().decode(expected.rid);
            assert.equal(relayFor(snapshot, ...namespace), rid);
            assert.equal(relayFor(snapshot, ...namespace), rid);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("eligibility", () => {
  test("takes Healthy and positive weight [LB-HEALTH-3] [LB-HASHED-14] [LB-HASHED-16]", () => {
    for (const state of healthStates) {
      for (const weight of [0, 1]) {
        const rids = [
          { rid: "r1", weight },
          { rid: "r2", weight: 1 },
        ];
        const snapshot = snapshotOf([hashed([], { rids })], { r1: state, r2: "unhealthy" });
        const eligible = state === "healthy" && weight === 1;
        assert.equal(relayFor(snapshot, "a"), eligible ? "r1" : undefined);
      }
    }
  });

  test("a relay that is not Eligible gets no new request [LB-HEALTH-10] [RT-09]", () => {
    const excluded: [Record<string, Health>, number][] = [
      [{ r2: "draining" }, 1],
      [{ r2: "unhealthy" }, 1],
      [{}, 0],
    ];
    for (const [health, weight] of excluded) {
      const rids = ["r1", { rid: "r2", weight }, "r3"];
      const map = selectionMap(snapshotOf([hashed([], { rids })], health), 500);
      assert.deepEqual(new Set(map), new Set(["r1", "r3"]));
    }
  });

  test("draining, unhealthy and weight 0 give one and the same map [LB-HASHED-16]", () => {
    const healthy = [meetings()];
    const rids = ["r1", { rid: "r2", weight: 0 }, "r3"];
    const zero = hashed([], { key_fields: 2, rids });
    const map = selectionMap(snapshotOf([zero]), 300);
    assert.deepEqual(selectionMap(snapshotOf(healthy, { r2: "draining" }), 300), map);
    assert.deepEqual(selectionMap(snapshotOf(healthy, { r2: "unhealthy" }), 300), map);
  });

  test("draining a relay moves its namespaces alone [LB-HEALTH-11] [LB-S30] [RT-08]", () => {
    const before = selectionMap(snapshotOf([meetings()]), 1000);
    const after = selectionMap(snapshotOf([meetings()], { r2: "draining" }), 1000);
    for (const [i, rid] of before.entries()) {
      if (rid === "r2") assert.notEqual(after[i], "r2");
      else assert.equal(after[i], rid);
    }
  });

  test("a relay excluded from one route serves another [LB-S23] [LB-STATIC-4]", () => {
    const snapshot = snapshotOf([
      hashed(["a"], { rids: [{ rid: "r1", weight: 0 }, "r2"] }),
      hashed(["b"], { rids: ["r1"] }),
      pinned("r1", "c"),
    ]);
    assert.equal(relayFor(snapshot, "a"), "r2");
    assert.equal(relayFor(snapshot, "b"), "r1");
    assert.equal(relayFor(snapshot, "c"), "r1");
  });

  test("every candidate excluded: INTERNAL_ERROR with a retry for all types [LB-REJECT-5] [LB-S19] [RT-04]", () => {
    const health: Record<string, Health> = { r1: "unhealthy", r2: "draining", r3: "unhealthy" };
    const active = activate(snapshotOf([meetings("live")], health));
    for (const type of requestTypes) {
      const placed = placeRequest(request(type, fields("live", "x")), active, now);
      assertRetry(placed, "no-eligible-relay");
    }
  });

  test("a request follows the health in force when it arrives [LB-KEY-11] [LB-AFFIN-4]", () => {
    const ask = request("SUBSCRIBE", fields("example.com", "m1"));
    const healthy = activate(snapshotOf([meetings()]));
    const drained = activate(snapshotOf([meetings()], { r2: "draining" }));
    assert.equal(ridOf(placeRequest(ask, healthy, now)), "r2");
    assert.equal(ridOf(placeRequest(ask, drained, now)), "r1");
    assert.equal(ridOf(placeRequest(ask, healthy, now)), "r2");
  });
});

describe("placing on static routes", () => {
  test("every namespace below the prefix reaches the pinned relay [LB-STATIC-1]", () => {
    const snapshot = snapshotOf([meetings(), pinned("r4", "ops")]);
    for (let i = 0; i < 1000; i++) assert.equal(relayFor(snapshot, "ops", `x${i}`), "r4");
  });

  test("a pinned relay that is not Healthy leaves none, whatever else is [LB-STATIC-2] [LB-STATIC-3] [LB-HEALTH-12] [LB-S9] [LB-S16] [LB-S106]", () => {
    for (const state of ["draining", "unhealthy"] as const) {
      const active = activate(snapshotOf([meetings(), pinned("r4", "ops")], { r4: state }));
      for (const type of requestTypes) {
        const placed = placeRequest(request(type, fields("ops", "x")), active, now);
        assertRetry(placed, "no-eligible-relay");
      }
    }
  });

  test("the first request after recovery is placed [LB-S17]", () => {
    const routes = [pinned("r4", "ops")];
    assertRetry(place(snapshotOf(routes, { r4: "unhealthy" }), "ops"), "no-eligible-relay");
    assert.equal(relayFor(snapshotOf(routes), "ops"), "r4");
  });
});

describe("prefix requests", () => {
  const prefixTypes: RequestType[] = ["SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"];

  test("go where a SUBSCRIBE for the prefix goes [LB-PREFIX-1] [LB-PREFIX-3] [LB-EX-6]", () => {
    const active = activate(snapshotOf([meetings("example.com")]));
    for (const prefix of [["example.com"], ["example.com", "m1"], ["example.com", "m1", "alice"]]) {
      const subscribe = placeRequest(request("SUBSCRIBE", fields(...prefix)), active, now);
      for (const type of prefixTypes) {
        assert.deepEqual(placeRequest(request(type, fields(...prefix)), active, now), subscribe);
      }
    }
    const meeting = placeRequest(
      request("SUBSCRIBE_NAMESPACE", fields("example.com", "m1")),
      active,
      now,
    );
    assert.equal(ridOf(meeting), "r2");
  });

  test("meet the namespaces below them from key_fields on [LB-PREFIX-7] [RT-05]", () => {
    const active = activate(snapshotOf([meetings("example.com")]));
    const prefix = request("SUBSCRIBE_NAMESPACE", fields("example.com", "m1"));
    const below = request("PUBLISH_NAMESPACE", fields("example.com", "m1", "alice"));
    assert.equal(ridOf(placeRequest(prefix, active, now)), "r2");
    assert.equal(ridOf(placeRequest(below, active, now)), "r2");
  });

  test("use the longest route for the prefix and none below it [LB-PREFIX-2] [LB-PREFIX-4]", () => {
    const routes = [pinned("r1", "a"), pinned("r2", "a", "b"), pinned("r3", "a", "b", "c")];
    const active = activate(snapshotOf(routes));
    for (const type of prefixTypes) {
      assert.equal(ridOf(placeRequest(request(type, fields("a", "b")), active, now)), "r2");
      assert.equal(ridOf(placeRequest(request(type, fields("a")), active, now)), "r1");
    }
  });

  test("no route for the prefix: DOES_NOT_EXIST, served below or not [LB-PREFIX-5] [LB-REJECT-3] [LB-S35]", () => {
    const active = activate(snapshotOf([pinned("r1", "a", "b")]));
    for (const type of prefixTypes) {
      const placed = placeRequest(request(type, fields("a")), active, now);
      assertFinal(placed, "DOES_NOT_EXIST", "no-route");
    }
  });

  test("an empty prefix takes an empty-prefix route [LB-PREFIX-6] [NS-05] [LB-S5]", () => {
    const without = activate(snapshotOf([meetings("live")]));
    const withRoot = activate(snapshotOf([hashed([], { rids: ["r1", "r2"] })]));
    for (const wire of ["500003000000", "510003000000"]) {
      assertFinal(placeRequest(decoded(wire), without, now), "DOES_NOT_EXIST", "no-route");
      // The hash key is the byte 00, which selects r2 of r1 and r2.
      assert.equal(ridOf(placeRequest(decoded(wire), withRoot, now)), "r2");
    }
  });
});

describe("any namespace", () => {
  test("gets a redirect to a URI of the snapshot or a rejection [LB-SEC-22] [LB-REJECT-9]", () => {
    const snapshot = snapshotOf([meetings("live"), pinned("r4", "https://evil.example/moq")]);
    const active = activate(snapshot);
    const uris = new Set(snapshot.relays.map(({ uri }) => uri));
    const field = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.constantFrom(...fields("live", ".", ".session", "https://evil.example/moq")),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...requestTypes),
        fc.array(field, { maxLength: 32 }),
        (type, namespace) => {
          const placed = placeRequest(request(type, namespace), active, now);
          if (placed.kind === "redirect") assert.ok(uris.has(placed.uri));
          else assert.ok(["DOES_NOT_EXIST", "UNINTERESTED"].includes(placed.code));
          const again = placeRequest(
            request(
              type,
              namespace.map((f) => f.slice()),
            ),
            active,
            now,
          );
          assert.deepEqual(again, placed);
        },
      ),
    );
  });

  test("may be written over by its owner after the call", () => {
    const active = activate(snapshotOf([meetings()]));
    const namespace = fields("example.com", "m1");
    assert.equal(ridOf(placeRequest(request("SUBSCRIBE", namespace), active, now)), "r2");
    namespace[1]?.set(utf8("m3"));
    assert.equal(toHex(namespace[1] as Uint8Array), "6d33");
    assert.equal(ridOf(placeRequest(request("SUBSCRIBE", namespace), active, now)), "r3");
    assert.equal(relayFor(active.snapshot, "example.com", "m1"), "r2");
  });
});
