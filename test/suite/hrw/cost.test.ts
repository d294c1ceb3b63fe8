import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { costBounds } from "../../../src/hrw/cost.ts";

/** floor(2^40 * log2(x)), one binary digit a squaring, on a mantissa of 400 bits. */
function log2Floor(x: bigint): bigint {
  const length = x.toString(2).length;
  let mantissa = (x << 400n) >> BigInt(length - 1);
  let log = BigInt(length - 1);
  for (let i = 0; i < 40; i++) {
    mantissa = (mantissa * mantissa) >> 400n;
    log <<= 1n;
    if (mantissa >> 401n) {
      mantissa >>= 1n;
      log += 1n;
    }
  }
  return log;
}

function assertSound(digest: Uint8Array): void {
  let x = 1n;
  for (const [i, byte] of digest.entries())
    x += BigInt(byte) << BigInt(8 * (digest.length - 1 - i));
  const { least, most } = costBounds(digest);
  const [width, log] = [BigInt(8 * digest.length) << 40n, log2Floor(x)];
  const cut = (x & (x - 1n)) === 0n ? 0n : 1n;
  // The cost lies between these two, in units of 2^-40; a bound counts in units of 2^-24.
  assert.ok(BigInt(least) << 16n <= width - log - cut);
  assert.ok(BigInt(most) << 16n >= width - log + 1n);
}

const digest = fc
  .constantFrom(8, 32)
  .chain((size) => fc.uint8Array({ minLength: size, maxLength: size }));

describe("costBounds", () => {
  test("encloses the cost of any hash [LB-HASH-10] [LB-HASH-12]", () => {
    fc.assert(fc.property(digest, assertSound), { numRuns: 2000 });
  });

  test("encloses the cost at every position of the leading one", () => {
    for (let bit = 0; bit < 64; bit++) {
      const [power, below] = [new Uint8Array(8), new Uint8Array(8)];
      new DataView(power.buffer).setBigUint64(0, 1n << BigInt(bit));
      new DataView(below.buffer).setBigUint64(0, (1n << BigInt(bit)) - 1n);
      assertSound(power);
      assertSound(below);
    }
  });

  test("encloses the cost of the smallest and the largest hash", () => {
    for (const size of [8, 32]) {
      assertSound(new Uint8Array(size));
      assertSound(new Uint8Array(size).fill(0xff));
    }
  });

  test("is tight, so that full powers are rarely needed", () => {
    fc.assert(
      fc.property(digest, (bytes) => {
        bytes[0] = (bytes[0] as number) | 1;
        const { least, most } = costBounds(bytes);
        assert.ok(most - least <= 4);
      }),
    );
  });
});
