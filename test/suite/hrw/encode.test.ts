import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { candidateHash, encodeHashInput, HrwError } from "../../../src/hrw/mod.ts";
import { fields, utf8 } from "./names.ts";

function inputHex(hashKey: Uint8Array[], rid: string): string {
  return toHex(encodeHashInput(hashKey, utf8(rid)));
}

describe("encodeHashInput", () => {
  test("puts the hash key as a Track Namespace before the RID [LB-HASH-3] [LB-HASH-4]", () => {
    assert.equal(
      inputHex(fields("live", "sports", "game-7"), "R1"),
      "03046c6976650673706f7274730667616d652d37025231",
    );
    assert.equal(
      inputHex(fields("example.com", "m1"), "r3"),
      "020b6578616d706c652e636f6d026d31027233",
    );
  });

  test("encodes an empty hash key as the single byte 00 [LB-S5] [NS-05]", () => {
    assert.equal(inputHex([], "r1"), "00027231");
  });

  test("encodes an empty RID as its length alone [LB-S12]", () => {
    assert.equal(inputHex(fields("a"), ""), "01016100");
  });

  test("uses MOQT varints, which differ from QUIC's from 64 on [LB-S25]", () => {
    const input = inputHex([utf8(`001${"a".repeat(61)}`)], "r1");
    assert.equal(input.slice(0, 10), "0140303031");
    assert.equal(inputHex([new Uint8Array(127)], "r").slice(0, 6), "017f00");
    assert.equal(inputHex([new Uint8Array(128)], "r").slice(0, 8), "01808000");
    assert.equal(inputHex([new Uint8Array(0x3fff)], "r").slice(0, 8), "01bfff00");
    assert.equal(inputHex([new Uint8Array(0x4000)], "r").slice(0, 10), "01c0400000");
  });

  test("uses the shortest varint for counts and lengths [LB-S24]", () => {
    assert.equal(inputHex(fields("n1"), "r1"), "01026e31027231");
    const manyFields = Array.from({ length: 200 }, () => utf8("x"));
    assert.equal(inputHex(manyFields, "r1").slice(0, 8), "80c80178");
    const input = encodeHashInput(fields("n1"), new Uint8Array(300));
    assert.equal(toHex(input.subarray(4, 7)), "812c00");
  });

  test("keeps every byte of fields and RIDs [LB-TABLE-6]", () => {
    const rid = Uint8Array.of(0x00, 0xff, 0x10);
    const input = encodeHashInput([Uint8Array.of(0xff, 0x00)], rid);
    assert.equal(toHex(input), "0102ff000300ff10");
  });

  test("gives different inputs for different hash keys or RIDs", () => {
    const bytes = fc.uint8Array({ maxLength: 3 });
    const sample = fc.record({ key: fc.array(bytes, { maxLength: 3 }), rid: bytes });
    fc.assert(
      fc.property(sample, sample, (a, b) => {
        const same = JSON.stringify([a.key, a.rid]) === JSON.stringify([b.key, b.rid]);
        const sameInput =
          toHex(encodeHashInput(a.key, a.rid)) === toHex(encodeHashInput(b.key, b.rid));
        assert.equal(sameInput, same);
      }),
    );
  });

  test("refuses a hash key or RID that is not bytes", () => {
    const text = "live" as unknown as Uint8Array;
    const refused = (code: string, what: RegExp) => (error: unknown) =>
      error instanceof HrwError && error.code === code && what.test(error.message);
    assert.throws(
      () => encodeHashInput([utf8("a"), text], utf8("r")),
      refused("INVALID_HASH_KEY", /hashKey\[1\]/),
    );
    assert.throws(
      () => encodeHashInput("live" as unknown as Uint8Array[], utf8("r")),
      refused("INVALID_HASH_KEY", /array/),
    );
    for (const rid of [text, undefined, null] as Uint8Array[]) {
      assert.throws(() => encodeHashInput([], rid), refused("INVALID_RID", /^rid/));
      assert.throws(() => candidateHash("HRW-SHA256", [], rid), refused("INVALID_RID", /^rid/));
    }
    assert.throws(
      () => candidateHash("HRW-MD5" as "HRW-SHA256", [], utf8("r")),
      refused("UNKNOWN_PROFILE", /HRW-SHA256 or HRW-SHA256-64/),
    );
  });
});
