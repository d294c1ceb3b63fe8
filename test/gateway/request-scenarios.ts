/** Requests of HTTP/2 clients that are none, or too large (RFC 9113 §8.1.1, §10.5.1). */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../src/bytes.ts";
import {
  codes,
  flags,
  frame,
  frameTypes,
  headersFrames,
  settings,
} from "../support/http2/frames.ts";
import type { FieldToSend } from "../support/http2/hpack.ts";
import type { RawClient } from "../support/http2/raw-client.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

const method = [":method", "POST"] as const;
const scheme = [":scheme", "http"] as const;
const authority = [":authority", "api.example"] as const;
const path = [":path", "/bad"] as const;
const good = [method, scheme, authority, path] as const;

/** Header sections that are none, by what is wrong with them. */
const malformedHeads: Readonly<Record<string, readonly FieldToSend[]>> = {
  "no field at all": [],
  "no method": [scheme, authority, path],
  "two methods": [method, ...good],
  "no scheme": [method, authority, path],
  "no path": [method, scheme, authority],
  "an empty path": [method, scheme, authority, [":path", ""]],
  "a path without a slash": [method, scheme, authority, [":path", "bad"]],
  "a path of * that is not for OPTIONS": [method, scheme, authority, [":path", "*"]],
  "a method that is no token": [[":method", "PO ST"], scheme, authority, path],
  "an empty method": [[":method", ""], scheme, authority, path],
  "a scheme that is none": [method, [":scheme", "1 2"], authority, path],
  "an empty scheme": [method, [":scheme", ""], authority, path],
  "no authority": [method, scheme, path],
  "an empty authority": [method, scheme, [":authority", ""], path],
  "an authority with a space": [method, scheme, [":authority", "api example"], path],
  "an authority with a path": [method, scheme, [":authority", "api.example/x"], path],
  "an authority with user information": [method, scheme, [":authority", "u@api.example"], path],
  "a host that is none": [method, scheme, path, ["host", "<api.example>"]],
  "a space in its path": [method, scheme, authority, [":path", "/b ad"]],
  "a control character in its path": [method, scheme, authority, [":path", "/bad\u0001"]],
  "CR LF in its path": [method, scheme, authority, [":path", "/bad\r\nx: y"]],
  "a tunnel to nowhere": [
    [":method", "CONNECT"],
    [":authority", ""],
  ],
  "a tunnel with a path": [[":method", "CONNECT"], authority, path],
  "a pseudo-header field of responses": [...good, [":status", "200"]],
  "a pseudo-header field that nobody knows": [...good, [":protocol", "websocket"]],
  "a pseudo-header field behind a field": [method, scheme, authority, ["x", "y"], path],
  "an upper-case name": [...good, ["X-Up", "1"]],
  "a name with a space": [...good, ["x y", "1"]],
  "an empty name": [...good, ["", "1"]],
  "CR LF in a value": [...good, ["x", "a\r\nb: c"]],
  "NUL in a value": [...good, ["x", "a\0b"]],
  "a value that begins with a space": [...good, ["x", " a"]],
  "a value that ends with a tab": [...good, ["x", "a\t"]],
  Connection: [...good, ["connection", "close"]],
  "Keep-Alive": [...good, ["keep-alive", "5"]],
  "Proxy-Connection": [...good, ["proxy-connection", "close"]],
  "Transfer-Encoding": [...good, ["transfer-encoding", "chunked"]],
  Upgrade: [...good, ["upgrade", "websocket"]],
  "TE of more than trailers": [...good, ["te", "gzip"]],
  "two lengths": [...good, ["content-length", "3"], ["content-length", "3"]],
  "a length that is no number": [...good, ["content-length", "3x"]],
  "a list of lengths": [...good, ["content-length", "3, 3"]],
  "two hosts": [method, scheme, path, ["host", "api.example"], ["host", "api.example"]],
};

/** What comes behind a header section that says a length of 3, by what is wrong with it. */
const malformedContent: Readonly<Record<string, (client: RawClient, id: number) => void>> = {
  "more content than it says": (client, id) => void client.data(id, utf8("abcd"), true),
  "less content than it says": (client, id) => void client.data(id, utf8("ab"), true),
  "more content than it says, beside padding": (client, id) =>
    client.write(frame(frameTypes.DATA, flags.PADDED, id, utf8("\u0002abcd\0\0"))),
  "less content than it says, beside padding": (client, id) =>
    client.write(frame(frameTypes.DATA, flags.PADDED | flags.END_STREAM, id, utf8("\u0002a\0\0"))),
  "trailers in place of its content": (client, id) =>
    client.headers(id, [["x", "y"]], { endStream: true }),
  "trailers that do not end it": (client, id) => {
    void client.data(id, utf8("abc"));
    client.headers(id, [["x", "y"]]);
  },
  "a pseudo-header field in its trailers": (client, id) => {
    void client.data(id, utf8("abc"));
    client.headers(id, [[":path", "/other"]], { endStream: true });
  },
  "an upper-case name in its trailers": (client, id) => {
    void client.data(id, utf8("abc"));
    client.headers(id, [["X-Up", "1"]], { endStream: true });
  },
};

/** Sends a header section, whatever it is; its stream. */
function open(
  client: RawClient,
  fields: readonly FieldToSend[],
  { endStream = true }: { endStream?: boolean } = {},
): number {
  const id = client.nextStream;
  client.nextStream += 2;
  // None at all is a frame, too.
  client.write(
    ...headersFrames(
      id,
      client.encoder.encode(fields),
      endStream,
      fields.length === 0 ? 1 : undefined,
    ),
  );
  return id;
}

/** A request in progress beside, and one after it, on the same connection. */
async function otherwiseUntouched(stage: Stage, client: RawClient, body: () => Promise<void>) {
  const beside = await stage.post(client, "/beside");
  await body();
  beside.at.respond(200, [], "whole");
  assert.equal((await beside.response()).content, "whole");
  const after = await stage.place(client, "/after", {
    fields: [["x-after", "1", "incremental"]],
  });
  after.at.respond(200, [], "served");
  assert.equal((await after.response()).content, "served");
  assert.equal(after.at.head.get("x-after"), "1");
  client.assertUntouched();
}

/** Fields of so many octets, as RFC 9113 §6.5.2 counts them. */
const fieldsOf = (octets: number, each = 1_000): FieldToSend[] =>
  Array.from({ length: Math.ceil(octets / each) }, (_, n) => {
    const name = `x-${String(n).padStart(4, "0")}`;
    return [name, "v".repeat(each - 32 - name.length)] as const;
  });

export function requestScenarios(): void {
  describe("a request of an HTTP/2 client that is malformed", malformed);
  describe("a request of an HTTP/2 client whose header section is too large", tooLarge);
  describe("a request of an HTTP/2 client", wellFormed);
}

function malformed(): void {
  for (const [what, fields] of Object.entries(malformedHeads)) {
    for (const endStream of [true, false]) {
      scenario(
        `by ${what}${endStream ? "" : ", with content to come"}, is reset, gets nowhere, and ends nothing of others on its connection`,
        {},
        async (stage) => {
          const client = await stage.client();
          await otherwiseUntouched(stage, client, async () => {
            const id = open(
              client,
              [...fields, ["x-table", what.length.toString(), "incremental"]],
              {
                endStream,
              },
            );
            assert.equal(await client.reset(id), codes.PROTOCOL_ERROR);
            // What was on its way is for nobody, and the table is as the client has it.
            if (!endStream) {
              await client.data(id, utf8("abc"), false);
              client.write(frame(frameTypes.WINDOW_UPDATE, 0, id, Uint8Array.of(0, 0, 0, 9)));
              client.headers(id, [["x-trailer", "t", "incremental"]], { endStream: true });
              client.rst(id, codes.CANCEL);
            }
            const next = open(client, [
              [":method", "GET"],
              scheme,
              authority,
              [":path", "/next"],
              ["x-table", what.length.toString(), "indexed"],
              ...(endStream ? [] : [["x-trailer", "t", "indexed"] as const]),
            ]);
            const at = await stage.origin.requestFor("/next");
            assert.equal(at.head.get("x-table"), what.length.toString());
            at.respond(204);
            assert.equal((await client.response(next)).status, 204);
            assert.deepEqual(stage.origin.requests.map((request) => request.path).sort(), [
              "/beside",
              "/next",
            ]);
          });
        },
      );
    }
  }

  for (const [what, send] of Object.entries(malformedContent)) {
    scenario(
      `by ${what}, is reset, at the origin too, and ends nothing of others on its connection [CG-FAIL-5]`,
      {},
      async (stage) => {
        const client = await stage.client();
        await otherwiseUntouched(stage, client, async () => {
          const id = open(client, [...good, ["content-length", "3"]], { endStream: false });
          const at = await stage.origin.requestFor("/bad");
          send(client, id);
          assert.equal(await client.reset(id), codes.PROTOCOL_ERROR);
          await at.connection.reset(at.id);
          assert.equal(at.stream.ended, false);
        });
      },
    );
  }

  scenario(
    "by a length and no content is reset, and ends nothing of others on its connection",
    {},
    async (stage) => {
      const client = await stage.client();
      await otherwiseUntouched(stage, client, async () => {
        const id = open(client, [...good, ["content-length", "3"]]);
        assert.equal(await client.reset(id), codes.PROTOCOL_ERROR);
        assert.deepEqual(stage.origin.requestsFor("/bad"), []);
      });
    },
  );

  scenario("has no room of the connection's windows kept from others", {}, async (stage) => {
    const client = await stage.client();
    for (let round = 0; round < 2; round++) {
      const id = open(client, [...good, ["connection", "close"]], { endStream: false });
      assert.equal(await client.reset(id), codes.PROTOCOL_ERROR);
      await client.data(id, new Uint8Array(60_000));
    }
    const { at, response } = await stage.place(client, "/large", {
      method: "POST",
      content: new Uint8Array(60_000),
    });
    assert.equal((await at.content()).length, 60_000);
    at.respond(204);
    assert.equal((await response()).status, 204);
  });
}

function tooLarge(): void {
  const kinds: Readonly<Record<string, readonly FieldToSend[]>> = {
    "one field": [["x", "v".repeat(70_000)]],
    "many fields": fieldsOf(70_000),
    "one entry of the table, again and again": [
      ["x", "v".repeat(3_000), "incremental"],
      ...Array.from({ length: 30 }, () => ["x", "v".repeat(3_000), "indexed"] as const),
    ],
  };
  for (const [what, fields] of Object.entries(kinds)) {
    for (const endStream of [true, false]) {
      scenario(
        `by ${what}${endStream ? "" : ", with content to come"}, is answered 431, and ends nothing of others on its connection`,
        {},
        async (stage) => {
          const client = await stage.client();
          await otherwiseUntouched(stage, client, async () => {
            const id = open(client, [...good, ...fields], { endStream });
            assert.equal((await client.head(id)).get(":status"), "431");
            assert.equal((await client.response(id)).content, "");
            if (!endStream) assert.equal(await client.reset(id), codes.NO_ERROR);
            assert.deepEqual(stage.origin.requestsFor("/bad"), []);
          });
        },
      );
    }
  }

  scenario(
    "is reset where its client has made the table of responses smaller meanwhile, which a response would have to say first",
    {},
    async (stage) => {
      const client = await stage.client();
      await otherwiseUntouched(stage, client, async () => {
        client.sendSettings([[settings.HEADER_TABLE_SIZE, 0]]);
        const id = open(client, [...good, ["x", "v".repeat(70_000)]]);
        assert.equal(await client.reset(id), codes.ENHANCE_YOUR_CALM);
      });
    },
  );

  scenario("by its trailers is reset, and ends nothing of others", {}, async (stage) => {
    const client = await stage.client();
    await otherwiseUntouched(stage, client, async () => {
      const id = open(client, good, { endStream: false });
      const at = await stage.origin.requestFor("/bad");
      client.headers(id, [["x", "v".repeat(70_000)]], { endStream: true });
      assert.equal(await client.reset(id), codes.ENHANCE_YOUR_CALM);
      await at.connection.reset(at.id);
      assert.equal(at.stream.ended, false);
    });
  });

  scenario(
    "by a block of more than 256 KiB, or in more than 32 CONTINUATION frames, loses its connection with ENHANCE_YOUR_CALM (CVE-2024-27316)",
    {},
    async (stage) => {
      const [large, cut] = await stage.clients(2);
      assert.ok(large && cut);
      open(large, [...good, ["x", "v".repeat(280_000)]]);
      await large.goaway(codes.ENHANCE_YOUR_CALM);
      cut.write(...headersFrames(1, cut.encoder.encode([...good, ...fieldsOf(2_000)]), true, 40));
      await cut.goaway(codes.ENHANCE_YOUR_CALM);
      stage.release(large);
      stage.release(cut);
    },
  );
}

function wellFormed(): void {
  scenario("may have a field that takes more than a frame", {}, async (stage) => {
    const client = await stage.client();
    const large = "v".repeat(40_000);
    const { at, response } = await stage.place(client, "/large", { fields: [["x", large]] });
    assert.equal(at.head.get("x"), large);
    at.respond(204);
    assert.equal((await response()).status, 204);
  });

  scenario(
    "ends its connection with COMPRESSION_ERROR where its fields cannot be told (RFC 9113 §4.3)",
    {},
    async (stage) => {
      const client = await stage.client();
      // Index 62 of a table that is empty.
      client.write(...headersFrames(1, Uint8Array.of(0xbe), true));
      await client.goaway(codes.COMPRESSION_ERROR);
      stage.release(client);
    },
  );

  scenario(
    "may have as many cookies, and other fields, as fit, however they come [CG-SEC-2]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (const pieces of [1, 7]) {
        const fields: FieldToSend[] = [
          [":method", "GET", "indexed"],
          scheme,
          authority,
          [":path", `/cookies-${pieces}`],
          ["x-kept", "in the table", pieces === 1 ? "incremental" : "indexed"],
          ["x-secret", "s", "never-indexed"],
          ...Array.from({ length: 300 }, (_, n) => ["cookie", `c${n}=${n}`] as const),
          ...Array.from({ length: 300 }, (_, n) => [`x-${n}`, `v-${n}`] as const),
        ];
        const id = client.nextStream;
        client.nextStream += 2;
        client.write(...headersFrames(id, client.encoder.encode(fields), true, pieces));
        const at = await stage.origin.requestFor(`/cookies-${pieces}`);
        const cookies = at.head.all("cookie").join("; ").split("; ");
        assert.deepEqual(
          cookies,
          Array.from({ length: 300 }, (_, n) => `c${n}=${n}`),
        );
        assert.equal(at.head.get("x-299"), "v-299");
        assert.equal(at.head.get("x-kept"), "in the table");
        assert.equal(at.head.representation("x-secret"), "never-indexed");
        at.respond(204);
        assert.equal((await client.response(id)).status, 204);
      }
    },
  );

  scenario(
    "may have a priority, padding, and trailers, and its length may be right",
    {},
    async (stage) => {
      const client = await stage.client();
      const id = client.nextStream;
      client.nextStream += 2;
      const block = client.encoder.encode([...good, ["content-length", "3"], ["te", "trailers"]]);
      client.write(
        frame(
          frameTypes.HEADERS,
          flags.END_HEADERS | flags.PADDED | flags.PRIORITY,
          id,
          concatBytes(Uint8Array.of(2, 0, 0, 0, 0, 7), block, new Uint8Array(2)),
        ),
        frame(frameTypes.DATA, flags.PADDED, id, utf8("\u0002abc\0\0")),
      );
      client.headers(id, [["x-trailer", "t"]], { endStream: true });
      const at = await stage.origin.requestFor("/bad");
      assert.equal(await at.content(), "abc");
      assert.equal(at.stream.sections[1]?.get("x-trailer"), "t");
      at.respond(204);
      assert.equal((await client.response(id)).status, 204);
    },
  );
}
