import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  createInstance,
  readInstanceSettings,
  readListenSettings,
} from "../../../src/instance/mod.ts";
import { defaultSessionLimits } from "../../../src/moq-lb/mod.ts";
import { generateSigningKey } from "../../../src/snapshot/mod.ts";

const complete = {
  YARDMASTER_MAXIMUM_AGE: "900",
  YARDMASTER_AUTHORIZATION: "allow-all",
  YARDMASTER_TRUSTED_KEYS: '{"keys":[]}',
};

/** The message of the error that reading throws. */
function complaint(environment: Record<string, string>): string {
  try {
    readInstanceSettings(environment, "id");
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("the settings were accepted");
}

describe("settings of an instance", () => {
  test("have defaults for all but age, keys and authorization", () => {
    assert.deepEqual(readInstanceSettings(complete, "an-id"), {
      maximumAge: 900_000,
      trustedKeys: '{"keys":[]}',
      authorization: { policy: "allow-all" },
      serviceUris: [],
      refreshInterval: 10_000,
      instanceId: "an-id",
      corsOrigins: [],
      logDecisions: false,
      logNames: false,
      sessions: { path: "/moqt", limits: defaultSessionLimits, drainTimeout: 10_000 },
    });
  });

  test("stop the start without a maximum configuration age [LB-CONF-26]", () => {
    const { YARDMASTER_MAXIMUM_AGE: _, ...rest } = complete;
    assert.equal(complaint(rest), "YARDMASTER_MAXIMUM_AGE has to be a number from 1 to 31536000");
  });

  test("stop the start without a policy: nobody is let in by default", () => {
    const { YARDMASTER_AUTHORIZATION: _, ...rest } = complete;
    assert.equal(complaint(rest), "YARDMASTER_AUTHORIZATION has to be one of allow-all, jwt");
    assert.equal(
      complaint({ ...complete, YARDMASTER_AUTHORIZATION: "ALLOW-ALL" }),
      "YARDMASTER_AUTHORIZATION has to be one of allow-all, jwt",
    );
  });

  test("name everything that is wrong in one line", () => {
    const message = complaint({
      YARDMASTER_AUTHORIZATION: "jwt",
      YARDMASTER_MAXIMUM_AGE: "1e3",
      YARDMASTER_REFRESH_INTERVAL: "-1",
      YARDMASTER_LOG: "verbose",
    });
    assert.equal(message.includes("\n"), false);
    for (const name of [
      "YARDMASTER_MAXIMUM_AGE",
      "YARDMASTER_TRUSTED_KEYS",
      "YARDMASTER_JWT_KEYS",
      "YARDMASTER_JWT_ISSUER",
      "YARDMASTER_JWT_AUDIENCE",
      "YARDMASTER_REFRESH_INTERVAL",
      "YARDMASTER_LOG",
    ]) {
      assert.ok(message.includes(name), name);
    }
  });

  test("refuse values that would be accepted and never work", () => {
    const wrong: Record<string, string> = {
      YARDMASTER_SERVICE_URIS: "lb.example/moq",
      YARDMASTER_CORS_ORIGINS: "https://player.example/page",
      YARDMASTER_RATE_BURST: "10",
    };
    for (const [name, value] of Object.entries(wrong)) {
      assert.ok(complaint({ ...complete, [name]: value }).startsWith(name), name);
    }
  });

  test("read every value that is set", () => {
    const settings = readInstanceSettings(
      {
        ...complete,
        YARDMASTER_AUTHORIZATION: "jwt",
        YARDMASTER_JWT_KEYS: "https://id.example/keys",
        YARDMASTER_JWT_ISSUER: "https://id.example",
        YARDMASTER_JWT_AUDIENCE: "moq-lb",
        YARDMASTER_SERVICE_URIS: "https://lb.example/moq, moqt://lb.example/moq",
        YARDMASTER_RATE_LIMIT: "50",
        YARDMASTER_INSTANCE_ID: "edge-7",
        YARDMASTER_CORS_ORIGINS: "https://player.example",
        YARDMASTER_LOG: "json",
        YARDMASTER_LOG_NAMES: "on",
        YARDMASTER_REFRESH_INTERVAL: "2.5",
      },
      "unused",
    );
    assert.deepEqual(settings, {
      maximumAge: 900_000,
      trustedKeys: '{"keys":[]}',
      authorization: {
        policy: "jwt",
        keys: "https://id.example/keys",
        issuer: "https://id.example",
        audience: "moq-lb",
      },
      serviceUris: ["https://lb.example/moq", "moqt://lb.example/moq"],
      refreshInterval: 2500,
      instanceId: "edge-7",
      corsOrigins: ["https://player.example"],
      logDecisions: true,
      logNames: true,
      rateLimit: { perSecond: 50, burst: 100 },
      sessions: { path: "/moqt", limits: defaultSessionLimits, drainTimeout: 10_000 },
    });
  });

  test("listen on the loopback by default, and only on a real port", () => {
    assert.deepEqual(readListenSettings({}), { hostname: "127.0.0.1", port: 8787 });
    assert.deepEqual(readListenSettings({ HOST: "::1", PORT: "0" }), { hostname: "::1", port: 0 });
    for (const PORT of ["65536", "-1", "80.5", "http"]) {
      assert.throws(() => readListenSettings({ PORT }), { code: "INVALID_CONFIGURATION" });
    }
  });
});

describe("an instance", () => {
  const source = { get: async () => undefined };

  test("does not start without a single trusted key", async () => {
    const settings = readInstanceSettings(complete, "id");
    await assert.rejects(createInstance({ settings, source }), (error: Error) =>
      error.message.startsWith("YARDMASTER_TRUSTED_KEYS: "),
    );
  });

  test("names the setting behind keys for tokens that are of no use", async () => {
    const jwt = {
      ...complete,
      YARDMASTER_AUTHORIZATION: "jwt",
      YARDMASTER_JWT_ISSUER: "https://id.example",
      YARDMASTER_JWT_AUDIENCE: "moq-lb",
    };
    const { publicKey } = await generateSigningKey();
    const { kty, crv, x } = await crypto.subtle.exportKey("jwk", publicKey);
    const YARDMASTER_TRUSTED_KEYS = JSON.stringify({ keys: [{ kty, crv, x }] });
    for (const YARDMASTER_JWT_KEYS of ["http://id.example/keys", "https://", "[1]", "nonsense"]) {
      const settings = readInstanceSettings(
        { ...jwt, YARDMASTER_TRUSTED_KEYS, YARDMASTER_JWT_KEYS },
        "id",
      );
      await assert.rejects(createInstance({ settings, source }), (error: Error) =>
        error.message.startsWith("YARDMASTER_JWT_KEYS"),
      );
    }
  });

  test("says which setting is not JSON, and shows nothing of it", async () => {
    const settings = readInstanceSettings({ ...complete, YARDMASTER_TRUSTED_KEYS: "{d:1}" }, "id");
    await assert.rejects(createInstance({ settings, source }), {
      code: "INVALID_CONFIGURATION",
      message: "YARDMASTER_TRUSTED_KEYS is not JSON",
    });
  });
});
