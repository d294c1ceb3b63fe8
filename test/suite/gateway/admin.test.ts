import assert from "node:assert/strict";
import { describe, test } from "#test";
import { adminApp } from "../../../src/gateway/admin/app.ts";
import type { GatewayView } from "../../../src/gateway/view.ts";
import {
  connectionOf,
  digestOf,
  emptyView,
  largeView,
  smallView,
} from "../../support/gateway-view.ts";

function appOf(view: GatewayView, token?: string) {
  const metrics = {
    render: async () => "yardmaster_gateway_blocked 1\n",
    contentType: "text/plain",
  };
  const app = adminApp({ view: () => view, metrics, token });
  return (path: string, headers: Record<string, string> = {}) =>
    app.request(path, { headers: { host: "127.0.0.1:9901", ...headers } });
}

describe("the page of a gateway", () => {
  test("shows connections, groups, restrictions, what waits and the fleet", async () => {
    const page = await (await appOf(smallView())("/")).text();
    for (const text of [
      "u1",
      "for one client",
      "draining",
      "not known there",
      "BLOCK",
      "LIMIT 2",
    ]) {
      assert.ok(page.includes(text), text);
    }
    assert.ok(page.includes(digestOf("client 1")));
    assert.ok(page.includes("connected"));
    assert.match(page, /2 min/);
  });

  test("says in its title what there is to look at", async () => {
    const title = async (view: GatewayView) =>
      /<title>([^<]*)/.exec(await (await appOf(view)("/")).text())?.[1];
    assert.equal(await title(emptyView()), "0 connections · Yardmaster gateway");
    assert.equal(
      await title(largeView()),
      "store lost, 12 unreachable, 2,112 blocked, 200 connections · Yardmaster gateway",
    );
    assert.match(`${await title(emptyView({ state: "draining" }))}`, /^ending, /);
  });

  test("says which origins cannot be reached, why, and when that is tried again", async () => {
    const page = await (await appOf(largeView())("/")).text();
    const [first] = /<li>https:\/\/gone-0[^<]*/.exec(page) ?? [];
    assert.equal(
      first,
      "<li>https://gone-0.a-rather-long-name.internal.example:8443 " +
        "(connection_refused: ECONNREFUSED), 7 attempts, next in 12 s",
    );
  });

  test("shows one client alone, by its digest", async () => {
    const client = digestOf("client 7");
    const view = smallView();
    const request = appOf({
      ...view,
      pool: { ...view.pool, connections: [...view.pool.connections, connectionOf(9, 2)] },
    });
    const page = await (await request(`/?client=${client.toUpperCase()}`)).text();
    assert.ok(page.includes(client));
    assert.ok(page.includes("u1"));
    assert.equal(page.includes("u9"), false);
    const status = await (await request(`/status.json?client=${client}`)).json();
    assert.deepEqual(
      status.connections.map(({ id, groups }: { id: string; groups: unknown[] }) => [
        id,
        groups.length,
      ]),
      [["u1", 1]],
    );
  });

  test("takes nothing but a digest for a client", async () => {
    const page = await (await appOf(smallView())("/?client=<script>alert(1)</script>")).text();
    assert.equal(page.includes("<script"), false);
    assert.ok(page.includes("Connections to origins"));
  });

  test("is bounded, as is its JSON, however much there is", async () => {
    const connections = Array.from({ length: 2_000 }, (_, i) => connectionOf(i, 3_000 / (i + 1)));
    const view = largeView();
    const request = appOf({ ...view, pool: { ...view.pool, connections } });
    assert.ok((await (await request("/")).text()).length < 600_000);
    const status = await (await request("/status.json")).json();
    assert.equal(status.connections[0].groups.length, 100);
    assert.equal(status.connections[0].groupsInAll, 3_000);
  });

  test("is of nobody else's pages: no scripts, no frames, no storing", async () => {
    for (const path of ["/", "/status.json", "/none"]) {
      const { headers } = await appOf(smallView())(path);
      assert.match(headers.get("content-security-policy") ?? "", /default-src 'none'/);
      assert.equal(headers.get("x-frame-options"), "DENY");
      assert.equal(headers.get("cache-control"), "no-store");
    }
  });

  test("is shown on the loopback to those alone who ask for the loopback", async () => {
    const request = appOf(smallView());
    for (const host of ["127.0.0.1:9901", "localhost", "[::1]:9901"]) {
      assert.equal((await request("/", { host })).status, 200);
    }
    for (const host of ["evil.example", "127.0.0.1.evil.example:9901", ""]) {
      for (const path of ["/", "/metrics", "/status.json"]) {
        assert.equal((await request(path, { host })).status, 421);
      }
    }
  });

  test("tells everybody whether clients are served, and no more", async () => {
    const token = "c2VjcmV0IHRva2VuIG9mIHRoZSBhZG1pbg==";
    const running = await appOf(smallView(), token)("/healthz", { host: "gateway.example" });
    assert.deepEqual([running.status, await running.json()], [200, { status: "ok" }]);
    const ending = await appOf(emptyView({ state: "draining" }), token)("/healthz");
    assert.equal(ending.status, 503);
  });
});
