import assert from "node:assert/strict";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, test } from "#test";
import { utf8 } from "../../../../../src/bytes.ts";
import { ConfigurationError, jwtPolicy } from "../../../../../src/moq-lb/mod.ts";
import {
  type BackendRequester,
  requestCredentials,
} from "../../../../../src/moq-lb/proxy/backend-credentials.ts";
import { clientDigest, identityTokens } from "../../../../../src/moq-lb/proxy/identity-tokens.ts";
import type {
  BackendTokenContext,
  BackendTokens,
} from "../../../../../src/moq-lb/proxy/proxy-options.ts";
import type { AuthorizationToken } from "../../../../../src/moq-lb/tokens.ts";
import type { RequestType } from "../../../../../src/moqt/mod.ts";
import {
  exportPublicKey,
  generateSigningKey,
  type SigningKey,
} from "../../../../../src/snapshot/mod.ts";
import { pass, settle } from "../../../../support/settle.ts";
import { fields, now, request } from "../../../routing/fixtures.ts";
import { assertFails, opened, RelayBed, ridOf, uriOf } from "./support.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const token = (value: string, tokenType = 0n): AuthorizationToken => ({
  tokenType,
  tokenValue: utf8(value),
});

const requester: BackendRequester = {
  tenant: "acme",
  authority: "lb.example",
  bearerToken: "a bearer token",
  tokens: [token("of the session", 7n)],
};

const subscribe = request("SUBSCRIBE", fields("live", "m1"));
const r1 = { rid: ridOf("r1"), uri: uriOf("r1") };

function tokensOf(
  policy: BackendTokens,
  own: readonly AuthorizationToken[] = [token("of the request")],
) {
  return requestCredentials(policy, r1, requester, subscribe, own);
}

async function sessionWith(backendTokens: BackendTokens, kind?: "webtransport-h3") {
  const bed = new RelayBed({ backendTokens });
  if (kind !== undefined) bed.answer = { kind };
  await opened(bed.client({ requester }).open("r1"));
  const { setup } = bed.end;
  const tokens =
    setup?.tokens.map(({ tokenType, tokenValue }) => ({ tokenType, tokenValue })) ?? [];
  return { setup, tokens, dialled: bed.dialled[0]?.options };
}

describe("tokens for relays, none", () => {
  test("a relay that trusts the connection gets no token, whatever the client has shown [LB-SEC-14] [LB-PSETUP-9]", async () => {
    const { tokens, dialled } = await sessionWith("none");
    assert.deepEqual(tokens, []);
    assert.equal(dialled?.bearerToken, undefined);
    assert.deepEqual(await tokensOf("none"), []);
  });
});

describe("tokens for relays, forwarded", () => {
  test("those of the client's SETUP go by value into ours [LB-SEC-14] [LB-PSETUP-9] [LB-PSETUP-14] [LB-PSETUP-15]", async () => {
    const { setup, tokens, dialled } = await sessionWith("forward", "webtransport-h3");
    assert.deepEqual(tokens, [token("of the session", 7n)]);
    const sent = setup?.options.flatMap((option) =>
      option.type === "AUTHORIZATION_TOKEN" ? [option.token.aliasType] : [],
    );
    assert.deepEqual(sent, ["USE_VALUE"]);
    assert.equal(dialled?.bearerToken, "a bearer token");
  });

  test("the bearer token goes into SETUP where there is no CONNECT request to say it [LB-SEC-14]", async () => {
    const { tokens } = await sessionWith("forward");
    assert.deepEqual(tokens, [token("of the session", 7n), token("a bearer token")]);
  });

  test("a request has its own alone: the session's are in the SETUP that the relay has [LB-SEC-14]", async () => {
    assert.deepEqual(await tokensOf("forward"), [token("of the request")]);
    assert.deepEqual(await tokensOf("forward", []), []);
  });

  test("by value where the relay has no token cache, too [LB-S58]", async () => {
    const { setup } = await sessionWith("forward");
    // Its SETUP says nothing of a cache, so that it has none, and would take a REGISTER for a value.
    const sent = setup?.options.flatMap((option) =>
      option.type === "AUTHORIZATION_TOKEN" ? [option.token.aliasType] : [],
    );
    assert.deepEqual(sent, ["USE_VALUE", "USE_VALUE"]);
  });
});

describe("tokens for relays, delegated", () => {
  test("a hook is asked for each session and request, with all that the client has shown [LB-SEC-14] [LB-SEC-16]", async () => {
    const asked: BackendTokenContext[] = [];
    const policy: BackendTokens = {
      delegate: (context) => {
        asked.push(context);
        return token(`for ${context.request?.type ?? "the session"}`);
      },
    };
    const { tokens, dialled } = await sessionWith(policy);
    assert.deepEqual(tokens, [token("for the session")]);
    assert.equal(dialled?.bearerToken, undefined);
    assert.deepEqual(await tokensOf(policy), [token("for SUBSCRIBE")]);
    assert.deepEqual(asked, [
      { ...r1, ...requester },
      {
        ...r1,
        ...requester,
        tokens: [token("of the request"), token("of the session", 7n)],
        request: subscribe,
      },
    ]);
  });

  test("it may take its time, and answer with none", async () => {
    const late = { delegate: async () => token("late") };
    assert.deepEqual((await sessionWith(late)).tokens, [token("late")]);
    assert.deepEqual(await tokensOf(late), [token("late")]);
    const none = { delegate: () => undefined };
    assert.deepEqual((await sessionWith(none)).tokens, []);
    assert.deepEqual(await tokensOf(none), []);
  });

  test("where it fails there is no session, and the relay is not to blame", async () => {
    const failing = [
      () => {
        throw new Error("no token for https://r1.example");
      },
      () => Promise.reject(new Error("no token for https://r1.example")),
    ];
    for (const delegate of failing) {
      const bed = new RelayBed({ backendTokens: { delegate } });
      await assertFails(bed.client({ requester }).open("r1"), "BACKEND_CREDENTIALS");
      assert.equal(bed.dialled.length, 0);
      assert.deepEqual(bed.states, []);
    }
  });

  test("that do not come in time keep the client from its relay, and say nothing of the relay [LB-HEALTH-5] [LB-A9]", async () => {
    const delegate = () => new Promise<undefined>(() => {});
    const bed = new RelayBed({ backendTokens: { delegate }, limits: { connectTimeout: 3000 } });
    const backend = bed.client({ requester }).open("r1");
    await pass(bed.clock, 3000, 500);
    await assertFails(backend, "BACKEND_CREDENTIALS");
    assert.equal(bed.dialled.length, 0);
    assert.deepEqual(bed.states, []);
    assert.equal(bed.clock.pending, 0);
  });

  test("that come late leave the relay its time [LB-S46]", async () => {
    const { promise, resolve } = Promise.withResolvers<AuthorizationToken>();
    const limits = { connectTimeout: 3000 };
    const bed = new RelayBed({ backendTokens: { delegate: () => promise }, limits });
    bed.answer = { silent: true };
    const backend = bed.client({ requester }).open("r1");
    await pass(bed.clock, 2900, 100);
    resolve(token("late"));
    await pass(bed.clock, 2900, 100);
    assert.equal(backend.isOver, false);
    assert.deepEqual(bed.states, []);
    await pass(bed.clock, 200, 100);
    await assertFails(backend, "BACKEND_UNREACHABLE");
    assert.deepEqual(bed.states, [["r1", "unhealthy"]]);
  });

  test("a client that leaves meanwhile has nothing dialled for it", async () => {
    const { promise, resolve } = Promise.withResolvers<AuthorizationToken>();
    const bed = new RelayBed({ backendTokens: { delegate: () => promise } });
    const client = bed.client();
    client.open("r1");
    await settle();
    client.backends.close();
    resolve(token("too late"));
    await settle();
    assert.equal(bed.dialled.length, 0);
  });
});

describe("tokens for relays, of the balancer's own", () => {
  const issuer = "https://lb.example";
  const seconds = now / 1000;

  async function identities(): Promise<{ key: SigningKey; policy: BackendTokens }> {
    const key = await generateSigningKey("lb-1");
    return { key, policy: identityTokens({ key, issuer, lifetime: 30, now: () => now }) };
  }

  test("state who the client is to one relay, for a short time [LB-SEC-14] [LB-SEC-16]", async () => {
    const { policy } = await identities();
    const { tokens } = await sessionWith(policy);
    const jwt = text(tokens[0]?.tokenValue ?? new Uint8Array());
    assert.deepEqual(decodeProtectedHeader(jwt), { alg: "EdDSA", kid: "lb-1", typ: "JWT" });
    assert.deepEqual(decodeJwt(jwt), {
      iss: issuer,
      aud: ridOf("r1"),
      sub: await clientDigest("acme", "lb.example"),
      iat: seconds,
      exp: seconds + 30,
      moqt: [],
    });
    assert.ok(!jwt.includes("bearer"));
  });

  test("grant the one operation on the one namespace, at that relay and no other [LB-SEC-16] [LB-SEC-18]", async () => {
    const { key, policy } = await identities();
    const tokens = await tokensOf(policy);
    const keys = { keys: [await exportPublicKey(key)] };
    const at = (audience: string) => jwtPolicy({ keys, issuer, audience, now: () => now });
    const ask = (relay: string, operation: "subscribe" | "publish", ...namespace: string[]) =>
      at(ridOf(relay)).authorize({
        operation,
        trackNamespace: fields(...namespace),
        trackName: undefined,
        bearerToken: undefined,
        tokens,
        authority: undefined,
        tenant: undefined,
      });
    assert.deepEqual(await ask("r1", "subscribe", "live", "m1"), { granted: true });
    const refused = { granted: false, reason: "no-grant" };
    assert.deepEqual(await ask("r1", "publish", "live", "m1"), refused);
    assert.deepEqual(await ask("r1", "subscribe", "live", "m2"), refused);
    assert.deepEqual(await ask("r2", "subscribe", "live", "m1"), {
      granted: false,
      reason: "wrong-aud",
    });
  });

  test("name the operation of each type of request, and its prefix where it has one [LB-SEC-16]", async () => {
    const { policy } = await identities();
    const operations: Record<RequestType, string> = {
      SUBSCRIBE: "subscribe",
      PUBLISH: "publish",
      FETCH: "fetch",
      TRACK_STATUS: "track-status",
      PUBLISH_NAMESPACE: "publish-namespace",
      SUBSCRIBE_NAMESPACE: "subscribe-namespace",
      SUBSCRIBE_TRACKS: "subscribe-tracks",
    };
    for (const [type, operation] of Object.entries(operations)) {
      const asked = request(type as RequestType, fields("live", "m1"));
      const [made] = await requestCredentials(policy, r1, requester, asked, []);
      assert.ok(made);
      const { moqt } = decodeJwt(text(made.tokenValue));
      assert.deepEqual(moqt, [{ operations: [operation], prefix: "live-m1" }]);
    }
  });

  test("tell tenants and authorities apart, without naming them [LB-SEC-16] [LB-SEC-34]", async () => {
    const digests = await Promise.all([
      clientDigest("acme", "lb.example"),
      clientDigest("acme", undefined),
      clientDigest(undefined, "acme"),
      clientDigest(undefined, undefined),
      clientDigest("other", "lb.example"),
    ]);
    assert.equal(new Set(digests).size, digests.length);
    assert.ok(digests.every((digest) => /^[0-9a-f]{64}$/.test(digest)));
  });

  test("need an issuer and a lifetime", async () => {
    const key = await generateSigningKey("lb-1");
    assert.throws(() => identityTokens({ key, issuer: "" }), ConfigurationError);
    assert.throws(() => identityTokens({ key, issuer, lifetime: 0 }), ConfigurationError);
  });
});
