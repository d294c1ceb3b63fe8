import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { decodeHuffman, huffmanLength, writeHuffman } from "../../../src/http3/huffman.ts";
import { hex } from "./support.ts";

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

/** The code words of `text`, behind a byte that must stay untouched. */
function encode(text: string): Uint8Array {
  const target = new Uint8Array(1 + huffmanLength(text));
  assert.equal(writeHuffman(text, target, 1), target.length);
  assert.equal(target[0], 0);
  return target.subarray(1);
}

describe("the Huffman code", () => {
  test("is that of RFC 7541", () => {
    for (const [plain, coded] of vectors) {
      assert.equal(toHex(encode(plain)), coded);
      assert.equal(decodeHuffman(hex(coded)), plain);
    }
  });

  test("has the longest codes of Appendix B for the rarest bytes", () => {
    // 10, 13 and 22 have 30 bits: 3ffffffc, 3ffffffd, 3ffffffe.
    assert.equal(toHex(encode(String.fromCharCode(10))), "fffffff3");
    assert.equal(toHex(encode(String.fromCharCode(13))), "fffffff7");
    assert.equal(toHex(encode(String.fromCharCode(22))), "fffffffb");
    assert.equal(toHex(encode(String.fromCharCode(0xff))), "fffffbbf");
  });

  test("refuses padding that is longer than 7 bits or holds a zero", () => {
    assert.equal(decodeHuffman(hex("1f")), "a");
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
        const text = String.fromCharCode(...bytes);
        assert.equal(decodeHuffman(encode(text)), text);
      }),
    );
  });

  test("reads arbitrary bytes as nothing, or as what encodes to them", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 32 }), (bytes) => {
        const text = decodeHuffman(bytes);
        if (text !== undefined) assert.deepEqual(encode(text), bytes);
      }),
    );
  });
});
