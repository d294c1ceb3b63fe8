import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { explainRoute, placeRequest } from "../../../src/routing/mod.ts";
import { healthStates } from "../../../src/snapshot/mod.ts";
import {
  activate,
  fields,
  hashed,
  meetings,
  now,
  pinned,
  request,
  snapshotOf,
} from "./fixtures.ts";

describe("explainRoute", () => {
  test("shows hash key, ranking and Selected Relay of a hashed route [LB-HASHED-5]", () => {
    const snapshot = snapshotOf([meetings("example.com")]);
    const explained = explainRoute(snapshot, fields("example.com", "m1", "alice"));
    assert.ok(explained.kind === "hashed");
    assert.equal(explained.route, snapshot.routes[0]);
    assert.deepEqual(explained.hashKey, fields("example.com", "m1"));
    assert.equal(explained.selected, snapshot.relays[1]);
    // The digests of the reference table for (example.com, m1).
    assert.deepEqual(
      explained.ranking.map(({ relay, weight, hash }) => [relay, weight, hash >> 192n]),
      [
        [snapshot.relays[1], 1, 0xeace5c9eba47ae12n],
        [snapshot.relays[0], 1, 0xd73b4d2fede53ae8n],
        [snapshot.relays[2], 1, 0x3ba64b52a2a3defbn],
      ],
    );
    assert.deepEqual(explained.excluded, []);
  });

  test("says for each other candidate everything that keeps it out [LB-HEALTH-3]", () => {
    const rids = [{ rid: "r1", weight: 0 }, "r2", { rid: "r3", weight: 0 }, "r4"];
    const snapshot = snapshotOf([hashed([], { rids })], {
      r2: "draining",
      r3: "unhealthy",
    });
    const explained = explainRoute(snapshot, fields("a"));
    assert.ok(explained.kind === "hashed");
    assert.deepEqual(
      explained.excluded.map(({ relay, weight, reasons }) => [relay.rid, weight, reasons]),
      [
        [utf8("r1"), 0, ["weight-zero"]],
        [utf8("r2"), 1, ["draining"]],
        [utf8("r3"), 0, ["weight-zero", "unhealthy"]],
      ],
    );
    assert.deepEqual(
      explained.ranking.map(({ relay }) => relay.rid),
      [utf8("r4")],
    );
  });

  test("has no Selected Relay where none is Eligible [LB-REJECT-5]", () => {
    const snapshot = snapshotOf([hashed([], { rids: ["r1"] }), pinned("r1", "ops")], {
      r1: "unhealthy",
    });
    const spread = explainRoute(snapshot, fields("a"));
    assert.ok(spread.kind === "hashed" && spread.selected === undefined);
    assert.deepEqual(spread.ranking, []);
    const pinnedRoute = explainRoute(snapshot, fields("ops", "a"));
    assert.deepEqual(pinnedRoute, {
      kind: "static",
      route: snapshot.routes[1],
      excluded: [{ relay: snapshot.relays[0], reasons: ["unhealthy"] }],
    });
  });

  test("shows the relay of a static route [LB-STATIC-1]", () => {
    const snapshot = snapshotOf([meetings(), pinned("r4", "ops")]);
    assert.deepEqual(explainRoute(snapshot, fields("ops")), {
      kind: "static",
      route: snapshot.routes[1],
      selected: snapshot.relays[3],
      excluded: [],
    });
  });

  test("tells reserved namespaces from those without a route [LB-S3] [LB-S4]", () => {
    const snapshot = snapshotOf([meetings("live")]);
    const unrouted = (...namespace: string[]) => {
      const explained = explainRoute(snapshot, fields(...namespace));
      return explained.kind === "unrouted" ? explained.cause : undefined;
    };
    assert.equal(unrouted("."), "reserved-namespace");
    assert.equal(unrouted(".session", "x"), "reserved-namespace");
    assert.equal(unrouted("other"), "no-route");
    assert.equal(unrouted("live"), undefined);
  });

  test("selects what placeRequest selects", () => {
    const state = fc.constantFrom(...healthStates);
    const weight = fc.integer({ min: 0, max: 16 });
    const name = fc.array(fc.constantFrom("live", "ops", "x", "."), { maxLength: 3 });
    fc.assert(
      fc.property(
        fc.record({ r1: state, r2: state, r3: state, r4: state }),
        fc.tuple(weight, weight),
        fc.array(name, { minLength: 1, maxLength: 8 }),
        (health, [first, second], names) => {
          const rids = ["r1", { rid: "r2", weight: first }, { rid: "r3", weight: second }];
          const snapshot = snapshotOf([hashed(["live"], { rids }), pinned("r4", "ops")], health);
          for (const namespace of names) {
            const ask = request("SUBSCRIBE", fields(...namespace));
            const placed = placeRequest(ask, activate(snapshot), now);
            const explained = explainRoute(snapshot, fields(...namespace));
            const selected = explained.kind === "unrouted" ? undefined : explained.selected;
            assert.deepEqual(placed.kind === "redirect" ? placed.rid : undefined, selected?.rid);
          }
        },
      ),
    );
  });
});
