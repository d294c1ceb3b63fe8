/** Streams that one side resets: cases B. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import { codes, headersFrames, resetFrame } from "../support/http2/frames.ts";
import { play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function resetScenarios(): void {
  describe("a stream that is reset", () => {
    byTheOrigin();
    midway();
    byTheClient();
  });
}

function byTheOrigin(): void {
  scenario(
    "with REFUSED_STREAM has its request sent once more, and the second refusal told to the client [B01]",
    {},
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const { at, reset } = await stage.post(client, "/refused");
      at.reset(codes.REFUSED_STREAM);
      const again = await stage.origin.requestFor("/refused", 2);
      assert.equal(await again.content(), "/refused");
      again.reset(codes.REFUSED_STREAM);
      assert.equal(await reset(), codes.REFUSED_STREAM);
      assert.equal(stage.origin.requestsFor("/refused").length, 2);
    },
  );

  scenario(
    "with REFUSED_STREAM is told to the client where its content was not kept [B01, CG-S51]",
    { config: { limits: { replayBytes: 1024 } } },
    async (stage) => {
      const client = await stage.client();
      const { at, reset } = await stage.post(client, "/refused", "x".repeat(5000));
      at.reset(codes.REFUSED_STREAM);
      assert.equal(await reset(), codes.REFUSED_STREAM);
      assert.equal(stage.origin.requestsFor("/refused").length, 1);
    },
  );

  scenario(
    "is reset towards the client with the same code, one that nobody knows with INTERNAL_ERROR, and none with REFUSED_STREAM [B03, B04, B05, CG-STOP-8]",
    {},
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const unassigned = 0x1234;
      const rows = [
        [codes.CANCEL, codes.CANCEL],
        [codes.ENHANCE_YOUR_CALM, codes.ENHANCE_YOUR_CALM],
        [codes.CONNECT_ERROR, codes.CONNECT_ERROR],
        [codes.INTERNAL_ERROR, codes.INTERNAL_ERROR],
        [codes.PROTOCOL_ERROR, codes.PROTOCOL_ERROR],
        [unassigned, codes.INTERNAL_ERROR],
      ] as const;
      for (const [code, told] of rows) {
        const { at, reset } = await stage.place(client, `/${code}`);
        at.reset(code);
        assert.equal(await reset(), told);
        assert.equal(stage.origin.requestsFor(`/${code}`).length, 1);
      }
    },
  );

  scenario("leaves every other stream of its connection alone [B09]", {}, async (stage) => {
    const [a, b] = await stage.clients(2);
    assert.ok(a && b);
    const connection = await stage.share(a);
    const kept = await stage.post(a, "/kept");
    const own = await stage.post(b, "/own");
    const gone = await stage.post(b, "/gone");
    gone.at.reset(codes.INTERNAL_ERROR);
    assert.equal(await gone.reset(), codes.INTERNAL_ERROR);
    for (const { at, response } of [kept, own]) {
      at.respond(200, [], "fine");
      assert.equal((await response()).content, "fine");
      assert.equal(at.connection, connection);
    }
  });

  scenario(
    "is a 502 for a client of HTTP/1.1, with the reason in Proxy-Status [B03, K02]",
    {},
    async (stage) => {
      const client = await stage.http1();
      const answer = client.fetch(["GET /cancelled HTTP/1.1", "Host: api.example"]);
      (await stage.origin.requestFor("/cancelled")).reset(codes.CANCEL);
      const response = await answer;
      assert.equal(response.status, 502);
      assert.match(response.get("proxy-status") ?? "", /error=/);
    },
  );
}

function midway(): void {
  scenario(
    "in the middle of a response gives the client what came, then the reset [B07, B10]",
    {},
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      for (const code of [codes.CANCEL, codes.INTERNAL_ERROR]) {
        const { at, id, reset } = await stage.place(client, `/${code}`);
        at.connection.headers(at.id, [[":status", "200"]]);
        await at.connection.data(at.id, utf8("x".repeat(3000)));
        at.reset(code);
        assert.equal(await reset(), code);
        assert.equal(client.content(id).length, 3000);
        assert.equal(client.stream(id).ended, false);
      }
    },
  );

  scenario(
    "in the middle of a response never lets an HTTP/1.1 client take it for whole [B07]",
    {},
    async (stage) => {
      for (const fields of [[], [["content-length", "9"] as const]]) {
        const client = await stage.http1();
        const path = `/${fields.length}`;
        client.send([`GET ${path} HTTP/1.1`, "Host: api.example"]);
        const { connection, id } = await stage.origin.requestFor(path);
        connection.headers(id, [[":status", "200"], ...fields]);
        await connection.data(id, utf8("part"));
        await connection.ping();
        connection.rst(id, codes.CANCEL);
        const response = await client.response();
        assert.equal(response.whole, false);
        stage.release(client);
      }
    },
  );

  scenario(
    "with REFUSED_STREAM behind a response is not told as refused [CG-S55, CG-FAIL-7]",
    {},
    async (stage) => {
      const client = await stage.client();
      const { at, id, reset } = await stage.place(client, "/begun");
      at.connection.headers(at.id, [[":status", "200"]]);
      await client.head(id);
      at.reset(codes.REFUSED_STREAM);
      assert.equal(await reset(), codes.INTERNAL_ERROR);
      assert.equal(stage.origin.requests.length, 1);
    },
  );

  scenario(
    "with REFUSED_STREAM in one write behind the head of a response is neither sent again nor told as refused [CG-S55, CG-FAIL-7]",
    {},
    async (stage) => {
      const client = await stage.client();
      for (const method of ["GET", "POST"]) {
        const path = `/race-${method}`;
        const { at, reset } = await stage.place(client, path, { method });
        const head = at.connection.encoder.encode([[":status", "200"]]);
        at.connection.write(
          ...headersFrames(at.id, head, false),
          resetFrame(at.id, codes.REFUSED_STREAM),
        );
        assert.equal(await reset(), codes.INTERNAL_ERROR);
        assert.equal(stage.origin.requestsFor(path).length, 1);
      }
    },
  );

  scenario(
    "with NO_ERROR behind a whole response leaves the response as it is [B04]",
    {},
    async (stage) => {
      const client = await stage.client();
      const upload = await stage.place(client, "/early", { method: "POST", open: true });
      upload.at.respond(413, [], "too large");
      await upload.at.connection.ping();
      upload.at.reset(codes.NO_ERROR);
      const response = await upload.response();
      assert.equal(response.status, 413);
      assert.equal(response.content, "too large");
    },
  );
}

function byTheClient(): void {
  scenario(
    "by the client is reset at the origin with CANCEL at once, and is in no map any more [B08, CG-S75]",
    {},
    async (stage) => {
      const client = await stage.client();
      await stage.share(client);
      const open = await stage.place(client, "/get");
      const upload = await stage.place(client, "/up", { method: "POST", content: "a", open: true });
      const begun = await stage.place(client, "/begun");
      begun.at.connection.headers(begun.at.id, [[":status", "200"]]);
      await client.head(begun.id);
      for (const { id, at } of [open, upload, begun]) {
        client.rst(id, codes.CANCEL);
        assert.equal(await at.connection.reset(at.id), codes.CANCEL);
      }
      assert.deepEqual(
        stage.bed.connections().map(({ streams }) => streams),
        [0],
      );
      const after = await stage.place(client, "/after");
      after.at.respond(200);
      assert.equal((await after.response()).status, 200);
    },
  );

  scenario(
    "by the end of the client's connection is reset at the origin, other clients' are not [B08]",
    {},
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      await stage.share(a);
      const kept = await stage.place(a, "/kept");
      const left = [await stage.place(b, "/one"), await stage.place(b, "/two")];
      stage.release(b);
      for (const { at } of left) assert.equal(await at.connection.reset(at.id), codes.CANCEL);
      const http1 = await stage.http1();
      http1.send(["GET /http1 HTTP/1.1", "Host: api.example"]);
      const third = await stage.origin.requestFor("/http1");
      stage.release(http1);
      assert.equal(await third.connection.reset(third.id), codes.CANCEL);
      kept.at.respond(200);
      assert.equal((await kept.response()).status, 200);
    },
  );
}
