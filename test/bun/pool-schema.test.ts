/** The JSON Schema of the pool file, which editors check against, and the parser that decides. */

import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import fc from "fast-check";
import schema from "../../docs/pool.schema.json";
import { type PoolJson, parsePool } from "../../src/agent/pool.ts";

const matches = new Ajv({ strict: true, allErrors: true }).compile(schema);

const pool = {
  $schema: "./pool.schema.json",
  version: 3,
  relays: [
    { rid: "r1", uri: "https://r1.example/moq" },
    { rid: "r2", uri: "moqt://r2.example/", health: "draining", probe: "none" },
    { rid: { hex: "ff00" }, uri: "https://r3.example/", probe: { url: "https://r3.example/up" } },
    { rid: "r4", uri: "HTTPS://r4.example/", probe: "moqt", attributes: { site: { rack: 3 } } },
  ],
  routes: [
    { prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1", { hex: "ff00" }] },
    { prefix: [], kind: "static", rid: "r1" },
    {
      prefix: [{ hex: "00" }, "b"],
      kind: "hashed",
      profile: "HRW-SHA256-64",
      rids: [
        { rid: "r2", weight: 0 },
        { rid: "r4", weight: 16 },
      ],
      attributes: {},
    },
  ],
  attributes: { tenant: "t" },
} as const satisfies PoolJson;

function parses(value: unknown): boolean {
  try {
    parsePool(value);
    return true;
  } catch {
    return false;
  }
}

/** `pool` with the member at `path` replaced, or taken away where `value` is undefined. */
function changed(path: readonly (string | number)[], value: unknown): unknown {
  const copy = structuredClone(pool) as unknown;
  let place = copy as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) place = place[key] as typeof place;
  const last = path.at(-1) as string;
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

describe("the JSON Schema of the pool file", () => {
  test("takes a pool with everything that a pool may have", () => {
    expect(matches(pool)).toBe(true);
    expect(parses(pool)).toBe(true);
    expect(matches({ relays: [], routes: [] })).toBe(true);
  });

  const faults: readonly [string, readonly (string | number)[], unknown][] = [
    ["no relays", ["relays"], undefined],
    ["no routes", ["routes"], undefined],
    ["a key that nobody knows", ["relay"], []],
    ["a version that is none", ["version"], -1],
    ["a relay without a RID", ["relays", 0, "rid"], undefined],
    ["a relay without a URI", ["relays", 0, "uri"], undefined],
    ["a URI of another scheme", ["relays", 0, "uri"], "http://r1.example/"],
    ["a URI with user information", ["relays", 0, "uri"], "https://a@r1.example/"],
    ["a health of another name", ["relays", 0, "health"], "ok"],
    ["a probe of another name", ["relays", 0, "probe"], "tcp"],
    ["a probe by a URL of another scheme", ["relays", 0, "probe"], { url: "ftp://r1.example/" }],
    ["hexadecimal that is none", ["relays", 0, "rid"], { hex: "f" }],
    ["a route of another kind", ["routes", 0, "kind"], "random"],
    ["a route without a prefix", ["routes", 0, "prefix"], undefined],
    ["an empty field in a prefix [LB-S11]", ["routes", 0, "prefix"], ["a", ""]],
    ["33 fields in a prefix [LB-S11]", ["routes", 1, "prefix"], Array(33).fill("a")],
    ["a static route with a list", ["routes", 1, "rids"], ["r1"]],
    ["a hashed route without candidates [LB-TABLE-5]", ["routes", 0, "rids"], []],
    ["a weight of 17 [LB-HASHED-12]", ["routes", 0, "rids", 0], { rid: "r1", weight: 17 }],
    ["a weight of 1.5 [LB-HASHED-12]", ["routes", 0, "rids", 0], { rid: "r1", weight: 1.5 }],
    ["a candidate without its weight", ["routes", 0, "rids", 0], { rid: "r1" }],
    ["a profile of another name [LB-PROFILE-9]", ["routes", 0, "profile"], "hrw-sha256"],
    ["key_fields of 0", ["routes", 0, "key_fields"], 0],
    ["attributes that are a list", ["attributes"], []],
  ];
  for (const [name, path, value] of faults) {
    test(`refuses ${name}, as the agent does [LB-CONF-16]`, () => {
      const broken = changed(path, value);
      expect(matches(broken)).toBe(false);
      expect(parses(broken)).toBe(false);
    });
  }

  test("refuses nothing that the agent takes", () => {
    const leaf = fc.oneof(
      fc.constantFrom<unknown>("r1", "", "moqt", "https://a.example/", { hex: "00" }, "hashed"),
      fc.integer({ min: -1, max: 18 }),
      fc.anything({ maxDepth: 2 }),
    );
    const paths = fc.constantFrom<readonly (string | number)[]>(
      ...faults.map(([, path]) => path),
      ["$schema"],
      ["relays", 3, "attributes"],
      ["routes", 2, "rids", 1, "weight"],
      ["routes", 2, "prefix", 0],
    );
    fc.assert(
      fc.property(paths, leaf, (path, value) => {
        const mutant = JSON.parse(JSON.stringify(changed(path, value)));
        return !parses(mutant) || matches(mutant);
      }),
      { numRuns: 2000 },
    );
  });
});
