/** The reference vectors: encodings, digests, rankings and placements that others computed. */

import assert from "node:assert/strict";
import { sha256 } from "@noble/hashes/sha2.js";
import { describe, test } from "#test";
import { fromHex, toHex } from "../../../src/bytes.ts";
import {
  candidateHash,
  encodeHashInput,
  isHashProfileName,
  rankRelays,
  selectRelay,
} from "../../../src/hrw/mod.ts";
import published from "../../vectors/hrw.json" with { type: "json" };
import { fields, profileNames, relays, ridText, utf8 } from "./names.ts";

function bytes(hex: string): Uint8Array {
  const decoded = fromHex(hex);
  assert.ok(decoded);
  return decoded;
}

/** Vectors with hash inputs and digests; the 64-bit profile keeps the first 16 digits. */
const digests: { key: Uint8Array[]; rid: string; input: string; digest: string }[] = [
  {
    key: fields("live", "sports", "game-7"),
    rid: "R1",
    input: "03046c6976650673706f7274730667616d652d37025231",
    digest: "0967f32e01d5a45c1aa12538e4c7ec24dcffcb6460bae4b2fe3d510cd498c14a",
  },
  {
    key: fields("live", "sports", "game-7"),
    rid: "R2",
    input: "03046c6976650673706f7274730667616d652d37025232",
    digest: "2abc0249e6628fc3222193aa969cf3ecc8acbca5c158e58587c1d7e0e13b7f93",
  },
  {
    key: fields("example.com", "m1"),
    rid: "r1",
    input: "020b6578616d706c652e636f6d026d31027231",
    digest: "d73b4d2fede53ae86497f2256155640ddcbf89c8f01b93ae8b1a80ff4d928852",
  },
  {
    key: fields("example.com", "m1"),
    rid: "r2",
    input: "020b6578616d706c652e636f6d026d31027232",
    digest: "eace5c9eba47ae1200c222c75366d339354d5a6d70517b7cf19d877769c376fd",
  },
  {
    key: fields("example.com", "m1"),
    rid: "r3",
    input: "020b6578616d706c652e636f6d026d31027233",
    digest: "3ba64b52a2a3defb4404e1bba76fb0edddfa37f82f8eefcd14188f6404b6fbc3",
  },
  {
    key: [],
    rid: "r1",
    input: "00027231",
    digest: "c8885dfbabe838d9fb29663b0101142534fa5a2512bedbf78b8933b932eaba56",
  },
  {
    key: fields("k0"),
    rid: "r1",
    input: "01026b30027231",
    digest: "3c79f3038fa6d94de61fe291fd64c3f176955834dea761b1b24c4686a1e31fd8",
  },
  {
    key: fields("k0"),
    rid: "r2",
    input: "01026b30027232",
    digest: "1fd7741f2afe726984e90cd5b48608d606b9c0d427ade2511971cc2aee10b168",
  },
];

/** Asserts where a hash key goes over relays of weight 1, under both profiles. */
function assertPlaced(hashKey: Uint8Array[], rids: string[], expected: string): void {
  for (const profile of profileNames) {
    assert.equal(ridText(selectRelay(profile, hashKey, relays(...rids))), expected);
  }
}

describe("published vectors", () => {
  for (const [i, vector] of published.vectors.entries()) {
    const { profile, key_fields, candidates } = vector;
    test(`vector ${i}: encoding, hashes, ranking and selection [LB-HASH-1] [LB-HASH-5]`, () => {
      assert.ok(isHashProfileName(profile));
      const namespace = vector.namespace.map(bytes);
      const hashKey = namespace.slice(0, key_fields ?? namespace.length);
      const encodedKey = encodeHashInput(hashKey, new Uint8Array()).subarray(0, -1);
      assert.equal(toHex(encodedKey), vector.namespace_encoding);

      for (const { rid, hash } of candidates) {
        assert.equal(candidateHash(profile, hashKey, bytes(rid)), BigInt(`0x${hash}`));
      }
      const offered = candidates.map(({ rid, weight }) => ({ rid: bytes(rid), weight }));
      const ranking = rankRelays(profile, hashKey, offered);
      assert.deepEqual(
        ranking.map(({ rid }) => toHex(rid)),
        vector.ranking,
      );
      const selected = selectRelay(profile, hashKey, offered);
      assert.equal(selected && toHex(selected.rid), vector.selected ?? undefined);
    });
  }
});

describe("reference table", () => {
  for (const { key, rid, input, digest } of digests) {
    test(`hash input and H of ${rid} under ${input} [LB-HASH-5] [LB-HASH-6]`, () => {
      assert.equal(toHex(encodeHashInput(key, utf8(rid))), input);
      assert.equal(candidateHash("HRW-SHA256", key, utf8(rid)), BigInt(`0x${digest}`));
      const short = BigInt(`0x${digest.slice(0, 16)}`);
      assert.equal(candidateHash("HRW-SHA256-64", key, utf8(rid)), short);
    });
  }

  test("the redirect flow goes to R2, then to R1 [LB-EX-1] [LB-EX-2]", () => {
    assertPlaced(fields("live", "sports", "game-7"), ["R1", "R2"], "R2");
    assertPlaced(fields("live", "news", "ch-2"), ["R1", "R2"], "R1");
  });

  test("meetings spread by their first two fields [LB-EX-5] [LB-EX-6]", () => {
    assertPlaced(fields("example.com", "m1"), ["r1", "r2", "r3"], "r2");
    assertPlaced(fields("example.com", "m2"), ["r1", "r2", "r3"], "r2");
    assertPlaced(fields("example.com", "m3"), ["r1", "r2", "r3"], "r3");
    assertPlaced(fields("example.com", "m1"), ["r1", "r3"], "r1");
  });

  test("longer and shorter names are keys of their own [LB-HASHED-7] [LB-S20]", () => {
    assertPlaced(fields("example.com"), ["r1", "r2", "r3"], "r1");
    assertPlaced(fields("example.com", "m1", "alice"), ["r1", "r2", "r3"], "r1");
    assertPlaced(fields("example.com", "m1", "bob"), ["r1", "r2", "r3"], "r2");
  });

  test("an event goes to o2 of two or three origins [LB-HASH-1]", () => {
    assertPlaced(fields("sports.example", "ev7"), ["o1", "o2"], "o2");
    assertPlaced(fields("sports.example", "ev7"), ["o1", "o2", "o3"], "o2");
  });

  test("the empty hash key goes to r2 of r1 and r2 [LB-S5]", () => {
    assertPlaced([], ["r1", "r2"], "r2");
  });

  test("a field of 64 bytes goes to r2, where a QUIC varint would give r1 [LB-S25]", () => {
    assertPlaced([utf8(`001${"a".repeat(61)}`)], ["r1", "r2"], "r2");
  });

  test("weight 2 for r2 moves (k0) from r1 to r2 [LB-HASHED-3]", () => {
    assertPlaced(fields("k0"), ["r1", "r2"], "r1");
    for (const profile of profileNames) {
      const weighted = [{ rid: utf8("r1") }, { rid: utf8("r2"), weight: 2 }];
      assert.equal(ridText(selectRelay(profile, fields("k0"), weighted)), "r2");
    }
  });

  test("a non-minimal count in the hash input would give (n1) to r2 instead [LB-S24]", () => {
    const [raw1, raw2] = ["8001026e31027231", "8001026e31027232"].map((hex) =>
      toHex(sha256(bytes(hex))),
    );
    assert.ok((raw2 as string) > (raw1 as string));
    assertPlaced(fields("n1"), ["r1", "r2"], "r1");
  });
});
