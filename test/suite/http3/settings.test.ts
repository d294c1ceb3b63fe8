import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { MAX_QUIC_VARINT } from "../../../src/http3/mod.ts";
import { decodeSettings, encodeSettings } from "../../../src/http3/settings.ts";
import { hex } from "./support.ts";

const settingsError = { code: "H3_SETTINGS_ERROR", numericCode: 0x109n };

describe("SETTINGS", () => {
  test("are pairs of varints in the order they were put", () => {
    const settings = new Map([
      [0x06n, 16_384n],
      [0x2b60_3742n, 1n],
    ]);
    assert.equal(toHex(encodeSettings(settings)), "0680004000ab60374201");
    assert.deepEqual(decodeSettings(hex("0680004000 ab603742 01")), settings);
  });

  test("keep an absent setting apart from one that is 0", () => {
    const settings = decodeSettings(hex("70c2 00"));
    assert.equal(settings.get(0x30c2n), 0n);
    assert.equal(settings.has(0x30c1n), false);
  });

  test("hold values of 62 bits whole", () => {
    const payload = hex("8000f0c2 c000000100000000");
    assert.deepEqual([...decodeSettings(payload)], [[0xf0c2n, 2n ** 32n]]);
  });

  test("are refused where one occurs twice, even with one value [D10]", () => {
    assert.throws(() => decodeSettings(hex("0601 0601")), settingsError);
    assert.throws(() => decodeSettings(hex("0601 400601")), settingsError);
  });

  test("are refused where they belong to HTTP/2 [D10]", () => {
    for (const id of ["02", "03", "04", "05"]) {
      assert.throws(() => decodeSettings(hex(`${id}00`)), settingsError);
    }
  });

  test("are refused where a switch is neither 0 nor 1", () => {
    for (const id of ["08", "33"]) {
      assert.equal(decodeSettings(hex(`${id}01`)).size, 1);
      assert.equal(decodeSettings(hex(`${id}00`)).size, 1);
      assert.throws(() => decodeSettings(hex(`${id}02`)), settingsError);
    }
  });

  test("are kept where they are unknown or reserved for grease [D08]", () => {
    assert.deepEqual(
      [...decodeSettings(hex("2105 8000abcd07"))],
      [
        [0x21n, 5n],
        [0xabcdn, 7n],
      ],
    );
  });

  test("are a frame error where they end inside one", () => {
    for (const payload of ["06", "0640", "c0", "060106"]) {
      assert.throws(() => decodeSettings(hex(payload)), {
        code: "H3_FRAME_ERROR",
        numericCode: 0x106n,
      });
    }
  });

  test("come back as they went, and end in a typed error otherwise", () => {
    const value = fc.bigInt(0n, MAX_QUIC_VARINT);
    const pair = fc.tuple(fc.bigInt(0x34n, MAX_QUIC_VARINT), value);
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 6 }), (pairs) => {
        const settings = new Map(pairs);
        assert.deepEqual(decodeSettings(encodeSettings(settings)), settings);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), (bytes) => {
        try {
          decodeSettings(bytes);
        } catch (error) {
          assert.match((error as { code: string }).code, /^H3_(SETTINGS|FRAME)_ERROR$/);
        }
      }),
    );
  });
});
