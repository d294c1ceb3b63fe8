import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, toHex } from "../../../src/bytes.ts";
import { decodeVarint, encodeVarint, MoqtEncodingError } from "../../../src/moqt/mod.ts";
import vectors from "../../vectors/moqt-messages.json" with { type: "json" };
import { assertCloses, hex } from "./support.ts";

const anyValue = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fc
    .tuple(fc.integer({ min: 0, max: 63 }), fc.bigInt({ min: -2n, max: 2n }))
    .map(([power, offset]) => 2n ** BigInt(power) + offset)
    .filter((value) => value >= 0n),
);

/** The longest and every shorter encoding that `value` has room in. */
function encodings(value: bigint): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (let length = 1; length <= 9; length++) {
    if (value >= 2n ** BigInt(length === 9 ? 64 : 7 * length)) continue;
    const ones = length === 9 ? 0xffn : (0xff00n >> BigInt(length - 1)) & 0xffn;
    const marked = (ones << BigInt(8 * (length - 1))) | value;
    found.push(hex(marked.toString(16).padStart(2 * length, "0")));
  }
  return found;
}

describe("decodeVarint", () => {
  test("decodes every vector exactly, over 2^53 too [VI-02]", () => {
    for (const { id, value, hex: digits } of vectors.varints) {
      if (value === undefined) continue;
      const bytes = hex(digits);
      assert.deepEqual(
        decodeVarint(bytes),
        { value: BigInt(value), length: bytes.length },
        `${id} ${digits}`,
      );
    }
  });

  test("knows the classes of 7, 8 and 9 bytes at their ends [VI-02]", () => {
    assert.equal(decodeVarint(hex("fc040000000000")).value, 2n ** 42n);
    assert.equal(decodeVarint(hex("fdffffffffffff")).value, 2n ** 49n - 1n);
    assert.equal(decodeVarint(hex("fe02000000000000")).value, 2n ** 49n);
    assert.equal(decodeVarint(hex("fe1fffffffffffff")).value, 2n ** 53n - 1n);
    assert.equal(decodeVarint(hex("feffffffffffffff")).value, 2n ** 56n - 1n);
    assert.equal(decodeVarint(hex("ff0100000000000000")).value, 2n ** 56n);
    assert.equal(decodeVarint(hex("ff3fffffffffffffff")).value, 2n ** 62n - 1n);
    assert.equal(decodeVarint(hex("ffffffffffffffffff")).value, 2n ** 64n - 1n);
  });

  test("closes with PROTOCOL_VIOLATION where the bytes end inside the integer", () => {
    for (const { value, hex: digits } of vectors.varints) {
      if (value === undefined) assertCloses("PROTOCOL_VIOLATION", () => decodeVarint(hex(digits)));
    }
    assertCloses("PROTOCOL_VIOLATION", () => decodeVarint(hex("25"), 1));
  });

  test("accepts every encoding of a value, at any offset", () => {
    fc.assert(
      fc.property(anyValue, fc.uint8Array({ maxLength: 12 }), (value, before) => {
        for (const encoding of encodings(value)) {
          const bytes = concatBytes(before, encoding, hex("ff"));
          const expected = { value, length: encoding.length };
          assert.deepEqual(decodeVarint(bytes, before.length), expected);
        }
      }),
    );
  });
});

describe("encodeVarint", () => {
  test("encodes the canonical vectors", () => {
    for (const { id, value, hex: digits } of vectors.varints) {
      if (id === "vi") assert.equal(toHex(encodeVarint(BigInt(value as string))), digits);
    }
    assert.equal(toHex(encodeVarint(0x2f00)), "af00");
    assert.equal(toHex(encodeVarint(300)), "812c");
  });

  test("takes the shortest of all encodings", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        assert.deepEqual(encodeVarint(value), encodings(value)[0]);
      }),
    );
  });

  test("refuses what is no integer of 64 bits", () => {
    for (const value of [-1, -1n, 1.5, Number.NaN, Infinity, 2 ** 53, 2n ** 64n]) {
      assert.throws(() => encodeVarint(value), MoqtEncodingError);
    }
  });
});
