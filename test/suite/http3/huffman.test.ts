import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { decodeHuffman, encodeHuffman, huffmanLength } from "../../../src/http3/huffman.ts";
import { hex, text, utf8 } from "./support.ts";

/** The strings of RFC 7541 C.4 and C.6. */
const vectors: readonly (readonly [string, string])[] = [
  ["www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"],
  ["no-cache", "a8eb10649cbf"],
  ["custom-key", "25a849e95ba97d7f"],
  ["custom-value", "25a849e95bb8e8b4bf"],
  ["302", "6402"],
  ["307", "640eff"],
  ["private", "aec3771a4b"],
  ["Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"],
  ["Mon, 21 Oct 2013 20:13:22 GMT", "d07abe941054d444a8200595040b8166e084a62d1bff"],
  ["https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3"],
  ["gzip", "9bd9ab"],
  [
    "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
  ],
];

describe("the Huffman code", () => {
  test("is that of RFC 7541", () => {
    for (const [plain, coded] of vectors) {
      assert.equal(toHex(encodeHuffman(utf8(plain))), coded);
      assert.equal(text(decodeHuffman(hex(coded)) ?? null), plain);
    }
  });

  test("has the longest codes of Appendix B for the rarest bytes", () => {
    // 10, 13 and 22 have 30 bits: 3ffffffc, 3ffffffd, 3ffffffe.
    assert.equal(toHex(encodeHuffman(Uint8Array.of(10))), "fffffff3");
    assert.equal(toHex(encodeHuffman(Uint8Array.of(13))), "fffffff7");
    assert.equal(toHex(encodeHuffman(Uint8Array.of(22))), "fffffffb");
    assert.equal(toHex(encodeHuffman(Uint8Array.of(0xff))), "fffffbbf");
  });

  test("refuses padding that is longer than 7 bits or holds a zero", () => {
    assert.equal(text(decodeHuffman(hex("1f")) ?? null), "a");
    assert.equal(decodeHuffman(hex("1fff")), undefined);
    assert.equal(decodeHuffman(hex("ff")), undefined);
    // "a" is 00011: then 110 instead of 111.
    assert.equal(decodeHuffman(hex("1e")), undefined);
    assert.equal(decodeHuffman(hex("18")), undefined);
  });

  test("refuses EOS inside a string", () => {
    assert.equal(decodeHuffman(hex("ffffffff")), undefined);
    assert.equal(decodeHuffman(hex("fffffffc1f")), undefined);
  });

  test("brings all bytes back, in the length it announces", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const coded = encodeHuffman(bytes);
        assert.equal(coded.length, huffmanLength(bytes));
        assert.deepEqual(decodeHuffman(coded), bytes);
      }),
    );
  });

  test("reads arbitrary bytes as nothing, or as what encodes to them", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 32 }), (bytes) => {
        const decoded = decodeHuffman(bytes);
        if (decoded !== undefined) assert.deepEqual(encodeHuffman(decoded), bytes);
      }),
    );
  });
});
