import assert from "node:assert/strict";
import { describe, test } from "#test";
import { readInstanceSettings, readSessionListenSettings } from "../../../src/instance/mod.ts";
import { defaultSessionLimits } from "../../../src/moq-lb/mod.ts";

const complete = {
  YARDMASTER_MAXIMUM_AGE: "900",
  YARDMASTER_AUTHORIZATION: "allow-all",
  YARDMASTER_TRUSTED_KEYS: '{"keys":[]}',
};

function sessionsOf(environment: Record<string, string>) {
  return readInstanceSettings({ ...complete, ...environment }, "id").sessions;
}

describe("settings of live sessions", () => {
  test("are read in seconds, counts and bytes", () => {
    assert.deepEqual(
      sessionsOf({
        YARDMASTER_MOQT_PATH: "/live/moq",
        YARDMASTER_MOQT_ORIGINS: "https://player.example, https://other.example",
        YARDMASTER_MAXIMUM_SESSIONS: "500",
        YARDMASTER_SESSIONS_PER_CLIENT: "5",
        YARDMASTER_OPEN_REQUESTS: "50",
        YARDMASTER_MESSAGE_SIZE: "2048",
        YARDMASTER_TOKEN_CACHE_SIZE: "0",
        YARDMASTER_IDLE_TIMEOUT: "90",
        YARDMASTER_SETUP_TIMEOUT: "2.5",
        YARDMASTER_MESSAGE_TIMEOUT: "3",
        YARDMASTER_DRAIN_TIMEOUT: "30",
      }),
      {
        path: "/live/moq",
        origins: ["https://player.example", "https://other.example"],
        limits: {
          ...defaultSessionLimits,
          maximumSessions: 500,
          maximumSessionsPerClient: 5,
          maximumRequests: 50,
          maximumMessageSize: 2048,
          tokenCacheSize: 0,
          idleTimeout: 90_000,
          setupTimeout: 2500,
          messageTimeout: 3000,
        },
        drainTimeout: 30_000,
      },
    );
  });

  test("let pages of every origin in where one of them is *", () => {
    assert.equal(sessionsOf({ YARDMASTER_MOQT_ORIGINS: "*" }).origins, undefined);
  });

  test("stop the start with one line for everything that is wrong", () => {
    const wrong = {
      YARDMASTER_MOQT_PATH: "moqt",
      YARDMASTER_MOQT_ORIGINS: "player",
      YARDMASTER_MAXIMUM_SESSIONS: "0",
      YARDMASTER_SESSIONS_PER_CLIENT: "1.5",
      YARDMASTER_OPEN_REQUESTS: "many",
      YARDMASTER_MESSAGE_SIZE: "63",
      YARDMASTER_TOKEN_CACHE_SIZE: "-1",
      YARDMASTER_IDLE_TIMEOUT: "0",
      YARDMASTER_SETUP_TIMEOUT: "601",
      YARDMASTER_DRAIN_TIMEOUT: "forever",
    };
    assert.throws(
      () => sessionsOf(wrong),
      ({ message }: Error) => {
        assert.equal(message.includes("\n"), false);
        for (const name of Object.keys(wrong)) assert.ok(message.includes(name), name);
        return true;
      },
    );
  });
});

describe("settings of the ports of sessions", () => {
  test("open none unless they say so", () => {
    assert.deepEqual(readSessionListenSettings({}), {});
  });

  test("name ports, certificate and QUIC stack", () => {
    assert.deepEqual(
      readSessionListenSettings({
        YARDMASTER_MOQT_PORT: "4433",
        YARDMASTER_MOQT_TCP_PORT: "0",
        YARDMASTER_CERTIFICATE: "/etc/lb/chain.pem",
        YARDMASTER_KEY: "/etc/lb/key.pem",
        YARDMASTER_QUIC_BACKEND: "quiche",
      }),
      {
        port: 4433,
        tcpPort: 0,
        certificate: { certificate: "/etc/lb/chain.pem", key: "/etc/lb/key.pem" },
        backend: "quiche",
      },
    );
  });

  test("refuse ports that are none, half a certificate and unknown stacks", () => {
    const wrong: Record<string, string>[] = [
      { YARDMASTER_MOQT_PORT: "65536" },
      { YARDMASTER_MOQT_PORT: "443.5" },
      { YARDMASTER_MOQT_TCP_PORT: "h3" },
      { YARDMASTER_CERTIFICATE: "/etc/lb/chain.pem" },
      { YARDMASTER_KEY: "/etc/lb/key.pem" },
      { YARDMASTER_QUIC_BACKEND: "msquic" },
    ];
    for (const environment of wrong) {
      const [name] = Object.keys(environment) as [string];
      assert.throws(
        () => readSessionListenSettings(environment),
        (error: Error & { code: string }) =>
          error.code === "INVALID_CONFIGURATION" && error.message.includes(name),
      );
    }
  });
});
