/** The configuration of a gateway on Bun, and the JSON Schema that editors check it against. */

import { describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020.js";
import schema from "../../docs/gateway.schema.json";
import { defaultLimits, limitNames, limitTable, limitValue } from "../../src/gateway/limits.ts";
import {
  changed,
  configScenarios,
  faults,
  rightConfig,
  smallConfig,
} from "../gateway/config-scenarios.ts";

configScenarios();

const matches = new Ajv({ strict: true, strictRequired: false, allErrors: true }).compile(schema);
/** What a schema cannot see: that it is another list that has what is missing. */
const unseen = new Set(["jwt.keys"]);

describe("the JSON Schema of a gateway's configuration", () => {
  test("takes what the gateway takes", () => {
    expect(matches(rightConfig)).toBe(true);
    expect(matches(smallConfig)).toBe(true);
    const jwt = { keys: "jwks.json" };
    expect(matches({ ...smallConfig, client: "jwt-sub", jwt })).toBe(true);
  });

  for (const [name, path, value, problem] of faults) {
    if (unseen.has(problem)) continue;
    test(`refuses ${name}, as the gateway does`, () => {
      expect(matches(changed(rightConfig, path, value))).toBe(false);
    });
  }

  test("refuses keys that nobody knows, and tokens without keys", () => {
    expect(matches({ ...smallConfig, orgins: [] })).toBe(false);
    expect(matches({ ...smallConfig, client: "jwt-sub" })).toBe(false);
  });

  test("has every limit, with the same range and default", () => {
    const { limits } = schema.properties;
    expect(Object.keys(limits.properties).sort()).toEqual([...limitNames].sort());
    for (const name of limitNames) {
      const { least, most, by } = limitTable[name];
      const found = limits.properties[name];
      expect([name, found.minimum, found.maximum, found.default]).toEqual([name, least, most, by]);
      expect(defaultLimits()[name]).toBe(limitValue(name, by));
    }
  });
});
