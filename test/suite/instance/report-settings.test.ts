import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  createInstance,
  readInstanceSettings,
  readListenSettings,
} from "../../../src/instance/mod.ts";
import {
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
} from "../../../src/snapshot/mod.ts";
import { memoryStore } from "../../../src/store/memory.ts";

const complete = {
  YARDMASTER_MAXIMUM_AGE: "900",
  YARDMASTER_AUTHORIZATION: "allow-all",
  YARDMASTER_TRUSTED_KEYS: '{"keys":[]}',
};
const known = { YARDMASTER_INSTANCE_KEY: "{}", YARDMASTER_INSTANCE_ID: "edge-1" };

function reportsOf(environment: Record<string, string>) {
  return readInstanceSettings({ ...complete, ...environment }, "id").reports;
}

describe("settings of reports", () => {
  test("have an instance report where it has a key, to the agent or through the store", () => {
    assert.equal(reportsOf({}), undefined);
    assert.deepEqual(reportsOf(known), { key: "{}", interval: 10_000 });
    const agent = { ...known, YARDMASTER_AGENT: "https://agent.example" };
    assert.deepEqual(reportsOf(agent), {
      key: "{}",
      interval: 10_000,
      url: "https://agent.example",
    });
    assert.deepEqual(reportsOf({ ...agent, YARDMASTER_REPORT: "store" }), {
      key: "{}",
      interval: 10_000,
    });
    const store = { ...known, YARDMASTER_STORE: "https://agent.example" };
    assert.equal(reportsOf({ ...store, YARDMASTER_REPORT_INTERVAL: "2.5" })?.interval, 2500);
    assert.equal(reportsOf(store)?.url, "https://agent.example");
  });

  test("stop the start where they could not work, and say why [LB-CONF-18] [LB-CONF-20]", () => {
    const wrong: readonly (readonly [Record<string, string>, RegExp])[] = [
      [{ YARDMASTER_AGENT: "https://agent.example" }, /^YARDMASTER_INSTANCE_KEY is missing/],
      [{ YARDMASTER_REPORT: "store" }, /^YARDMASTER_INSTANCE_KEY is missing/],
      [{ YARDMASTER_STORE: "https://agent.example" }, /^YARDMASTER_INSTANCE_KEY is missing/],
      [{ YARDMASTER_INSTANCE_KEY: "{}" }, /^YARDMASTER_INSTANCE_ID has to be/],
      [{ ...known, YARDMASTER_INSTANCE_ID: "a/b" }, /^YARDMASTER_INSTANCE_ID has to be/],
      [{ ...known, YARDMASTER_REPORT: "agent" }, /^YARDMASTER_AGENT is missing/],
      [{ ...known, YARDMASTER_REPORT: "mail" }, /^YARDMASTER_REPORT has to be one of agent, store/],
      [
        { ...known, YARDMASTER_AGENT: "http://agent.example" },
        /^YARDMASTER_AGENT has to be an https/,
      ],
      [
        { ...known, YARDMASTER_STORE: "http://agent.example" },
        /^YARDMASTER_STORE has to be an https/,
      ],
      [
        { ...known, YARDMASTER_STORE: "https://agent.example", YARDMASTER_REPORT: "store" },
        /^YARDMASTER_REPORT: an agent as the store/,
      ],
      [{ ...known, YARDMASTER_REPORT_INTERVAL: "0" }, /^YARDMASTER_REPORT_INTERVAL has to be/],
    ];
    for (const [environment, message] of wrong) {
      assert.throws(() => reportsOf(environment), { message });
    }
  });

  test("open a port for metrics only where they name one", () => {
    assert.equal(readListenSettings({}).metricsPort, undefined);
    assert.equal(readListenSettings({ YARDMASTER_METRICS_PORT: "9100" }).metricsPort, 9100);
    assert.throws(() => readListenSettings({ YARDMASTER_METRICS_PORT: "http" }), {
      code: "INVALID_CONFIGURATION",
    });
  });
});

describe("an instance with a key of its own", () => {
  test("does not start with one that cannot sign, and shows nothing of it [LB-SEC-17]", async () => {
    const agent = await generateSigningKey();
    const { d, ...rest } = await exportSigningKey(await generateSigningKey());
    const keys = ["marker", JSON.stringify(rest), JSON.stringify({ ...rest, d: `${d}marker` })];
    for (const YARDMASTER_INSTANCE_KEY of keys) {
      const environment = {
        ...complete,
        ...known,
        YARDMASTER_TRUSTED_KEYS: JSON.stringify(await exportPublicKey(agent)),
        YARDMASTER_INSTANCE_KEY,
      };
      const settings = readInstanceSettings(environment, "id");
      await assert.rejects(createInstance({ settings, source: memoryStore() }), (error: Error) => {
        assert.match(error.message, /^YARDMASTER_INSTANCE_KEY/);
        return !error.message.includes("marker") && !error.message.includes(d);
      });
    }
  });

  test("does not start where its reports would go to a store that is read-only", async () => {
    const environment = {
      ...complete,
      ...known,
      YARDMASTER_TRUSTED_KEYS: JSON.stringify(await exportPublicKey(await generateSigningKey())),
      YARDMASTER_INSTANCE_KEY: JSON.stringify(await exportSigningKey(await generateSigningKey())),
    };
    const settings = readInstanceSettings(environment, "id");
    const source = { get: async () => undefined };
    await assert.rejects(createInstance({ settings, source }), {
      message: "YARDMASTER_REPORT: the store cannot be written to",
    });
  });
});
