/** Responses of an origin that are none (RFC 9113 §8.1.1). */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import { codes, frame, frameTypes } from "../support/http2/frames.ts";
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
  "a name with a space": (at) => at.respond(200, [["x y", "c"]]),
  "CR LF in a value": (at) => at.respond(200, [["x", "a\r\nb: c"]]),
  "NUL in a value": (at) => at.respond(200, [["x", "a\0b"]]),
  "a value that begins with a space": (at) => at.respond(200, [["x", " a"]]),
  "a header section of more than 64 KiB": (at) => at.respond(200, [["x", "v".repeat(70_000)]]),
  "a header section of more than 64 KiB in many fields": (at) =>
    at.respond(
      200,
      Array.from({ length: 600 }, (_, n) => [`x-${n}`, "v".repeat(100)] as const),
    ),
  "a head that ends before its content": (at) =>
    at.connection.headers(
      at.id,
      [
        [":status", "200"],
        ["content-length", "3"],
      ],
      { endStream: true },
    ),
  "an interim response that ends the stream": (at) =>
    at.connection.headers(at.id, [[":status", "103"]], { endStream: true }),
  "an interim response that nobody knows, and the end": (at) =>
    at.connection.headers(at.id, [[":status", "199"]], { endStream: true }),
  "content before any head": (at) => void at.connection.data(at.id, utf8("abc"), true),
};

export function responseScenarios(): void {
  describe("a response that is malformed", () => {
    scenario(
      "by more content than it says ends in a reset, and so does one with less; others go on [CG-FAIL-5, B07, B09]",
      {},
      async (stage) => {
        const [client, other] = await stage.clients(2);
        assert.ok(client && other);
        await stage.share(client);
        const beside = await stage.post(other, "/beside");
        for (const content of ["abcd", "ab"]) {
          const path = `/${content}`;
          const { at, reset } = await stage.place(client, path);
          assert.equal(at.connection, beside.at.connection);
          at.respond(200, [["content-length", "3"]], content);
          assert.equal(await reset(), codes.INTERNAL_ERROR);
          assert.equal(stage.origin.requestsFor(path).length, 1);
        }
        const { at, response } = await stage.place(client, "/none");
        at.respond(304, [], "content");
        assert.deepEqual([(await response()).status, (await response()).content], [304, ""]);
        beside.at.respond(200, [], "whole");
        assert.equal((await beside.response()).content, "whole");
        assert.deepEqual(at.connection.goaways, []);
      },
    );

    scenario(
      "not by many fields, nor by how they are represented, nor by padding [CG-SEC-2]",
      {},
      async (stage) => {
        const client = await stage.client();
        const fields = Array.from({ length: 400 }, (_, n) => [`x-${n}`, `v-${n}`] as const);
        for (const round of [0, 1]) {
          const { at, response } = await stage.place(client, `/many-${round}`);
          at.connection.headers(at.id, [
            [":status", "200", "indexed"],
            ["x-kept", "in the table", round === 0 ? "incremental" : "indexed"],
            ["x-secret", "s", "never-indexed"],
            ["content-length", "3"],
            ...fields,
          ]);
          at.connection.write(frame(frameTypes.DATA, 0x9, at.id, utf8("\u0002abc\0\0")));
          const answer = await response();
          assert.equal(answer.status, 200);
          assert.equal(answer.content, "abc");
          assert.equal(answer.head.get("x-kept"), "in the table");
          assert.equal(answer.head.get("x-399"), "v-399");
          assert.equal(answer.head.representation("x-secret"), "never-indexed");
        }
      },
    );

    scenario(
      "by interim responses without end is 502, and the origin is told [CG-SEC-9]",
      {},
      async (stage) => {
        const client = await stage.client();
        const { at, response } = await stage.place(client, "/endless");
        const fields = [
          [":status", "103"],
          ["link", `</${"a".repeat(8_000)}>`],
        ] as const;
        for (let count = 0; count < 40; count++) at.connection.headers(at.id, fields);
        const answer = await response();
        assert.equal(answer.status, 502);
        assert.equal(answer.informational.length, 32);
        assert.equal(await at.connection.reset(at.id), codes.ENHANCE_YOUR_CALM);
      },
    );

    for (const [what, send] of Object.entries(malformed)) {
      scenario(
        `by ${what} is 502 for the client, is not asked for again, and ends nothing of others [CG-FAIL-3, CG-FAIL-4, B09]`,
        {},
        async (stage) => {
          const [client, other] = await stage.clients(2);
          assert.ok(client && other);
          await stage.share(client);
          const beside = await stage.post(other, "/beside");
          const { at, response } = await stage.place(client, "/h2");
          assert.equal(at.connection, beside.at.connection);
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
          beside.at.respond(200, [], "whole");
          assert.equal((await beside.response()).content, "whole");
          assert.deepEqual(at.connection.goaways, []);
        },
      );
    }
  });
}
