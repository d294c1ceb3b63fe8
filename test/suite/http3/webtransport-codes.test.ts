import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { MAX_WEBTRANSPORT_CODE } from "../../../src/http3/mod.ts";
import { fromHttp3Code, toHttp3Code } from "../../../src/http3/webtransport-codes.ts";

const first = 0x52e4_a40f_a8dbn;
const last = 0x52e5_ac98_3162n;

describe("WebTransport stream codes", () => {
  test("fill the range of the draft from end to end", () => {
    assert.equal(toHttp3Code(0n), first);
    assert.equal(toHttp3Code(MAX_WEBTRANSPORT_CODE), last);
    assert.equal(fromHttp3Code(first), 0n);
    assert.equal(fromHttp3Code(last), MAX_WEBTRANSPORT_CODE);
  });

  test("step over each reserved code point", () => {
    assert.equal(toHttp3Code(29n), first + 29n);
    assert.equal(toHttp3Code(30n), first + 31n);
    assert.equal(fromHttp3Code(first + 30n), undefined);
    for (let n = 0n; n < 20_000n; n++) {
      assert.notEqual((toHttp3Code(n) - 0x21n) % 0x1fn, 0n);
      assert.equal(fromHttp3Code(toHttp3Code(n)), n);
    }
  });

  test("come back one to one, from both sides", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, MAX_WEBTRANSPORT_CODE), (n) => {
        assert.equal(fromHttp3Code(toHttp3Code(n)), n);
      }),
    );
    fc.assert(
      fc.property(fc.bigInt(first, last), (code) => {
        const n = fromHttp3Code(code);
        if (n === undefined) assert.equal((code - 0x21n) % 0x1fn, 0n);
        else assert.equal(toHttp3Code(n), code);
      }),
    );
  });

  test("are none of an application outside the range", () => {
    for (const code of [0n, 0x100n, 0x170d_7b68n, first - 1n, last + 1n, 2n ** 62n - 1n]) {
      assert.equal(fromHttp3Code(code), undefined);
    }
    assert.throws(() => toHttp3Code(-1n), RangeError);
    assert.throws(() => toHttp3Code(MAX_WEBTRANSPORT_CODE + 1n), RangeError);
  });
});
