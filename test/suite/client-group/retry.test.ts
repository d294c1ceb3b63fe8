import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  decideRetry,
  type RequestProgress,
  type StreamEnd,
} from "../../../src/client-group/mod.ts";

/** A POST with its content kept, sent and not answered. */
const post: RequestProgress = {
  method: "POST",
  sent: true,
  replayable: true,
  responseReceived: false,
  responseForwarded: false,
  retries: 0,
};
const get = { ...post, method: "GET" };
const free = { secondsBlocked: 0 };
const blocked = { secondsBlocked: 42 };

const unprocessed = { type: "unprocessed" } as const;
const lost = { type: "connection-lost" } as const;
const reset = (code: bigint, version: "h2" | "h3" = "h2") =>
  ({ type: "reset", code, version }) as const;

const retry = { do: "retry" };
const refused = { do: "reset", outcome: "refused" };
const failed = { do: "reset", outcome: "failed" };
const terminated = { do: "answer", status: 502, proxyError: "connection_terminated" };

describe("a request whose response is malformed", () => {
  test("is answered 502, and never sent again [CG-FAIL-3, CG-FAIL-4]", () => {
    const unusable = { do: "answer", status: 502, proxyError: "http_protocol_error" };
    for (const method of ["GET", "PUT", "POST"]) {
      for (const responseReceived of [false, true]) {
        const request = { ...post, method, responseReceived };
        assert.deepEqual(decideRetry(request, { type: "malformed" }, free), unusable);
        assert.deepEqual(decideRetry(request, { type: "malformed" }, blocked), unusable);
      }
    }
  });

  test("is reset where its head was passed on [CG-FAIL-6]", () => {
    const begun = { ...get, responseReceived: true, responseForwarded: true };
    assert.deepEqual(decideRetry(begun, { type: "malformed" }, free), failed);
  });
});

describe("a request that a boundary shows unprocessed", () => {
  test("is sent again whatever its method [CG-BOUND-9, CG-BOUND-10, CG-CGOAWAY-2, A01, A03]", () => {
    for (const method of ["POST", "GET", "PATCH", "CONNECT"]) {
      assert.deepEqual(decideRetry({ ...post, method }, unprocessed, free), retry);
    }
  });

  test("is refused to the client where it is not sent again [CG-BOUND-11, CG-CGOAWAY-2, A01]", () => {
    assert.deepEqual(decideRetry(post, unprocessed, { ...free, mostRetries: 0 }), refused);
    assert.deepEqual(decideRetry({ ...post, retries: 1 }, unprocessed, free), refused);
    const twice = { ...free, mostRetries: 2 };
    assert.deepEqual(decideRetry({ ...post, retries: 1 }, unprocessed, twice), retry);
  });

  test("is refused where its content was not kept [CG-S51, A09]", () => {
    assert.deepEqual(decideRetry({ ...post, replayable: false }, unprocessed, free), refused);
  });

  test("is answered 429 for a client that is blocked [CG-S33, CG-A15]", () => {
    assert.deepEqual(decideRetry(post, unprocessed, blocked), {
      do: "answer",
      status: 429,
      retryAfter: 42,
    });
  });

  test("and has a response all the same is neither sent again nor called refused [CG-S53, A19]", () => {
    const answered = { ...get, responseReceived: true };
    assert.deepEqual(decideRetry(answered, unprocessed, free), failed);
    assert.deepEqual(decideRetry(answered, unprocessed, blocked), failed);
  });
});

describe("a request whose connection is lost", () => {
  test("before anything was sent goes elsewhere, whatever its method and content [CG-FAIL-2, CG-S65, C02]", () => {
    const waiting = { ...post, sent: false, replayable: false };
    assert.deepEqual(decideRetry(waiting, lost, free), retry);
  });

  test("before anything was sent is truthfully refused otherwise [CG-S71]", () => {
    const waiting = { ...post, sent: false, retries: 1 };
    assert.deepEqual(decideRetry(waiting, lost, free), refused);
  });

  test("is sent again once, if it may be processed twice [CG-FAIL-3, C03]", () => {
    for (const method of ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]) {
      assert.deepEqual(decideRetry({ ...post, method }, lost, free), retry);
      assert.deepEqual(decideRetry({ ...post, method, retries: 1 }, lost, free), terminated);
    }
  });

  test("counts retries over all connections, of whatever reason [CG-S72, C07]", () => {
    const rules = { ...free, mostRetries: 5 };
    assert.deepEqual(decideRetry({ ...get, retries: 1 }, lost, rules), terminated);
  });

  test("is never sent again otherwise [CG-FAIL-4, CG-FAIL-6, C01, C05, C08]", () => {
    for (const method of ["POST", "PATCH", "CONNECT", "get", "PROPFIND"]) {
      assert.deepEqual(decideRetry({ ...post, method }, lost, free), terminated, method);
    }
    assert.deepEqual(decideRetry({ ...get, replayable: false }, lost, free), terminated);
    assert.deepEqual(decideRetry(get, lost, { ...free, mostRetries: 0 }), terminated);
    assert.deepEqual(decideRetry(get, lost, blocked), terminated);
  });

  test("is not sent again after an interim response, and can still be answered [CG-A17, CG-S64, CG-FAIL-6]", () => {
    assert.deepEqual(decideRetry({ ...get, responseReceived: true }, lost, free), terminated);
  });

  test("in the middle of its response is reset as failed, not refused [CG-FAIL-5, CG-FAIL-7, C01]", () => {
    const answering = { ...get, responseReceived: true, responseForwarded: true };
    assert.deepEqual(decideRetry(answering, lost, free), failed);
  });
});

describe("a request whose stream the origin resets", () => {
  test("as refused is sent again once [CG-XVER-4, B01, B12]", () => {
    assert.deepEqual(decideRetry(post, reset(0x7n), free), retry);
    assert.deepEqual(decideRetry(post, reset(0x10bn, "h3"), free), retry);
    assert.deepEqual(decideRetry({ ...post, retries: 1 }, reset(0x7n), free), refused);
    assert.deepEqual(decideRetry({ ...post, replayable: false }, reset(0x7n), free), refused);
  });

  test("as refused, along with BLOCK, is told so and not sent again [CG-EX-4, CG-STOP-8, CG-S56, B13]", () => {
    assert.deepEqual(decideRetry(post, reset(0x7n), blocked), refused);
  });

  test("as refused after a response is reset as failed [CG-S55, CG-FAIL-7]", () => {
    const answered = { ...post, responseReceived: true };
    assert.deepEqual(decideRetry(answered, reset(0x7n), free), failed);
    assert.deepEqual(decideRetry(answered, reset(0x10bn, "h3"), blocked), failed);
  });

  test("with any other code hears that code, and is not sent again [CG-STOP-8, CG-XVER-2, B03, B05]", () => {
    for (const [code, version] of [
      [0x8n, "h2"],
      [0x2n, "h2"],
      [0xbn, "h2"],
      [0x10bn, "h2"],
      [0x10cn, "h3"],
      [0x7n, "h3"],
    ] as const) {
      assert.deepEqual(decideRetry(get, reset(code, version), free), {
        do: "relay",
        code,
        version,
      });
    }
  });
});

describe("a request", () => {
  test("is never sent twice or called refused where it might have been processed [CG-FAIL-4, CG-FAIL-7, CG-BLOCK-1, CG-S72]", () => {
    const request = fc
      .record({
        method: fc.constantFrom("GET", "POST", "PUT"),
        sent: fc.boolean(),
        replayable: fc.boolean(),
        responseReceived: fc.boolean(),
        responseForwarded: fc.boolean(),
        retries: fc.nat({ max: 2 }),
      })
      .map((record) => ({
        ...record,
        responseReceived: record.sent && (record.responseReceived || record.responseForwarded),
        responseForwarded: record.sent && record.responseForwarded,
      }));
    const end: fc.Arbitrary<StreamEnd> = fc.oneof(
      fc.constant(unprocessed),
      fc.constant(lost),
      fc
        .tuple(fc.constantFrom(0x7n, 0x8n, 0x10bn, 0x10cn), fc.constantFrom("h2", "h3"))
        .map(([code, version]) => reset(code, version as "h2" | "h3")),
    );
    const rules = fc.record({
      secondsBlocked: fc.constantFrom(0, 0, 7),
      mostRetries: fc.nat({ max: 2 }),
    });
    fc.assert(
      fc.property(request, end, rules, (progress, ended, limits) => {
        const decision = decideRetry(progress, ended, limits);
        const refusal =
          ended.type === "reset" && ended.code === (ended.version === "h2" ? 0x7n : 0x10bn);
        const untouched =
          !progress.responseReceived &&
          (ended.type === "unprocessed" ||
            refusal ||
            (ended.type === "connection-lost" && !progress.sent));
        if (decision.do === "reset" && decision.outcome === "refused") assert.ok(untouched);
        if (decision.do === "answer") assert.ok(!progress.responseForwarded);
        if (decision.do !== "retry") return;
        assert.equal(limits.secondsBlocked, 0);
        assert.equal(progress.responseReceived, false);
        assert.ok(progress.replayable || !progress.sent);
        assert.ok(progress.retries < limits.mostRetries);
        if (!untouched) {
          assert.notEqual(progress.method, "POST");
          assert.equal(progress.retries, 0);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
