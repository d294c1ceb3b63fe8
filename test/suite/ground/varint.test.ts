import assert from "node:assert/strict";
import { describe, test } from "#test";
import { fromHex, toHex } from "../../../src/bytes.ts";
import {
  isVarintValue,
  MAX_VARINT,
  minimalVarintLength,
  readVarint,
  varint,
  varintLength,
  varintValue,
  writeVarint,
} from "../../../src/varint.ts";

/** Values and their minimal encodings, among them the least and the greatest of each length. */
const minimal: readonly (readonly [bigint, string])[] = [
  [0n, "00"],
  [37n, "25"],
  [63n, "3f"],
  [64n, "40"],
  [127n, "7f"],
  [128n, "8080"],
  [300n, "812c"],
  [5000n, "9388"],
  [0x2f00n, "af00"],
  [15_293n, "bbbd"],
  [16_383n, "bfff"],
  [16_384n, "c04000"],
  [2_097_151n, "dfffff"],
  [2_097_152n, "e0200000"],
  [226_442_877n, "ed7f3e7d"],
  [2n ** 28n - 1n, "efffffff"],
  [2n ** 28n, "f010000000"],
  [2n ** 35n - 1n, "f7ffffffff"],
  [2n ** 35n, "f80800000000"],
  [2_893_212_287_960n, "faa1a0e403d8"],
  [2n ** 42n - 1n, "fbffffffffff"],
  [2n ** 42n, "fc040000000000"],
  [151_288_809_941_952n, "fc8998abc66bc0"],
  [2n ** 49n - 1n, "fdffffffffffff"],
  [2n ** 49n, "fe02000000000000"],
  [2n ** 53n - 1n, "fe1fffffffffffff"],
  [70_423_237_261_249_041n, "fefa318fa8e3ca11"],
  [2n ** 56n - 1n, "feffffffffffffff"],
  [2n ** 56n, "ff0100000000000000"],
  [2n ** 62n - 1n, "ff3fffffffffffffff"],
  [2n ** 64n - 1n, "ffffffffffffffffff"],
];

/** Every encoding of 37. */
const encodingsOf37 = [
  "25",
  "8025",
  "c00025",
  "e0000025",
  "f000000025",
  "f80000000025",
  "fc000000000025",
  "fe00000000000025",
  "ff0000000000000025",
];

const bytesOf = (hex: string) => fromHex(hex) as Uint8Array;

/** `value` in every type that can hold it. */
function spellings(value: bigint): (bigint | number)[] {
  return value <= Number.MAX_SAFE_INTEGER ? [value, Number(value)] : [value];
}

describe("an MOQT varint", () => {
  test("is written in its shortest form, from bigints and from numbers [LB-A6] [VI-02]", () => {
    for (const [value, hex] of minimal) {
      for (const given of spellings(value)) {
        assert.equal(toHex(varint(given)), hex);
        assert.equal(minimalVarintLength(given), hex.length / 2, hex);
        const target = new Uint8Array(11).fill(0xaa);
        assert.equal(writeVarint(given, target, 1), 1 + hex.length / 2);
        assert.equal(toHex(target), `aa${hex}`.padEnd(22, "a"));
      }
    }
  });

  test("is read back, whatever stands before and after it [VI-02]", () => {
    for (const [value, hex] of minimal) {
      const length = hex.length / 2;
      assert.deepEqual(readVarint(bytesOf(hex)), { value, length });
      assert.deepEqual(readVarint(bytesOf(`ff${hex}ff`), 1), { value, length });
      assert.equal(varintLength(bytesOf(hex)[0] as number), length);
      assert.equal(varintValue(bytesOf(`7f${hex}`), 1, length), value);
    }
  });

  test("is read in every length that has room for it [VI-02]", () => {
    for (const [i, hex] of encodingsOf37.entries()) {
      assert.deepEqual(readVarint(bytesOf(hex)), { value: 37n, length: i + 1 });
    }
  });

  test("has a length that its first byte tells", () => {
    const last = [0x7f, 0xbf, 0xdf, 0xef, 0xf7, 0xfb, 0xfd, 0xfe, 0xff];
    let first = 0;
    for (const [i, byte] of last.entries()) {
      for (; first <= byte; first++) assert.equal(varintLength(first), i + 1, first.toString(16));
    }
  });

  test("that is cut off is no integer yet", () => {
    for (const [, hex] of minimal) {
      for (let kept = 0; kept < hex.length / 2; kept++) {
        assert.equal(readVarint(bytesOf(hex).subarray(0, kept)), undefined);
      }
    }
    assert.equal(readVarint(bytesOf("25"), 1), undefined);
  });

  test("is an integer in 0..2^64-1 and nothing else", () => {
    const refused: unknown[] = [-1, -1n, 0.5, 127.5, 2 ** 53, 2n ** 64n, Number.NaN, Infinity];
    for (const value of refused as bigint[]) {
      assert.equal(isVarintValue(value), false);
      assert.throws(() => varint(value), RangeError);
      assert.throws(() => writeVarint(value, new Uint8Array(9), 0), RangeError);
    }
    for (const value of ["5", undefined, null, true] as unknown as bigint[]) {
      assert.equal(isVarintValue(value), false);
    }
    assert.ok([0, 0n, Number.MAX_SAFE_INTEGER, MAX_VARINT].every(isVarintValue));
  });
});
