/** Reload and stop of a gateway, on the wire. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "#test";
import { freePort } from "../../bench/gateway/ports.ts";
import type { ClientRule } from "../../src/gateway/config.ts";
import { testAuthority } from "../support/http2/certificates.ts";
import {
  answering,
  clear,
  eventually,
  MemorySink,
  OperationsBed,
  serialAt,
  to,
} from "./operations-bed.ts";

const scenario = (name: string, body: (bed: OperationsBed) => Promise<void>) =>
  test(name, () => OperationsBed.run(body));

export function operationsScenarios(): void {
  describe("a reload", reloads);
  describe("the end of a gateway", ends);
  describe("a request that has a number of hops left", hops);
  describe("the log of a gateway", logs);
  describe("the page of a gateway", pages);
}

function reloads(): void {
  scenario(
    "sends new requests to the new origin, and lets those in progress finish at the old one",
    async (bed) => {
      const [before, after] = [await bed.origin(answering), await bed.origin(answering)];
      const gateway = await bed.gateway({ listen: [clear()], origins: [to(before)] });
      const [url] = gateway.urls as [string];
      const client = await bed.client(url);
      const waiting = client.request({ path: "/wait" });
      const held = await before.requestFor("/wait");
      await gateway.reload(await bed.config({ listen: [clear()], origins: [to(after)] }));
      assert.deepEqual(gateway.urls, [url]);
      assert.equal((await client.fetch({ path: "/new" })).status, 200);
      assert.equal(after.requestsFor("/new").length, 1);
      held.respond(200, [], "old");
      assert.equal((await client.response(waiting)).content, "old");
      client.assertUntouched();
    },
  );

  scenario("shows a new certificate to new handshakes, and keeps connections", async (bed) => {
    const origin = await bed.origin(answering);
    const authority = await testAuthority();
    for (const name of ["old", "new"]) {
      const { certificatePem, keyPem } = await authority.server("localhost", `${name}.example`);
      bed.files.set(`${name}.pem`, certificatePem).set(`${name}.key`, keyPem);
    }
    const json = (name: string) => ({
      listen: [{ address: "127.0.0.1:0", certificate: `${name}.pem`, key: `${name}.key` }],
      origins: [to(origin)],
    });
    const gateway = await bed.gateway(json("old"));
    const [url] = gateway.urls as [string];
    const client = await bed.client(url);
    await client.fetch({ path: "/1" });
    const before = await serialAt(url);
    await gateway.reload(await bed.config(json("new")));
    assert.notEqual(await serialAt(url), before);
    assert.equal((await client.fetch({ path: "/2" })).status, 200);
    client.assertUntouched();
  });

  scenario("with another client rule makes groups by it from then on", async (bed) => {
    const origin = await bed.origin(answering);
    const json = (client: string) => ({ listen: [clear()], origins: [to(origin)], client });
    const gateway = await bed.gateway(json("connection"));
    const clients = await Promise.all([1, 2].map(() => bed.client(gateway.urls[0] as string)));
    const groupsOf = async (path: string) => {
      for (const client of clients) await client.fetch({ path, fields: [["x-user", "alice"]] });
      return new Set(origin.requestsFor(path).map(({ group }) => group)).size;
    };
    assert.equal(await groupsOf("/connection"), 2);
    await gateway.reload(await bed.config(json("header:x-user")));
    assert.equal(await groupsOf("/header"), 1);
  });

  scenario("with other limits makes connections anew, without ending a request", async (bed) => {
    const origin = await bed.origin(answering);
    const json = (streamsPerConnection: number) => ({
      listen: [clear()],
      origins: [to(origin)],
      limits: { streamsPerConnection },
    });
    const gateway = await bed.gateway(json(100));
    const client = await bed.client(gateway.urls[0] as string);
    const waiting = client.request({ path: "/wait" });
    const held = await origin.requestFor("/wait");
    await gateway.reload(await bed.config(json(1)));
    await client.fetch({ path: "/new" });
    assert.notEqual(origin.requestsFor("/new")[0]?.connection, held.connection);
    held.respond(200, [], "held");
    assert.equal((await client.response(waiting)).content, "held");
    await held.connection.over();
    assert.equal(new Set(gateway.view().pool.connections.map(({ id }) => id)).size, 1);
  });

  scenario("keeps a BLOCK in force, whatever else it changes [CG-ACT-2, E08]", async (bed) => {
    const origin = await bed.origin(answering);
    const json = (more: object) => ({ listen: [clear()], origins: [to(origin)], ...more });
    const gateway = await bed.gateway(json({}));
    const client = await bed.client(gateway.urls[0] as string);
    await client.fetch({ path: "/" });
    const [request] = origin.requestsFor("/");
    assert.ok(request?.group !== undefined);
    request.connection.groupControl("BLOCK", request.group, 60);
    await eventually(() => gateway.view().restrictions.blocked === 1);
    await gateway.reload(await bed.config(json({ limits: { connectionsPerKey: 2 } })));
    assert.equal((await client.fetch({ path: "/again" })).status, 429);
  });

  scenario("that fails leaves everything as it was, and says why", async (bed) => {
    const origin = await bed.origin(answering);
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    bed.atEnd(() => taken.close());
    const { port } = taken.address() as { port: number };
    const sink = new MemorySink();
    const json = { listen: [clear()], origins: [to(origin)] };
    const gateway = await bed.gateway(json, { sink });
    const urls = [...gateway.urls];
    const broken = { ...json, listen: [clear(), clear(), clear(port)], client: "header:x-user" };
    await assert.rejects(gateway.reload(await bed.config(broken)), /listen: 127\.0\.0\.1:/);
    assert.deepEqual(gateway.urls, urls);
    assert.match(gateway.view().configuration.problems.join(), /^listen: /);
    const client = await bed.client(urls[0] as string);
    assert.equal((await client.fetch({ path: "/" })).status, 200);
    await gateway.reload(await bed.config(json));
    assert.deepEqual(gateway.view().configuration.problems, []);
    await eventually(() => sink.of("reloaded").length === 1);
    assert.equal(sink.of("configuration-refused").length, 1);
  });

  scenario("that a client rule refuses leaves ports, certificates and page alone", async (bed) => {
    const origin = await bed.origin(answering);
    const authority = await testAuthority();
    for (const name of ["old", "new"]) {
      const { certificatePem, keyPem } = await authority.server("localhost", `${name}.example`);
      bed.files.set(`${name}.pem`, certificatePem).set(`${name}.key`, keyPem);
    }
    const secure = (name: string) => ({
      address: "127.0.0.1:0",
      certificate: `${name}.pem`,
      key: `${name}.key`,
    });
    for (const token of ["old", "new"]) bed.files.set(token, secret(token));
    const [leaves, enters] = [await freePort(), await freePort()];
    const json = {
      listen: [secure("old"), clear(leaves)],
      origins: [to(origin)],
      admin: { address: "127.0.0.1:0", token: "old" },
    };
    const gateway = await bed.gateway(json);
    const urls = [...gateway.urls];
    const serial = await serialAt(urls[0] as string);
    const next = await bed.config({
      ...json,
      listen: [secure("new"), clear(enters)],
      admin: { address: "127.0.0.1:0", token: "new" },
    });
    // Keys that can verify nothing, however they got past the reader.
    const client: ClientRule = { by: "jwt-sub", keys: { keys: [{ kty: "OKP" }] } };
    await assert.rejects(gateway.reload({ ...next, client }));
    assert.deepEqual(gateway.urls, urls);
    assert.equal(await serialAt(urls[0] as string), serial);
    assert.equal((await (await bed.client(`http://127.0.0.1:${leaves}`)).fetch()).status, 200);
    await assert.rejects(bed.client(`http://127.0.0.1:${enters}`));
    assert.equal(await statusWith(gateway.adminUrl, "old"), 200);
    assert.equal(await statusWith(gateway.adminUrl, "new"), 401);
  });

  scenario("changes the token of the page where it is, and adds and removes one", async (bed) => {
    const origin = await bed.origin(answering);
    const port = await freePort();
    const json = (admin?: object) => ({ listen: [clear()], origins: [to(origin)], admin });
    const admin = { address: `127.0.0.1:${port}` };
    for (const token of ["first", "second"]) bed.files.set(token, secret(token));
    const gateway = await bed.gateway(json(admin));
    const url = gateway.adminUrl;
    assert.equal(await statusWith(url, "first"), 200);
    for (const [token, before] of [
      ["first", "none"],
      ["second", "first"],
    ] as const) {
      await gateway.reload(await bed.config(json({ ...admin, token })));
      assert.equal(gateway.adminUrl, url);
      assert.equal(await statusWith(url, token), 200);
      assert.equal(await statusWith(url, before), 401);
    }
    await gateway.reload(await bed.config(json(admin)));
    assert.equal(await statusWith(url, "none"), 200);
    await gateway.reload(await bed.config(json()));
    assert.equal(gateway.adminUrl, undefined);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`));
  });

  scenario("takes another host or another way of speaking on the same number", async (bed) => {
    const origin = await bed.origin(answering);
    bed.files.set("t", secret("t"));
    const [clients, page] = [await freePort(), await freePort()];
    const json = (host: string, cleartext: boolean, more: object[] = []) => ({
      listen: [{ address: `${host}:${clients}`, ...(cleartext && { cleartext }) }, ...more],
      origins: [to(origin)],
      admin: { address: `${host}:${page}`, token: "t" },
    });
    const gateway = await bed.gateway(json("127.0.0.1", true));
    const client = await bed.client(`http://127.0.0.1:${clients}`);
    const waiting = client.request({ path: "/wait" });
    const held = await origin.requestFor("/wait");
    await gateway.reload(await bed.config(json("0.0.0.0", true)));
    assert.deepEqual(gateway.urls, [`http://0.0.0.0:${clients}`]);
    assert.equal(await statusWith(`http://127.0.0.2:${clients}`), 200);
    assert.equal(await statusWith(`http://127.0.0.2:${page}`, "t"), 200);
    await client.goaway(0);
    await gateway.reload(await bed.config(json("0.0.0.0", false)));
    const secure = await bed.client(`https://127.0.0.1:${clients}`);
    assert.equal((await secure.fetch()).status, 200);
    held.respond(200, [], "held");
    assert.equal((await client.response(waiting)).content, "held");
  });

  scenario("that fails later puts a port back that had paused, with its clients", async (bed) => {
    const origin = await bed.origin(answering);
    bed.files.set("t", secret("t"));
    const [clients, page] = [await freePort(), await freePort()];
    const json = (clientsAt: string, pageAt: string) => ({
      listen: [{ address: `${clientsAt}:${clients}`, cleartext: true }],
      origins: [to(origin)],
      admin: { address: `${pageAt}:${page}`, ...(pageAt !== "127.0.0.1" && { token: "t" }) },
    });
    const gateway = await bed.gateway(json("127.0.0.1", "127.0.0.1"));
    const { urls } = gateway;
    const client = await bed.client(urls[0] as string);
    // An address that nobody has here is only known as it is opened.
    const nowhere = "192.0.2.1";
    for (const next of [json(nowhere, "127.0.0.1"), json("0.0.0.0", nowhere)]) {
      await assert.rejects(gateway.reload(await bed.config(next)), /listen: /);
      assert.deepEqual(gateway.urls, urls);
      assert.equal((await (await bed.client(urls[0] as string)).fetch()).status, 200);
      await assert.rejects(statusWith(`http://127.0.0.2:${clients}`));
      assert.equal(await statusWith(gateway.adminUrl, "any"), 200);
    }
    assert.equal((await client.fetch()).status, 200);
    client.assertUntouched();
    // Clients from before are still those of that port: they are told as it leaves.
    await gateway.reload(await bed.config({ listen: [clear()], origins: [to(origin)] }));
    await client.goaway(0);
  });

  scenario("lets the page and the clients change places", async (bed) => {
    const origin = await bed.origin(answering);
    const [one, two] = [await freePort(), await freePort()];
    const json = (clients: number, page: number) => ({
      listen: [clear(clients)],
      origins: [to(origin)],
      admin: { address: `127.0.0.1:${page}` },
    });
    const gateway = await bed.gateway(json(one, two));
    await gateway.reload(await bed.config(json(two, one)));
    assert.equal((await (await bed.client(`http://127.0.0.1:${two}`)).fetch()).status, 200);
    assert.equal(await statusWith(`http://127.0.0.1:${one}`, "any"), 200);
  });

  scenario("opens ports that are new, and gives those up in order that left", async (bed) => {
    const origin = await bed.origin(answering);
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as { port: number };
    await new Promise((resolve) => free.close(resolve));
    const gateway = await bed.gateway({ listen: [clear()], origins: [to(origin)] });
    const [left] = gateway.urls as [string];
    const client = await bed.client(left);
    const waiting = client.request({ path: "/wait" });
    const held = await origin.requestFor("/wait");
    await gateway.reload(await bed.config({ listen: [clear(port)], origins: [to(origin)] }));
    await client.goaway(0);
    await assert.rejects(bed.client(left));
    assert.deepEqual(gateway.urls, [`http://127.0.0.1:${port}`]);
    assert.equal((await (await bed.client(gateway.urls[0] as string)).fetch()).status, 200);
    held.respond(200, [], "held");
    assert.equal((await client.response(waiting)).content, "held");
    await client.over();
  });
}

/** The content of a file that holds a token. */
const secret = (name: string) => name.repeat(16);

/** What the page answers who shows the token of that name. */
async function statusWith(url: string | undefined, token = "none"): Promise<number> {
  const headers = { authorization: `Bearer ${secret(token)}`, connection: "close" };
  const response = await fetch(`${url}/status.json`, { headers });
  await response.body?.cancel();
  return response.status;
}

function ends(): void {
  scenario("lets requests in progress finish, and takes no others", async (bed) => {
    const origin = await bed.origin(answering);
    const json = { listen: [clear()], origins: [to(origin)], admin: { address: "127.0.0.1:0" } };
    const gateway = await bed.gateway(json);
    const [url] = gateway.urls as [string];
    const client = await bed.client(url);
    const waiting = client.request({ path: "/wait" });
    const held = await origin.requestFor("/wait");
    const drained = gateway.drain();
    await client.goaway(0);
    await assert.rejects(bed.client(url));
    assert.equal((await fetch(`${gateway.adminUrl}/healthz`)).status, 503);
    held.respond(200, [], "held");
    assert.equal((await client.response(waiting)).content, "held");
    await drained;
    await client.over();
  });

  scenario("comes after the time for it, whatever is still in progress", async (bed) => {
    const origin = await bed.origin(answering);
    const limits = { drainTime: 0.3 };
    const gateway = await bed.gateway({ listen: [clear()], origins: [to(origin)], limits });
    const client = await bed.client(gateway.urls[0] as string);
    client.request({ path: "/wait" });
    await origin.requestFor("/wait");
    const begun = performance.now();
    await gateway.drain();
    assert.ok(performance.now() - begun < 3_000);
    await client.over();
  });

  scenario("may be hurried", async (bed) => {
    const origin = await bed.origin(answering);
    const gateway = await bed.gateway({ listen: [clear()], origins: [to(origin)] });
    const client = await bed.client(gateway.urls[0] as string);
    client.request({ path: "/wait" });
    await origin.requestFor("/wait");
    const drained = gateway.drain();
    await client.goaway(0);
    await gateway.close();
    await drained;
    await client.over();
  });
}

function hops(): void {
  scenario("as TRACE or OPTIONS ends here where it may go no further", async (bed) => {
    const origin = await bed.origin(answering);
    const gateway = await bed.gateway({ listen: [clear()], origins: [to(origin)] });
    const client = await bed.client(gateway.urls[0] as string);
    const ask = (method: string, hops: string, path: string) =>
      client.fetch({
        method,
        path,
        fields: [
          ["max-forwards", hops],
          ["authorization", "Bearer secret"],
        ],
      });
    // RFC 9110 §7.6.2: not forwarded at 0, one less otherwise; other methods keep it.
    const traced = await ask("TRACE", "0", "/last");
    assert.equal(traced.status, 200);
    assert.equal(traced.head.get("content-type"), "message/http");
    assert.match(traced.content, /^TRACE \/last HTTP\/2\.0\r\n(?:.*\r\n)*max-forwards: 0\r\n/);
    assert.ok(!traced.content.includes("secret"));
    assert.equal((await ask("OPTIONS", "0", "/last")).status, 200);
    assert.equal(origin.requestsFor("/last").length, 0);
    for (const [method, before, after] of [
      ["TRACE", "1", "0"],
      ["OPTIONS", "10", "9"],
      ["OPTIONS", "many", "many"],
      ["GET", "0", "0"],
    ] as const) {
      const path = `/${method}/${before}`;
      await ask(method, before, path);
      assert.equal(origin.requestsFor(path)[0]?.head.get("max-forwards"), after);
    }
  });
}

function logs(): void {
  scenario("has what HTTP/2 clients ask for that is no request", async (bed) => {
    const origin = await bed.origin(answering);
    const sink = new MemorySink();
    const gateway = await bed.gateway({ listen: [clear()], origins: [to(origin)] }, { sink });
    const client = await bed.client(gateway.urls[0] as string);
    await client.reset(client.request({ path: "/1", fields: [["connection", "close"]] }));
    const large = await client.fetch({ path: "/2", fields: [["x", "x".repeat(70_000)]] });
    assert.equal(large.status, 431);
    await eventually(() => sink.of("request").length === 2);
    assert.deepEqual(
      sink.of("request").map(({ status, method, protocol }) => [status, method, protocol]),
      [
        [400, "", "h2"],
        [431, "", "h2"],
      ],
    );
  });

  scenario(
    "and its metrics have what the gateway answers to no request of anybody",
    async (bed) => {
      const origin = await bed.origin(answering);
      const sink = new MemorySink();
      const admin = { address: "127.0.0.1:0" };
      const json = { listen: [clear()], origins: [to(origin)], admin };
      const gateway = await bed.gateway(json, { sink });
      const { port } = new URL(gateway.urls[0] as string);
      const asked: readonly (readonly [head: string, status: number, method: string])[] = [
        ["GET / HTTP/1.1\r\nHost: a\r\nHost: b", 400, "GET"],
        ["POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip", 400, "POST"],
        ["GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders", 417, "GET"],
        ["GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket", 501, "GET"],
        ["no such thing", 400, ""],
        [`GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${"x".repeat(100_000)}`, 431, ""],
      ];
      for (const [head, status] of asked) {
        const socket = connect(Number(port), "127.0.0.1");
        let received = "";
        socket.on("data", (chunk) => {
          received += chunk;
        });
        socket.on("error", () => {});
        socket.write(`${head}\r\n\r\n`);
        await eventually(() => received.startsWith(`HTTP/1.1 ${status}`));
        socket.destroy();
      }
      await eventually(() => sink.of("request").length === asked.length);
      assert.deepEqual(
        sink.of("request").map(({ status, method, protocol }) => [status, method, protocol]),
        asked.map(([, status, method]) => [status, method, "http/1.1"]),
      );
      const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
      const counts = [...metrics.matchAll(/^yardmaster_gateway_requests_total\{.*\} (\d+)$/gm)];
      assert.equal(
        counts.reduce((sum, [, count]) => sum + Number(count), 0),
        asked.length,
      );
    },
  );

  scenario("leads from a GROUP_CONTROL to the client's requests [CG-PRIV-1]", async (bed) => {
    const origin = await bed.origin(answering);
    const sink = new MemorySink();
    const client = "header:x-user";
    const json = { listen: [clear()], origins: [to(origin)], client };
    const gateway = await bed.gateway(json, { sink });
    const one = await bed.client(gateway.urls[0] as string);
    await one.fetch({ path: "/", fields: [["x-user", "alice@example"]] });
    const [request] = origin.requestsFor("/");
    assert.ok(request?.group !== undefined);
    request.connection.groupControl("BLOCK", request.group, 60);
    await eventually(() => sink.of("group-control").length === 1);
    await one.fetch({ path: "/2", fields: [["x-user", "alice@example"]] });
    await eventually(() => sink.of("request").length === 2);
    const [frame] = sink.of("group-control");
    const [before, after] = sink.of("request");
    assert.match(`${frame?.client}`, /^[0-9a-f]{16}$/);
    assert.deepEqual([before?.client, after?.client], [frame?.client, frame?.client]);
    assert.deepEqual([before?.group, before?.connection], [frame?.group, frame?.connection]);
    assert.deepEqual([after?.status, after?.error], [429, "http_request_denied"]);
    assert.doesNotMatch(sink.text, /alice/);
  });

  scenario("goes on in a new file after the old one was moved away", async (bed) => {
    const directory = await mkdtemp(join(tmpdir(), "yardmaster-log-"));
    bed.atEnd(() => rm(directory, { recursive: true }));
    const file = join(directory, "access.log");
    const origin = await bed.origin(answering);
    const json = { listen: [clear()], origins: [to(origin)], accessLog: file };
    const gateway = await bed.gateway(json);
    const client = await bed.client(gateway.urls[0] as string);
    const has = async (path: string, count: number) => {
      const text = await readFile(path, "utf8").catch(() => "");
      return text.split('"event":"request"').length - 1 === count;
    };
    await client.fetch();
    await eventually(() => has(file, 1));
    await rename(file, `${file}.1`);
    await gateway.reopenLog();
    await client.fetch();
    await eventually(() => has(file, 1));
    assert.ok(await has(`${file}.1`, 1));
  });
}

function pages(): void {
  scenario("counts what happens, by names that are few", async (bed) => {
    const origin = await bed.origin(answering);
    const json = { listen: [clear()], origins: [to(origin)], admin: { address: "127.0.0.1:0" } };
    const gateway = await bed.gateway(json);
    const client = await bed.client(gateway.urls[0] as string);
    await client.fetch({ path: "/" });
    const [request] = origin.requestsFor("/");
    assert.ok(request?.group !== undefined);
    request.connection.groupControl("BLOCK", request.group, 60);
    await eventually(() => gateway.view().restrictions.blocked === 1);
    await client.fetch({ path: "/" });
    const other = await bed.client(gateway.urls[0] as string);
    other.request({ path: "/wait" });
    const held = await origin.requestFor("/wait");
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const has = (line: string) => assert.ok(metrics.includes(`yardmaster_gateway_${line}\n`), line);
    has('requests_total{protocol="h2",status="2xx"} 1');
    has('requests_total{protocol="h2",status="4xx"} 1');
    has('generated_total{status="429",error="http_request_denied"} 1');
    has('refused_total{reason="blocked"} 1');
    has('group_control_total{action="BLOCK",effect="BLOCK"} 1');
    has('origin_connections{state="ACTIVE"} 1');
    has("blocked 1");
    has('fleet{state="none"} 1');
    const status = await (await fetch(`${gateway.adminUrl}/status.json`)).json();
    assert.equal(status.restrictions.listed[0].secondsBlocked, 60);
    assert.equal(status.connections[0].groups[0].identifier, held.group);
    assert.equal(status.connections[0].groupsInAll, 1);
    const page = await (await fetch(`${gateway.adminUrl}/`)).text();
    assert.match(page, new RegExp(status.restrictions.listed[0].client));
  });

  scenario("is for those alone who have the token, where there is one", async (bed) => {
    const token = "c2VjcmV0IHRva2VuIG9mIHRoZSBhZG1pbg==";
    bed.files.set("token", `${token}\n`);
    const origin = await bed.origin(answering);
    const admin = { address: "127.0.0.1:0", token: "token" };
    const gateway = await bed.gateway({ listen: [clear()], origins: [to(origin)], admin });
    const status = async (path: string, authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      return (await fetch(`${gateway.adminUrl}${path}`, { headers })).status;
    };
    for (const path of ["/", "/status.json", "/metrics", "/none"]) {
      assert.equal(await status(path), 401);
      assert.equal(await status(path, `Bearer ${token.toLowerCase()}`), 401);
    }
    assert.equal(await status("/healthz"), 200);
    assert.equal(await status("/", `Bearer ${token}`), 200);
    assert.equal(await status("/metrics", `Basic ${btoa(`x:${token}`)}`), 200);
  });
}
