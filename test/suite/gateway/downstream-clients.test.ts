import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, test } from "#test";
import { clientIdentifier } from "../../../src/gateway/downstream/client-identifier.ts";
import { ClientRegistry } from "../../../src/gateway/downstream/client-registry.ts";
import type { GatewayClient } from "../../../src/gateway/types.ts";
import { Rate } from "../../../src/http2/rate.ts";

function registry(options: { most?: number; idleTime?: number } = {}) {
  const bed = { now: 0, restricted: new Set<string>(), forgotten: [] as string[] };
  const clients = new ClientRegistry({
    now: () => bed.now,
    isRestricted: ({ key }) => bed.restricted.has(key),
    forget: ({ key }) => bed.forgotten.push(key),
    ...options,
  });
  return { clients, bed };
}

describe("the clients that are known", () => {
  test("are one object each, whatever connection their requests come on [CG-FIELD-20, CG-FIELD-11]", () => {
    const { clients } = registry();
    const a = clients.named("header:a") as GatewayClient;
    assert.equal(clients.named("header:a"), a);
    assert.notEqual(clients.named("header:b"), a);
    assert.match(a.digest, /^[0-9a-f]{16}$/);
  });

  test("that are connections go with the last request on them [CG-PRIV-5]", () => {
    const { clients, bed } = registry();
    const client = clients.connection("connection:1");
    clients.start(client);
    clients.depart(client);
    assert.deepEqual(bed.forgotten, []);
    clients.end(client);
    assert.deepEqual(bed.forgotten, ["connection:1"]);
    clients.depart(clients.connection("connection:2"));
    assert.deepEqual(bed.forgotten, ["connection:1", "connection:2"]);
    assert.equal(clients.size, 0);
  });

  test("that have a name go when they were idle for long, and are not restricted [CG-S14]", () => {
    const { clients, bed } = registry({ idleTime: 100 });
    for (const name of ["a", "b", "c"]) clients.named(name);
    bed.restricted.add("b");
    const c = clients.named("c") as GatewayClient;
    clients.start(c);
    bed.now = 200;
    clients.sweep();
    assert.deepEqual(bed.forgotten, ["a"]);
    clients.end(c);
    bed.restricted.clear();
    bed.now = 250;
    clients.sweep();
    assert.deepEqual(bed.forgotten, ["a", "b"]);
  });

  test("are bounded, and nobody sheds a restriction by crowding [J05, CG-BLOCK-1]", () => {
    const { clients, bed } = registry({ most: 2 });
    const blocked = clients.named("blocked") as GatewayClient;
    bed.restricted.add("blocked");
    clients.named("a");
    assert.ok(clients.named("b") !== undefined);
    assert.deepEqual(bed.forgotten, ["a"]);
    assert.equal(clients.named("blocked"), blocked);
    bed.restricted.add("b");
    assert.equal(clients.named("c"), undefined);
    assert.equal(clients.size, 2);
  });
});

describe("whose request it is", () => {
  test("is its connection's by default, and where a field does not say [CG-FIELD-20]", () => {
    assert.equal(clientIdentifier({ by: "connection" })({ "x-user": "a" }), undefined);
    const byHeader = clientIdentifier({ by: "header", name: "X-User" });
    assert.deepEqual(byHeader({ "x-user": "a" }), { key: "header:a", name: "a" });
    assert.equal(byHeader({}), undefined);
    assert.equal(byHeader({ "x-user": "" }), undefined);
    assert.equal(byHeader({ "x-user": "a".repeat(1_025) }), undefined);
    // Two lines, joined: one is the front's, and nothing tells which.
    assert.equal(byHeader({ "x-user": "a, b" }), undefined);
  });

  test("is never what its Client-Group says [CG-SEC-4]", () => {
    for (const rule of [{ by: "connection" }, { by: "header", name: "x-user" }] as const) {
      assert.equal(clientIdentifier(rule)({ "client-group": "7" }), undefined);
    }
  });

  test("is the subject's of a token that is verified, by key, issuer, audience and time", async () => {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA");
    const other = await generateKeyPair("EdDSA");
    const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: "EdDSA" }] };
    const at = 1_800_000_000_000;
    const bed = { now: at };
    const identify = clientIdentifier(
      { by: "jwt-sub", keys, issuer: "https://issuer.example", audience: "gateway" },
      () => bed.now,
    );
    const token = (claims: { iss?: string; aud?: string; sub?: string }, key = privateKey) =>
      new SignJWT({ ...(claims.sub !== undefined && { sub: claims.sub }) })
        .setProtectedHeader({ alg: "EdDSA" })
        .setIssuer(claims.iss ?? "https://issuer.example")
        .setAudience(claims.aud ?? "gateway")
        .setExpirationTime(at / 1_000 + 30)
        .sign(key);
    const of = async (text: string) => await identify({ authorization: `Bearer ${text}` });
    const good = await token({ sub: "alice" });
    const identity = await of(good);
    assert.equal(identity?.name, "alice");
    assert.equal(identity.key, 'sub:["https://issuer.example","alice"]');
    assert.equal(await of(await token({ sub: "alice" }, other.privateKey)), undefined);
    assert.equal(await of(await token({ sub: "alice", iss: "https://evil.example" })), undefined);
    assert.equal(await of(await token({ sub: "alice", aud: "other" })), undefined);
    assert.equal(await of(await token({})), undefined);
    assert.equal(await of(`${good}x`), undefined);
    assert.equal(await of("none"), undefined);
    assert.equal(identify({ authorization: "Basic YTpi" }), undefined);
    // Known by now: no signature is checked again, and no longer than the token lasts.
    assert.deepEqual(identify({ authorization: `bearer ${good}` }), identity);
    bed.now = at + 31_000;
    assert.equal(await of(good), undefined);
  });
});

describe("a rate", () => {
  test("lets a burst through, and then so many a second", () => {
    const rate = new Rate(3, 2, 0);
    assert.deepEqual(
      [0, 0, 0, 0].map((now) => rate.take(now)),
      [true, true, true, false],
    );
    assert.deepEqual(
      [500, 500, 1_000].map((now) => rate.take(now)),
      [true, false, true],
    );
    assert.deepEqual(
      [60_000, 60_000, 60_000, 60_000].map((now) => rate.take(now)),
      [true, true, true, false],
    );
  });
});
