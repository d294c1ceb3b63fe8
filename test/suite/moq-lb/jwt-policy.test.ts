import assert from "node:assert/strict";
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT, UnsecuredJWT } from "jose";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type AuthorizationDecision,
  type AuthorizationPolicy,
  type AuthorizationRequest,
  ConfigurationError,
  type JwtPolicyOptions,
  jwtPolicy,
  type Operation,
} from "../../../src/moq-lb/mod.ts";
import { fields } from "../routing/fixtures.ts";

const issuer = "https://id.example";
const audience = "moq-lb";
/** Seconds; the clock of the tests stands here. */
const now = 1_800_000_000;

const everything = [{ operations: ["subscribe", "publish", "fetch"], prefix: "" }];

interface Issuer {
  readonly policy: AuthorizationPolicy;
  readonly keys: { keys: [JWK] };
  /** A token with these claims on top of good ones; `undefined` leaves one out. */
  token(claims?: Record<string, unknown>, kid?: string | null): Promise<string>;
}

async function issuerOf(options: Partial<JwtPolicyOptions> = {}): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const keys: Issuer["keys"] = { keys: [{ ...(await exportJWK(publicKey)), kid: "k1" }] };
  return {
    keys,
    policy: jwtPolicy({ keys, issuer, audience, now: () => now * 1000, ...options }),
    token(claims, kid = "k1") {
      const payload = { iss: issuer, aud: audience, exp: now + 60, moqt: everything, ...claims };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: "ES256", ...(kid !== null && { kid }) })
        .sign(privateKey);
    },
  };
}

function asking(
  operation: Operation,
  namespace: readonly string[],
  given: Partial<AuthorizationRequest> = {},
): AuthorizationRequest {
  return {
    operation,
    trackNamespace: fields(...namespace),
    trackName: undefined,
    bearerToken: undefined,
    tokens: [],
    authority: undefined,
    tenant: undefined,
    ...given,
  };
}

/** Whether `policy` grants to a bearer of `token` to subscribe to `live`, or why not. */
async function verdict(policy: AuthorizationPolicy, token: string): Promise<true | string> {
  return outcome(await policy.authorize(asking("subscribe", ["live"], { bearerToken: token })));
}

function outcome(decision: AuthorizationDecision): true | string {
  if (typeof decision === "boolean") return decision || "refused";
  return decision.granted || (decision.reason ?? "refused");
}

describe("tokens", () => {
  test("are valid when signed, issued for this service and in force [LB-REJECT-7]", async () => {
    const { policy, token } = await issuerOf();
    assert.equal(await verdict(policy, await token()), true);
    assert.equal(await verdict(policy, await token({ aud: ["other", audience] })), true);
    const refused: [string, Record<string, unknown>][] = [
      ["wrong-iss", { iss: "https://evil.example" }],
      ["wrong-iss", { iss: undefined }],
      ["wrong-aud", { aud: "another" }],
      ["wrong-aud", { aud: undefined }],
      ["wrong-exp", { exp: undefined }],
      ["token-expired", { exp: now }],
      ["wrong-nbf", { nbf: now + 1 }],
      ["no-moqt-claim", { moqt: undefined }],
      ["no-moqt-claim", { moqt: "all" }],
      ["no-grant", { moqt: [] }],
    ];
    for (const [reason, claims] of refused) {
      assert.equal(await verdict(policy, await token(claims)), reason, JSON.stringify(claims));
    }
  });

  test("are refused with another key, another algorithm, none, or as garbage", async () => {
    const { policy, token } = await issuerOf();
    const forger = await issuerOf();
    assert.equal(await verdict(policy, await forger.token()), "bad-signature");
    assert.equal(await verdict(policy, await token({}, "k2")), "unknown-key");
    const unsecured = new UnsecuredJWT({ moqt: everything }).setIssuer(issuer).encode();
    assert.equal(await verdict(policy, unsecured), "algorithm-not-allowed");
    // The public key as a shared secret: the algorithm is not on the list.
    const confused = await new SignJWT({ moqt: everything })
      .setProtectedHeader({ alg: "HS256", kid: "k1" })
      .sign(utf8(JSON.stringify(forger.keys)));
    assert.equal(await verdict(policy, confused), "algorithm-not-allowed");
    for (const garbage of ["", "x", "a.b.c", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA", "é.é.é"]) {
      assert.notEqual(await verdict(policy, garbage), true);
    }
    assert.equal(await verdict(policy, "x".repeat(8193)), "token-too-long");
  });

  test("have their signature changed in one bit at a time and pass in none", async () => {
    const { policy, token } = await issuerOf();
    const good = await token();
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let i = 0; i < good.length; i += 7) {
      const digit = digits.indexOf(good[i] as string);
      if (digit < 0) continue;
      const changed = good.slice(0, i) + digits[digit ^ 32] + good.slice(i + 1);
      assert.notEqual(await verdict(policy, changed), true, `at ${i}`);
    }
  });

  test("may outlive the clock by the tolerance that was agreed, not more", async () => {
    const { policy, token } = await issuerOf({ clockTolerance: 5 });
    assert.equal(await verdict(policy, await token({ exp: now - 4 })), true);
    assert.equal(await verdict(policy, await token({ exp: now - 5 })), "token-expired");
  });

  test("without a key id are refused where several keys fit", async () => {
    const { keys, token } = await issuerOf();
    const other = await issuerOf();
    const twins = [...keys.keys, ...other.keys.keys].map(({ kid: _, ...key }) => key);
    const policy = jwtPolicy({ keys: { keys: twins }, issuer, audience, now: () => now * 1000 });
    assert.equal(await verdict(policy, await token({}, null)), "ambiguous-key");
    const [only] = twins;
    assert.ok(only);
    const single = jwtPolicy({ keys: only, issuer, audience, now: () => now * 1000 });
    assert.equal(await verdict(single, await token({}, null)), true);
  });
});

describe("where tokens come from", () => {
  test("a bearer field or MOQT tokens of type 0, and any that grants will do", async () => {
    const { policy, token } = await issuerOf();
    const good = utf8(await token());
    const other = utf8(await token({ moqt: [{ operations: ["publish"], prefix: "" }] }));
    const ask = async (given: Partial<AuthorizationRequest>) =>
      outcome(await policy.authorize(asking("subscribe", ["live"], given)));

    assert.equal(await ask({}), "no-token");
    assert.equal(await ask({ tokens: [{ tokenType: 0n, tokenValue: good }] }), true);
    assert.equal(await ask({ tokens: [{ tokenType: 7n, tokenValue: good }] }), "no-token");
    const both = [other, good].map((tokenValue) => ({ tokenType: 0n, tokenValue }));
    assert.equal(await ask({ tokens: both }), true);
    assert.equal(await ask({ bearerToken: "junk", tokens: both }), true);
    assert.equal(await ask({ tokens: both.slice(0, 1) }), "no-grant");
    const raw = [{ tokenType: 0n, tokenValue: new Uint8Array([0xff, 0x00, 0xc3]) }];
    assert.equal(await ask({ tokens: raw }), "malformed-token");
  });

  test("more tokens than four are refused unread [LB-SEC-26]", async () => {
    const { policy, token } = await issuerOf();
    const good = { tokenType: 0n, tokenValue: utf8(await token()) };
    const ask = async (tokens: AuthorizationRequest["tokens"]) =>
      outcome(await policy.authorize(asking("subscribe", ["live"], { tokens })));
    assert.equal(await ask(new Array(4).fill(good)), true);
    assert.equal(await ask(new Array(5).fill(good)), "too-many-tokens");
    assert.equal(await ask(new Array(5000).fill(good)), "too-many-tokens");
  });
});

describe("grants", () => {
  async function granted(
    moqt: unknown,
    ...questions: [Operation, ...string[]][]
  ): Promise<boolean[]> {
    const { policy, token } = await issuerOf();
    const bearerToken = await token({ moqt });
    const answers = [];
    for (const [operation, ...namespace] of questions) {
      const question = asking(operation, namespace, { bearerToken });
      answers.push(outcome(await policy.authorize(question)) === true);
    }
    return answers;
  }

  test("cover their operations under whole fields of their prefix", async () => {
    const answers = await granted(
      [{ operations: ["subscribe", "fetch"], prefix: "example.2ecom-m1" }],
      ["subscribe", "example.com", "m1"],
      ["fetch", "example.com", "m1", "alice"],
      ["publish", "example.com", "m1"],
      ["subscribe", "example.com"],
      ["subscribe", "example.com", "m10"],
      ["subscribe"],
    );
    assert.deepEqual(answers, [true, true, false, false, false, false]);
  });

  test("with the empty prefix cover every namespace", async () => {
    const answers = await granted(
      [{ operations: ["track-status"], prefix: "" }],
      ["track-status"],
      ["track-status", "any", "thing"],
      ["subscribe", "any"],
    );
    assert.deepEqual(answers, [true, true, false]);
  });

  test("can demand a depth of requests for prefixes, and of those alone [LB-S127]", async () => {
    const operations = ["subscribe-namespace", "subscribe-tracks", "subscribe"];
    const answers = await granted(
      [{ operations, prefix: "a", min_depth: 2 }],
      ["subscribe-namespace", "a"],
      ["subscribe-tracks", "a"],
      ["subscribe-namespace", "a", "b"],
      ["subscribe-tracks", "a", "b", "c"],
      ["subscribe", "a"],
    );
    assert.deepEqual(answers, [false, false, true, true, true]);
  });

  test("that cannot be understood as a whole grant nothing and spoil no other", async () => {
    const operations = ["subscribe"];
    const odd = [
      null,
      5,
      "subscribe",
      [],
      { operations },
      { prefix: "" },
      { operations: "subscribe", prefix: "" },
      { operations, prefix: 5 },
      { operations, prefix: "a b" },
      { operations, prefix: "a--b" },
      { operations, prefix: "", min_depth: "0" },
      { operations, prefix: "", min_depth: 0.5 },
      { operations, prefix: "", not_after: 0 },
      { operations: ["everything"], prefix: "" },
    ];
    assert.deepEqual(await granted(odd, ["subscribe", "a"]), [false]);
    assert.deepEqual(await granted([...odd, { operations, prefix: "a" }], ["subscribe", "a"]), [
      true,
    ]);
  });
});

describe("keys", () => {
  /** A policy whose keys are counted as they are asked for. */
  async function counting(options: Partial<JwtPolicyOptions> = {}) {
    const { keys, token } = await issuerOf();
    const clock = { asked: 0, milliseconds: now * 1000 };
    const policy = jwtPolicy({
      async keys() {
        clock.asked++;
        return (await importJWK(keys.keys[0], "ES256")) as CryptoKey;
      },
      issuer,
      audience,
      now: () => clock.milliseconds,
      ...options,
    });
    return { policy, token, clock };
  }

  test("that cannot be had are a fault and no refusal", async () => {
    const { token } = await issuerOf();
    const policy = jwtPolicy({
      keys: () => Promise.reject(new TypeError("fetch failed")),
      issuer,
      audience,
      now: () => now * 1000,
    });
    const question = asking("subscribe", ["live"], { bearerToken: await token() });
    await assert.rejects(async () => policy.authorize(question), TypeError);
  });

  test("are fetched from the https address of a key set, and a failed fetch is a fault", async () => {
    const { keys, token } = await issuerOf();
    const bearer = await token();
    const addresses: string[] = [];
    const original = globalThis.fetch;
    try {
      const policy = jwtPolicy({
        keys: new URL("https://id.example/jwks"),
        issuer,
        audience,
        now: () => now * 1000,
        remembered: 0,
      });
      globalThis.fetch = (async () => new Response("busy", { status: 503 })) as never;
      await assert.rejects(verdict(policy, bearer));
      globalThis.fetch = (async (address: string) => {
        addresses.push(address);
        return Response.json(keys);
      }) as never;
      assert.deepEqual(
        [await verdict(policy, bearer), await verdict(policy, bearer)],
        [true, true],
      );
    } finally {
      globalThis.fetch = original;
    }
    assert.deepEqual(addresses, ["https://id.example/jwks"]);
  });

  test("are asked once for a token that comes again before it expires", async () => {
    const { policy, token, clock } = await counting();
    const bearer = await token({ exp: now + 10 });
    assert.deepEqual([await verdict(policy, bearer), await verdict(policy, bearer)], [true, true]);
    clock.milliseconds += 9_999;
    assert.equal(await verdict(policy, bearer), true);
    assert.equal(clock.asked, 1);
    clock.milliseconds += 1;
    assert.equal(await verdict(policy, bearer), "token-expired");
  });

  test("are asked again after a minute, so that a withdrawn key stops counting", async () => {
    const { policy, token, clock } = await counting();
    const bearer = await token({ exp: now + 3600 });
    await verdict(policy, bearer);
    clock.milliseconds += 59_999;
    await verdict(policy, bearer);
    assert.equal(clock.asked, 1);
    clock.milliseconds += 1;
    await verdict(policy, bearer);
    assert.equal(clock.asked, 2);
  });

  test("are asked again for a token that made room for newer ones", async () => {
    const { policy, token, clock } = await counting({ remembered: 1 });
    const [a, b] = [await token({ jti: "a" }), await token({ jti: "b" })];
    for (const bearer of [a, b, b, a]) assert.equal(await verdict(policy, bearer), true);
    assert.equal(clock.asked, 3);
  });

  test("are asked each time where nothing is to be remembered", async () => {
    const { policy, token, clock } = await counting({ remembered: 0 });
    const bearer = await token();
    await verdict(policy, bearer);
    await verdict(policy, bearer);
    assert.equal(clock.asked, 2);
  });
});

test("wrong or missing options stop the start with one line that names them", async () => {
  const { keys } = await issuerOf();
  const good = { keys, issuer, audience };
  const wrong: [string, object][] = [
    ["keys", { keys: undefined }],
    ["keys", { keys: 5 }],
    ["keys", { keys: { keys: [5] } }],
    ["keys", { keys: { keys: null } }],
    ["keys", { keys: { keys: {} } }],
    ["keys", { keys: { keys: [] } }],
    ["keys", { keys: [] }],
    ["keys", { keys: {} }],
    ["keys", { keys: { keys: [{}, { kty: "OKP", crv: "X25519", x: "AA" }] } }],
    ["keys", { keys: { keys: [{ ...keys.keys[0], use: "enc" }] } }],
    ["keys", { keys: { keys: [{ ...keys.keys[0], key_ops: ["sign"] }] } }],
    ["keys", { keys: { keys: [{ ...keys.keys[0], alg: "ES384" }] } }],
    ["keys", { keys: { kty: "EC", crv: "P-256", x: "AA" } }],
    ["keys", { algorithms: ["RS256", "EdDSA"] }],
    ["keys", { keys: new URL("http://id.example/jwks") }],
    ["keys", { keys: { kty: "oct", k: "c2VjcmV0" } }],
    ["keys", { keys: { keys: [{ kty: "OKP", crv: "Ed25519", x: "AA", d: "AA" }] } }],
    ["issuer", { issuer: undefined }],
    ["issuer", { issuer: [] }],
    ["issuer", { issuer: 5 }],
    ["issuer", { issuer: {} }],
    ["issuer", { issuer: ["a", 5] }],
    ["audience", { audience: "" }],
    ["algorithms", { algorithms: [] }],
    ["algorithms", { algorithms: ["ES256", "HS256"] }],
    ["algorithms", { algorithms: ["none"] }],
    ["algorithms", { algorithms: "ES256" }],
    ["algorithms", { algorithms: [undefined] }],
    ["tokenTypes", { tokenTypes: 0n }],
    ["tokenTypes", { tokenTypes: [0] }],
    ["clockTolerance", { clockTolerance: -1 }],
    ["remembered", { remembered: -1 }],
    ["now", { now: 5 }],
  ];
  for (const [option, value] of wrong) {
    assert.throws(
      () => jwtPolicy({ ...good, ...value } as unknown as JwtPolicyOptions),
      (error) =>
        error instanceof ConfigurationError && new RegExp(`^${option} [^\n]+$`).test(error.message),
      `${option}: ${Object.keys(value)}`,
    );
  }
  assert.throws(() => jwtPolicy(undefined as unknown as JwtPolicyOptions), ConfigurationError);
  // One usable key will do.
  const unusable = { kty: "OKP", crv: "X25519", x: "AA" };
  assert.equal(jwtPolicy({ ...good, keys: { keys: [unusable, ...keys.keys] } }).name, "jwt");
  const use = { use: "sig", key_ops: ["verify"], alg: "ES256" };
  assert.equal(jwtPolicy({ ...good, keys: { ...(keys.keys[0] as JWK), ...use } }).name, "jwt");
});

describe("sessions", () => {
  /** What the policy says of a session that shows these bearer tokens. */
  async function verdictOnSession(
    { policy }: Issuer,
    bearerToken?: string,
    ...tokens: string[]
  ): Promise<true | string> {
    assert.ok(policy.authorizeSession);
    const decision = await policy.authorizeSession({
      bearerToken,
      tokens: tokens.map((text) => ({ tokenType: 0n, tokenValue: utf8(text) })),
      authority: undefined,
      path: undefined,
      tenant: undefined,
    });
    return outcome(decision);
  }

  test("are let in without tokens, since those may come with requests", async () => {
    assert.equal(await verdictOnSession(await issuerOf()), true);
  });

  test("that show tokens need one that is valid, whatever it grants [LB-SEC-11]", async () => {
    const issuer = await issuerOf();
    const good = await issuer.token({ moqt: [] });
    const expired = await issuer.token({ exp: now - 1 });
    assert.equal(await verdictOnSession(issuer, good), true);
    assert.equal(await verdictOnSession(issuer, undefined, expired, good), true);
    assert.equal(await verdictOnSession(issuer, expired), "token-expired");
    assert.equal(await verdictOnSession(issuer, undefined, "x"), "malformed-token");
    assert.equal(await verdictOnSession(issuer, "a", "b", "c", "d", good), "too-many-tokens");
  });
});
