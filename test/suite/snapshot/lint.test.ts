import assert from "node:assert/strict";
import { describe, test } from "#test";
import { lintSnapshot, parseSnapshot } from "../../../src/snapshot/mod.ts";
import { jsonWith } from "./fixtures.ts";

function remarksOn(changes: Readonly<Record<string, unknown>>): string[] {
  return lintSnapshot(parseSnapshot(jsonWith(changes))).map(
    ({ path, requirement, message }) => `${path} ${requirement} ${message}`,
  );
}

describe("the linter", () => {
  test("has nothing to say on a sound snapshot", () => {
    assert.deepEqual(remarksOn({}), []);
  });

  test("proposes smaller weights of the same ratio [LB-HASHED-13]", () => {
    const rids = (...weights: number[]) => ({
      "routes[2].rids": ["r1", "r2", { hex: "00ff10" }]
        .slice(0, weights.length)
        .map((rid, i) => ({ rid, weight: weights[i] })),
    });
    assert.match(remarksOn(rids(8, 16))[0] ?? "", /^routes\[2\]\.rids LB-HASHED-13 .* 1\/2 /);
    assert.match(remarksOn(rids(6, 0, 9))[0] ?? "", / 2\/0\/3 /);
    assert.match(remarksOn(rids(2))[0] ?? "", / 1 /);
    for (const weights of [[1, 2], [2, 3], [1], [1, 0], [4, 6, 9]]) {
      assert.deepEqual(remarksOn(rids(...weights)), []);
    }
  });

  test("warns of moqt URIs, which browsers cannot follow [RD-17]", () => {
    const mixed = remarksOn({ "relays[1].uri": "moqt://r2.example/moq" });
    assert.equal(mixed.length, 1);
    assert.match(mixed[0] ?? "", /^relays\[1\]\.uri .*https elsewhere/);
    const uris = [0, 1, 2].map((i) => [`relays[${i}].uri`, `moqt://r${i}.example/moq`]);
    const all = remarksOn(Object.fromEntries(uris));
    assert.equal(all.length, 3);
    assert.match(all[0] ?? "", /browsers cannot follow/);
  });

  test("warns of routes that reject every request now", () => {
    const remarks = remarksOn({ "relays[0].health": "draining" });
    assert.deepEqual(
      remarks.map((remark) => remark.split(" ").slice(0, 2).join(" ")),
      ["routes[0].rids LB-HEALTH-3", "routes[1].rid LB-STATIC-2", "routes[2].rids LB-HEALTH-3"],
    );
  });

  test("does not count a healthy relay of weight 0", () => {
    const rids = [
      { rid: "r1", weight: 0 },
      { rid: "r2", weight: 1 },
    ];
    assert.match(remarksOn({ "routes[2].rids": rids })[0] ?? "", /LB-HEALTH-3/);
  });

  test("warns of a pool that no balancer in proxy mode can speak for [LB-PSETUP-3]", () => {
    const drafts = (...of: number[]) => ({ moqt: { drafts: of } });
    const apart = remarksOn({
      "relays[0].attributes": drafts(20, 22),
      "relays[1].attributes": drafts(18),
      "relays[2].attributes": drafts(20, 22),
    });
    assert.equal(apart.length, 1);
    assert.match(
      apart[0] ?? "",
      /^relays LB-PSETUP-3 .*20, 22 by relays\[0\].*; 18 by relays\[1\]/,
    );
    const joint = { "relays[0].attributes": drafts(20), "relays[1].attributes": drafts(18, 20) };
    assert.deepEqual(remarksOn(joint), []);
    assert.deepEqual(remarksOn({ "relays[1].attributes": drafts(18) }), []);
  });

  test("warns of attributes about MOQT that cannot be understood [LB-PSETUP-2]", () => {
    const remarks = remarksOn({ "relays[1].attributes": { moqt: { drafts: "22" } } });
    assert.match(remarks[0] ?? "", /^relays\[1\]\.attributes\.moqt\.drafts LB-PSETUP-2 /);
    const limits = { moqt: { max_request_updates: -1 } };
    const others = remarksOn({ "relays[0].attributes": limits });
    assert.match(
      others[0] ?? "",
      /^relays\[0\]\.attributes\.moqt\.max_request_updates LB-PSETUP-4 /,
    );
  });
});
