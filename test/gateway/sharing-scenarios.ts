/** What may share a connection, and how fairly: cases H, I and J, area KEY; answers: case K. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { createTestAuthority, testAuthority } from "../support/http2/certificates.ts";
import { codes, settings } from "../support/http2/frames.ts";
import { acknowledged, play, policy, type Stage, type StageOptions } from "./stage.ts";

const scenario = (name: string, options: StageOptions, body: (stage: Stage) => Promise<void>) =>
  test(name, play(options, body));

export function sharingScenarios(): void {
  describe("sharing of a connection", () => {
    bound();
    fronts();
    certificates();
    misdirected();
    early();
    fair();
    answers();
  });
}

function bound(): void {
  scenario(
    "is among requests to the same host alone [CG-KEY-1, CG-S59]",
    { hosts: ["www.example"] },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      client.request({ path: "/www", authority: "www.example" });
      const www = await stage.origins.get("www.example")?.requestFor("/www");
      assert.ok(www !== undefined && www.connection !== connection);
      assert.equal(stage.origin.connections.length, 1);
    },
  );

  scenario(
    "is not among hosts that one origin serves at one address [CG-KEY-1, CG-S59, E12]",
    { aliases: { "www.example": {} } },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      const www = await stage.place(client, "/www", { authority: "www.example" });
      assert.equal(www.at.head.get(":authority"), "www.example");
      assert.notEqual(www.at.connection, connection);
      connection.groupControl("BLOCK", connection.requests[0]?.group as number, 60);
      await connection.ping();
      assert.equal((await client.fetch({ path: "/api" })).status, 429);
      const free = await stage.place(client, "/free", { authority: "www.example" });
      assert.equal(free.at.connection, www.at.connection);
    },
  );

  test("is among requests with the same server name, trust and attributes alone, also where these change while it runs [CG-KEY-2, CG-KEY-3, CG-KEY-7]", async () => {
    const authority = await testAuthority();
    const other = await createTestAuthority("Another authority");
    const files = { "both.pem": `${authority.ca}${other.ca}` };
    await play({ secure: true, files }, async (stage) => {
      const client = await stage.client();
      const entry = {
        host: "api.example",
        origin: `https://127.0.0.1:${stage.origin.port}`,
        ca: "authority.pem",
        serverName: "api.example",
      };
      const used = [await stage.share(client)];
      for (const [index, change] of [
        {},
        { serverName: "www.example" },
        { ca: "both.pem" },
        { others: { region: "eu" } },
      ].entries()) {
        await stage.bed.reload([{ ...entry, ...change }]);
        const { at, response } = await stage.place(client, `/${index}`);
        used.push(at.connection);
        at.respond(204);
        await response();
      }
      assert.deepEqual(
        used.map(({ number }) => number),
        [0, 0, 1, 2, 3],
      );
      assert.deepEqual(
        used.map(({ serverName }) => serverName),
        ["api.example", "api.example", "www.example", "api.example", "api.example"],
      );
    })();
  });

  for (const scheme of ["Negotiate", "NTLM"]) {
    scenario(
      `ends for a client whose request says Authorization: ${scheme} [CG-KEY-9]`,
      {},
      async (stage) => {
        const [a, b] = await stage.clients(2);
        assert.ok(a && b);
        const connection = await stage.share(a);
        const own = await stage.place(b, "/own", {
          fields: [["authorization", `${scheme} YWJj`]],
        });
        assert.notEqual(own.at.connection, connection);
        own.at.respond(200);
        await own.response();
        const next = await stage.place(a, "/a");
        assert.equal(next.at.connection, connection);
        assert.equal(own.at.connection.groups.length, 1);
      },
    );

    scenario(
      `ends for a client that is asked for ${scheme} by a 401 [CG-KEY-9, CG-S61]`,
      {},
      async (stage) => {
        const [a, b] = await stage.clients(2);
        assert.ok(a && b);
        const connection = await stage.share(a);
        const asked = await stage.place(b, "/asked");
        asked.at.respond(401, [["www-authenticate", scheme]]);
        const again = await stage.origin.requestFor("/asked", 2);
        assert.notEqual(again.connection, connection);
        again.respond(401, [["www-authenticate", scheme]]);
        assert.equal((await asked.response()).status, 401);
        assert.equal((await stage.place(a, "/a")).at.connection, connection);
      },
    );
  }
}

function fronts(): void {
  for (const [name, fields, answer] of [
    ["says Authorization: Negotiate", [["authorization", "Negotiate YWJj"]], 200],
    ["is asked for Negotiate by a 401", [], 401],
  ] as const) {
    scenario(
      `ends for the one user of a front who ${name}, and for no other [CG-KEY-9]`,
      {
        config: { client: "header:x-user" },
        onRequest: (request) => {
          if (request.path !== "/own") request.respond(204);
          else request.respond(answer, answer === 401 ? [["www-authenticate", "Negotiate"]] : []);
        },
      },
      async (stage) => {
        const front = await stage.client();
        const ask = (
          user: string,
          path: string,
          more: readonly (readonly [string, string])[] = [],
        ) => front.fetch({ path, fields: [["x-user", user], ...more] });
        assert.equal((await ask("u0", "/u0")).status, 204);
        const [shared] = stage.origin.connections;
        assert.equal((await ask("evil", "/own", fields)).status, answer);
        for (let user = 0; user < 10; user++) {
          assert.equal((await ask(`u${user}`, `/next-${user}`)).status, 204);
          const { connection } = await stage.origin.requestFor(`/next-${user}`);
          assert.equal(connection, shared);
        }
        assert.equal((await ask("evil", "/again")).status, 204);
        const again = await stage.origin.requestFor("/again");
        assert.notEqual(again.connection, shared);
        assert.equal(again.connection.groups.length, 1);
        assert.equal(stage.origin.connections.length, 2);
      },
    );
  }
}

/** A name of the client and its certificate towards the origin. */
const people = ["alice", "bob"] as const;

function certificates(): void {
  test("is among requests with the same client certificate alone [H01, H05, CG-KEY-4]", async () => {
    const authority = await testAuthority();
    const files: Record<string, string> = {};
    const clientCertificates: Record<string, unknown> = {};
    for (const name of people) {
      const { certificatePem, keyPem } = await authority.client(name);
      files[`${name}.pem`] = certificatePem;
      files[`${name}.key`] = keyPem;
      clientCertificates[name] = { certificate: `${name}.pem`, key: `${name}.key` };
    }
    const options: StageOptions = {
      secure: true,
      config: { client: "header:x-user" },
      entry: { clientCertificates },
      files,
    };
    await play(options, async (stage) => {
      const client = await stage.client();
      const shown = new Map<number, Set<string | undefined>>();
      for (let round = 0; round < 3; round++) {
        for (const name of [...people, "nobody"]) {
          const { at, response } = await stage.place(client, `/${name}/${round}`, {
            fields: [["x-user", name]],
          });
          const { number, clientName } = at.connection;
          assert.equal(clientName, name === "nobody" ? undefined : name);
          shown.set(number, (shown.get(number) ?? new Set()).add(name));
          at.respond(204);
          await response();
        }
      }
      assert.deepEqual(
        [...shown.values()].map((names) => names.size),
        [1, 1, 1],
      );
    })();
  });
}

function misdirected(): void {
  scenario(
    "is given up for a request that was answered 421, which is sent once on a fresh connection [H03]",
    {},
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      const { at, response } = await stage.place(client, "/wrong");
      assert.equal(at.connection, connection);
      at.respond(421);
      const again = await stage.origin.requestFor("/wrong", 2);
      assert.notEqual(again.connection, connection);
      assert.equal(again.id, 1);
      again.respond(421, [], "wrong");
      const answer = await response();
      assert.equal(answer.status, 421);
      assert.equal(answer.content, "wrong");
      assert.equal(stage.origin.requestsFor("/wrong").length, 2);
    },
  );
}

function early(): void {
  scenario(
    "of a request that came as early data is for safe methods, and says Early-Data [I01, I03, CG-REQ-6, CG-REQ-7]",
    {},
    async (stage) => {
      const client = await stage.client();
      const fields = [["early-data", "1"]] as const;
      const get = await stage.place(client, "/get", { fields });
      assert.deepEqual(get.at.head.all("early-data"), ["1"]);
      get.at.respond(425, [["x-why", "early"]], "too early");
      const answer = await get.response();
      assert.equal(answer.status, 425);
      assert.equal(answer.head.get("x-why"), "early");
      assert.equal(answer.content, "too early");
      const post = await client.fetch({ method: "POST", path: "/post", fields, content: "x" });
      assert.equal(post.status, 425);
      assert.equal(stage.origin.requestsFor("/post").length, 0);
      assert.equal(stage.origin.requestsFor("/get").length, 1);
    },
  );
}

function fair(): void {
  scenario(
    "leaves one client's slow reading to that client [J01, CG-SEC-11]",
    { automatic: { window: true } },
    async (stage) => {
      const a = await stage.client();
      const b = await stage.client({ automatic: { window: false } });
      const connection = await stage.share(a);
      const content = new Uint8Array(2 ** 20);
      const stalled = await Promise.all([0, 1, 2].map((n) => stage.place(b, `/stalled-${n}`)));
      for (const { at } of stalled) {
        at.connection.headers(at.id, [[":status", "200"]]);
        void at.connection.data(at.id, content, true).catch(() => {});
      }
      await b.until("a full window", () =>
        stalled.reduce((sum, { id }) => sum + b.content(id).length, 0) >= 65_535 ? true : undefined,
      );
      const quick = await stage.place(a, "/quick");
      assert.equal(quick.at.connection, connection);
      quick.at.connection.headers(quick.at.id, [[":status", "200"]]);
      await quick.at.connection.data(quick.at.id, content, true);
      assert.equal((await quick.response()).content.length, content.length);
      // What the gateway holds of the stalled ones is bounded: their windows are not given back.
      const held = connection.bytesSent - b.bytesReceived;
      assert.ok(held < 3 * 2 ** 20, String(held));
    },
  );

  scenario(
    "gives the connection's window back for what nobody reads: more of it than the window has holds up nobody else [J01, CG-SEC-11]",
    {
      automatic: { window: true },
      config: { limits: { streamsPerConnection: 200, streamsPerClientConnection: 200 } },
    },
    async (stage) => {
      const a = await stage.client();
      const b = await stage.client({ automatic: { window: false } });
      const connection = await stage.share(a);
      const content = new Uint8Array(2 ** 18);
      const window = 2 ** 24;
      const stalled = await Promise.all(
        Array.from({ length: 180 }, (_, n) => stage.place(b, `/stalled-${n}`)),
      );
      for (const { at } of stalled) {
        assert.equal(at.connection, connection);
        at.connection.headers(at.id, [[":status", "200"]]);
        void at.connection.data(at.id, content, true).catch(() => {});
      }
      await stage.bed.until(() => connection.bytesSent - b.bytesReceived > window);
      const quick = await stage.place(a, "/quick");
      assert.equal(quick.at.connection, connection);
      quick.at.connection.headers(quick.at.id, [[":status", "200"]]);
      await quick.at.connection.data(quick.at.id, content, true);
      assert.equal((await quick.response()).content.length, content.length);
    },
  );

  scenario(
    "leaves uploads that the origin does not read to their client, with more of them than its window has room for [CG-SEC-11, J07]",
    { automatic: { window: false } },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      const up = await stage.place(a, "/up", { method: "POST", content: new Uint8Array(2 ** 18) });
      assert.equal(up.at.connection, connection);
      await connection.until("a full window", () =>
        connection.bytesReceived >= 65_535 ? true : undefined,
      );
      const post = await stage.place(b, "/post", { method: "POST", content: "tiny" });
      assert.equal(await post.at.content(), "tiny");
      post.at.respond(204);
      assert.equal((await post.response()).status, 204);
      // What has no content is not concerned, and neither has its client more than the one connection.
      assert.equal((await stage.place(b, "/get")).at.connection, connection);
      const more = await stage.place(a, "/more", { method: "POST", content: "more" });
      assert.equal(more.at.connection, connection);
      assert.equal(stage.origin.connections.length, 2);
    },
  );

  scenario(
    "gives a stream that becomes free to another client than the one that has them all [J03, CG-SEC-10]",
    {
      settings: [...policy(0), [settings.MAX_CONCURRENT_STREAMS, 10]],
      config: { limits: { connectionsPerKey: 1 } },
    },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      for (let n = 0; n < 60; n++) b.request({ path: `/b-${n}` });
      await connection.request(10);
      await stage.bed.until(() => stage.bed.queued() === 50);
      const id = a.request({ path: "/a" });
      await a.ping();
      await stage.bed.until(() => stage.bed.queued() === 51);
      connection.requests[1]?.respond(204);
      const placed = await connection.request(11);
      assert.equal(placed.path, "/a");
      placed.respond(200);
      assert.equal((await a.response(id)).status, 200);
    },
  );

  scenario(
    "ends at a number of streams, beyond which there is a second connection [J09, CG-FAIL-11, CG-FAIL-12]",
    { config: { limits: { streamsPerConnection: 3 } } },
    async (stage) => {
      const client = await stage.client();
      const connection = await stage.share(client);
      for (let n = 0; n < 3; n++) {
        assert.equal((await stage.place(client, `/${n}`)).at.connection, connection);
      }
      assert.notEqual((await stage.place(client, "/3")).at.connection, connection);
    },
  );

  scenario(
    "forgets requests in the queue whose client has left [J05]",
    {
      settings: [...policy(0), [settings.MAX_CONCURRENT_STREAMS, 1]],
      config: { limits: { connectionsPerKey: 1 } },
    },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      const connection = await stage.share(a);
      const open = await stage.place(a, "/open");
      for (let n = 0; n < 5; n++) b.request({ path: `/gone-${n}` });
      await stage.bed.until(() => stage.bed.queued() === 5);
      stage.release(b);
      await stage.bed.until(() => stage.bed.queued() === 0);
      open.at.respond(204);
      await open.response();
      const next = await stage.place(a, "/next");
      assert.equal(next.at.id, 5);
      assert.equal(connection.requests.length, 3);
    },
  );

  scenario(
    "at the stream limit goes on with what is in progress [J07]",
    {
      settings: [
        ...policy(0),
        [settings.MAX_CONCURRENT_STREAMS, 1],
        [settings.INITIAL_WINDOW_SIZE, 100],
      ],
      config: { limits: { connectionsPerKey: 1 } },
      automatic: { window: true },
    },
    async (stage) => {
      const [a, b] = await stage.clients(2);
      assert.ok(a && b);
      await stage.share(a);
      const content = "x".repeat(5_000);
      const upload = await stage.place(a, "/up", { method: "POST", content });
      const id = b.request({ path: "/waits" });
      assert.equal(await upload.at.content(), content);
      upload.at.reset(codes.CANCEL);
      assert.equal(await upload.reset(), codes.CANCEL);
      (await stage.origin.requestFor("/waits")).respond(200);
      assert.equal((await b.response(id)).status, 200);
    },
  );
}

function answers(): void {
  scenario(
    "shows in answers of the gateway's own by a Proxy-Status member behind those that came [K02]",
    {},
    async (stage) => {
      const client = await stage.client();
      const passed = await stage.place(client, "/passed");
      passed.at.respond(502, [["proxy-status", "other; error=dns_error"]]);
      const answer = await passed.response();
      assert.equal(answer.status, 502);
      assert.match(answer.head.all("proxy-status").join(", "), /^other; ?error=dns_error/);
      const lost = await stage.post(client, "/lost");
      await acknowledged(lost.at.connection);
      lost.at.connection.kill("fin");
      const own = await lost.response();
      assert.match(
        own.head.get("proxy-status") ?? "",
        /^(?:"[^"]+"|[A-Za-z*][\w!#$%&'*+\-.^`|~:/]*); ?error=connection_terminated/,
      );
    },
  );
}
