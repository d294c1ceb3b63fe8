import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, fromHex, toHex, utf8 } from "../../../src/bytes.ts";
import {
  encodeSnapshot,
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  importTrustedKeys,
  parseSnapshot,
  SnapshotError,
  signSnapshot,
  type TrustedKeys,
  trustSigningKeys,
  type VerifyOptions,
  verifySnapshot,
} from "../../../src/snapshot/mod.ts";
import { cborBytes, headerOf, signRaw, snapshotOf, T0, validJson } from "./fixtures.ts";

/** The first key of RFC 8032 §7.1, as RFC 8037 appendix A writes it. */
const rfcKey = {
  kty: "OKP",
  crv: "Ed25519",
  d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};

async function code(
  envelope: Uint8Array,
  keys: TrustedKeys,
  options: VerifyOptions = { now: T0 },
): Promise<string> {
  try {
    await verifySnapshot(envelope, keys, options);
    return "none";
  } catch (error) {
    assert.ok(error instanceof SnapshotError, String(error));
    return error.code;
  }
}

async function keyCode(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    assert.ok(error instanceof SnapshotError, String(error));
    return error.code;
  }
}

describe("the envelope", () => {
  // Assembled by hand after RFC 9052 §4.2 and §4.4; the signature over the Sig_structure was made
  // with two other implementations (OpenSSL through Node, and Python's cryptography).
  const header = "a3012704426b310fa1061a6553f100";
  const payload = "a36672656c6179738066726f75746573806776657273696f6e01";
  const signature =
    "9c91345c277b5f1296bc9599f8cef35ac871ccb3f9b013e2eb9c96671c12e50cd9914e5801959d45052dc9699bc00fe262c3d841d633077358338a1247fb3d0b";
  const knownEnvelope = `d2844f${header}a0581a${payload}5840${signature}`;
  const snapshot = () => parseSnapshot({ version: 1, relays: [], routes: [] });

  test("is byte for byte the known answer [LB-CONF-21] [LB-SEC-5]", async () => {
    const key = await importSigningKey({ ...rfcKey, kid: "k1" });
    const envelope = await signSnapshot(snapshot(), key, { issuedAt: 1_700_000_000_999 });
    assert.equal(toHex(envelope), knownEnvelope);
  });

  test("of the known answer opens with its key, time and digest [LB-CONF-21] [LB-A2]", async () => {
    const { x, kty, crv } = rfcKey;
    const trusted = await importTrustedKeys({ kty, crv, x, kid: "k1" });
    const envelope = fromHex(knownEnvelope) as Uint8Array;
    assert.deepEqual(await verifySnapshot(envelope, trusted, { now: T0 }), {
      snapshot: snapshot(),
      signedAt: 1_700_000_000_000,
      kid: "k1",
      digest: "04a52206201a07cf0f0d762393d6a80cede8fb231bf3c8dd079db767f870f30f",
    });
  });

  test("gives the snapshot back exactly [LB-CONF-17]", async () => {
    const key = await generateSigningKey();
    const envelope = await signSnapshot(snapshotOf(7), key, { issuedAt: T0 });
    const verified = await verifySnapshot(envelope, trustSigningKeys(key), { now: T0 });
    assert.deepEqual(verified.snapshot, parseSnapshot(validJson(7)));
  });

  test("counts with any trusted key, and with no other [LB-CONF-21] [LB-SEC-5]", async () => {
    const [old, next, stranger] = [
      await generateSigningKey(),
      await generateSigningKey(),
      await generateSigningKey(),
    ];
    const keys = trustSigningKeys(old, next);
    const sign = (key: typeof old) => signSnapshot(snapshotOf(7), key, { issuedAt: T0 });
    assert.equal(await code(await sign(old), keys), "none");
    assert.equal(await code(await sign(next), keys), "none");
    assert.equal(await code(await sign(stranger), keys), "UNTRUSTED_KEY");
    // A stranger who writes a trusted kid into the header.
    const posing = { ...stranger, kid: old.kid };
    assert.equal(await code(await sign(posing), keys), "BAD_SIGNATURE");
  });

  test("with any byte changed is refused [LB-CONF-19] [LB-SEC-5]", async () => {
    const key = await generateSigningKey("k");
    const envelope = await signSnapshot(snapshot(), key, { issuedAt: T0 });
    const keys = trustSigningKeys(key);
    for (let i = 0; i < envelope.length; i++) {
      const changed = new Uint8Array(envelope);
      changed[i] = (changed[i] as number) ^ 1;
      assert.notEqual(await code(changed, keys), "none", `byte ${i}`);
    }
  });

  test("cut short anywhere, or longer, is malformed [LB-CONF-21]", async () => {
    const key = await generateSigningKey("k");
    const envelope = await signSnapshot(snapshot(), key, { issuedAt: T0 });
    const keys = trustSigningKeys(key);
    for (let length = 0; length < envelope.length; length++) {
      assert.equal(await code(envelope.subarray(0, length), keys), "MALFORMED_ENVELOPE");
    }
    const longer = concatBytes(envelope, Uint8Array.of(0));
    assert.equal(await code(longer, keys), "MALFORMED_ENVELOPE");
  });

  test("over the size limit is refused before anything else", async () => {
    const key = await generateSigningKey();
    const envelope = await signSnapshot(snapshotOf(7), key, { issuedAt: T0 });
    const keys = trustSigningKeys(key);
    const limited = (maximumBytes: number) => code(envelope, keys, { now: T0, maximumBytes });
    assert.equal(await limited(envelope.length), "none");
    assert.equal(await limited(envelope.length - 1), "ENVELOPE_TOO_LARGE");
    const huge = new Uint8Array(16 * 1024 * 1024 + 1);
    assert.equal(await code(huge, keys), "ENVELOPE_TOO_LARGE");
    assert.equal(await code(huge.subarray(1), keys), "MALFORMED_ENVELOPE");
  });

  test("signed in the future beyond the skew is refused, and counts once time has come", async () => {
    const key = await generateSigningKey();
    const envelope = await signSnapshot(snapshotOf(7), key, { issuedAt: T0 });
    const keys = trustSigningKeys(key);
    assert.equal(await code(envelope, keys, { now: T0 - 30_000 }), "none");
    assert.equal(await code(envelope, keys, { now: T0 - 30_001 }), "SIGNED_IN_FUTURE");
    assert.equal(await code(envelope, keys, { now: T0 - 1, maximumSkew: 0 }), "SIGNED_IN_FUTURE");
    assert.equal(await code(envelope, keys, { now: T0, maximumSkew: 0 }), "none");
    assert.equal(await code(envelope, keys, { now: Number.NaN }), "SIGNED_IN_FUTURE");
  });

  test("around a payload that is no valid snapshot is refused [LB-CONF-15]", async () => {
    const key = await generateSigningKey("k");
    const keys = trustSigningKeys(key);
    const around = (bytes: Uint8Array) => signRaw(key, headerOf("k", T0 / 1000), bytes);
    assert.equal(await code(await around(encodeSnapshot(snapshotOf(7))), keys), "none");
    assert.equal(await code(await around(Uint8Array.of(0xa0)), keys), "INVALID_SNAPSHOT");
    assert.equal(await code(await around(utf8("garbage")), keys), "MALFORMED_SNAPSHOT");
    assert.equal(await code(await around(new Uint8Array(0)), keys), "MALFORMED_SNAPSHOT");
  });

  test("around a relay with the load balancer's own URI is refused [LB-S104]", async () => {
    const key = await generateSigningKey();
    const envelope = await signSnapshot(snapshotOf(7), key, { issuedAt: T0 });
    const ownServiceUris = ["moqt://R1.example:443/moq"];
    const options = { now: T0, ownServiceUris };
    assert.equal(await code(envelope, trustSigningKeys(key), options), "INVALID_SNAPSHOT");
  });

  test("is signed at a time since 1970", async () => {
    const key = await generateSigningKey();
    for (const issuedAt of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      const work = signSnapshot(snapshotOf(7), key, { issuedAt });
      assert.equal(await keyCode(work), "INVALID_CONFIGURATION");
    }
  });
});

describe("the header of an envelope", () => {
  const kid = cborBytes(utf8("k"));
  const join = (...parts: (string | Uint8Array)[]) =>
    concatBytes(
      ...parts.map((part) => (typeof part === "string" ? (fromHex(part) as Uint8Array) : part)),
    );

  async function withHeader(header: Uint8Array, unprotected?: Uint8Array): Promise<string> {
    const key = await generateSigningKey("k");
    const payload = encodeSnapshot(snapshotOf(7));
    return code(await signRaw(key, header, payload, unprotected), trustSigningKeys(key));
  }

  test("is exactly algorithm, key and time of signing", async () => {
    assert.equal(await withHeader(join("a3012704", kid, "0fa1061a6553f100")), "none");
    const malformed: [what: string, header: Uint8Array][] = [
      ["none at all", join("")],
      ["an empty map", join("a0")],
      ["not a map", join("83012704")],
      ["no algorithm", join("a204", kid, "0fa1061a6553f100")],
      ["ES256", join("a3012604", kid, "0fa1061a6553f100")],
      ["the algorithm as text", join("a301654564445341", "04", kid, "0fa1061a6553f100")],
      ["no key", join("a201270fa1061a6553f100")],
      ["the key as text", join("a3012704616b0fa1061a6553f100")],
      ["no time", join("a2012704", kid)],
      ["no claims", join("a3012704", kid, "0fa0")],
      ["a negative time", join("a3012704", kid, "0fa10620")],
      ["the time as a float", join("a3012704", kid, "0fa106fb41d954fc40200000")],
      ["the time as text", join("a3012704", kid, "0fa1066130")],
      ["a critical extension", join("a40127028118ff04", kid, "0fa1061a6553f100")],
      ["another header", join("a401270300", "04", kid, "0fa1061a6553f100")],
      ["an expiry beside the time", join("a3012704", kid, "0fa2041a6553f100061a6553f100")],
      ["keys out of order", join("a304", kid, "01270fa1061a6553f100")],
      ["a key twice", join("a401270127", "04", kid, "0fa1061a6553f100")],
      ["trailing bytes", join("a3012704", kid, "0fa1061a6553f10000")],
    ];
    for (const [what, header] of malformed) {
      assert.equal(await withHeader(header), "MALFORMED_ENVELOPE", what);
    }
  });

  test("is protected in full: an unprotected algorithm or key is refused", async () => {
    const header = headerOf("k", T0 / 1000);
    for (const unprotected of [
      join("a10127"),
      join("a104", kid),
      join("a10300"),
      join("bfff"),
      join("80"),
    ]) {
      assert.equal(await withHeader(header, unprotected), "MALFORMED_ENVELOPE");
    }
  });

  test("that names no key of ours is not trusted, whatever its bytes", async () => {
    const named = (name: Uint8Array) =>
      withHeader(join("a3012704", cborBytes(name), "0fa1061a6553f100"));
    assert.equal(await named(utf8("other")), "UNTRUSTED_KEY");
    assert.equal(await named(new Uint8Array(0)), "UNTRUSTED_KEY");
    assert.equal(await named(Uint8Array.of(0xff)), "UNTRUSTED_KEY");
    assert.equal(await named(utf8("\ufeffk")), "UNTRUSTED_KEY");
    assert.equal(await named(utf8("__proto__")), "UNTRUSTED_KEY");
  });

  test("stands in a tagged COSE_Sign1 of four parts and nothing else", async () => {
    const key = await generateSigningKey("k");
    const keys = trustSigningKeys(key);
    const good = await signRaw(key, headerOf("k", T0 / 1000), encodeSnapshot(snapshotOf(7)));
    assert.equal(await code(good, keys), "none");
    const shapes: [what: string, envelope: Uint8Array][] = [
      ["untagged", good.subarray(1)],
      ["tagged as COSE_Mac0", join("d1", good.subarray(1))],
      ["the tag in a longer form", join("d812", good.subarray(1))],
      ["tagged twice", join("d2", good)],
      ["of three parts", join("d283", good.subarray(2))],
      ["of five parts", join("d285", good.subarray(2), "00")],
      ["of indefinite length", join("d29f", good.subarray(2), "ff")],
      ["an array that claims 2^64-1 parts", join("d29bffffffffffffffff")],
      ["a header that claims 2^63 bytes", join("d2845b8000000000000000")],
      ["a detached payload", join("d284", cborBytes(headerOf("k", 0)), "a0f640")],
      ["a short signature", join("d284", cborBytes(headerOf("k", 0)), "a0404100")],
    ];
    for (const [what, envelope] of shapes) {
      assert.equal(await code(envelope, keys), "MALFORMED_ENVELOPE", what);
    }
  });
});

describe("keys", () => {
  test("are named by their RFC 7638 thumbprint unless named otherwise", async () => {
    // The thumbprint of this key stands in RFC 8037 appendix A.3.
    const key = await importSigningKey(rfcKey);
    assert.equal(key.kid, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    assert.equal((await importSigningKey({ ...rfcKey, kid: "2026" })).kid, "2026");
    assert.equal((await generateSigningKey("agent")).kid, "agent");
  });

  test("go out as JWK and come back the same", async () => {
    const key = await importSigningKey(rfcKey);
    const { kid } = key;
    assert.deepEqual(await exportSigningKey(key), { ...rfcKey, kid });
    const { d: _secret, ...half } = rfcKey;
    assert.deepEqual(await exportPublicKey(key), { ...half, kid });

    const made = await generateSigningKey();
    const again = await importSigningKey(JSON.parse(JSON.stringify(await exportSigningKey(made))));
    const envelope = await signSnapshot(snapshotOf(7), again, { issuedAt: T0 });
    assert.equal(await code(envelope, trustSigningKeys(made)), "none");
  });

  test("are trusted from one JWK, an array or a JWK Set", async () => {
    const [a, b] = [await generateSigningKey(), await generateSigningKey()];
    const jwks = [await exportPublicKey(a), await exportPublicKey(b)];
    assert.deepEqual([...(await importTrustedKeys(jwks[0])).keys()], [a.kid]);
    assert.deepEqual([...(await importTrustedKeys(jwks)).keys()], [a.kid, b.kid]);
    assert.deepEqual([...(await importTrustedKeys({ keys: jwks })).keys()], [a.kid, b.kid]);
  });

  test("that are not Ed25519 keys for signatures are refused", async () => {
    const { d, ...half } = rfcKey;
    const bad: unknown[] = [
      null,
      "key",
      [],
      {},
      { keys: [] },
      { ...half, kty: "EC" },
      { ...half, crv: "X25519" },
      { ...half, x: undefined },
      { ...half, x: half.x.slice(1) },
      { ...half, x: `${half.x}=` },
      // The same 32 bytes with other padding bits would have another thumbprint.
      { ...half, x: `${half.x.slice(0, -1)}p` },
      { ...half, alg: "ES256" },
      { ...half, use: "enc" },
      { ...half, kid: "" },
      { ...half, kid: 7 },
      { ...half, kid: "k".repeat(257) },
    ];
    for (const jwk of bad) {
      assert.equal(await keyCode(importTrustedKeys(jwk)), "INVALID_KEY", JSON.stringify(jwk));
    }
    assert.equal(await keyCode(importTrustedKeys({ ...half, alg: "EdDSA", use: "sig" })), "none");
    assert.equal(await keyCode(importSigningKey({ ...rfcKey, d: d.slice(2) })), "INVALID_KEY");
    assert.equal(await keyCode(importSigningKey(half)), "INVALID_KEY");
  });

  test("are refused as trusted where they are private, or two share a name", async () => {
    const [a, b] = [await generateSigningKey("k"), await generateSigningKey("k")];
    assert.equal(await keyCode(importTrustedKeys(await exportSigningKey(a))), "INVALID_KEY");
    const both = [await exportPublicKey(a), await exportPublicKey(b)];
    assert.equal(await keyCode(importTrustedKeys(both)), "INVALID_KEY");
    assert.equal(await keyCode(importTrustedKeys([both[0], both[0]])), "none");
  });

  test("whose halves do not belong together are refused", async () => {
    const other = await exportPublicKey(await generateSigningKey());
    assert.equal(await keyCode(importSigningKey({ ...rfcKey, x: other.x })), "INVALID_KEY");
  });
});
