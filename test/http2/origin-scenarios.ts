/** What an origin of ours does with client groups, seen frame by frame, on any runtime. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex } from "../../src/bytes.ts";
import { blockAfterFailures, limitStreams } from "../../src/hono/client-group.ts";
import type { ServeOptions } from "../../src/http2/mod.ts";
import { actions, codes, groupControlFrame, settings } from "../support/http2/frames.ts";
import type { RawClient } from "../support/http2/raw-client.ts";
import { group, type OriginBed, shared, withOrigin } from "./origin-bed.ts";

type Scenario = (
  name: string,
  options: Partial<ServeOptions>,
  body: (bed: OriginBed) => Promise<void>,
  routes?: Parameters<typeof withOrigin>[2],
) => void;

export function originScenarios(runtime: string): void {
  const scenario: Scenario = (name, options, body, routes) =>
    test(name, () => withOrigin(options, body, routes));
  describe(`an origin on ${runtime}`, () => {
    negotiation(scenario);
    examples(scenario);
    control(scenario);
    admission(scenario);
    policies(scenario);
  });
}

/** Payloads of the GROUP_CONTROL frames that came, after a round trip. */
async function controls(client: RawClient): Promise<string[]> {
  await client.ping();
  return client.received("GROUP_CONTROL").map(({ payload, flags, streamId }) => {
    assert.equal(flags, 0);
    assert.equal(streamId, 0);
    return toHex(payload);
  });
}

function negotiation(scenario: Scenario): void {
  scenario(
    "says POLICY in its first SETTINGS, never SHARED_CONNECTION, and plain clients do not notice [CG-SET-5, CG-SET-9, CG-SET-16, CG-PROC-12]",
    { policy: 3 },
    async ({ connect }) => {
      const client = await connect({ settings: [[settings.ENABLE_PUSH, 0]] });
      assert.equal(
        (await client.fetch({ path: "/group", fields: group(907) })).content,
        "ungrouped",
      );
      const [first] = client.settings;
      assert.deepEqual(
        first?.filter(([id]) => id >= 0xf0c1 && id <= 0xf0c2),
        [[settings.SHARED_CONNECTION_POLICY, 3]],
      );
      client.assertUntouched();
    },
  );

  scenario(
    "says nothing of sharing where it does not take part [CG-SET-12]",
    { policy: "off" },
    async ({ connect }) => {
      const client = await connect();
      await client.fetch({ path: "/group" });
      assert.ok(client.settings.flat().every(([id]) => id < 0xf0c1));
    },
  );

  scenario(
    "ends a connection whose SHARED_CONNECTION is neither 0 nor 1 with PROTOCOL_ERROR [CG-SET-3, D06]",
    {},
    async ({ connect }) => {
      const client = await connect({ settings: [[settings.SHARED_CONNECTION, 2]] });
      assert.equal((await client.goaway()).code, codes.PROTOCOL_ERROR);
      await client.over();
    },
  );

  scenario(
    "ends one whose later SETTINGS change it, and takes a repetition [CG-PROC-9, CG-PROC-10, CG-A3]",
    {},
    async ({ connect }) => {
      const client = await connect();
      client.sendSettings(shared);
      client.sendSettings([]);
      assert.equal((await client.fetch({ path: "/group", fields: group(7) })).content, "7");
      client.sendSettings([[settings.SHARED_CONNECTION, 0]]);
      assert.equal((await client.goaway()).code, codes.PROTOCOL_ERROR);
      await client.over();
      const late = await connect({ settings: [] });
      await late.fetch({ path: "/group" });
      late.sendSettings([[settings.SHARED_CONNECTION, 1]]);
      assert.equal((await late.goaway()).code, codes.PROTOCOL_ERROR);
    },
  );

  scenario("ignores POLICY from a client [CG-SET-14, D06]", {}, async ({ connect }) => {
    const client = await connect({ settings: [...shared, [settings.SHARED_CONNECTION_POLICY, 1]] });
    client.sendSettings([[settings.SHARED_CONNECTION_POLICY, 7]]);
    for (const id of [1, 2]) {
      const response = await client.fetch({ path: "/group", fields: group(id) });
      assert.equal(response.content, String(id));
    }
    client.assertUntouched();
  });

  scenario(
    "ends a connection on which GROUP_CONTROL comes with PROTOCOL_ERROR, whatever it says [CG-ERR-1, CG-SEC-5, E03]",
    {},
    async ({ connect }) => {
      for (const streamId of [0, 1]) {
        const client = await connect();
        await client.fetch({ path: "/group" });
        client.write(groupControlFrame(907, actions.BLOCK, 60, 0, streamId));
        assert.equal((await client.goaway()).code, codes.PROTOCOL_ERROR);
        await client.over();
      }
    },
  );
}

function examples(scenario: Scenario): void {
  scenario(
    "blocks one client as in the draft's example [CG-EX-1, CG-EX-2, CG-EX-3, CG-EX-6, CG-FRAME2-4, CG-FRAME2-5, CG-FRAME2-7, CG-BOUND-7, CG-STOP-4, CG-STOP-5, CG-STOP-6, CG-STOP-7]",
    {},
    async ({ connect, gets, held }) => {
      const client = await connect();
      client.nextStream = 37;
      const a = client.request({ path: "/held/a", fields: group(48_213) });
      const b = client.request({ method: "POST", path: "/held/b", fields: group(907) });
      const [ofA, ofB] = [await gets("/held/a"), await gets("/held/b")];
      assert.equal(ofA.group?.id, 48_213);
      ofB.group?.block(60);
      assert.equal(ofB.group?.resetStreams(), 1);
      assert.equal(await client.reset(b), codes.CANCEL);
      client.nextStream = 43;
      const late = [43, 45].map(() =>
        client.request({ method: "POST", path: "/held/b", fields: group(907), content: "c" }),
      );
      for (const id of late) assert.equal(await client.reset(id), codes.REFUSED_STREAM);
      assert.equal(held.length, 2);
      assert.deepEqual(await controls(client), ["0000038b0000003c0100000000"]);
      ofA.answer();
      assert.equal((await client.response(a)).status, 200);
      assert.equal(b, 39);
      assert.deepEqual(late, [43, 45]);
    },
  );

  scenario(
    "moves one client as in the draft's example [CG-EX-7, CG-ACT-1, CG-FRAME2-9, CG-BOUND-2, CG-BOUND-3, A11]",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      client.nextStream = 39;
      const first = client.request({ path: "/held/39", fields: group(907) });
      client.nextStream = 43;
      const second = client.request({ path: "/held/43", fields: group(907) });
      const [at39, at43] = [await gets("/held/39"), await gets("/held/43")];
      at39.group?.goaway({ alone: true });
      const third = client.request({ path: "/held/45", fields: group(907) });
      const ofA = client.request({ path: "/group", fields: group(48_213) });
      assert.equal(await client.reset(third), codes.REFUSED_STREAM);
      assert.equal((await client.response(ofA)).content, "48213");
      at39.answer();
      at43.answer();
      for (const id of [first, second]) assert.equal((await client.response(id)).status, 200);
      assert.deepEqual(await controls(client), ["0000038b00000001000000002b"]);
      client.assertUntouched();
    },
  );
}

function control(scenario: Scenario): void {
  scenario(
    "BLOCK and LIMIT reset nothing, CLEAR lets the group in again [CG-STOP-1, CG-ACT-2, CG-ACT-3, CG-ACT-4, CG-CLEAR-2]",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      const id = client.request({ path: "/held/1", fields: group(907) });
      const held = await gets("/held/1");
      held.group?.block(86_400);
      held.group?.limit(3);
      const refused = client.request({ path: "/group", fields: group(907) });
      assert.equal(await client.reset(refused), codes.REFUSED_STREAM);
      held.group?.clear();
      assert.equal((await client.fetch({ path: "/group", fields: group(907) })).content, "907");
      held.answer();
      assert.equal((await client.response(id)).content, "answered");
      assert.deepEqual(await controls(client), [
        "0000038b000151800100000000",
        "0000038b000000030200000000",
        "0000038b000000000300000000",
      ]);
    },
  );

  scenario(
    "tells a group again to leave, and never with a higher boundary [CG-GOAWAY-8, CG-GOAWAY-9]",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      client.request({ path: "/held/1", fields: group(907) });
      const held = await gets("/held/1");
      held.group?.goaway();
      const late = client.request({ path: "/held/3", fields: group(907) });
      assert.equal(await client.reset(late), codes.REFUSED_STREAM);
      held.group?.goaway({ alone: true });
      assert.deepEqual(await controls(client), [
        "0000038b000000000000000001",
        "0000038b000000010000000001",
      ]);
    },
  );

  scenario(
    "has no group to act on where the connection is not shared, and sends no frame [CG-FRAME2-2, E15]",
    {},
    async ({ connect, gets }) => {
      for (const [path, given] of [
        ["/held/absent", []],
        ["/held/zero", [[settings.SHARED_CONNECTION, 0]]],
      ] as const) {
        const client = await connect({ settings: given });
        client.request({ path, fields: group(907) });
        assert.equal((await gets(path)).group, undefined);
        assert.deepEqual(await controls(client), []);
      }
    },
  );

  scenario(
    "shows the group but refuses to act on it where it sent no POLICY [CG-FRAME2-3, E15]",
    { policy: "off" },
    async ({ connect, gets }) => {
      const client = await connect();
      client.request({ path: "/held/1", fields: group(907) });
      const { group: found } = await gets("/held/1");
      assert.equal(found?.id, 907);
      for (const act of [
        () => found?.block(60),
        () => found?.limit(1),
        () => found?.clear(),
        () => found?.goaway(),
      ]) {
        assert.throws(act, { code: "NOT_NEGOTIATED" });
      }
      assert.deepEqual(await controls(client), []);
      assert.equal((await client.fetch({ path: "/group", fields: group(907) })).content, "907");
    },
  );

  scenario(
    "resets exactly the group's streams, aborts their requests, and may keep the current one [CG-STOP-2, CG-STOP-3, CG-STOP-5, CG-SEC-9, CG-ERR-5]",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      const paths = ["/held/1", "/held/2", "/held/3"];
      const ids = paths.map((path) => client.request({ path, fields: group(907) }));
      const other = client.request({ path: "/held/4", fields: group(1) });
      const [first, second, current] = await Promise.all(paths.map(gets));
      assert.equal(current?.group?.resetStreams({ keepCurrent: true }), 2);
      assert.equal(first?.request.signal.aborted, true);
      assert.equal(second?.request.signal.aborted, true);
      assert.equal(current?.request.signal.aborted, false);
      for (const id of ids.slice(0, 2)) assert.equal(await client.reset(id), codes.CANCEL);
      for (const path of ["/held/3", "/held/4"]) (await gets(path)).answer();
      assert.equal((await client.response(ids[2] as number)).status, 200);
      assert.equal((await client.response(other)).status, 200);
      assert.deepEqual(client.received("RST_STREAM").length, 2);
      assert.deepEqual(await controls(client), []);
    },
  );

  scenario(
    "a group of a connection that has ended takes no calls",
    {},
    async ({ connect, gets, watch, held }) => {
      const client = await connect();
      client.request({ path: "/held/1", fields: group(907) });
      const { group: found, request } = await gets("/held/1");
      request.signal.addEventListener("abort", () => watch.changed());
      client.kill();
      client.socket.destroy();
      await watch.until("the abort", () => (held[0]?.request.signal.aborted ? true : undefined));
      assert.throws(() => found?.block(60), { code: "CONNECTION_CLOSED" });
    },
  );
}

function admission(scenario: Scenario): void {
  scenario(
    "serves requests with a missing, doubled or malformed Client-Group as ungrouped [CG-A6, CG-FIELD-1, CG-FIELD-3]",
    {},
    async ({ connect }) => {
      const client = await connect();
      const ask = async (fields: readonly (readonly [string, string])[]) =>
        (await client.fetch({ path: "/group", fields })).content;
      assert.equal(await ask(group("907;x=1")), "907");
      assert.equal(await ask(group(4_294_967_295)), "4294967295");
      assert.equal(await ask(group(0)), "0");
      for (const value of ["4294967296", "-1", "1.0", '"1"', "7, 8", ""]) {
        assert.equal(await ask(group(value)), "ungrouped", value);
      }
      assert.equal(await ask([]), "ungrouped");
      assert.equal(await ask([...group(7), ...group(8)]), "ungrouped");
      assert.equal(await ask([...group(7), ...group(7)]), "ungrouped");
    },
  );

  scenario(
    "refuses a group beyond its policy, and serves it once there is room [CG-A7, CG-SET-9, CG-SEC-9]",
    { policy: 2 },
    async ({ connect, gets, held }) => {
      const client = await connect();
      const first = client.request({ path: "/held/1", fields: group(1) });
      client.request({ path: "/held/2", fields: group(2) });
      await Promise.all(["/held/1", "/held/2"].map(gets));
      const third = client.request({ path: "/held/3", fields: group(3) });
      assert.equal(await client.reset(third), codes.REFUSED_STREAM);
      assert.equal((await client.fetch({ path: "/group" })).content, "ungrouped");
      assert.equal((await client.fetch({ path: "/group", fields: group(2) })).content, "2");
      held[0]?.answer();
      await client.response(first);
      assert.equal((await client.fetch({ path: "/group", fields: group(3) })).content, "3");
      client.assertUntouched();
    },
  );

  scenario(
    "keeps a connection under policy 1 for its first group [CG-SET-11, CG-A1]",
    { policy: 1 },
    async ({ connect }) => {
      const client = await connect();
      assert.equal((await client.fetch({ path: "/group", fields: group(1) })).content, "1");
      const other = client.request({ path: "/group", fields: group(2) });
      assert.equal(await client.reset(other), codes.REFUSED_STREAM);
      assert.equal((await client.fetch({ path: "/group", fields: group(1) })).content, "1");
    },
  );

  scenario(
    "never puts Client-Group in a response, even where the application does [CG-FIELD-16, CG-FIELD-17, F03]",
    {},
    async ({ connect }) => {
      const client = await connect();
      const { head } = await client.fetch({ path: "/leak", fields: group(907) });
      assert.equal(head.get("client-group"), undefined);
      assert.equal(head.get("x-kept"), "a");
    },
    (app) => {
      app.get("/leak", (c) => c.text("", 200, { "Client-Group": "907", "x-kept": "a" }));
    },
  );
}

function policies(scenario: Scenario): void {
  scenario(
    "three wrong passwords block the group that gave them, and nobody else [CG-FRAME2-1, CG-ACT-2]",
    {},
    async ({ connect }) => {
      const client = await connect();
      const login = (id: number) =>
        client.fetch({ method: "POST", path: "/login", fields: group(id), content: "wrong" });
      for (const id of [907, 48_213, 907]) assert.equal((await login(id)).status, 401);
      assert.deepEqual(await controls(client), []);
      assert.equal((await login(907)).status, 401);
      assert.deepEqual(await controls(client), ["0000038b0000012c0100000000"]);
      assert.equal((await login(48_213)).status, 401);
      const late = client.request({ path: "/group", fields: group(907) });
      assert.equal(await client.reset(late), codes.REFUSED_STREAM);
    },
    (app) => {
      app.post("/login", blockAfterFailures({ failures: 3, within: 60, block: 300 }), (c) =>
        c.text("No.", 401),
      );
    },
  );

  scenario(
    "too many requests at a time limit the group that has them [CG-ACT-3]",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      const paths = ["/held/1", "/held/2", "/held/3"];
      for (const path of paths) client.request({ path, fields: group(907) });
      client.request({ path: "/held/4", fields: group(1) });
      await Promise.all([...paths, "/held/4"].map(gets));
      assert.deepEqual(await controls(client), ["0000038b000000010200000000"]);
    },
    (app) => {
      app.use(limitStreams({ over: 2, to: 1 }));
    },
  );

  scenario(
    "a group that has too many at a time after it had none is limited again [CG-ACT-3, CG-LIMIT-5]",
    {},
    async ({ connect, gets }) => {
      const client = await connect();
      const frame = "0000038b000000010200000000";
      for (let burst = 1; burst <= 3; burst++) {
        const paths = [1, 2, 3].map((count) => `/held/${burst}${count}`);
        const ids = paths.map((path) => client.request({ path, fields: group(907) }));
        for (const held of await Promise.all(paths.map(gets))) held.answer();
        for (const id of ids) assert.equal((await client.response(id)).status, 200);
        assert.deepEqual(await controls(client), Array(burst).fill(frame));
      }
    },
    (app) => {
      app.use(limitStreams({ over: 2, to: 1 }));
    },
  );
}
