import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  ConfigurationError,
  createRedirectServer,
  type RedirectSessionLimits,
  sessionLog,
} from "../../../src/moq-lb/mod.ts";
import { closeCode, printable } from "../../../src/moq-lb/session-event.ts";
import { encodeControlMessage } from "../../../src/moqt/mod.ts";
import { RawPeer } from "../../support/raw-peer.ts";
import { RedirectBed, subscribeBytes, tokenParameter } from "../../support/redirect-bed.ts";
import { settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";

describe("the log of sessions", () => {
  test("has one line of JSON for each moment, and neither tokens nor names [LB-SEC-17] [LB-SEC-34]", async () => {
    const lines: string[] = [];
    const log = sessionLog(
      (line) => lines.push(line),
      () => 0,
    );
    const bed = new RedirectBed({ onSession: log });
    const [near, far] = memoryTransportPair();
    const served = bed.server.serve(far);
    const peer = new RawPeer(near);
    const implementation = "a client\u202e\n";
    await peer.setup(
      encodeControlMessage(
        {
          type: "SETUP",
          options: [
            { type: "MOQT_IMPLEMENTATION", value: implementation },
            {
              type: "AUTHORIZATION_TOKEN",
              token: { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8("a secret") },
            },
          ],
        },
        22,
      ),
    );
    await peer.refusal(subscribeBytes(0, [tokenParameter(1, "a secret")]));
    near.close(0x10n, "bye\u0007");
    await served;
    await settle();
    const common = { time: "1970-01-01T00:00:00.000Z", session: 1 };
    assert.deepEqual(
      lines.map((line) => JSON.parse(line)),
      [
        { ...common, event: "session-opened", transport: "quic", client: "127.0.0.1", draft: 22 },
        { ...common, event: "session-setup", implementation: "a client??", duration: 0 },
        {
          ...common,
          event: "session-closed",
          by: "remote",
          code: "GOAWAY_TIMEOUT",
          reason: "bye?",
          redirects: 1,
          rejections: 0,
          duration: 0,
        },
      ],
    );
    assert.equal(/secret|live/.test(lines.join()), false);
  });

  test("names the code of a close, or what became of the transport", () => {
    const close = { by: "remote", app: true, code: 0x3n, reason: "" } as const;
    assert.equal(closeCode(close), "PROTOCOL_VIOLATION");
    assert.equal(closeCode({ ...close, code: 0x9dn }), "UNKNOWN 157");
    assert.equal(closeCode({ ...close, app: false, code: 0xan }), "TRANSPORT_ERROR 10");
    assert.equal(closeCode({ ...close, by: "idle", app: false, code: 0n }), "TRANSPORT_IDLE");
  });

  test("cuts what peers say to 100 characters", () => {
    assert.equal(printable("x".repeat(101)), `${"x".repeat(97)}...`);
    assert.equal(printable("x".repeat(100)), "x".repeat(100));
  });
});

describe("options of a server of sessions", () => {
  const options = { holder: { active: undefined }, authorization: "allow-all" } as const;

  test("need a policy and limits in range", () => {
    assert.throws(
      () => createRedirectServer({ ...options, authorization: undefined as never }),
      ConfigurationError,
    );
    const wrong: Partial<RedirectSessionLimits>[] = [
      { maximumSessions: 0 },
      { maximumSessionsPerClient: 0.5 },
      { idleTimeout: Number.NaN },
      { setupTimeout: -1 },
      { messageTimeout: 0 },
      { maximumRequests: 0 },
      { maximumMessageSize: 65_547 },
      { maximumMessageSize: 63 },
      { tokenCacheSize: -1 },
      { maximumQueuedBytes: 0 },
    ];
    for (const limits of wrong) {
      const [name] = Object.keys(limits) as [string];
      assert.throws(
        () => createRedirectServer({ ...options, limits }),
        (error: Error) => error instanceof ConfigurationError && error.message.startsWith(name),
      );
    }
  });

  test("have to be functions where they are called", () => {
    for (const hook of ["onSession", "tenantOf"]) {
      assert.throws(
        () => createRedirectServer({ ...options, [hook]: "no" }),
        (error: Error) => error.message.startsWith(hook),
      );
    }
  });

  test("tell limits and what is used of them [LB-SEC-32]", () => {
    const server = createRedirectServer({ ...options, limits: { maximumSessions: 7 } });
    const { sessions, draining, limits } = server.status();
    assert.deepEqual(
      { sessions, draining, most: limits.maximumSessions.limit },
      {
        sessions: 0,
        draining: false,
        most: 7,
      },
    );
  });

  test("a hook that throws costs nobody a session", async () => {
    const bed = new RedirectBed({
      onSession() {
        throw new Error("the log is full");
      },
    });
    const [near, far] = memoryTransportPair();
    void bed.server.serve(far);
    const peer = new RawPeer(near);
    await peer.setup();
    await peer.refusal(subscribeBytes(0));
  });
});
