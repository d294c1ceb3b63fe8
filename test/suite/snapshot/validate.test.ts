import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type HashedRoute,
  parseSnapshot,
  routeKinds,
  SnapshotError,
  validateSnapshot,
} from "../../../src/snapshot/mod.ts";
import { jsonWith, validJson } from "./fixtures.ts";

/** Path and requirement of every problem of the valid snapshot with `changes`. */
function faultsWith(changes: Readonly<Record<string, unknown>>): [string, string][] {
  return validateSnapshot(jsonWith(changes)).map(({ path, requirement }) => [path, requirement]);
}

describe("a snapshot", () => {
  test("that uses every field is valid [LB-CONF-5] [LB-CONF-6] [LB-TABLE-2]", () => {
    assert.deepEqual(validateSnapshot(validJson()), []);
  });

  test("may have no relays and no routes [LB-CONF-5] [LB-S14]", () => {
    assert.deepEqual(validateSnapshot({ version: 0, relays: [], routes: [] }), []);
  });

  test("has a version, relays and routes [LB-CONF-5]", () => {
    assert.deepEqual(
      validateSnapshot({}).map(({ path }) => path),
      ["version", "relays", "routes"],
    );
    for (const value of [null, undefined, 7, "text", [], new Map(), new Date(0)]) {
      assert.deepEqual(
        validateSnapshot(value).map(({ path }) => path),
        [""],
      );
    }
  });

  test("without a list of relays is not blamed for every RID as well [LB-CONF-5]", () => {
    assert.deepEqual(faultsWith({ relays: null }), [["relays", "LB-CONF-5"]]);
    assert.deepEqual(faultsWith({ routes: {} }), [["routes", "LB-CONF-5"]]);
  });

  test("has an unsigned integer as its version [LB-CONF-5]", () => {
    for (const version of [-1, 1.5, "7", null, 2 ** 53, Number.NaN]) {
      const faults = faultsWith({ version: version });
      assert.deepEqual(faults, [["version", "LB-CONF-5"]]);
    }
  });

  test("is checked to its last route, and every problem is listed [LB-CONF-13] [LB-CONF-15]", () => {
    const faults = faultsWith({
      version: -1,
      "relays[1].health": "ok",
      "routes[0].rids[1].weight": 17,
      "routes[2].rids": [],
    });
    assert.deepEqual(faults, [
      ["version", "LB-CONF-5"],
      ["relays[1].health", "LB-CONF-6"],
      ["routes[0].rids[1].weight", "LB-HASHED-12"],
      ["routes[2].rids", "LB-TABLE-5"],
    ]);
  });

  test("with tens of thousands of problems has the first listed and the rest counted", () => {
    const problems = validateSnapshot({ version: 1, relays: [], routes: Array(25_000).fill(0) });
    assert.equal(problems.length, 10_001);
    assert.match(problems.at(-1)?.message ?? "", /^15000 more/);
  });

  test("has closed maps, apart from attributes [LB-S12] [LB-A26]", () => {
    const faults = faultsWith({
      comment: "",
      "relays[0].region": "eu",
      "routes[0].rid": "r1",
      "routes[0].rids[1].wei\u0007ght": 1,
      "routes[1].rids": ["r1"],
      "routes[1].attributes.anything": { goes: ["here"] },
    });
    assert.deepEqual(faults, [
      ["comment", "LB-S12"],
      ["relays[0].region", "LB-S12"],
      ["routes[0].rid", "LB-S12"],
      ['routes[0].rids[1]["wei\\u0007ght"]', "LB-S12"],
      ["routes[1].rids", "LB-S12"],
    ]);
  });

  test("may name its JSON schema for editors, in the JSON form alone", () => {
    const named = { $schema: "./schema.json", version: 1, relays: [], routes: [] };
    assert.deepEqual(validateSnapshot(named), []);
    assert.deepEqual(
      validateSnapshot(named, { bytes: "binary" }).map(({ path }) => path),
      ["$schema"],
    );
  });

  test("never shows untrusted text raw in a message", () => {
    const evil = `\u001b[31m${"x".repeat(100)}`;
    const problems = validateSnapshot({
      version: evil,
      relays: [{ rid: evil, uri: evil, health: evil, [evil]: 1 }],
      routes: [{ prefix: [evil], kind: evil, rids: [evil], profile: evil, attributes: evil }],
    });
    assert.ok(problems.length >= 5);
    for (const { path, message } of problems) {
      assert.match(path + message, /^[\x20-\x7e…]*$/);
      assert.ok(!message.includes("x".repeat(50)));
    }
  });

  test("is refused by an error that carries the problems and shows the first", () => {
    assert.throws(
      () => parseSnapshot(jsonWith({ "routes[0].rids[1].weight": 17 })),
      (error) =>
        error instanceof SnapshotError &&
        error.code === "INVALID_SNAPSHOT" &&
        error.problems.length === 1 &&
        error.message.includes("routes[0].rids[1].weight: expected an integer in 0..16"),
    );
  });

  test("does not follow later changes of what it was made from", () => {
    const rid = Uint8Array.of(1, 2);
    const json = {
      version: 1,
      relays: [{ rid, uri: "https://r.example", health: "healthy", attributes: { list: [1] } }],
      routes: [],
    };
    const snapshot = parseSnapshot(json);
    rid[0] = 9;
    json.relays[0]?.attributes.list.push(2);
    assert.deepEqual(snapshot.relays[0]?.rid, Uint8Array.of(1, 2));
    assert.deepEqual(snapshot.relays[0]?.attributes, { list: [1] });
  });
});

describe("a relay", () => {
  test("is a map with rid, uri and health [LB-CONF-6]", () => {
    const faults = faultsWith({ "relays[0]": {}, "relays[1]": "r2", routes: [] });
    assert.deepEqual(faults, [
      ["relays[0].rid", "LB-CONF-6"],
      ["relays[0].uri", "LB-CONF-6"],
      ["relays[0].health", "LB-CONF-6"],
      ["relays[1]", "LB-CONF-6"],
    ]);
  });

  test("is healthy, draining or unhealthy and nothing else [LB-CONF-6]", () => {
    for (const health of ["healthy", "draining", "unhealthy"]) {
      assert.deepEqual(faultsWith({ "relays[0].health": health }), []);
    }
    for (const health of ["ok", "Healthy", "", null, 1]) {
      const faults = faultsWith({ "relays[0].health": health });
      assert.deepEqual(faults, [["relays[0].health", "LB-CONF-6"]]);
    }
  });

  test("has a RID of its own [LB-CONF-7]", () => {
    const faults = faultsWith({
      "relays[3]": { rid: { hex: "7231" }, uri: "https://other.example/", health: "healthy" },
    });
    assert.deepEqual(faults, [["relays[3].rid", "LB-CONF-7"]]);
  });

  test("may have any bytes as its RID, even none [LB-TABLE-6] [LB-S12] [LB-A26]", () => {
    const snapshot = parseSnapshot({
      version: 1,
      relays: [
        { rid: "", uri: "https://r0.example", health: "healthy" },
        { rid: { hex: "00ff10" }, uri: "https://r1.example", health: "healthy" },
      ],
      routes: [{ prefix: [], kind: "hashed", rids: ["", { hex: "00ff10" }] }],
    });
    const route = snapshot.routes[0] as HashedRoute;
    assert.deepEqual(route.rids, [
      { rid: new Uint8Array(0), weight: 1 },
      { rid: Uint8Array.of(0x00, 0xff, 0x10), weight: 1 },
    ]);
  });

  test("is known by exact bytes: neither case nor Unicode form is folded [LB-S13]", () => {
    const relay = (rid: string) => ({ rid, uri: "https://r.example", health: "healthy" });
    const rids = ["r1", "R1", "\u00e9", "e\u0301"];
    assert.deepEqual(validateSnapshot({ version: 1, relays: rids.map(relay), routes: [] }), []);
  });
});

describe("a route", () => {
  test("has a prefix and a kind [LB-TABLE-2]", () => {
    const faults = faultsWith({
      routes: [{}, [], { prefix: "a", kind: 1 }, { prefix: [1], kind: "static", rid: "r1" }],
    });
    assert.deepEqual(faults, [
      ["routes[0].prefix", "LB-TABLE-2"],
      ["routes[0].kind", "LB-TABLE-2"],
      ["routes[1]", "LB-TABLE-2"],
      ["routes[2].prefix", "LB-TABLE-2"],
      ["routes[2].kind", "LB-TABLE-2"],
      ["routes[3].prefix[0]", "LB-TABLE-2"],
    ]);
  });

  test("of an unknown kind refuses the table as a whole [LB-TABLE-8] [LB-S10] [CF-02]", () => {
    for (const kind of ["geo", "weighted", "Static", "hashed ", "constructor", "__proto__"]) {
      const faults = faultsWith({ "routes[1]": { prefix: ["x"], kind, rid: "r1" } });
      assert.deepEqual(faults, [["routes[1].kind", "LB-TABLE-8"]]);
    }
  });

  test("is told apart by its kind [LB-TABLE-7]", () => {
    const { routes } = parseSnapshot(validJson());
    assert.deepEqual(
      routes.map((route) => (route.kind === "static" ? route.rid.length : route.rids.length)),
      [3, 2, 1],
    );
  });

  test("has a prefix that no other has, whatever the kinds [LB-TABLE-12]", () => {
    const faults = faultsWith({
      "routes[3]": { prefix: ["example.com"], kind: "static", rid: "r1" },
      "routes[4]": { prefix: [], kind: "hashed", rids: ["r2"] },
    });
    assert.deepEqual(faults, [
      ["routes[3].prefix", "LB-TABLE-12"],
      ["routes[4].prefix", "LB-TABLE-12"],
    ]);
  });

  test("differs from another where only the borders of fields differ [LB-TABLE-12]", () => {
    const prefixes = [["ab", "c"], ["a", "bc"], ["abc"], ["a.bc"], ["6162", "63"]];
    const routes = prefixes.map((prefix) => ({ prefix, kind: "static", rid: "r1" }));
    const faults = faultsWith({ routes });
    assert.deepEqual(faults, []);
  });

  test("has a prefix that a namespace can match: up to 32 fields of 4096 bytes, none empty [LB-S11] [LB-A26]", () => {
    const route = (prefix: string[]) =>
      faultsWith({ routes: [{ prefix, kind: "static", rid: "r1" }] });
    assert.deepEqual(route(Array(32).fill("f")), []);
    assert.deepEqual(route(Array(33).fill("f")), [["routes[0].prefix", "LB-S11"]]);
    assert.deepEqual(route(["a".repeat(4000), "b".repeat(96)]), []);
    assert.deepEqual(route(["a".repeat(4000), "b".repeat(97)]), [["routes[0].prefix", "LB-S11"]]);
    assert.deepEqual(route(["a", ""]), [["routes[0].prefix[1]", "LB-S11"]]);
  });

  test("names relays of the snapshot, even where the weight is 0 [LB-CONF-9]", () => {
    const faults = faultsWith({
      "routes[0].rids[3]": { rid: "gone", weight: 0 },
      "routes[1].rid": "gone",
      "routes[2].rids": ["r1", "R1"],
    });
    assert.deepEqual(faults, [
      ["routes[0].rids[3].rid", "LB-CONF-9"],
      ["routes[1].rid", "LB-CONF-9"],
      ["routes[2].rids[1]", "LB-CONF-9"],
    ]);
  });

  test("shares its RIDs with the relays, so that identity tells them", () => {
    const { relays, routes } = parseSnapshot(validJson());
    const hashed = routes[0] as HashedRoute;
    assert.deepEqual(
      hashed.rids.map(({ rid }) => relays.findIndex((relay) => relay.rid === rid)),
      [0, 1, 2],
    );
  });

  test("kinds are registered with description and reference: static and hashed [LB-IANA-1] [LB-IANA-5]", () => {
    assert.deepEqual(Object.keys(routeKinds), ["static", "hashed"]);
    for (const [name, { kind, description, reference }] of Object.entries(routeKinds)) {
      assert.equal(kind, name);
      assert.ok(description.length > 0 && reference.length > 0);
    }
  });
});

describe("a static route", () => {
  test("has a RID [LB-TABLE-4]", () => {
    for (const rid of [undefined, null, 1, ["r1"], { hex: "7" }, { hex: "zz" }]) {
      const faults = faultsWith({ "routes[1].rid": rid });
      assert.deepEqual(faults, [["routes[1].rid", "LB-TABLE-4"]]);
    }
  });
});

describe("a hashed route", () => {
  test("has at least one candidate [LB-TABLE-5]", () => {
    for (const rids of [[], undefined, "r1", null]) {
      const faults = faultsWith({ "routes[2].rids": rids });
      assert.deepEqual(faults, [["routes[2].rids", "LB-TABLE-5"]]);
    }
  });

  test("may share its array of candidates with another route of a value made in code", () => {
    const rids = ["r1", "r2"];
    const route = { kind: "hashed", rids };
    const value = {
      version: 1,
      relays: rids.map((rid) => ({ rid, uri: `https://${rid}.example/`, health: "healthy" })),
      routes: [
        { ...route, prefix: ["a"] },
        { ...route, prefix: ["b"] },
      ],
    };
    assert.deepEqual(validateSnapshot(value), []);
  });

  test("has each candidate once, however it is written [LB-HASHED-4]", () => {
    const faults = faultsWith({
      "routes[2].rids": ["r1", { rid: "r1", weight: 0 }, { hex: "7231" }],
    });
    assert.deepEqual(faults, [
      ["routes[2].rids[1]", "LB-HASHED-4"],
      ["routes[2].rids[2]", "LB-HASHED-4"],
    ]);
  });

  test("takes integers from 0 to 16 as weights [LB-HASHED-12] [LB-TABLE-5]", () => {
    for (const weight of [0, 1, 16]) {
      const faults = faultsWith({ "routes[0].rids[1].weight": weight });
      assert.deepEqual(faults, []);
    }
    for (const weight of [17, -1, 1.5, "1", null, undefined, Number.NaN, true]) {
      const faults = faultsWith({ "routes[0].rids[1].weight": weight });
      assert.deepEqual(faults, [["routes[0].rids[1].weight", "LB-HASHED-12"]]);
    }
  });

  test("reads a plain RID as weight 1 [LB-HASHED-2]", () => {
    const route = parseSnapshot(validJson()).routes[0] as HashedRoute;
    assert.deepEqual(
      route.rids.map(({ weight }) => weight),
      [1, 3, 0],
    );
  });

  test("needs a weight above 0 [LB-HASHED-17] [LB-S19] [RT-09]", () => {
    const faults = faultsWith({
      "routes[2].rids": [
        { rid: "r1", weight: 0 },
        { rid: "r2", weight: 0 },
      ],
    });
    assert.deepEqual(faults, [["routes[2].rids", "LB-HASHED-17"]]);
  });

  test("may have candidates of which none is healthy [LB-S19]", () => {
    const faults = faultsWith({ "relays[0].health": "unhealthy", "relays[1].health": "unhealthy" });
    assert.deepEqual(faults, []);
  });

  test("has key_fields from 1 on [LB-TABLE-5]", () => {
    for (const keyFields of [0, -1, 1.5, "2", null]) {
      const route = { prefix: ["a", "b"], kind: "hashed", key_fields: keyFields, rids: ["r1"] };
      assert.deepEqual(faultsWith({ routes: [route] }), [["routes[0].key_fields", "LB-TABLE-5"]]);
    }
  });

  test("has key_fields no smaller than the prefix [LB-HASHED-9] [LB-S21] [CF-04]", () => {
    const route = (keyFields: number) =>
      faultsWith({
        routes: [{ prefix: ["a", "b", "c"], kind: "hashed", key_fields: keyFields, rids: ["r1"] }],
      });
    assert.deepEqual(route(2), [["routes[0].key_fields", "LB-HASHED-9"]]);
    for (const keyFields of [3, 4, 32, 33, 1000]) assert.deepEqual(route(keyFields), []);
  });

  test("uses HRW-SHA256 unless it names a profile [LB-PROFILE-8]", () => {
    const { routes } = parseSnapshot(validJson());
    assert.equal((routes[0] as HashedRoute).profile, "HRW-SHA256-64");
    assert.equal((routes[2] as HashedRoute).profile, "HRW-SHA256");
  });

  test("of an unknown profile refuses the table as a whole [LB-PROFILE-9] [LB-S32] [LB-S33] [CF-02]", () => {
    for (const profile of ["HRW-BLAKE3", "hrw-sha256", "HRW-SHA256 ", "", "toString"]) {
      const faults = faultsWith({ "routes[0].profile": profile });
      assert.deepEqual(faults, [["routes[0].profile", "LB-PROFILE-9"]]);
    }
  });
});

describe("attributes", () => {
  test("hold any value that JSON and CBOR both carry [LB-TABLE-3]", () => {
    const faults = faultsWith({
      attributes: {
        any: [null, true, -1, 52.37, "text", { hex: "ff" }, Uint8Array.of(1), { deep: { er: [] } }],
        "": "an empty key",
        __proto__x: 1,
      },
    });
    assert.deepEqual(faults, []);
  });

  test("keep a key named __proto__ as a key", () => {
    const text = '{"version":1,"relays":[],"routes":[],"attributes":{"__proto__":{"polluted":1}}}';
    const { attributes } = parseSnapshot(text);
    assert.deepEqual(Object.keys(attributes ?? {}), ["__proto__"]);
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });

  test("are refused where a value has no form in both [LB-TABLE-3]", () => {
    const nested = Array.from({ length: 20 }).reduce((inner) => [inner], [] as unknown);
    const bad = [2 ** 53, Number.NaN, 1n, new Date(0), () => {}, "\ud800", { hex: "f" }, nested];
    for (const value of bad) {
      const [fault] = faultsWith({ "relays[1].attributes": { key: [value] } });
      assert.equal(fault?.[1], "LB-TABLE-3");
      assert.match(fault?.[0] ?? "", /^relays\[1\]\.attributes\.key\[0\]/);
    }
  });
});

describe("bytes in the binary form", () => {
  test("are byte strings: text in their place is an error [LB-S13] [LB-TABLE-4]", () => {
    const faults = validateSnapshot(
      {
        version: 1,
        relays: [{ rid: "r1", uri: "https://r1.example", health: "healthy" }],
        routes: [
          { prefix: ["a"], kind: "static", rid: "r1" },
          { prefix: [Uint8Array.of(1)], kind: "hashed", rids: ["r1", { hex: "00" }] },
        ],
      },
      { bytes: "binary" },
    );
    assert.deepEqual(
      faults.map(({ path, requirement }) => `${path} ${requirement}`),
      [
        "relays[0].rid LB-CONF-6",
        "routes[0].prefix[0] LB-TABLE-2",
        "routes[0].rid LB-TABLE-4",
        "routes[1].rids[0] LB-TABLE-5",
        "routes[1].rids[1] LB-TABLE-5",
      ],
    );
  });
});

describe("every single fault of a valid snapshot is refused [LB-CONF-15]", () => {
  const wrongBytes = [
    null,
    true,
    5,
    [],
    {},
    { hex: "f" },
    { hex: "0g" },
    { hex: "00", x: 1 },
    "\udc00",
  ];
  const wrong: Record<string, unknown[]> = {
    version: [null, "7", -1, 0.5, 2 ** 53, [], {}],
    relays: [null, {}, "r1", 3],
    routes: [null, {}, "r1", 3],
    rid: wrongBytes,
    uri: [
      null,
      5,
      "",
      "r1.example",
      "http://r1.example/",
      "https://",
      "https://u@r1.example/",
      "https://r1.example/#f",
    ],
    health: [null, "ok", "HEALTHY", 1, []],
    prefix: [null, "a", {}, [null], [5], [[]], [""], ["\ud800"]],
    kind: [null, "geo", 1, []],
    profile: [null, "HRW", 1, {}],
    key_fields: [null, 0, -1, 1.5, "2", []],
    rids: [null, [], {}, "r1", ["r1", "r1"], ["gone"], [5], [{ rid: "r1" }], [{ weight: 1 }]],
    weight: [null, 17, -1, 0.5, "1", [], {}],
    attributes: [null, [], "text", 1],
  };

  /** Every place outside attributes, as the key there and its path. */
  function* places(value: unknown, path = ""): Generator<[key: string, path: string]> {
    if (typeof value !== "object" || value === null || "hex" in value) return;
    for (const [key, child] of Object.entries(value)) {
      const step = Array.isArray(value) ? `[${key}]` : `.${key}`;
      yield [key, path + step];
      if (key !== "attributes") yield* places(child, path + step);
    }
  }

  test("a wrong value in any field", () => {
    let tried = 0;
    for (const [key, path] of places(validJson())) {
      for (const value of wrong[key] ?? []) {
        const what = `${path} = ${JSON.stringify(value)}`;
        assert.notDeepEqual(validateSnapshot(jsonWith({ [path]: value })), [], what);
        tried++;
      }
    }
    assert.ok(tried > 150);
  });

  test("a missing field, unless it is optional", () => {
    const optional = new Set(["attributes", "profile", "key_fields"]);
    for (const [key, path] of places(validJson())) {
      if (path.endsWith("]")) continue;
      const valid = validateSnapshot(jsonWith({ [path]: undefined })).length === 0;
      assert.equal(valid, optional.has(key), path);
    }
  });

  test("an unknown key in any map", () => {
    const maps = ["", "relays[0].", "relays[2].", "routes[0].", "routes[0].rids[1].", "routes[1]."];
    for (const path of maps) {
      assert.deepEqual(faultsWith({ [`${path}surplus`]: 1 }), [[`${path}surplus`, "LB-S12"]]);
    }
    for (const path of ["", "relays[1].", "routes[1]."]) {
      assert.deepEqual(faultsWith({ [`${path}attributes.surplus`]: 1 }), []);
    }
  });
});
