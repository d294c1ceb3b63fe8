/** What the two settings, and those of HTTP/2, do to sharing: cases D, areas SET, PROC and STATE. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../src/bytes.ts";
import {
  codes,
  dataFrame,
  frame,
  headersFrames,
  settings,
  settingsFrame,
} from "../support/http2/frames.ts";
import { acknowledged, play, policy, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function settingsScenarios(): void {
  describe("settings of a shared connection", () => {
    offer();
    before();
    policies();
    unsupported();
    strangers();
  });
}

function offer(): void {
  scenario(
    "offer to share in the first frame, decline push, and name no policy [CG-PROC-1, CG-SET-2, CG-SET-13, CG-REQ-8]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      const [first, ...later] = connection.settings;
      const offered = new Map(first);
      assert.equal(connection.frames[0]?.type, 0x4);
      assert.equal(offered.get(settings.SHARED_CONNECTION), 1);
      assert.equal(offered.get(settings.ENABLE_PUSH), 0);
      for (const pairs of [first ?? [], ...later]) {
        assert.ok(pairs.every(([id]) => id !== settings.SHARED_CONNECTION_POLICY));
      }
      const own = new Map(client.settings.flat());
      assert.ok(!own.has(settings.SHARED_CONNECTION));
      assert.ok(!own.has(settings.SHARED_CONNECTION_POLICY));
      assert.equal(connection.requests[0]?.head.all("client-group").length, 1);
    },
  );
}

function before(): void {
  scenario(
    "that the origin holds back let one client on its connection and no other [D03, CG-PROC-2, CG-PROC-3, CG-PROC-4, CG-S5, CG-STATE-1]",
    { settings: "hold", config: { limits: { connectionsPerKey: 1 } } },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const one = await stage.place(a, "/a1");
      const two = await stage.place(a, "/a2");
      const { connection } = one.at;
      assert.equal(two.at.connection, connection);
      assert.equal(typeof one.at.group, "number");
      assert.equal(one.at.group, two.at.group);
      const id = b.request({ path: "/b" });
      await stage.bed.until(() => stage.bed.queued() === 1);
      for (const { id: open, at } of [one, two]) {
        a.rst(open, codes.CANCEL);
        await connection.reset(at.id);
      }
      // The first client has nothing in progress, and still it is the only one.
      assert.equal(stage.bed.queued(), 1);
      assert.equal(stage.origin.requestsFor("/b").length, 0);
      connection.sendSettings(policy(0));
      const placed = await stage.origin.requestFor("/b");
      assert.equal(placed.connection, connection);
      assert.notEqual(placed.group, one.at.group);
      placed.respond(200);
      assert.equal((await b.response(id)).status, 200);
    },
  );

  scenario(
    "that the origin holds back leave a burst of one client below a cautious number of streams [D03]",
    { settings: "hold", config: { limits: { connectionsPerKey: 1 } } },
    async (stage) => {
      const client = await stage.client();
      await stage.place(client, "/0");
      const connection = await stage.origin.connection(0);
      for (let n = 1; n < 90; n++) client.request({ path: `/${n}` });
      await client.ping();
      await stage.bed.until(() => stage.bed.queued() > 0);
      const early = 90 - stage.bed.queued();
      assert.ok(early > 1 && early < 90, String(early));
      await connection.request(early - 1);
      assert.equal(connection.requests.length, early);
      connection.sendSettings(policy(0));
      await connection.request(({ path }) => path === "/89");
      assert.equal(connection.requests.length, 90);
    },
  );

  scenario(
    "with a stream limit of 0 have requests wait for the next SETTINGS [D01, J07]",
    {
      settings: [...policy(0), [settings.MAX_CONCURRENT_STREAMS, 0]],
      config: { limits: { connectionsPerKey: 1 } },
    },
    async (stage) => {
      const client = await stage.client();
      // What was sent before the limit was known the origin may serve all the same.
      const connection = await stage.share(client);
      const id = client.request({ path: "/patient" });
      await stage.bed.until(() => stage.bed.queued() === 1);
      assert.equal(stage.origin.requestsFor("/patient").length, 0);
      connection.sendSettings([[settings.MAX_CONCURRENT_STREAMS, 10]]);
      (await stage.origin.requestFor("/patient")).respond(200);
      assert.equal((await client.response(id)).status, 200);
    },
  );
}

function policies(): void {
  scenario(
    "with a policy of 2 never have requests of a third client in progress [CG-PROC-8, CG-SET-9, CG-S11]",
    { policy: 2, config: { limits: { connectionsPerKey: 1 } } },
    async (stage) => {
      const [a, b, c] = await stage.clients(3);
      assert.ok(a && b && c);
      const connection = await stage.share(a);
      const one = await stage.place(a, "/a");
      const two = await stage.place(b, "/b");
      const id = c.request({ path: "/c" });
      await c.ping();
      await connection.ping();
      assert.equal(stage.origin.requestsFor("/c").length, 0);
      const more = await stage.place(b, "/b2");
      assert.equal(more.at.connection, connection);
      one.at.respond(200);
      await one.response();
      const third = await stage.origin.requestFor("/c");
      assert.equal(third.connection, connection);
      assert.equal(connection.groups.length, 3);
      for (const { at } of [two, more]) at.respond(200);
      third.respond(200);
      assert.equal((await c.response(id)).status, 200);
    },
  );

  scenario(
    "with a policy of 1 keep a connection for its first client, also when that is idle [CG-SET-11, CG-S8, CG-S9, CG-A1]",
    { policy: 1 },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      const other = await stage.place(b, "/b");
      assert.notEqual(other.at.connection, connection);
      other.at.respond(200);
      await other.response();
      const again = await stage.place(a, "/a");
      assert.equal(again.at.connection, connection);
      assert.equal(typeof again.at.group, "number");
      assert.deepEqual(
        stage.origin.connections.map(({ groups }) => groups.length),
        [1, 1],
      );
    },
  );

  scenario(
    "with a policy of 0 set no limit to clients on a connection [CG-SET-10, CG-FIELD-6, CG-FIELD-11]",
    { policy: 0 },
    async (stage) => {
      const clients = await stage.clients(40);
      const connection = await stage.share(clients[0] as (typeof clients)[number]);
      for (const [n, client] of clients.entries()) {
        const { at } = await stage.place(client, `/${n}`);
        assert.equal(at.connection, connection);
        client.request({ path: `/${n}/again` });
        assert.equal((await stage.origin.requestFor(`/${n}/again`)).group, at.group);
      }
      assert.equal(connection.groups.length, 40);
    },
  );

  scenario(
    "may repeat the policy and not change it [D05, CG-PROC-9, CG-PROC-10, CG-S10]",
    { policy: 2 },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      connection.sendSettings(policy(2));
      connection.sendSettings([[settings.MAX_CONCURRENT_STREAMS, 50]]);
      await acknowledged(connection, 3);
      const { at, response } = await stage.place(client, "/still");
      assert.equal(at.connection, connection);
      at.respond(200);
      await response();
      connection.sendSettings(policy(3));
      assert.equal((await connection.goaway()).code, codes.PROTOCOL_ERROR);
      await connection.over();
      const after = await stage.place(client, "/after");
      assert.notEqual(after.at.connection, connection);
      after.at.respond(200);
      await after.response();
    },
  );

  scenario(
    "on a later connection may have another policy [CG-PROC-11]",
    { settings: "hold" },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      for (const [round, groups] of [0, 1].entries()) {
        const one = await stage.place(a, `/a${round}`);
        one.at.connection.sendSettings(policy(groups));
        await acknowledged(one.at.connection);
        const id = b.request({ path: `/b${round}` });
        if (groups === 1) await (await stage.origin.connection(2)).until("preface", () => true);
        if (groups === 1) (await stage.origin.connection(2)).sendSettings(policy(groups));
        const two = await stage.origin.requestFor(`/b${round}`);
        assert.equal(two.connection === one.at.connection, groups === 0);
        for (const request of [one.at, two]) request.respond(200);
        await Promise.all([one.response(), b.response(id)]);
        one.at.connection.sendGoaway(0x7fff_ffff);
        await one.at.connection.over();
      }
    },
  );
}

function unsupported(): void {
  scenario(
    "without a policy end tagging on that connection, and a policy that comes later is an error [D04, CG-SET-12, CG-PROC-5, CG-PROC-6, CG-S7, CG-A3]",
    { settings: "hold" },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const early = await stage.place(a, "/early");
      const { connection } = early.at;
      assert.equal(typeof early.at.group, "number");
      connection.sendSettings([]);
      await acknowledged(connection);
      const later = [await stage.place(a, "/later"), await stage.place(b, "/other")];
      for (const { at } of later) {
        assert.equal(at.connection, connection);
        assert.equal(at.group, undefined);
      }
      for (const { at, response } of [early, ...later]) {
        at.respond(200);
        assert.equal((await response()).status, 200);
      }
      assert.equal(stage.bed.connections()[0]?.support, "unsupported");
      connection.sendSettings(policy(0));
      assert.equal((await connection.goaway()).code, codes.PROTOCOL_ERROR);
    },
  );

  scenario(
    "without a policy keep clients apart where the operator wants that [CG-PROC-7]",
    { settings: [], config: { shareUnsupported: false } },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      const other = await stage.place(b, "/b");
      assert.notEqual(other.at.connection, connection);
    },
  );

  scenario(
    "without a policy have GROUP_CONTROL ignored [CG-A10, CG-S57]",
    { settings: [] },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      const group = connection.requests[0]?.group ?? 0;
      connection.groupControl("BLOCK", group, 60);
      await connection.ping();
      const { at, response } = await stage.place(client, "/free");
      at.respond(200);
      assert.equal((await response()).status, 200);
    },
  );
}

function strangers(): void {
  scenario(
    "that only a client sends mean nothing from the origin, whatever their value [D06, CG-SET-6, CG-A2]",
    { settings: [...policy(0), [settings.SHARED_CONNECTION, 1]] },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      connection.sendSettings([[settings.SHARED_CONNECTION, 2]]);
      await acknowledged(connection, 2);
      const { at, response } = await stage.place(client, "/fine");
      at.respond(200);
      assert.equal((await response()).status, 200);
      assert.equal(at.connection, connection);
    },
  );

  scenario(
    "that only an intermediary or an origin sends mean nothing from a client [CG-S58, CG-PROC-13]",
    {},
    async (stage) => {
      const client = await stage.client({
        settings: [
          [settings.SHARED_CONNECTION, 1],
          [settings.SHARED_CONNECTION_POLICY, 1],
        ],
      });
      const { at, response } = await stage.place(client, "/fine");
      at.respond(200);
      assert.equal((await response()).status, 200);
    },
  );

  scenario(
    "and frames that nobody knows change nothing [D08, D09, CG-PROC-12]",
    { settings: [[0xf00d, 7], [0x8, 0], ...policy(0)] },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      const { at, response } = await stage.place(client, "/odd");
      const unknown = (streamId: number) => frame(0xbb, 0xff, streamId, new Uint8Array(16_000));
      connection.write(
        unknown(0),
        unknown(at.id),
        ...headersFrames(at.id, connection.encoder.encode([[":status", "200"]]), false),
        unknown(at.id),
        dataFrame(at.id, utf8("fine"), true),
        unknown(77),
        settingsFrame([[0xf00e, 1]]),
      );
      assert.equal((await response()).content, "fine");
      await acknowledged(connection, 2);
      await connection.ping();
    },
  );
}
