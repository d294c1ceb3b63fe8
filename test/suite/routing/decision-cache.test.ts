import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import type { TrackNamespace } from "../../../src/moqt/mod.ts";
import { CompiledHashedRoute } from "../../../src/routing/compiled-route.ts";
import { DecisionCache } from "../../../src/routing/decision-cache.ts";
import { placeRequest } from "../../../src/routing/mod.ts";
import { RelayTarget, type Selection } from "../../../src/routing/selection.ts";
import type { Relay, Route } from "../../../src/snapshot/mod.ts";
import { activate, fields, meetings, now, request, snapshotOf } from "./fixtures.ts";

const [route, otherRoute] = snapshotOf([meetings("a"), meetings("b")]).routes as [Route, Route];

function keep(cache: DecisionCache<string>, namespace: TrackNamespace, decision: string): void {
  cache.set(route, namespace, namespace.length, decision);
}

function kept(cache: DecisionCache<string>, namespace: TrackNamespace): string | undefined {
  return cache.get(route, namespace, namespace.length);
}

describe("DecisionCache", () => {
  test("answers what was kept, for the same route and hash key", () => {
    const cache = new DecisionCache<string>();
    cache.set(route, fields("example.com", "m1", "alice"), 2, "r2");
    assert.equal(cache.get(route, fields("example.com", "m1", "bob"), 2), "r2");
    assert.equal(cache.get(route, fields("example.com", "m1"), 2), "r2");
    assert.equal(cache.get(route, fields("example.com", "m1", "alice"), 3), undefined);
    assert.equal(cache.get(route, fields("example.com"), 1), undefined);
    assert.equal(cache.get(otherRoute, fields("example.com", "m1"), 2), undefined);
  });

  test("counts what was there and what was not", () => {
    const cache = new DecisionCache<string>();
    assert.deepEqual([cache.hits, cache.misses], [0, 0]);
    kept(cache, fields("a"));
    keep(cache, fields("a"), "r1");
    kept(cache, fields("a"));
    kept(cache, fields("a"));
    kept(cache, fields("b"));
    assert.deepEqual([cache.hits, cache.misses], [2, 2]);
  });

  test("tells apart keys that hash alike", () => {
    const cache = new DecisionCache<string>();
    // FNV-1a of 32 bits takes these two words for one.
    keep(cache, fields("costarring"), "r1");
    assert.equal(kept(cache, fields("liquid")), undefined);
    keep(cache, fields("liquid"), "r2");
    assert.equal(kept(cache, fields("costarring")), "r1");
    assert.equal(kept(cache, fields("liquid")), "r2");
  });

  test("keeps the empty hash key apart from the others", () => {
    const cache = new DecisionCache<string>();
    keep(cache, [], "r1");
    assert.equal(kept(cache, []), "r1");
    assert.equal(kept(cache, [new Uint8Array()]), undefined);
  });

  test("tells apart keys whose bytes are the same when joined", () => {
    const cache = new DecisionCache<string>();
    keep(cache, fields("ab", "c"), "r1");
    keep(cache, fields("a", "bc"), "r2");
    assert.equal(kept(cache, fields("ab", "c")), "r1");
    assert.equal(kept(cache, fields("a", "bc")), "r2");
    assert.equal(kept(cache, fields("abc")), undefined);
  });

  test("forgets, but never answers a decision for another key", () => {
    const name = fc.array(fc.uint8Array({ maxLength: 3, max: 2 }), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(name, { maxLength: 60 }), (names) => {
        const cache = new DecisionCache<string>(8);
        for (const namespace of names) {
          const text = JSON.stringify(namespace.map((field) => [...field]));
          const decision = kept(cache, namespace);
          if (decision === undefined) keep(cache, namespace, text);
          else assert.equal(decision, text);
          assert.equal(kept(cache, namespace), text);
        }
      }),
    );
  });

  test("holds no more entries than it was made for", () => {
    const cache = new DecisionCache<string>(64);
    const names = Array.from({ length: 20_000 }, (_, i) => fields("flood", `${i}`));
    for (const [i, namespace] of names.entries()) keep(cache, namespace, `${i}`);
    const held = names.filter((namespace) => kept(cache, namespace) !== undefined);
    assert.ok(held.length > 0 && held.length <= 64);
  });

  test("drops the entry of a place that was used longest ago", () => {
    const cache = new DecisionCache<string>(2);
    keep(cache, fields("hot"), "r1");
    for (let i = 0; i < 100; i++) {
      keep(cache, fields(`${i}`), "r2");
      assert.equal(kept(cache, fields("hot")), "r1");
    }
    keep(cache, fields("x"), "r2");
    keep(cache, fields("y"), "r2");
    assert.equal(kept(cache, fields("hot")), undefined);
  });

  test("does not keep hash keys of more than 256 bytes", () => {
    const cache = new DecisionCache<string>();
    keep(cache, [new Uint8Array(255)], "r1");
    assert.equal(kept(cache, [new Uint8Array(255)]), "r1");
    keep(cache, [new Uint8Array(127), new Uint8Array(127)], "r2");
    assert.equal(kept(cache, [new Uint8Array(127), new Uint8Array(127)]), "r2");
    for (const namespace of [[new Uint8Array(256)], [new Uint8Array(127), new Uint8Array(128)]]) {
      keep(cache, namespace, "r3");
      assert.equal(kept(cache, namespace), undefined);
    }
  });

  test("keeps copies, not the bytes of the request", () => {
    const cache = new DecisionCache<string>();
    const namespace = fields("m1");
    keep(cache, namespace, "r1");
    namespace[0]?.fill(0);
    assert.equal(kept(cache, fields("m1")), "r1");
    assert.equal(kept(cache, namespace), undefined);
  });
});

describe("placements under one snapshot", () => {
  test("are kept by hash key once a route has decided", () => {
    const [hashedRoute] = snapshotOf([meetings("example.com")]).routes;
    assert.ok(hashedRoute?.kind === "hashed");
    const [relay] = snapshotOf([]).relays as [Relay, ...Relay[]];
    const decisions = new DecisionCache<Selection>();
    const compiled = new CompiledHashedRoute(hashedRoute, () => new RelayTarget(relay), decisions);
    assert.equal(decisions.get(hashedRoute, fields("example.com", "m1"), 2), undefined);
    const selection = compiled.select(fields("example.com", "m1", "alice"));
    assert.ok(selection);
    assert.equal(decisions.get(hashedRoute, fields("example.com", "m1"), 2), selection);
    const planted: Selection = { ...selection };
    decisions.set(hashedRoute, fields("example.com", "m2"), 2, planted);
    assert.equal(compiled.select(fields("example.com", "m2", "bob")), planted);
  });

  test("are the same object for namespaces with the same hash key", () => {
    const active = activate(snapshotOf([meetings("example.com")]));
    const place = (...namespace: string[]) =>
      placeRequest(request("SUBSCRIBE", fields(...namespace)), active, now);
    const first = place("example.com", "m1", "alice");
    assert.equal(place("example.com", "m1", "bob"), first);
    assert.ok(Object.isFrozen(first));
  });

  test("outlive a flood of other names", () => {
    const active = activate(snapshotOf([meetings()]));
    const place = (name: string) =>
      placeRequest(request("SUBSCRIBE", fields("example.com", name)), active, now);
    const before = ["m1", "m2", "m3"].map(place);
    for (let i = 0; i < 20_000; i++) place(`flood-${i}`);
    assert.deepEqual(["m1", "m2", "m3"].map(place), before);
  });
});
