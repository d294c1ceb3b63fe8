import assert from "node:assert/strict";
import { describe, test } from "#test";
import { createInstance, readInstanceSettings } from "../../../src/instance/mod.ts";
import { defaultProxyLimits } from "../../../src/moq-lb/proxy/proxy-options.ts";

const complete = {
  YARDMASTER_MAXIMUM_AGE: "900",
  YARDMASTER_AUTHORIZATION: "allow-all",
  YARDMASTER_TRUSTED_KEYS: '{"keys":[]}',
};

const proxied = { YARDMASTER_PROXY_URIS: "/proxy", YARDMASTER_BACKEND_TOKENS: "none" };

function proxyOf(environment: Record<string, string>) {
  return readInstanceSettings({ ...complete, ...environment }, "id").proxy;
}

describe("settings of proxy mode", () => {
  test("are absent where no URI is served in it", () => {
    assert.equal(proxyOf({}), undefined);
  });

  test("have a Drain Deadline in seconds, and defaults for the limits [LB-DISPL-3]", () => {
    assert.deepEqual(proxyOf({ ...proxied, YARDMASTER_DRAIN_DEADLINE: "2.5" }), {
      uris: ["/proxy"],
      backendTokens: { policy: "none" },
      drainDeadline: 2500,
      limits: defaultProxyLimits,
    });
    assert.equal(proxyOf(proxied)?.drainDeadline, 30_000);
  });

  test("set each limit [LB-SEC-31] [LB-PSETUP-17] [LB-PSETUP-18]", () => {
    const settings = proxyOf({
      ...proxied,
      YARDMASTER_RELAY_SESSIONS: "200",
      YARDMASTER_RELAYS_PER_SESSION: "2",
      YARDMASTER_PROXY_REQUESTS: "100",
      YARDMASTER_AFFINITIES: "50",
      YARDMASTER_RELAY_CONNECT_TIMEOUT: "3",
      YARDMASTER_RELAY_IDLE_TIMEOUT: "10",
    });
    assert.deepEqual(settings?.limits, {
      ...defaultProxyLimits,
      maximumBackends: 200,
      maximumBackendsPerSession: 2,
      maximumMappings: 100,
      maximumAffinities: 50,
      connectTimeout: 3000,
      backendIdleTimeout: 10_000,
    });
  });

  test("trust relays by hash in development", () => {
    const hash = btoa("\u0007".repeat(32));
    const settings = proxyOf({ ...proxied, YARDMASTER_RELAY_CERTIFICATE_HASHES: hash });
    assert.deepEqual(settings?.relayCertificateHashes, [new Uint8Array(32).fill(7)]);
  });

  const policies = {
    forward: [{}, { policy: "forward" }],
    none: [{}, { policy: "none" }],
    identity: [
      { YARDMASTER_IDENTITY_KEY: "{}", YARDMASTER_IDENTITY_ISSUER: "https://lb.example" },
      { policy: "identity", key: "{}", issuer: "https://lb.example", lifetime: 60 },
    ],
  } as const;
  for (const [policy, [more, expected]] of Object.entries(policies)) {
    test(`say how relays learn who asks: ${policy} [LB-SEC-14]`, () => {
      const settings = proxyOf({ ...proxied, ...more, YARDMASTER_BACKEND_TOKENS: policy });
      assert.deepEqual(settings?.backendTokens, expected);
    });
  }

  const wrong: Readonly<Record<string, [Record<string, string>, RegExp]>> = {
    "no policy for what relays are shown [LB-SEC-14]": [
      { YARDMASTER_PROXY_URIS: "/proxy" },
      /^YARDMASTER_BACKEND_TOKENS is missing: how relays learn who asks has to be said/,
    ],
    "another policy": [
      { ...proxied, YARDMASTER_BACKEND_TOKENS: "all" },
      /^YARDMASTER_BACKEND_TOKENS has to be one of forward, identity, none$/,
    ],
    "an identity without a key": [
      { ...proxied, YARDMASTER_BACKEND_TOKENS: "identity", YARDMASTER_IDENTITY_ISSUER: "lb" },
      /^YARDMASTER_IDENTITY_KEY is missing/,
    ],
    "a URI that is none": [
      { ...proxied, YARDMASTER_PROXY_URIS: "proxy" },
      /^YARDMASTER_PROXY_URIS has to be a list of absolute https or moqt URIs, or paths/,
    ],
    "a path of redirect mode [LB-KEY-6]": [
      { ...proxied, YARDMASTER_PROXY_URIS: "/live /moqt" },
      /^YARDMASTER_PROXY_URIS: \/moqt is where redirect mode is served .*: an address has one mode$/,
    ],
    "a service URI of redirect mode [LB-KEY-6]": [
      {
        ...proxied,
        YARDMASTER_PROXY_URIS: "moqt://lb.example:443/a https://other.example/a",
        YARDMASTER_SERVICE_URIS: "moqt://lb.example/a",
      },
      /^YARDMASTER_PROXY_URIS: moqt:\/\/lb\.example:443\/a is where redirect mode is served/,
    ],
    "authorities that are none": [
      { ...proxied, YARDMASTER_RELAY_CA: "abc" },
      /^YARDMASTER_RELAY_CA has to be certificates in PEM/,
    ],
    "a hash that is none": [
      { ...proxied, YARDMASTER_RELAY_CERTIFICATE_HASHES: "abc" },
      /^YARDMASTER_RELAY_CERTIFICATE_HASHES has to be a list of SHA-256 hashes/,
    ],
  };
  for (const [what, [environment, message]] of Object.entries(wrong)) {
    test(`are refused in one line: ${what}`, () => {
      assert.throws(() => proxyOf(environment), { code: "INVALID_CONFIGURATION", message });
    });
  }

  test("are refused on a runtime that has no such mode", async () => {
    // The key of RFC 8037 A.2.
    const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    const keys = JSON.stringify({ keys: [{ kty: "OKP", crv: "Ed25519", x }] });
    const environment = { ...complete, ...proxied, YARDMASTER_TRUSTED_KEYS: keys };
    const settings = readInstanceSettings(environment, "id");
    const source = { get: async () => undefined };
    await assert.rejects(createInstance({ settings, source: source as never }), {
      code: "INVALID_CONFIGURATION",
      message: /^YARDMASTER_PROXY_URIS: there is no proxy mode on this runtime/,
    });
  });
});
