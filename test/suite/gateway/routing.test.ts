import assert from "node:assert/strict";
import { describe, test } from "#test";
import { restrictionScope } from "../../../src/client-group/mod.ts";
import type { OriginConfig } from "../../../src/gateway/config.ts";
import { Routes } from "../../../src/gateway/routing.ts";

const base: OriginConfig = {
  scheme: "https",
  hostname: "127.0.0.1",
  port: 9443,
  clientCertificates: new Map(),
  others: {},
};

function routes(...origins: Partial<OriginConfig>[]): Routes {
  const all = origins.map((origin) => ({ ...base, ...origin }));
  return new Routes({ origins: all, blockScope: "origin" });
}

const ask = (authority: string, fields: Record<string, string> = {}, clientName?: string) => ({
  authority,
  clientName,
  field: (name: string) => fields[name],
});

describe("routing", () => {
  test("takes the most exact entry: host with port, host, then the one without", () => {
    const table = routes(
      { port: 1 },
      { host: "api.example", port: 2 },
      { host: "api.example:8443", port: 3 },
    );
    const port = (authority: string) => table.targetFor(ask(authority))?.port;
    assert.equal(port("api.example"), 2);
    assert.equal(port("API.Example:443"), 2);
    assert.equal(port("api.example:8443"), 3);
    assert.equal(port("other.example"), 1);
    assert.equal(port("[::1]:8443"), 1);
  });

  test("has no origin for a host that no entry takes", () => {
    assert.equal(routes({ host: "api.example" }).targetFor(ask("evil.example")), undefined);
    assert.equal(routes({ host: "api.example" }).targetFor(ask("")), undefined);
  });

  test("gives the same target for equal requests, so that nothing is computed again", () => {
    const table = routes({ host: "api.example" });
    const one = table.targetFor(ask("api.example"));
    assert.equal(table.targetFor(ask("api.example:443")), one);
  });

  test("keeps hosts apart that are served at one address, in key and scope [CG-KEY-1, CG-SEC-6, E12]", () => {
    const table = routes({}, { host: "a.example" }, { host: "b.example" });
    const found = ["a.example", "b.example", "c.example"].map((host) => table.targetFor(ask(host)));
    assert.equal(new Set(found.map((target) => target?.key)).size, 3);
    assert.equal(new Set(found.map((target) => target?.scope)).size, 3);
    assert.deepEqual(
      found.map((target) => target?.host),
      ["127.0.0.1", "127.0.0.1", "127.0.0.1"],
    );
    // Nobody gets around a BLOCK, or more connections, by a name or a port that is made up.
    assert.equal(table.targetFor(ask("d.example")), found[2]);
    assert.equal(table.targetFor(ask("a.example:81")), found[0]);
  });

  test("keeps tenants apart, in key and scope [CG-KEY-8, CG-SEC-3, E12]", () => {
    const table = routes({ tenant: { header: "x-tenant" } });
    const a = table.targetFor(ask("a.example", { "x-tenant": "t1" }));
    const b = table.targetFor(ask("a.example", { "x-tenant": "t2" }));
    const none = table.targetFor(ask("a.example"));
    assert.equal(new Set([a?.key, b?.key, none?.key]).size, 3);
    assert.equal(new Set([a?.scope, b?.scope, none?.scope]).size, 3);
    const again = table.targetFor(ask("b.example", { "x-tenant": "t1" }));
    assert.equal(again, a);
  });

  test("knows no tenant by a field with two names in it, with none, or with a longer one than any [CG-KEY-8]", () => {
    const table = routes({ tenant: { header: "x-tenant" } });
    const none = table.targetFor(ask("a.example"));
    // Two lines, joined: one is the front's, and nothing tells which.
    for (const value of ["t1, t2", "t2,t1", "t1,", "", "t".repeat(1_025)]) {
      assert.equal(table.targetFor(ask("a.example", { "x-tenant": value })), none);
    }
  });

  test("gives each client its own certificate towards the origin [CG-KEY-4, H01]", () => {
    const pair = (name: string) => ({ certificate: `certificate ${name}`, key: `key ${name}` });
    const table = routes({
      clientCertificate: pair("common"),
      clientCertificates: new Map([["alice", pair("alice")]]),
    });
    const alice = table.targetFor(ask("a.example", {}, "alice"));
    const bob = table.targetFor(ask("a.example", {}, "bob"));
    assert.equal(alice?.tls?.certificate, "certificate alice");
    assert.equal(alice?.tls?.privateKey, "key alice");
    assert.equal(bob?.tls?.certificate, "certificate common");
    assert.notEqual(alice?.key, bob?.key);
    assert.doesNotMatch(`${alice?.key}${alice?.scope}`, /alice|key /);
  });

  test("keeps apart what differs in address, name, trust or what the operator adds [CG-KEY-2, CG-KEY-3, CG-KEY-7]", () => {
    const differing: Partial<OriginConfig>[] = [
      {},
      { hostname: "127.0.0.2" },
      { serverName: "b.example" },
      { ca: "PEM" },
      { others: { region: "eu" } },
    ];
    const keys = differing.map((one) =>
      routes({ host: "a.example", ...one }).targetFor(ask("a.example")),
    );
    assert.equal(new Set(keys.map((target) => target?.key)).size, differing.length);
  });

  test("asks by the name of the origin, or of the host where that is a number", () => {
    const table = routes(
      { host: "a.example" },
      { host: "b.example", hostname: "inner.example" },
      { host: "c.example", serverName: "said.example" },
      {},
    );
    const name = (host: string) => table.targetFor(ask(host))?.tls?.serverName;
    assert.deepEqual(["a.example", "b.example", "c.example", "d.example"].map(name), [
      "a.example",
      "inner.example",
      "said.example",
      undefined,
    ]);
  });

  test("has nothing of TLS for an origin in cleartext", () => {
    const target = routes({ scheme: "http", port: 9080 }).targetFor(ask("a.example"));
    assert.deepEqual([target?.scheme, target?.port, target?.tls], ["http", 9080, undefined]);
  });

  test("does not grow without end by names that clients choose", () => {
    const table = routes({ tenant: { header: "x-tenant" } });
    const first = table.targetFor(ask("a", { "x-tenant": "0" }));
    for (let i = 1; i <= 10_001; i++) table.targetFor(ask("a", { "x-tenant": `${i}` }));
    const again = table.targetFor(ask("a", { "x-tenant": "0" }));
    assert.equal(again?.key, first?.key);
  });

  test("gives restrictions the scope that an edge function can say from scheme, host, port and tenant", () => {
    const table = routes({ host: "api.example", tenant: { name: "t1" } });
    const edge = { scheme: "https", host: "api.example", port: 9443, tenant: "t1" };
    assert.equal(
      table.targetFor(ask("api.example"))?.scope,
      restrictionScope({ ...edge, protocol: "h3", validationPolicy: "" }),
    );
  });
});
