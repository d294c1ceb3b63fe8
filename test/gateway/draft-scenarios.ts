/** The examples of the draft, with its stream numbers and identifiers: area EX, case B13. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex } from "../../src/bytes.ts";
import { codes, groupControlFrame } from "../support/http2/frames.ts";
import { acknowledged, play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

const GROUP_A = 48213;
const GROUP_B = 907;

export function draftScenarios(): void {
  describe("the draft's examples over HTTP/2", () => {
    const options: StageOptions = { secure: true, identifiers: [GROUP_A, GROUP_B] };
    blockOneClient(options);
    moveOneClient(options);
    lateArrivals();
  });
}

/** A has stream 37, and 41 where `interleaved`; B has POSTs on 39, 43 and 45. */
async function onTheirStreams(stage: Stage) {
  const [a, b] = await stage.clients(2);
  assert.ok(a && b);
  const connection = await stage.share(a);
  await stage.advance(a, connection, 35);
  // The first request of B, so that its identifier is the second that is drawn.
  await stage.advance(b, connection, 37);
  const s37 = await stage.place(a, "/37");
  const s39 = await stage.post(b, "/39");
  const s41 = await stage.place(a, "/41");
  const s43 = await stage.post(b, "/43");
  const s45 = await stage.post(b, "/45");
  for (const { at } of [s37, s39, s41, s43, s45]) {
    assert.equal(at.connection, connection);
    assert.equal(at.path, `/${at.id}`);
    const ofA = at === s37.at || at === s41.at;
    assert.equal(at.head.get("client-group"), String(ofA ? GROUP_A : GROUP_B));
  }
  return { a, b, connection, s37, s39, s41, s43, s45 };
}

function blockOneClient(options: StageOptions): void {
  scenario(
    "block one client: B is reset and then answered 429 for 60 seconds, A has its 200 [B13, CG-EX-1, CG-EX-2, CG-EX-3, CG-EX-5, CG-EX-6, CG-STOP-6, CG-STOP-8, CG-S56]",
    options,
    async (stage) => {
      const { a, b, connection, s37, s39, s41, s43, s45 } = await onTheirStreams(stage);
      const block = groupControlFrame(GROUP_B, 1, 60);
      assert.equal(toHex(block.subarray(9)), "0000038b0000003c0100000000");
      connection.write(block);
      s39.at.reset(codes.CANCEL);
      s43.at.reset(codes.REFUSED_STREAM);
      s45.at.reset(codes.REFUSED_STREAM);
      assert.deepEqual(
        [await s39.reset(), await s43.reset(), await s45.reset()],
        [codes.CANCEL, codes.REFUSED_STREAM, codes.REFUSED_STREAM],
      );
      const answer = await b.fetch({ path: "/next" });
      assert.equal(answer.status, 429);
      assert.equal(answer.head.get("retry-after"), "60");
      await stage.pass(59_000);
      assert.equal((await b.fetch({ path: "/next" })).head.get("retry-after"), "1");
      for (const { at, response } of [s37, s41]) {
        at.respond(200, [], "as normal");
        assert.equal((await response()).content, "as normal");
      }
      for (const path of ["/39", "/43", "/45"]) {
        assert.equal(stage.origin.requestsFor(path).length, 1);
      }
      assert.equal(stage.origin.requestsFor("/next").length, 0);
      await stage.pass(1_000);
      const after = await stage.place(b, "/after");
      assert.equal(after.at.connection, connection);
      assert.equal(after.at.group, GROUP_B);
      assert.equal((await stage.place(a, "/a")).at.connection, connection);
    },
  );
}

function moveOneClient(options: StageOptions): void {
  scenario(
    "move one client: 39 and 43 complete, 45 is sent again on a connection that carries only B, A stays [E05, CG-EX-7, CG-EX-8, CG-EX-9, CG-EX-10, CG-GOAWAY-2, CG-GOAWAY-4, CG-S79, CG-S80]",
    options,
    async (stage) => {
      const { a, b, connection, s37, s39, s41, s43, s45 } = await onTheirStreams(stage);
      const move = groupControlFrame(GROUP_B, 0, 1, 43);
      assert.equal(toHex(move.subarray(9)), "0000038b00000001000000002b");
      connection.write(move);
      const again = await stage.origin.requestFor("/45", 2);
      const own = again.connection;
      assert.notEqual(own, connection);
      assert.equal(await again.content(), "/45");
      again.respond(200, [], "45 again");
      assert.equal((await s45.response()).content, "45 again");
      for (const { at, response } of [s39, s43, s41, s37]) {
        at.respond(200, [], `${at.id} here`);
        assert.equal((await response()).content, `${at.id} here`);
      }
      await acknowledged(own);
      const c = await stage.client();
      for (let n = 0; n < 50; n++) {
        const later = await stage.place(b, `/later-${n}`);
        assert.equal(later.at.connection, own);
        later.at.respond(204);
        await later.response();
      }
      assert.equal((await stage.place(a, "/stays")).at.connection, connection);
      assert.equal((await stage.place(c, "/joins")).at.connection, connection);
      assert.equal(own.groups.length, 1);
      assert.notEqual(own.groups[0], GROUP_B);
      assert.equal(connection.received("RST_STREAM").length, 1);
      assert.equal(await connection.reset(45), codes.CANCEL);
    },
  );
}

function lateArrivals(): void {
  scenario(
    "a request that crosses BLOCK on the wire is refused by the origin, and the client told so [CG-STOP-7, CG-S40, CG-S56]",
    {},
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      const known = await stage.place(b, "/known");
      known.at.respond(204);
      await known.response();
      connection.groupControl("BLOCK", known.at.group as number, 60);
      const id = b.request({ method: "POST", path: "/crossing", content: "x" });
      const crossing = await Promise.race([
        stage.origin.requestFor("/crossing"),
        b.until("429", () => b.stream(id).sections[0]),
      ]);
      if ("reset" in crossing) {
        crossing.reset(codes.REFUSED_STREAM);
        assert.equal(await b.reset(id), codes.REFUSED_STREAM);
      }
      assert.ok(stage.origin.requestsFor("/crossing").length <= 1);
      assert.equal((await b.fetch({ path: "/next" })).status, 429);
    },
  );
}
