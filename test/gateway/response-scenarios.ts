/** Responses of an origin that are none (RFC 9113 §8.1.1). */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import type { OriginRequest } from "../support/http2/raw-origin.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

/** What the origin sends in place of a response, by what is wrong with it. */
const malformed: Readonly<Record<string, (at: OriginRequest) => void>> = {
  "no status": (at) => at.connection.headers(at.id, [["x", "y"]], { endStream: true }),
  "two of them": (at) => {
    const status = [":status", "200"] as const;
    at.connection.headers(at.id, [status, status], { endStream: true });
  },
  "a status that is no number": (at) =>
    at.connection.headers(at.id, [[":status", "abc"]], { endStream: true }),
  "a pseudo-header field of requests": (at) => at.respond(200, [[":path", "/"]]),
  "a pseudo-header field behind a field": (at) =>
    at.connection.headers(
      at.id,
      [
        ["x", "1"],
        [":status", "200"],
      ],
      { endStream: true },
    ),
  "an upper-case name": (at) => at.respond(200, [["X-Up", "c"]]),
  "a field of the connection": (at) => at.respond(200, [["connection", "close"]]),
  "Transfer-Encoding": (at) => at.respond(200, [["transfer-encoding", "chunked"]]),
  "a length that is no number": (at) => at.respond(200, [["content-length", "abc"]], "abc"),
  "two lengths": (at) =>
    at.respond(
      200,
      [
        ["content-length", "3"],
        ["content-length", "5"],
      ],
      "abc",
    ),
  "an interim response that ends the stream": (at) =>
    at.connection.headers(at.id, [[":status", "103"]], { endStream: true }),
  "an interim response that nobody knows, and the end": (at) =>
    at.connection.headers(at.id, [[":status", "199"]], { endStream: true }),
  "content before any head": (at) => void at.connection.data(at.id, utf8("abc"), true),
};

export function responseScenarios(): void {
  describe("a response that is malformed", () => {
    for (const [what, send] of Object.entries(malformed)) {
      scenario(
        `by ${what} is 502 for the client, and the request is not sent again [CG-FAIL-3, CG-FAIL-4]`,
        {},
        async (stage) => {
          const client = await stage.client();
          const { at, response } = await stage.place(client, "/h2");
          send(at);
          const answer = await response();
          assert.equal(answer.status, 502);
          assert.match(String(answer.head.get("proxy-status")), /error=http_protocol_error/);
          assert.equal(stage.origin.requestsFor("/h2").length, 1);
          const http1 = await stage.http1();
          http1.send(["DELETE /h1 HTTP/1.1", "Host: api.example"]);
          send(await stage.origin.requestFor("/h1"));
          const second = await http1.response();
          assert.equal(second.status, 502);
          assert.equal(stage.origin.requestsFor("/h1").length, 1);
        },
      );
    }
  });
}
