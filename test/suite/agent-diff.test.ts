import assert from "node:assert/strict";
import { describe, test } from "#test";
import { describeChange, diffSnapshots } from "../../src/agent/diff.ts";
import { parseSnapshot } from "../../src/snapshot/mod.ts";

const before = {
  version: 4,
  relays: [
    { rid: "r1", uri: "https://r1.example/moq", health: "healthy" },
    { rid: "r2", uri: "https://r2.example/moq", health: "healthy" },
    { rid: { hex: "ff00" }, uri: "moqt://r3.example/", health: "unhealthy" },
  ],
  routes: [
    { prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1", "r2"] },
    { prefix: ["example.com", "ops"], kind: "static", rid: "r1" },
    { prefix: [], kind: "static", rid: "r1" },
    { prefix: ["old"], kind: "hashed", rids: ["r1"] },
  ],
};

function told(after: unknown): readonly string[] {
  return diffSnapshots(parseSnapshot(before), parseSnapshot(after)).map(describeChange);
}

describe("differences between snapshots", () => {
  test("are none where only the version and the order differ", () => {
    const { relays, routes } = before;
    assert.deepEqual(
      told({ version: 9, relays: relays.toReversed(), routes: routes.toReversed() }),
      [],
    );
  });

  test("are told one by one, relays first", () => {
    assert.deepEqual(
      told({
        version: 5,
        relays: [
          { rid: "r1", uri: "https://r1.example/next", health: "draining" },
          { rid: "r2", uri: "https://r2.example/moq", health: "healthy", attributes: { a: 1 } },
          { rid: "", uri: "https://r4.example/moq", health: "healthy" },
        ],
        routes: [
          {
            prefix: ["example.com"],
            kind: "hashed",
            profile: "HRW-SHA256-64",
            rids: [{ rid: "r1", weight: 3 }, "", { rid: "r2", weight: 0 }],
          },
          { prefix: ["example.com", "ops"], kind: "static", rid: "r2" },
          { prefix: [], kind: "hashed", rids: ["r1"] },
          { prefix: ["new"], kind: "static", rid: "r1", attributes: { b: 2 } },
        ],
        attributes: { tenant: "t" },
      }),
      [
        "relay .ff.00 removed",
        "relay r1: https://r1.example/moq is now https://r1.example/next",
        "relay r1: healthy is now draining",
        "relay r2: attributes changed",
        'relay "" added at https://r4.example/moq',
        "route old removed",
        "route example.2ecom: profile HRW-SHA256 is now HRW-SHA256-64",
        "route example.2ecom: key_fields 2 is now absent",
        "route example.2ecom: weight of r1 1 is now 3",
        'route example.2ecom: "" added with weight 1',
        "route example.2ecom: weight of r2 1 is now 0",
        "route example.2ecom-ops: r1 is now r2",
        "route *: static is now hashed",
        "static route new added",
        "attributes of the snapshot changed",
      ],
    );
  });

  test("see a candidate that is gone, and attributes by value whatever their order", () => {
    const named = (attributes: object) => ({
      ...before,
      routes: [{ prefix: ["a"], kind: "hashed", rids: ["r1", "r2"], attributes }],
    });
    const from = parseSnapshot(named({ x: 1, y: ["2"] }));
    assert.deepEqual(diffSnapshots(from, parseSnapshot(named({ y: ["2"], x: 1 }))), []);
    const to = parseSnapshot({
      ...before,
      routes: [{ prefix: ["a"], kind: "hashed", rids: ["r2"], attributes: { x: 1, y: [2] } }],
    });
    assert.deepEqual(diffSnapshots(from, to).map(describeChange), [
      "route a: r1 removed",
      "route a: attributes changed",
    ]);
  });

  test("show no raw bytes of a name, and no more than 60 characters of it [LB-SEC-34]", () => {
    const rid = "<script>".repeat(40);
    const [line] = told({
      ...before,
      relays: [...before.relays, { rid, uri: "https://r5.example/", health: "healthy" }],
    });
    assert.ok(line?.startsWith("relay .3cscript.3e.3cscript.3e"));
    assert.equal(line?.indexOf("…"), "relay ".length + 59);
  });
});
