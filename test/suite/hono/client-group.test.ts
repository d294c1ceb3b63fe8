import assert from "node:assert/strict";
import { Hono } from "hono";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type Admission,
  type ClientGroup,
  OriginConnection,
  type RestrictionScope,
  setGroupOf,
} from "../../../src/client-group/mod.ts";
import { encodeRecord, restrictionId } from "../../../src/client-group/restriction-record.ts";
import { blockAfterFailures, clientGroup, limitStreams } from "../../../src/hono/client-group.ts";

let opened = 0;

/** A connection of an origin, whose frames are kept as `action value`. */
function origin({ takesPart = true } = {}) {
  const said: string[] = [];
  const connection = new OriginConnection({
    policy: takesPart ? 0n : undefined,
    name: `c${++opened}`,
    now: () => 0,
    wire: {
      send: (frame) => {
        const view = new DataView(frame.buffer, frame.byteOffset);
        said.push(`${view.getUint8(17)} ${view.getUint32(13)}`);
      },
      reset: () => {},
    },
  });
  connection.receiveSettings([[0xf0c1, 1]]);
  connection.settings.settingsToSend();
  let stream = -1n;
  return {
    said,
    connection,
    group(id = 907): ClientGroup {
      stream += 2n;
      const admission = connection.admit(stream, String(id));
      assert.equal(admission.do, "deliver");
      return (admission as Extract<Admission, { do: "deliver" }>).group as ClientGroup;
    },
  };
}

const url = "https://origin.example/";

describe("clientGroup at an origin", () => {
  const app = new Hono()
    .use(clientGroup())
    .get("/", (c) => c.json({ id: c.var.clientGroup?.id ?? null }))
    .get("/leak", (c) => c.text("", 200, { "Client-Group": "907", "x-kept": "a" }))
    .get("/immutable", () => Response.redirect(`${url}a`));

  test("gives the group of the request, by the request itself or by what the adapter says besides", async () => {
    const group = origin().group(0);
    const request = new Request(url);
    setGroupOf(request, group);
    assert.deepEqual(await (await app.fetch(request)).json(), { id: 0 });
    const response = await app.fetch(new Request(url), { clientGroup: group });
    assert.deepEqual(await response.json(), { id: 0 });
  });

  test("gives none for ungrouped requests, whatever they say of themselves [CG-PROC-12, CG-SEC-4]", async () => {
    const headers = { "client-group": "907" };
    for (const env of [undefined, {}, { clientGroup: { id: 907 } }]) {
      const response = await app.fetch(new Request(url, { headers }), env);
      assert.deepEqual(await response.json(), { id: null });
    }
  });

  test("takes Client-Group out of responses [CG-FIELD-17]", async () => {
    const response = await app.request("/leak");
    assert.equal(response.headers.get("client-group"), null);
    assert.equal(response.headers.get("x-kept"), "a");
    assert.equal((await app.request("/immutable")).status, 302);
  });
});

describe("blockAfterFailures", () => {
  function login(options: { failed?: () => boolean; maximumGroups?: number } = {}) {
    const clock = { now: 0 };
    const app = new Hono().post(
      "/login",
      blockAfterFailures({
        failures: 3,
        within: 60,
        block: 300,
        now: () => clock.now,
        ...options,
      }),
      (c) => c.text("", c.req.query("right") === undefined ? 401 : 200),
    );
    const attempt = async (group: ClientGroup | undefined, path = "/login") => {
      const request = new Request(new URL(path, url), { method: "POST" });
      if (group !== undefined) setGroupOf(request, group);
      return (await app.fetch(request)).status;
    };
    return { clock, attempt };
  }

  test("blocks the group of the third failure, and no other [CG-ACT-2, CG-FRAME2-1]", async () => {
    const { said, group } = origin();
    const { attempt } = login();
    for (let i = 0; i < 2; i++) assert.equal(await attempt(group()), 401);
    assert.equal(await attempt(group(), "/login?right"), 200);
    assert.equal(await attempt(group(48_213)), 401);
    assert.deepEqual(said, []);
    assert.equal(await attempt(group()), 401);
    assert.deepEqual(said, ["1 300"]);
  });

  test("counts those of the last seconds only, and starts anew after a block", async () => {
    const { said, group } = origin();
    const { attempt, clock } = login();
    for (const now of [0, 30_000, 60_000, 89_999]) {
      clock.now = now;
      const asked = group();
      await attempt(asked);
      asked.clear();
    }
    assert.deepEqual(
      said.filter((frame) => frame !== "3 0"),
      ["1 300"],
    );
    await attempt(group());
    await attempt(group());
    assert.equal(said.filter((frame) => frame === "1 300").length, 1);
  });

  test("asks what a failure is, and leaves ungrouped requests and those it cannot reach alone", async () => {
    const { attempt } = login({ failed: () => true });
    for (let i = 0; i < 5; i++) assert.equal(await attempt(undefined), 401);
    const silent = origin({ takesPart: false });
    for (let i = 0; i < 5; i++) assert.equal(await attempt(silent.group()), 401);
    assert.deepEqual(silent.said, []);
    const { said, group } = origin();
    for (let i = 0; i < 3; i++) assert.equal(await attempt(group(), "/login?right"), 200);
    assert.deepEqual(said, ["1 300"]);
  });

  test("remembers a bounded number of groups", async () => {
    const { said, group } = origin();
    const { attempt } = login({ maximumGroups: 2 });
    for (const id of [1, 1, 2, 3, 1]) await attempt(group(id));
    assert.deepEqual(said, []);
    for (const id of [3, 3]) await attempt(group(id));
    assert.deepEqual(said, ["1 300"]);
  });

  test("refuses options that no frame could say", () => {
    const options = { failures: 3, within: 60, block: 60 };
    for (const wrong of [
      { failures: 0 },
      { within: 1.5 },
      { block: 86_401 },
      { maximumGroups: 0 },
    ]) {
      assert.throws(() => blockAfterFailures({ ...options, ...wrong }), {
        code: "INVALID_CONFIGURATION",
      });
    }
  });
});

describe("limitStreams", () => {
  test("limits a group with too many requests in progress, once in a while [CG-ACT-3]", async () => {
    const { said, group, connection } = origin();
    const clock = { now: 0 };
    const app = new Hono()
      .use(limitStreams({ over: 2, to: 1, again: 10, now: () => clock.now }))
      .get("/", (c) => c.text("here"));
    const ask = async (of: ClientGroup) => {
      const request = new Request(url);
      setGroupOf(request, of);
      assert.equal((await app.fetch(request)).status, 200);
    };
    await ask(group(1));
    await ask(group(2));
    await ask(group(1));
    assert.deepEqual(said, []);
    await ask(group(1));
    clock.now = 9_999;
    await ask(group(1));
    assert.deepEqual(said, ["2 1"]);
    clock.now = 10_000;
    await ask(group(1));
    assert.deepEqual(said, ["2 1", "2 1"]);
    for (const stream of [1n, 5n, 7n, 9n, 11n]) connection.end(stream);
    clock.now = 20_000;
    await ask(group(1));
    assert.deepEqual(said, ["2 1", "2 1"]);
    for (const to of [0, 3]) {
      assert.throws(() => limitStreams({ over: 2, to }), { code: "INVALID_CONFIGURATION" });
    }
  });

  test("limits it again as soon as it has too many after a LIMIT that has lapsed [CG-LIMIT-5]", async () => {
    const { said, group, connection } = origin();
    const app = new Hono()
      .use(limitStreams({ over: 2, to: 1, now: () => 0 }))
      .get("/", (c) => c.text("here"));
    for (let burst = 0; burst < 3; burst++) {
      for (let count = 0; count < 4; count++) {
        const request = new Request(url);
        setGroupOf(request, group(1));
        assert.equal((await app.fetch(request)).status, 200);
      }
      assert.deepEqual(said, Array(burst + 1).fill("2 1"));
      for (let count = 0; count < 4; count++) connection.end(BigInt(8 * burst + 2 * count + 1));
    }
  });
});

describe("clientGroup", () => {
  test("refuses a role that there is not, which is a slip for another", () => {
    for (const role of ["edge", "Intermediary", "", null]) {
      assert.throws(() => clientGroup({ role } as object), { code: "INVALID_CONFIGURATION" });
    }
    assert.doesNotThrow(() => clientGroup({ role: "origin" }));
  });
});

describe("clientGroup at an intermediary on fetch", () => {
  const scope = "scope" as RestrictionScope;
  const part = { at: 1, process: "p1", keep: 61_000, until: 61_000 };

  function edge(record: object, handler: (request: Request) => Response | Promise<Response>) {
    const clock = { wall: 1_000, now: 0 };
    const id = restrictionId("alice", scope);
    const key = `gateway:restriction:${id}`;
    const items = new Map([[key, utf8(encodeRecord({ id, ...record }))]]);
    const app = new Hono()
      .use(
        clientGroup({
          role: "intermediary",
          client: (c) => c.req.header("x-client") ?? "",
          scope,
          store: { get: async (key) => items.get(key) },
          wallClock: () => clock.wall,
          now: () => clock.now,
        }),
      )
      .all("*", (c) => handler(c.req.raw))
      .onError((_error, c) => c.text("failed", 500));
    const ask = async (client: string) =>
      await app.request("/", { headers: { "x-client": client } });
    return { ask, clock, items };
  }

  test("forwards requests without Client-Group, and hands responses back without [F01, F03, CG-FIELD-15, CG-FIELD-18]", async () => {
    const lines: string[] = [];
    const plugIn = clientGroup({ role: "intermediary", log: (line) => lines.push(line) });
    const app = new Hono().use(plugIn).all("*", (c) => {
      assert.equal(c.req.raw.headers.get("client-group"), null);
      assert.equal(c.req.header("client-group"), undefined);
      return new Response("from the origin", { headers: { "client-group": "907" } });
    });
    for (let i = 0; i < 2; i++) {
      const response = await app.request("/", { headers: { "Client-Group": "7" } });
      assert.equal(response.headers.get("client-group"), null);
      assert.equal(await response.text(), "from the origin");
    }
    assert.equal(plugIn.negotiates, false);
    assert.equal(lines.length, 1);
    assert.match(lines[0] as string, /cannot negotiate/);
  });

  test("tags requests only where the host says what is agreed [CG-PROC-2, CG-PROC-6]", async () => {
    const plugIn = clientGroup({
      role: "intermediary",
      agreement: (c) =>
        c.req.path === "/none" ? undefined : { tags: c.req.path === "/tags", identifier: 907 },
    });
    const app = new Hono()
      .use(plugIn)
      .all("*", (c) => c.text(c.req.raw.headers.get("client-group") ?? "none"));
    const headers = { "Client-Group": "7" };
    assert.equal(await (await app.request("/tags", { headers })).text(), "907");
    assert.equal(await (await app.request("/unsupported", { headers })).text(), "none");
    assert.equal(await (await app.request("/none", { headers })).text(), "none");
    assert.equal(plugIn.negotiates, true);
  });

  test("answers a client that a gateway of the fleet has blocked with 429, and no other [CG-BLOCK-2, CG-ACT-6]", async () => {
    let forwarded = 0;
    const { ask, clock } = edge({ block: part }, () => {
      forwarded++;
      return new Response("here");
    });
    const refused = await ask("alice");
    assert.equal(refused.status, 429);
    assert.equal(refused.headers.get("retry-after"), "60");
    assert.equal(forwarded, 0);
    assert.equal((await ask("bob")).status, 200);
    clock.wall = 61_000;
    assert.equal((await ask("alice")).status, 200);
  });

  test("holds a LIMIT until the content of responses was read or given up [CG-LIMIT-1]", async () => {
    let finish = () => {};
    const { ask } = edge({ limit: { ...part, requests: 2 } }, () => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(utf8("begun"));
          finish = () => controller.close();
        },
      });
      return new Response(body, { headers: { "x-kept": "a" } });
    });
    const [first, second] = [await ask("alice"), await ask("alice")];
    assert.equal(first.headers.get("x-kept"), "a");
    assert.equal((await ask("alice")).status, 429);
    await first.body?.cancel();
    const third = await ask("alice");
    assert.equal(third.status, 200);
    assert.equal((await ask("alice")).status, 429);
    finish();
    assert.equal(await third.text(), "begun");
    assert.equal((await ask("alice")).status, 200);
    await second.body?.cancel();
  });

  test("counts a request that fails as ended", async () => {
    let fails = true;
    const { ask } = edge({ limit: { ...part, requests: 1 } }, () => {
      if (fails) throw new Error("no origin");
      return new Response(null, { status: 204 });
    });
    const failed = await ask("alice");
    assert.equal(failed.status, 500);
    await failed.text();
    fails = false;
    assert.equal((await ask("alice")).status, 204);
    assert.equal((await ask("alice")).status, 204);
  });

  test("refuses a store without a word on who a client is", () => {
    const store = { get: async () => undefined };
    assert.throws(() => clientGroup({ role: "intermediary", store }), {
      code: "INVALID_CONFIGURATION",
    });
  });
});
