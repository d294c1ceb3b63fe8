import assert from "node:assert/strict";
import { Hono } from "hono";
import { describe, test } from "#test";
import { moqLb } from "../../../src/hono/moq-lb.ts";
import {
  moqtOverWebSocket,
  type WebSocketOptions,
} from "../../../src/hono/moqt-over-web-socket.ts";
import { ConfigurationError } from "../../../src/moq-lb/mod.ts";
import type { UpgradeOptions } from "../../../src/transport/qmux-upgrade/upgrade.ts";
import { RawPeer } from "../../support/raw-peer.ts";
import { assertServes, type BedOptions, RedirectBed } from "../../support/redirect-bed.ts";
import { settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";

const handshake = {
  upgrade: "websocket",
  connection: "Upgrade",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
  "sec-websocket-protocol": "qmux-02.moqt-22, qmux-01.moqt-18",
};

/** An app whose WebSockets are memory; it keeps the client's end of the last one. */
function appOf(options: BedOptions = {}, more: Partial<WebSocketOptions> = {}) {
  const bed = new RedirectBed({ ownServiceUris: ["https://lb.example/moqt"], ...options });
  const upgrades: UpgradeOptions[] = [];
  let client: RawPeer | undefined;
  const handler = moqtOverWebSocket({
    server: bed.server,
    clientOf: () => "192.0.2.1",
    upgrade(_, upgrade) {
      upgrades.push(upgrade);
      const [near, transport] = memoryTransportPair({
        kind: "qmux",
        request: { path: "/moqt", authority: "lb.example" },
      });
      Object.defineProperty(transport, "remote", { value: upgrade.remote });
      client = new RawPeer(near);
      // A Response of the web platform cannot say 101.
      return { response: new Response(null, { status: 204 }), transport };
    },
    ...more,
  });
  const app = moqLb({ holder: bed.holder, authorization: "allow-all", sessions: { handler } });
  const ask = (headers: Record<string, string> = handshake, url = "https://lb.example/moqt") =>
    app.request(url, { headers });
  return { app, bed, ask, upgrades, client: () => client as RawPeer };
}

async function assertProblem(response: Response, status: number, code: string): Promise<void> {
  assert.equal(response.status, status);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(((await response.json()) as { code: string }).code, code);
}

describe("GET /moqt", () => {
  test("with an upgrade becomes a session that is answered", async () => {
    const { ask, upgrades, client } = appOf();
    assert.equal((await ask()).status, 204);
    assert.deepEqual(upgrades, [
      {
        protocols: ["moqt-22", "moqt-21", "moqt-20", "moqt-19", "moqt-18"],
        remote: "192.0.2.1",
      },
    ]);
    await client().setup();
    await assertServes(client(), 0);
  });

  test("without an upgrade is 426 and says what to ask for", async () => {
    const { ask } = appOf();
    const response = await ask({});
    assert.equal(response.headers.get("upgrade"), "websocket");
    await assertProblem(response, 426, "UPGRADE_REQUIRED");
  });

  test("with another method is 405", async () => {
    const { app } = appOf();
    const response = await app.request("https://lb.example/moqt", { method: "POST" });
    await assertProblem(response, 405, "METHOD_NOT_ALLOWED");
  });

  test("without a protocol that is spoken here is 400", async () => {
    const { ask, upgrades } = appOf();
    for (const offer of ["", "qmux-02.moqt-17", "moqt-22", "chat"]) {
      const headers = { ...handshake, "sec-websocket-protocol": offer };
      await assertProblem(await ask(headers), 400, "NO_COMMON_PROTOCOL");
    }
    assert.equal(upgrades.length, 0);
  });

  test("for somebody else's path or authority is refused", async () => {
    const { ask } = appOf();
    const response = await ask(handshake, "https://other.example/moqt");
    await assertProblem(response, 421, "INVALID_AUTHORITY");
  });

  test("from a page of another origin is 403 where origins are named", async () => {
    const { ask } = appOf({}, { origins: ["https://player.example"] });
    const from = (origin: string) => ask({ ...handshake, origin });
    await assertProblem(await from("https://evil.example"), 403, "FORBIDDEN_ORIGIN");
    assert.equal((await from("https://player.example")).status, 204);
    // No browser, no origin.
    assert.equal((await ask()).status, 204);
  });

  test("from any page, where every origin is named", async () => {
    const { ask } = appOf({}, { origins: ["*"] });
    assert.equal((await ask({ ...handshake, origin: "https://any.example" })).status, 204);
  });

  test("of a client that cannot be told is refused for now, and never a 500", async () => {
    const faults: (() => unknown)[] = [
      () => {
        throw new RangeError("no peer");
      },
      () => undefined,
      () => 5,
      () => Promise.reject(new Error("later")),
    ];
    for (const clientOf of faults) {
      const errors: unknown[] = [];
      const { ask, upgrades } = appOf(
        {},
        { clientOf: clientOf as () => string, onError: (error) => errors.push(error) },
      );
      const response = await ask();
      assert.equal(response.headers.get("retry-after"), "5");
      await assertProblem(response, 503, "INTERNAL_ERROR");
      assert.deepEqual([errors.length, upgrades.length], [1, 0]);
    }
  });

  test("has its options checked, in one line that names what is wrong", () => {
    const { server } = new RedirectBed();
    const upgrade = () => ({ response: new Response(), transport: undefined });
    const wrong: [string, object][] = [
      ["server", { server: undefined }],
      ["server", { server: {} }],
      ["upgrade", { upgrade: undefined }],
      ["clientOf", { clientOf: "ip" }],
      ["onError", { onError: 5 }],
      ["drafts", { drafts: 22 }],
      ["drafts", { drafts: [] }],
      ["origins", { origins: "https://player.example" }],
      ["origins\\[0\\]", { origins: ["player.example"] }],
    ];
    for (const [option, value] of wrong) {
      assert.throws(
        () => moqtOverWebSocket({ server, upgrade, ...value } as WebSocketOptions),
        (error) =>
          error instanceof ConfigurationError &&
          new RegExp(`^${option} [^\n]+$`).test(error.message),
        option,
      );
    }
    moqtOverWebSocket({ server, upgrade });
  });

  test("beyond a limit, or while the service ends, is refused before the upgrade", async () => {
    const { ask, bed, client, upgrades } = appOf({
      limits: { maximumSessions: 2, maximumSessionsPerClient: 1 },
    });
    assert.equal((await ask()).status, 204);
    const second = await ask();
    assert.equal(second.headers.get("retry-after"), "5");
    await assertProblem(second, 429, "CLIENT_LIMIT");
    const drained = bed.server.drain(1000);
    await assertProblem(await ask(), 503, "DRAINING");
    client().transport.close(0n, "");
    await drained;
    assert.equal(upgrades.length, 1);
  });

  test("is not there without sessions", async () => {
    const bed = new RedirectBed();
    const app = moqLb({ holder: bed.holder, authorization: "allow-all" });
    await assertProblem(await app.request("/moqt", { headers: handshake }), 404, "NOT_FOUND");
  });

  test("works where CORS is on and the plug-in is mounted in another app", async () => {
    const bed = new RedirectBed({ ownServiceUris: [] });
    const switching = new Response(null, { status: 204 });
    const handler = moqtOverWebSocket({
      server: bed.server,
      upgrade: () => ({ response: switching, transport: undefined }),
    });
    const outer = new Hono();
    const cors = { origin: "*" };
    const options = { holder: bed.holder, authorization: "allow-all", cors } as const;
    outer.route("/", moqLb({ ...options, sessions: { handler } }));
    const headers = { ...handshake, origin: "https://player.example" };
    const response = await outer.request("https://lb.example/moqt", { headers });
    await settle();
    // No copy of a 101 can be made, and no header can be added to it.
    assert.equal(response, switching);
    assert.equal(response.headers.get("access-control-allow-origin"), null);
  });
});
