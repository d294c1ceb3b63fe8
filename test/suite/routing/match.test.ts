import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { equalBytes, utf8 } from "../../../src/bytes.ts";
import type { TrackNamespace } from "../../../src/moqt/mod.ts";
import { matchRoute, routingTable } from "../../../src/routing/mod.ts";
import { parseSnapshot, type Route, type Snapshot } from "../../../src/snapshot/mod.ts";
import { fields, meetings, pinned, snapshotOf } from "./fixtures.ts";

/** The prefix of the route that `namespace` follows, as text. */
function matched(snapshot: Snapshot, namespace: TrackNamespace): string[] | undefined {
  const route = matchRoute(routingTable(snapshot), namespace);
  return route?.prefix.map((field) => new TextDecoder().decode(field));
}

/** What the rule says, with a look at every route. */
function longestByScan(snapshot: Snapshot, namespace: TrackNamespace): Route | undefined {
  let longest: Route | undefined;
  for (const route of snapshot.routes) {
    const matches = route.prefix.every(
      (field, i) => namespace[i] !== undefined && equalBytes(field, namespace[i]),
    );
    if (matches && route.prefix.length >= (longest?.prefix.length ?? 0)) longest = route;
  }
  return longest;
}

/** How often `body` looks something up in a Map. */
function probes(body: () => void): number {
  const { get } = Map.prototype;
  let count = 0;
  Map.prototype.get = function (key: unknown) {
    count++;
    return get.call(this, key);
  };
  try {
    body();
  } finally {
    Map.prototype.get = get;
  }
  return count;
}

/** A static route to r1 for each of `prefixes`. */
function pinnedAll(prefixes: unknown[][]): Snapshot {
  return parseSnapshot({
    version: 1,
    relays: [{ rid: "r1", uri: "https://r1.example/moq", health: "healthy" }],
    routes: prefixes.map((prefix) => ({ prefix, kind: "static", rid: "r1" })),
  });
}

describe("matchRoute", () => {
  test("matches leading fields, all of the prefix's [LB-TABLE-9]", () => {
    const matches = (...prefix: string[]) =>
      matched(snapshotOf([pinned("r1", ...prefix)]), fields("a", "b", "c")) !== undefined;
    assert.ok(matches() && matches("a") && matches("a", "b") && matches("a", "b", "c"));
    assert.ok(!matches("b") && !matches("a", "c") && !matches("a", "b", "c", "d"));
  });

  test("compares whole fields, not bytes [LB-KEY-14]", () => {
    const snapshot = snapshotOf([pinned("r1", "foo")]);
    assert.deepEqual(matched(snapshot, fields("foo", "bar")), ["foo"]);
    assert.equal(matched(snapshot, fields("foobar")), undefined);
    assert.equal(matched(snapshot, fields("fo", "o")), undefined);
    assert.equal(matched(snapshotOf([pinned("r1", "ab", "c")]), fields("a", "bc")), undefined);
  });

  test("compares bytes exactly, without case folding or normalisation [LB-S13]", () => {
    const snapshot = snapshotOf([pinned("r1", "Caf\u00e9")]);
    assert.deepEqual(matched(snapshot, fields("Caf\u00e9")), ["Caf\u00e9"]);
    assert.equal(matched(snapshot, fields("caf\u00e9")), undefined);
    assert.equal(matched(snapshot, fields("Cafe\u0301")), undefined);
  });

  test("tells bytes apart that are no UTF-8", () => {
    const snapshot = pinnedAll([[{ hex: "ff" }], [{ hex: "fe" }], [{ hex: "efbfbd" }]]);
    for (const [i, bytes] of [[0xff], [0xfe], [0xef, 0xbf, 0xbd]].entries()) {
      const route = matchRoute(routingTable(snapshot), [Uint8Array.from(bytes)]);
      assert.equal(route, snapshot.routes[i]);
    }
    assert.equal(matchRoute(routingTable(snapshot), [Uint8Array.of(0x80)]), undefined);
  });

  test("an empty prefix matches every namespace, the empty one too [LB-TABLE-10]", () => {
    const snapshot = snapshotOf([pinned("r1")]);
    fc.assert(
      fc.property(fc.array(fc.uint8Array(), { maxLength: 32 }), (namespace) => {
        assert.deepEqual(matched(snapshot, namespace), []);
      }),
    );
  });

  test("an empty namespace matches an empty prefix alone [LB-S5] [NS-04]", () => {
    assert.equal(matched(snapshotOf([pinned("r1", "a")]), []), undefined);
    assert.deepEqual(matched(snapshotOf([pinned("r1", "a"), pinned("r2")]), []), []);
  });

  test("the longest prefix wins [LB-TABLE-11] [RT-01]", () => {
    const snapshot = snapshotOf([
      meetings(),
      pinned("r1", "live"),
      pinned("r2", "live", "sports"),
      pinned("r3", "live", "sports", "game-7", "camera"),
    ]);
    assert.deepEqual(matched(snapshot, fields("live", "sports", "game-7")), ["live", "sports"]);
    assert.deepEqual(matched(snapshot, fields("live", "news")), ["live"]);
    assert.deepEqual(matched(snapshot, fields("sports")), []);
  });

  test("the order of the routes carries no meaning [LB-TABLE-1] [LB-TABLE-13] [RT-01]", () => {
    const prefixes = [[], ["live"], ["live", "sports"], ["live", "news", "ch-2"], ["other"]];
    const names = [["live", "sports", "game-7"], ["live", "x"], ["live", "news"], ["y"], []];
    fc.assert(
      fc.property(fc.shuffledSubarray(prefixes, { minLength: prefixes.length }), (shuffled) => {
        const [one, other] = [pinnedAll(prefixes), pinnedAll(shuffled)];
        for (const name of names) {
          assert.deepEqual(matched(other, fields(...name)), matched(one, fields(...name)));
        }
      }),
      { numRuns: 50 },
    );
  });

  test("inner nodes without a route fall back to a shorter prefix [LB-TABLE-11]", () => {
    const snapshot = snapshotOf([pinned("r1", "a"), pinned("r2", "a", "b", "c", "d")]);
    assert.deepEqual(matched(snapshot, fields("a", "b", "c", "x")), ["a"]);
    assert.equal(matched(snapshotOf([pinned("r2", "a", "b")]), fields("a")), undefined);
  });

  test("agrees with a look at every route [LB-TABLE-9] [LB-TABLE-11] [LB-TABLE-13]", () => {
    const field = fc.constantFrom("a", "b", "ab", "ba");
    const prefix = fc.array(field, { maxLength: 4 });
    fc.assert(
      fc.property(
        fc.uniqueArray(prefix, { maxLength: 12, selector: (fields) => fields.join("/") }),
        fc.array(prefix, { minLength: 1, maxLength: 6 }),
        (prefixes, names) => {
          const snapshot = pinnedAll(prefixes);
          for (const name of names) {
            const found = matchRoute(routingTable(snapshot), fields(...name));
            assert.equal(found, longestByScan(snapshot, fields(...name)));
          }
        },
      ),
    );
  });

  test("10,000 look-ups of one namespace give one answer [LB-TABLE-13]", () => {
    const snapshot = snapshotOf([pinned("r1", "a"), pinned("r2", "a", "b")]);
    const found = matchRoute(routingTable(snapshot), fields("a", "b", "c"));
    assert.equal(found, snapshot.routes[1]);
    for (let i = 0; i < 10_000; i++) {
      assert.equal(matchRoute(routingTable(snapshot), fields("a", "b", "c")), found);
    }
  });

  test("tells apart prefixes that hash alike [LB-KEY-14]", () => {
    // FNV-1a of 32 bits takes these two words for one, and sees no borders between fields.
    const words = snapshotOf([pinned("r1", "costarring", "x"), pinned("r2", "liquid")]);
    assert.deepEqual(matched(words, fields("liquid", "x")), ["liquid"]);
    assert.deepEqual(matched(words, fields("costarring", "x")), ["costarring", "x"]);
    assert.equal(matched(snapshotOf([pinned("r1", "costarring")]), fields("liquid")), undefined);
    const borders = snapshotOf([pinned("r1", "a", "b", "c"), pinned("r2", "ab")]);
    assert.deepEqual(matched(borders, fields("ab", "c")), ["ab"]);
    assert.deepEqual(matched(borders, fields("a", "b", "c")), ["a", "b", "c"]);
  });

  test("takes at most one probe a field, with 100,000 routes too [LB-SEC-27]", () => {
    const prefixes = Array.from({ length: 100_000 }, (_, i) => ["t", `${i % 300}`, `${i}`]);
    const deepest = Array.from({ length: 32 }, (_, i) => `f${i}`);
    const snapshot = pinnedAll([...prefixes, deepest]);
    const table = routingTable(snapshot);
    let route: Route | undefined;
    const spent = probes(() => {
      route = matchRoute(table, fields(...deepest));
    });
    assert.equal(route, snapshot.routes[100_000]);
    assert.ok(spent >= 1 && spent <= 33, `${spent} probes`);
    const shallow = probes(() => {
      route = matchRoute(table, fields("t", "7", "99907", "video"));
    });
    assert.equal(route, snapshot.routes[99_907]);
    assert.ok(shallow <= 5, `${shallow} probes`);
  });

  test("a table is built once for a snapshot", () => {
    const snapshot = snapshotOf([pinned("r1")]);
    assert.equal(routingTable(snapshot), routingTable(snapshot));
    assert.notEqual(routingTable(snapshot), routingTable(snapshotOf([pinned("r1")])));
  });

  test("a snapshot without routes matches nothing [LB-S14]", () => {
    assert.equal(matched(snapshotOf([]), [utf8("a")]), undefined);
    assert.equal(matched(snapshotOf([]), []), undefined);
  });
});
