import assert from "node:assert/strict";
import { encode } from "cbor2";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import { decodeCbor } from "../../../src/snapshot/cbor.ts";
import {
  decodeSnapshot,
  encodeSnapshot,
  type JsonSnapshot,
  parseDiagnosticSnapshot,
  parseSnapshot,
  SnapshotError,
  snapshotToJson,
  validateSnapshot,
  verifySnapshot,
} from "../../../src/snapshot/mod.ts";
import { bench, headerOf, signRaw, snapshotOf, T0 } from "./fixtures.ts";

/** Bytes in either JSON form. */
const someBytes = (minLength: number) =>
  fc.oneof(
    fc.string({ minLength, maxLength: 8, unit: "grapheme" }),
    fc.uint8Array({ minLength, maxLength: 8 }).map((bytes) => ({ hex: toHex(bytes) })),
  );

const attributeValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
    fc.string({ unit: "grapheme" }),
    fc.uint8Array({ maxLength: 4 }).map((bytes) => ({ hex: toHex(bytes) })),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.string({ unit: "grapheme", maxLength: 5 }).filter((key) => key !== "hex"),
      tie("value"),
      { maxKeys: 3, noNullPrototype: true },
    ),
  ),
})).value;

const attributes = fc.option(
  fc.dictionary(fc.string({ unit: "grapheme", maxLength: 5 }), attributeValue, {
    maxKeys: 3,
    noNullPrototype: true,
  }),
  { nil: undefined },
);

/** The same bytes are the same however they are written. */
function sameKey(bytes: unknown): string {
  const hex = (bytes as { hex?: string }).hex;
  return hex ?? toHex(utf8(bytes as string));
}

/** Valid snapshots in their JSON form. */
const validSnapshot = fc
  .uniqueArray(someBytes(0), { minLength: 1, maxLength: 5, selector: sameKey })
  .chain((rids) =>
    fc.record(
      {
        version: fc.maxSafeNat(),
        relays: fc.tuple(
          ...rids.map((rid) =>
            fc.record(
              {
                rid: fc.constant(rid),
                uri: fc.constantFrom(
                  "https://r.example/moq",
                  "moqt://[::1]:4443",
                  "https://r/?q=%41",
                ),
                health: fc.constantFrom("healthy", "draining", "unhealthy"),
                attributes,
              },
              { requiredKeys: ["rid", "uri", "health"] },
            ),
          ),
        ),
        routes: fc.uniqueArray(
          fc.oneof(
            fc.record(
              {
                prefix: fc.array(someBytes(1), { maxLength: 4 }),
                kind: fc.constant("static"),
                rid: fc.constantFrom(...rids),
                attributes,
              },
              { requiredKeys: ["prefix", "kind", "rid"] },
            ),
            fc.record(
              {
                prefix: fc.array(someBytes(1), { maxLength: 4 }),
                kind: fc.constant("hashed"),
                profile: fc.constantFrom("HRW-SHA256", "HRW-SHA256-64"),
                key_fields: fc.integer({ min: 4, max: 40 }),
                rids: fc
                  .tuple(
                    fc.shuffledSubarray(rids, { minLength: 1 }),
                    fc.array(fc.integer({ min: 0, max: 16 }), { minLength: 5, maxLength: 5 }),
                  )
                  .map(([some, weights]) =>
                    some.map((rid, i) => (i === 0 ? rid : { rid, weight: weights[i] })),
                  ),
                attributes,
              },
              { requiredKeys: ["prefix", "kind", "rids"] },
            ),
          ),
          { maxLength: 5, selector: ({ prefix }) => prefix.map(sameKey).join(".") },
        ),
        attributes,
      },
      { requiredKeys: ["version", "relays", "routes"] },
    ),
  );

/** Runs `work`; its error has to be ours. */
function typed(work: () => unknown): SnapshotError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof SnapshotError, String(error));
    return error;
  }
}

describe("any valid snapshot", () => {
  test("goes through JSON and CBOR and back unchanged [LB-CONF-17] [LB-TABLE-3]", () => {
    fc.assert(
      fc.property(validSnapshot, (json) => {
        const snapshot = parseSnapshot(json);
        const wire = encodeSnapshot(snapshot);
        const decoded = decodeSnapshot(wire);
        assert.deepEqual(decoded, snapshot);
        assert.deepEqual(encodeSnapshot(decoded), wire);
        const written: JsonSnapshot = snapshotToJson(decoded);
        assert.deepEqual(parseSnapshot(JSON.stringify(written)), snapshot);
        assert.deepEqual(snapshotToJson(parseSnapshot(JSON.stringify(written))), written);
      }),
    );
  });

  test("has one encoding, whatever the order of its keys", () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value).map(([key, item]) => [key, reversed(item)]);
      return Object.fromEntries(entries.reverse());
    };
    fc.assert(
      fc.property(validSnapshot, (json) => {
        const wire = encodeSnapshot(parseSnapshot(json));
        assert.deepEqual(encodeSnapshot(parseSnapshot(reversed(json))), wire);
      }),
    );
  });

  test("is encoded as another deterministic encoder does it, byte for byte", () => {
    fc.assert(
      fc.property(validSnapshot, (json) => {
        const wire = encodeSnapshot(parseSnapshot(json));
        const other = encode(decodeCbor(wire), { cde: true, simplifyNegativeZero: true });
        assert.equal(toHex(wire), toHex(other));
      }),
    );
  });
});

describe("any value", () => {
  test("is either valid or has problems with path and requirement, and never throws", () => {
    const value = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withTypedArray: true,
    });
    const nearly = fc.record({ version: value, relays: fc.array(value), routes: fc.array(value) });
    fc.assert(
      fc.property(fc.oneof(value, nearly), fc.constantFrom("any", "binary"), (any, bytes) => {
        for (const { path, requirement, message } of validateSnapshot(any, { bytes })) {
          assert.equal(typeof path, "string");
          assert.match(requirement, /^LB-[A-Z]*-?S?[0-9]+$/);
          assert.ok(message.length < 200);
        }
      }),
    );
  });
});

describe("any text", () => {
  test("is read as JSON exactly where JSON.parse reads it, apart from what is stricter here", () => {
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().chain((json) => fc.nat(json.length).map((length) => json.slice(0, length))),
    );
    fc.assert(
      fc.property(text, (json) => {
        const malformed = typed(() => parseSnapshot(json))?.code === "MALFORMED_SNAPSHOT";
        let standard = true;
        try {
          JSON.parse(json);
        } catch {
          standard = false;
        }
        if (!standard) assert.ok(malformed);
        else if (malformed) assert.match(json, /[0-9][eE.][0-9+-]|[0-9]{16}|"(.*)".*"\1"/s);
      }),
    );
  });

  test("in diagnostic notation gives a snapshot or a typed error", () => {
    const text = fc
      .array(
        fc.constantFrom("{", "}", "[", "]", ",", ":", "'", '"', "h'", "0f", "/", "#", "\\", " "),
      )
      .map((parts) => parts.join(""));
    fc.assert(fc.property(text, (source) => void typed(() => parseDiagnosticSnapshot(source))));
  });
});

describe("any bytes", () => {
  test("as CBOR give a valid snapshot or a typed error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        assert.notEqual(
          typed(() => decodeSnapshot(bytes)),
          undefined,
        );
      }),
    );
  });

  test("made from a valid snapshot by a cut or a flipped bit: the same, or a typed error", () => {
    const wire = encodeSnapshot(snapshotOf(7));
    for (let length = 0; length < wire.length; length++) {
      const cut = typed(() => decodeSnapshot(wire.subarray(0, length)));
      assert.equal(cut?.code, "MALFORMED_SNAPSHOT");
    }
    for (let bit = 0; bit < wire.length * 8; bit++) {
      const flipped = new Uint8Array(wire);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      typed(() => {
        const snapshot = decodeSnapshot(flipped);
        assert.deepEqual(decodeSnapshot(encodeSnapshot(snapshot)), snapshot);
      });
    }
  });

  test("as an envelope never become active [LB-CONF-21] [LB-SEC-5]", async () => {
    const { holder, envelope } = await bench();
    const good = await envelope(7);
    const mutation = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.nat(good.length - 1).map((length) => good.subarray(0, length)),
      fc.nat(good.length * 8 - 1).map((bit) => {
        const flipped = new Uint8Array(good);
        flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
        return flipped;
      }),
      fc
        .tuple(fc.nat(good.length), fc.uint8Array({ minLength: 1, maxLength: 9 }))
        .map(([at, more]) =>
          Uint8Array.from([...good.subarray(0, at), ...more, ...good.subarray(at)]),
        ),
    );
    await fc.assert(
      fc.asyncProperty(mutation, async (bytes) => {
        const outcome = await holder.offer(bytes);
        assert.match(outcome.reason, /^(malformed|untrusted-key|bad-signature)$/);
        assert.ok(outcome.error instanceof SnapshotError);
        assert.equal(holder.active, undefined);
      }),
      { numRuns: 300 },
    );
  });

  test("as a payload that a trusted key signed give a valid snapshot or a typed error", async () => {
    const { key, holder } = await bench();
    const keys = new Map([[key.kid, key.publicKey]]);
    const payload = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.string().map(utf8),
      fc.nat(150).map((length) => encodeSnapshot(snapshotOf(7)).subarray(0, length)),
    );
    await fc.assert(
      fc.asyncProperty(payload, async (bytes) => {
        const envelope = await signRaw(key, headerOf(key.kid, T0 / 1000), bytes);
        await assert.rejects(
          verifySnapshot(envelope, keys, { now: T0 }),
          (error) => error instanceof SnapshotError && /_SNAPSHOT$/.test(error.code),
        );
        assert.match((await holder.offer(envelope)).reason, /^(malformed|invalid)$/);
      }),
      { numRuns: 100 },
    );
  });
});
