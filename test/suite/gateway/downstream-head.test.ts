import assert from "node:assert/strict";
import { parseItem } from "structured-headers";
import { describe, test } from "#test";
import {
  answerOf,
  blocked,
  declined,
  resetAnswer,
} from "../../../src/gateway/downstream/answers.ts";
import {
  type Fields,
  fieldsFromLines,
  responseFields,
} from "../../../src/gateway/downstream/fields.ts";
import { proxyStatus } from "../../../src/gateway/downstream/proxy-status.ts";
import { http1Head, http2Head, isProblem } from "../../../src/gateway/downstream/request-head.ts";
import { retryAfter } from "../../../src/gateway/downstream/retry-after.ts";

function http2(fields: Fields) {
  const head = http2Head(
    { ":method": "GET", ":authority": "api.example", ":path": "/", ...fields },
    [],
    "https",
  );
  return isProblem(head) ? head.status : head;
}

function http1(
  target: string,
  lines: readonly string[],
  more: { method?: string; minor?: number } = {},
) {
  const { method = "GET", minor = 1 } = more;
  const head = http1Head(
    { method, target, major: 1, minor, lines },
    fieldsFromLines(lines),
    "https",
  );
  return isProblem(head) ? head.status : head;
}

describe("the head of a request on HTTP/2", () => {
  test("names one authority, by Host where there is no other", () => {
    assert.equal((http2({}) as { authority: string }).authority, "api.example");
    const byHost = http2({ ":authority": undefined, host: "www.example:8443" });
    assert.equal((byHost as { authority: string }).authority, "www.example:8443");
    assert.equal(typeof http2({ host: "API.example" }), "object");
    assert.equal(http2({ host: "other.example" }), 400);
    assert.equal(http2({ ":authority": undefined }), 400);
  });

  test("is refused where another hop could read it otherwise", () => {
    assert.equal(http2({ ":authority": "user@api.example" }), 400);
    assert.equal(http2({ ":authority": "api.example/x" }), 400);
    assert.equal(http2({ ":path": "x" }), 400);
    assert.equal(http2({ ":path": "/a b" }), 400);
    assert.equal(http2({ ":path": "/?f#frag" }), 400);
    assert.equal(http2({ ":path": "*" }), 400);
    assert.equal(typeof http2({ ":path": "*", ":method": "OPTIONS" }), "object");
    assert.equal(http2({ ":method": "G T" }), 400);
    assert.equal(http2({ "content-length": "+3" }), 400);
    assert.equal(http2({ "content-length": "3, 3" }), 400);
  });

  test("is 501 for a tunnel", () => {
    assert.equal(http2({ ":method": "CONNECT", ":path": undefined }), 501);
  });
});

describe("the head of a request on HTTP/1.1", () => {
  test("has one Host, in HTTP/1.0 too, since nobody else could say where it goes", () => {
    assert.equal(http1("/", []), 400);
    assert.equal(http1("/", ["Host", "a", "host", "b"]), 400);
    assert.equal(http1("/", ["Host", "a", "host", "a"]), 400);
    assert.equal(http1("/", [], { minor: 0 }), 400);
    assert.equal(typeof http1("/", ["Host", "a"], { minor: 0 }), "object");
  });

  test("goes where a target in absolute form says", () => {
    const head = http1("http://b.example:81?q", ["Host", "a.example"]);
    assert.ok(typeof head === "object");
    assert.deepEqual([head.authority, head.path], ["b.example:81", "/?q"]);
  });

  test("says once how long its content is", () => {
    const framed = (...lines: string[]) => http1("/", ["Host", "a", ...lines]);
    assert.equal(framed("Content-Length", "3", "Content-Length", "3"), 400);
    assert.equal(framed("Content-Length", "3", "Transfer-Encoding", "chunked"), 400);
    assert.equal(framed("Transfer-Encoding", "gzip, chunked"), 501);
    // Where the last coding is another, nobody knows where the content ends (RFC 9112 §6.3).
    for (const coding of ["xchunked", "gzip", "chunked, gzip"]) {
      assert.equal(framed("Transfer-Encoding", coding), 400);
    }
    assert.equal(typeof framed("Transfer-Encoding", "Chunked"), "object");
    assert.equal(http1("/", ["Host", "a", "Transfer-Encoding", "chunked"], { minor: 0 }), 400);
  });

  test("is 501 for a tunnel and for a WebSocket, and no more than a request for other upgrades", () => {
    assert.equal(http1("a:443", ["Host", "a"], { method: "CONNECT" }), 501);
    assert.equal(http1("/", ["Host", "a", "Connection", "Upgrade", "Upgrade", "websocket"]), 501);
    assert.equal(
      typeof http1("/", ["Host", "a", "Connection", "Upgrade", "Upgrade", "h2c"]),
      "object",
    );
  });
});

describe("Retry-After", () => {
  test("is whole seconds, rounded up, and at least 1 [K01, CG-BLOCK-2, CG-S39]", () => {
    assert.equal(retryAfter(42), "42");
    assert.equal(retryAfter(41.01), "42");
    assert.equal(retryAfter(0.2), "1");
    assert.equal(retryAfter(0), "1");
    assert.equal(retryAfter(-3), "1");
    assert.equal(retryAfter(86_400), "86400");
  });
});

describe("Proxy-Status", () => {
  test("names this gateway and the error, with details as a String [K02]", () => {
    const [name, parameters] = parseItem(proxyStatus("dns_error", 'said "no"'));
    assert.equal(String(name), "yardmaster");
    assert.equal(String(parameters.get("error")), "dns_error");
    assert.equal(parameters.get("details"), 'said "no"');
    assert.equal(proxyStatus("dns_error"), "yardmaster;error=dns_error");
  });

  test("of a proxy behind this one stays as it is [K02]", () => {
    const inner = "inner;error=connection_refused";
    assert.equal(responseFields({ "proxy-status": inner })["proxy-status"], inner);
  });
});

describe("an answer in place of the origin's", () => {
  test("says why, is not kept by caches, and is as long as it says [K01, K02]", () => {
    const { status, fields, body } = blocked(42);
    assert.equal(status, 429);
    assert.equal(fields["retry-after"], "42");
    assert.match(String(fields["proxy-status"]), /^yardmaster;error=http_request_denied;/);
    assert.equal(fields["cache-control"], "no-store");
    assert.equal(Number(fields["content-length"]), new TextEncoder().encode(body).length);
  });

  test("to a request that was never sent depends on why [CG-LIMIT-2, CG-A12, J05]", () => {
    const status = (...[reason]: Parameters<typeof declined>) => declined(reason).status;
    assert.equal(status({ because: "blocked", retryAfter: 1 }), 429);
    assert.equal(status({ because: "limited", retryAfter: 1 }), 429);
    assert.equal(status({ because: "queue-full", retryAfter: 1 }), 503);
    assert.equal(status({ because: "queue-timeout", retryAfter: 1 }), 503);
    assert.equal(status({ because: "closing" }), 503);
    assert.equal(status({ because: "unreachable", proxyError: "connection_refused" }), 502);
    assert.equal(status({ because: "unreachable", proxyError: "connection_timeout" }), 504);
  });

  test("tells an HTTP/1.1 client which resets allow another attempt [CG-FAIL-7, CG-STOP-8]", () => {
    assert.equal(resetAnswer("REFUSED_STREAM").status, 503);
    assert.equal(resetAnswer("ENHANCE_YOUR_CALM").status, 503);
    assert.equal(resetAnswer("CANCEL").status, 502);
    assert.equal(resetAnswer("CANCEL").fields["retry-after"], undefined);
  });

  test("takes a status and an error", () => {
    const answer = answerOf(502, { error: "dns_error", details: "no such name" });
    assert.equal(answer.body, "502 no such name\n");
    assert.equal(answer.fields["retry-after"], undefined);
  });
});
