import assert from "node:assert/strict";
import { describe, test } from "#test";
import { DialError, dialError } from "../../../src/gateway/upstream/dial-error.ts";
import { type LivenessPorts, watchLiveness } from "../../../src/gateway/upstream/liveness.ts";
import { defaultUpstreamLimits } from "../../../src/gateway/upstream/ports.ts";
import { Reachability } from "../../../src/gateway/upstream/reachability.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const refused = new DialError("connection_refused", "nobody there");

describe("whether an origin can be reached", () => {
  test("waits double up to half a minute, with jitter around them [CG-FAIL-10, J05]", () => {
    const waits = (random: number) => {
      const clock = new ManualClock();
      const reachability = new Reachability(
        () => clock.now(),
        () => random,
      );
      return Array.from({ length: 9 }, () => {
        reachability.failed(refused);
        const { wait } = reachability;
        clock.advance(wait);
        return wait;
      });
    };
    assert.deepEqual(waits(0.5), [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    assert.equal(waits(0)[3], 1_000);
    assert.ok((waits(0.999)[8] as number) <= 45_000);
  });

  test("attempts that fail together are one, and success ends it all", () => {
    const clock = new ManualClock();
    const reachability = new Reachability(
      () => clock.now(),
      () => 0.5,
    );
    reachability.failed(refused);
    reachability.failed(refused);
    assert.equal(reachability.attempts, 1);
    assert.equal(reachability.isDown, false);
    clock.advance(250);
    reachability.failed(refused);
    assert.equal(reachability.isDown, true);
    clock.advance(500);
    // The next attempt is due: requests wait for what it brings.
    assert.equal(reachability.isDown, false);
    reachability.succeeded();
    assert.deepEqual([reachability.attempts, reachability.failure], [0, undefined]);
  });

  test("what does not pass by itself is told at once", () => {
    const reachability = new Reachability(
      () => 0,
      () => 0.5,
    );
    reachability.failed(new DialError("tls_certificate_error", "expired"));
    assert.equal(reachability.isDown, true);
  });

  const errors: readonly (readonly [string, string, boolean, string])[] = [
    ["ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1", false, "connection_refused"],
    ["ETIMEDOUT", "", true, "connection_timeout"],
    ["ENOTFOUND", "getaddrinfo ENOTFOUND origin.invalid", false, "dns_error"],
    ["EHOSTUNREACH", "", false, "destination_unavailable"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate", true, "tls_certificate_error"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "", true, "tls_certificate_error"],
    ["InvalidData", "invalid peer certificate: UnknownIssuer", true, "tls_certificate_error"],
    ["EPROTO", "wrong version number", true, "tls_protocol_error"],
    ["ECONNRESET", "", true, "tls_protocol_error"],
    ["ECONNRESET", "", false, "destination_unavailable"],
  ];
  for (const [code, message, tls, expected] of errors) {
    test(`${code} ${tls ? "in a handshake" : "of TCP"} is ${expected}`, () => {
      const error = Object.assign(new Error(message), { code });
      assert.equal(dialError(error, tls).proxyError, expected);
      assert.equal(dialError(error, tls).cause, error);
      assert.equal(dialError(error, tls).reason, code);
    });
  }

  test("an error of our own stays what it is", () => {
    assert.equal(dialError(refused, true), refused);
    assert.equal(refused.reason, "nobody there");
    assert.equal(dialError("gone", false).proxyError, "destination_unavailable");
  });

  test("words of others, and codes that are none, are not told as a reason", () => {
    const other = new Error("not in the certificate's names: DNS:<script>");
    for (const error of ["gone", null, other, Object.assign(other, { code: "DNS:<script>" })]) {
      assert.equal(dialError(error, true).reason, undefined);
    }
  });
});

describe("whether a connection is alive", () => {
  const bed = () => {
    const clock = new ManualClock();
    const told: string[] = [];
    const acks: (() => void)[] = [];
    const state = { busy: true };
    const ports: LivenessPorts = {
      busy: () => state.busy,
      ping: (answered) => {
        told.push("ping");
        acks.push(answered);
      },
      idle: () => told.push("idle"),
      dead: () => told.push("dead"),
    };
    const limits = { ...defaultUpstreamLimits, silenceTime: 1_000, pingTime: 500, idleTime: 5_000 };
    return { clock, told, acks, state, liveness: watchLiveness(clock, limits, ports) };
  };

  test("what it sends puts the question off, and an answer as well", () => {
    const { clock, told, acks, liveness } = bed();
    liveness.began();
    clock.advance(900);
    liveness.alive();
    clock.advance(900);
    assert.deepEqual(told, []);
    clock.advance(200);
    assert.deepEqual(told, ["ping"]);
    acks[0]?.();
    clock.advance(15_000);
    assert.deepEqual(told, ["ping"]);
    liveness.stop();
    assert.equal(clock.pending, 0);
  });

  test("without an answer it is dead in time, however many requests begin meanwhile [CG-FAIL-1]", () => {
    const { clock, told, liveness } = bed();
    liveness.began();
    for (let step = 0; step < 16; step++) {
      clock.advance(100);
      liveness.began();
    }
    assert.deepEqual(told, ["ping", "dead"]);
    assert.equal(clock.pending, 0);
  });

  test("without requests it is idle after its time, and never asked [A18]", () => {
    const { clock, told, state, liveness } = bed();
    state.busy = false;
    liveness.rested();
    clock.advance(4_900);
    assert.deepEqual(told, []);
    clock.advance(1_000);
    assert.deepEqual(told, ["idle"]);
    assert.equal(clock.pending, 0);
  });
});
