/** GROUP_CONTROL frames as they come: cases E, areas FRAME2, ACT, GOAWAY and BOUND. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes } from "../../src/bytes.ts";
import {
  actions,
  codes,
  frame,
  frameTypes,
  groupControlFrame,
  headersFrames,
  uint32,
} from "../support/http2/frames.ts";
import { acknowledged, play, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function groupControlScenarios(): void {
  describe("a GROUP_CONTROL frame", () => {
    malformed();
    ignored();
    goaway();
    boundaries();
  });
}

/** A and B on one connection; B has had a request, so that it has an identifier. */
async function shared(stage: Stage) {
  const [a, b] = await stage.clients(2);
  assert.ok(a && b);
  const connection = await stage.share(a);
  const { at, response } = await stage.place(b, "/b");
  assert.equal(at.connection, connection);
  at.respond(204);
  await response();
  const groupA = connection.requests[0]?.group as number;
  const groupB = at.group as number;
  return { a, b, connection, groupA, groupB };
}

function malformed(): void {
  const whole = concatBytes(uint32(1), uint32(60), Uint8Array.of(1), uint32(0));
  const faults = [
    ["with 12 octets [E01, CG-FRAME2-11]", whole.subarray(0, 12), 0, codes.FRAME_SIZE_ERROR],
    ["with 14 octets [E01]", concatBytes(whole, new Uint8Array(1)), 0, codes.FRAME_SIZE_ERROR],
    ["with none [E01]", new Uint8Array(), 0, codes.FRAME_SIZE_ERROR],
    ["on stream 1 [E01, A15, CG-FRAME2-10]", whole, 1, codes.PROTOCOL_ERROR],
  ] as const;
  for (const [what, payload, streamId, code] of faults) {
    scenario(`${what} is a connection error, and no client hears of it`, {}, async (stage) => {
      const { a, connection } = await shared(stage);
      connection.write(frame(frameTypes.GROUP_CONTROL, 0, streamId, payload));
      assert.equal((await connection.goaway()).code, code);
      await connection.over();
      const after = await stage.place(a, "/after");
      assert.notEqual(after.at.connection, connection);
      after.at.respond(200);
      assert.equal((await after.response()).status, 200);
    });
  }

  scenario("between HEADERS and CONTINUATION is a connection error [E14]", {}, async (stage) => {
    const { a, connection, groupB } = await shared(stage);
    const { at, response } = await stage.post(a, "/cut");
    const block = connection.encoder.encode([
      [":status", "200"],
      ["x-a", "b"],
    ]);
    const [head, rest] = headersFrames(at.id, block, true, 2) as [Uint8Array, Uint8Array];
    connection.write(head, groupControlFrame(groupB, actions.BLOCK, 60), rest);
    assert.equal((await connection.goaway()).code, codes.PROTOCOL_ERROR);
    assert.equal((await response()).status, 502);
  });

  scenario(
    "with flags, and with R set, counts as without [E01, CG-FRAME2-8, CG-S20]",
    {},
    async (stage) => {
      const { a, b, connection, groupB } = await shared(stage);
      const { at, response } = await stage.place(b, "/kept");
      const payload = concatBytes(
        uint32(groupB),
        uint32(0),
        Uint8Array.of(actions.GOAWAY),
        uint32(0x8000_0000 + at.id),
      );
      connection.write(frame(frameTypes.GROUP_CONTROL, 0xff, 0, payload));
      await connection.ping();
      const later = await stage.place(b, "/later");
      assert.notEqual(later.at.connection, connection);
      // At the boundary as it is read without R: it goes on.
      at.respond(200);
      assert.equal((await response()).status, 200);
      assert.equal((await stage.place(a, "/a")).at.connection, connection);
    },
  );

  scenario(
    "from a client is a connection error, and has no effect on anybody [CG-SEC-5, CG-S58, CG-ERR-1]",
    {},
    async (stage) => {
      const { a, b, connection, groupA } = await shared(stage);
      b.write(groupControlFrame(groupA, actions.BLOCK, 60));
      assert.equal((await b.goaway()).code, codes.PROTOCOL_ERROR);
      stage.release(b);
      const { at, response } = await stage.place(a, "/fine");
      assert.equal(at.connection, connection);
      at.respond(200);
      assert.equal((await response()).status, 200);
      assert.deepEqual(connection.received("GROUP_CONTROL"), []);
    },
  );
}

function ignored(): void {
  scenario(
    "that names no group of its connection, or no action that there is, does nothing [CG-ACT-7, CG-ACT-8, CG-FIELD-14, CG-BLOCK-4, CG-LIMIT-4, CG-SEC-7]",
    {},
    async (stage) => {
      const { a, b, connection, groupB } = await shared(stage);
      connection.groupControl("BLOCK", (groupB + 1) % 2 ** 32, 60);
      connection.write(groupControlFrame(groupB, 0x7f, 60));
      connection.groupControl("BLOCK", groupB, 0);
      connection.groupControl("BLOCK", groupB, 86_401);
      connection.groupControl("LIMIT", groupB, 0);
      await connection.ping();
      for (const client of [a, b]) {
        for (const n of [1, 2]) {
          const { at } = await stage.place(client, `/${n}${client === a ? "a" : "b"}`);
          assert.equal(at.connection, connection);
        }
      }
    },
  );

  scenario(
    "on another connection cannot name the group by the identifier of the first [CG-FIELD-12, CG-FIELD-14, CG-PRIV-3]",
    {},
    async (stage) => {
      const { b, connection, groupB } = await shared(stage);
      connection.groupControl("GOAWAY", groupB, 0, 0x7fff_ffff);
      await connection.ping();
      const moved = await stage.place(b, "/moved");
      assert.notEqual(moved.at.connection, connection);
      assert.notEqual(moved.at.group, groupB);
      moved.at.connection.groupControl("BLOCK", groupB, 60);
      await moved.at.connection.ping();
      const again = await stage.place(b, "/again");
      assert.equal(again.at.connection, moved.at.connection);
      assert.equal(again.at.group, moved.at.group);
    },
  );
}

function goaway(): void {
  for (const value of [0, 7]) {
    scenario(
      `with GOAWAY and a Value of ${value} moves its group to any other connection [CG-ACT-1, CG-ACT-5, CG-GOAWAY-1, CG-GOAWAY-3, CG-GOAWAY-5, CG-GOAWAY-6, CG-GOAWAY-7]`,
      { policy: 2 },
      async (stage) => {
        const { a, b, connection, groupB } = await shared(stage);
        // C finds two groups in progress, and opens the second connection.
        const held = [await stage.place(a, "/hold-a"), await stage.place(b, "/hold-b")];
        const c = await stage.client();
        const other = await stage.place(c, "/c");
        assert.notEqual(other.at.connection, connection);
        await other.at.connection.ping();
        connection.groupControl("GOAWAY", groupB, value, 0x7fff_ffff);
        await connection.ping();
        const moved = await stage.place(b, "/moved");
        assert.equal(moved.at.connection, other.at.connection);
        const stays = await stage.place(a, "/stays");
        assert.equal(stays.at.connection, connection);
        for (const { at, response } of [...held, other, moved, stays]) {
          at.respond(200);
          assert.equal((await response()).status, 200);
        }
        assert.equal(connection.received("GOAWAY").length, 0);
        assert.equal(connection.end, undefined);
      },
    );
  }

  scenario(
    "with GOAWAY and a Value of 1 gives its group a connection of its own for good [CG-GOAWAY-4, CG-S31, CG-S32, CG-S35]",
    {},
    async (stage) => {
      const { a, b, connection, groupB } = await shared(stage);
      connection.groupControl("GOAWAY", groupB, 1, 0x7fff_ffff);
      await connection.ping();
      const moved = await stage.place(b, "/moved");
      const own = moved.at.connection;
      assert.notEqual(own, connection);
      assert.equal(new Map(own.settings[0]).get(0xf0c1), 1);
      assert.equal(typeof moved.at.group, "number");
      moved.at.respond(200);
      await moved.response();
      const [c] = await stage.clients(1);
      assert.ok(c);
      assert.equal((await stage.place(c, "/c")).at.connection, connection);
      assert.equal((await stage.place(a, "/a")).at.connection, connection);
      own.groupControl("CLEAR", moved.at.group as number, 0);
      own.groupControl("GOAWAY", moved.at.group as number, 0, 0x7fff_ffff);
      own.sendGoaway(0x7fff_ffff);
      await own.over();
      const again = await stage.place(b, "/again");
      assert.ok(again.at.connection !== own && again.at.connection !== connection);
      assert.equal((await stage.place(b, "/more")).at.connection, again.at.connection);
      assert.deepEqual(again.at.connection.groups.length, 1);
    },
  );

  scenario(
    "with GOAWAY and a Value of 1 keeps its group off connections that carry others, and others off its own [CG-GOAWAY-4, CG-S32, CG-S33]",
    { policy: 2 },
    async (stage) => {
      const { a, b, connection, groupB } = await shared(stage);
      const held = [await stage.place(a, "/hold-a"), await stage.place(b, "/hold-b")];
      const c = await stage.client();
      const other = await stage.place(c, "/c");
      assert.notEqual(other.at.connection, connection);
      await acknowledged(other.at.connection);
      // B is on the second connection, too, which has room for one more group.
      connection.groupControl("GOAWAY", groupB, 0, 0x7fff_ffff);
      await connection.ping();
      const joined = await stage.place(b, "/joined");
      assert.equal(joined.at.connection, other.at.connection);
      joined.at.connection.groupControl("GOAWAY", joined.at.group as number, 1, joined.at.id);
      await joined.at.connection.ping();
      const alone = await stage.place(b, "/alone");
      const own = alone.at.connection;
      assert.ok(own !== connection && own !== other.at.connection);
      await acknowledged(own);
      // Everybody else loses what they have, and none of them comes on that connection.
      for (const old of [connection, other.at.connection]) {
        old.sendGoaway(0x7fff_ffff);
        await old.ping();
      }
      const moved = [await stage.place(a, "/moved-a"), await stage.place(c, "/moved-c")];
      for (const { at } of moved) assert.notEqual(at.connection, own);
      assert.equal((await stage.place(b, "/still-alone")).at.connection, own);
      assert.equal(own.groups.length, 1);
      for (const { at, response } of [...held, other, joined]) {
        at.respond(200);
        assert.equal((await response()).status, 200);
      }
    },
  );

  scenario("with GOAWAY is not undone by CLEAR [E08, CG-CLEAR-3, CG-S46]", {}, async (stage) => {
    const { b, connection, groupB } = await shared(stage);
    const open = await stage.place(b, "/open");
    connection.groupControl("GOAWAY", groupB, 0, open.at.id);
    connection.groupControl("CLEAR", groupB, 0);
    await connection.ping();
    assert.notEqual((await stage.place(b, "/next")).at.connection, connection);
    open.at.respond(200);
    assert.equal((await open.response()).status, 200);
  });
}

function boundaries(): void {
  scenario(
    "with a boundary divides its own group's streams, and no other's [CG-BOUND-1, CG-BOUND-2, CG-BOUND-3, CG-BOUND-6, CG-BOUND-9, CG-BOUND-12, CG-FRAME2-9, CG-GOAWAY-2, CG-S80, CG-A16]",
    {},
    async (stage) => {
      const { a, b, connection, groupB } = await shared(stage);
      const at5 = await stage.post(b, "/5");
      const at7 = await stage.post(b, "/7");
      const at9 = await stage.post(a, "/9");
      const at11 = await stage.post(b, "/11");
      connection.groupControl("GOAWAY", groupB, 0, at7.at.id);
      const again = await stage.origin.requestFor("/11", 2);
      assert.notEqual(again.connection, connection);
      assert.equal(await again.content(), "/11");
      assert.equal(await connection.reset(at11.at.id), codes.CANCEL);
      again.respond(200, [], "again");
      assert.equal((await at11.response()).content, "again");
      for (const { at, response } of [at5, at7, at9]) {
        assert.equal(connection.stream(at.id).reset, undefined);
        at.respond(200, [], "here");
        assert.equal((await response()).content, "here");
      }
      assert.equal(stage.origin.requestsFor("/11").length, 2);
    },
  );

  scenario(
    "that raises the boundary of one before it changes nothing [A12, CG-A8, CG-GOAWAY-8, CG-S30]",
    {},
    async (stage) => {
      const { b, connection, groupB } = await shared(stage);
      const low = await stage.post(b, "/low");
      const high = await stage.post(b, "/high");
      connection.groupControl("GOAWAY", groupB, 0, low.at.id);
      connection.groupControl("GOAWAY", groupB, 0, high.at.id);
      const again = await stage.origin.requestFor("/high", 2);
      assert.notEqual(again.connection, connection);
      await connection.ping();
      assert.deepEqual(connection.goaways, []);
      again.respond(200);
      assert.equal((await high.response()).status, 200);
      connection.groupControl("GOAWAY", groupB, 0, low.at.id - 2);
      const lowAgain = await stage.origin.requestFor("/low", 2);
      lowAgain.respond(200);
      assert.equal((await low.response()).status, 200);
    },
  );

  scenario(
    "with another action than GOAWAY has no boundary, and resets nothing [CG-BOUND-8, CG-STOP-1, CG-BLOCK-3]",
    {},
    async (stage) => {
      const { b, connection, groupB } = await shared(stage);
      const open = await stage.post(b, "/open");
      connection.groupControl("BLOCK", groupB, 60, 1);
      connection.groupControl("LIMIT", groupB, 1, 1);
      connection.groupControl("CLEAR", groupB, 0, 1);
      await connection.ping();
      assert.equal(connection.stream(open.at.id).reset, undefined);
      open.at.respond(200);
      assert.equal((await open.response()).status, 200);
      assert.equal(stage.origin.requestsFor("/open").length, 1);
    },
  );

  scenario(
    "for a group and GOAWAY for its connection count together, the lower of the two [CG-S36]",
    {},
    async (stage) => {
      const { a, b, connection, groupB } = await shared(stage);
      const low = await stage.post(b, "/low");
      const other = await stage.post(a, "/other");
      const high = await stage.post(b, "/high");
      connection.groupControl("GOAWAY", groupB, 0, low.at.id);
      connection.sendGoaway(high.at.id);
      const again = await stage.origin.requestFor("/high", 2);
      again.respond(200);
      assert.equal((await high.response()).status, 200);
      for (const { at, response } of [low, other]) {
        at.respond(200);
        assert.equal((await response()).status, 200);
      }
      assert.equal(stage.origin.requestsFor("/other").length, 1);
    },
  );
}
