import assert from "node:assert/strict";
import { encode } from "cbor2";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { type CborValue, encodeCbor } from "../../../src/snapshot/cbor.ts";

/** What another encoder makes of `value`, by the same rules. */
function reference(value: unknown): string {
  return toHex(encode(value, { cde: true, simplifyNegativeZero: true }));
}

function assertAsReference(value: unknown): void {
  assert.equal(toHex(encodeCbor(value as CborValue)), reference(value));
}

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.string({ unit: "grapheme-ascii", minLength: 15, maxLength: 300 }),
);

const anyValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.integer(),
    fc.double(),
    fc.float(),
    text,
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie("value"), { maxLength: 30 }),
    fc.dictionary(text, tie("value"), { maxKeys: 30, noNullPrototype: true }),
    fc
      .array(fc.tuple(fc.oneof(fc.maxSafeInteger(), text), tie("value")), { maxLength: 30 })
      .map((entries) => new Map(entries)),
  ),
})).value;

describe("the CBOR encoder", () => {
  test("writes any value as another encoder does, byte for byte", () => {
    fc.assert(fc.property(anyValue, assertAsReference), { numRuns: 500 });
  });

  test("writes integers and lengths in the fewest bytes, at every border of a size", () => {
    for (const border of [24, 2 ** 8, 2 ** 16, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      for (const value of [border - 1, border, border + 1].filter(Number.isSafeInteger)) {
        assertAsReference(value);
        assertAsReference(-value);
        assertAsReference(-value - 1 < Number.MIN_SAFE_INTEGER ? 0 : -value - 1);
        if (value > 2 ** 17) continue;
        assertAsReference(new Uint8Array(value));
        assertAsReference("a".repeat(value));
        assertAsReference("é".repeat(value));
        assertAsReference(new Array(value).fill(0));
      }
    }
    assert.equal(toHex(encodeCbor(-0)), "00");
  });

  test("writes floats in the shortest form that keeps them, at every border of a form", () => {
    const borders = [0, 2 ** -24, 2 ** -14, 65504, 2 ** -149, 2 ** -126, 2 ** 128, 5e-324, 1, 1.5];
    for (const border of borders) {
      for (const factor of [1, 0.5, 0.75, 1.5, 1 + 2 ** -10, 1 + 2 ** -11, 1 + 2 ** -23]) {
        for (const other of [1, 1 + 2 ** -24, 1 - 2 ** -12]) {
          assertAsReference(border * factor * other);
          assertAsReference(-border * factor * other);
        }
      }
    }
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      assertAsReference(value);
    }
  });

  test("orders keys by the bytes of their encodings: short before long, then by UTF-8", () => {
    // By UTF-16 the last two would be the other way round.
    const keys = ["z", "aa", "é", "\u{ffff}", "\u{10000}", "a".repeat(24), "a".repeat(300)];
    const value = Object.fromEntries(keys.toReversed().map((key, i) => [key, i]));
    assertAsReference(value);
    assert.deepEqual(encodeCbor(new Map(Object.entries(value))), encodeCbor(value));
    assertAsReference(
      new Map<number | string, number>([...keys, 10, -1, 100].map((key) => [key, 0])),
    );
  });

  test("refuses what has no encoding here", () => {
    for (const value of [undefined, 1n, Symbol("x"), [undefined], { x: undefined }]) {
      assert.throws(() => encodeCbor(value as never), TypeError);
    }
  });
});
