import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import { readControlMessage } from "../../../src/moqt/mod.ts";
import { assertCloses, decodeHex, framed, hex } from "./support.ts";
import { vector } from "./vectors.ts";

describe("readControlMessage", () => {
  const bytes = hex(vector("rd-sub"));

  test("asks for more until the last byte is there", () => {
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(readControlMessage(bytes.subarray(0, length), 22), undefined);
    }
    const message = decodeHex(vector("rd-sub"));
    assert.deepEqual(readControlMessage(bytes, 22), { message, length: bytes.length });
  });

  test("leaves what follows, and starts where it is told to", () => {
    const stream = concatBytes(hex("ffff"), bytes, hex("af"));
    const message = decodeHex(vector("rd-sub"));
    assert.deepEqual(readControlMessage(stream, 22, 2), { message, length: bytes.length });
    assert.equal(readControlMessage(stream, 22, 2 + bytes.length), undefined);
  });

  test("refuses an unknown type before its length is there [RQ-07]", () => {
    assertCloses("PROTOCOL_VIOLATION", () => readControlMessage(hex("3f"), 22));
    assertCloses("PROTOCOL_VIOLATION", () => readControlMessage(hex("ffffffffffffffffff"), 22));
    assert.equal(readControlMessage(hex("af"), 22), undefined);
    assertCloses("PROTOCOL_VIOLATION", () => readControlMessage(hex("22"), 19));
    assert.equal(readControlMessage(hex("22"), 20), undefined);
  });

  test("waits for no more than the 16-bit length says", () => {
    const longest = concatBytes(hex("03ffff"), new Uint8Array(65_535).fill(0x80));
    assert.equal(readControlMessage(longest.subarray(0, -1), 22), undefined);
    assertCloses("PROTOCOL_VIOLATION", () => readControlMessage(longest, 22));
  });

  test("never reads past the length of a message into the next one [NS-10]", () => {
    const whole = hex(framed("03", "8000 01 04 6c697665 01 76 02 02 80c8 1e 80"));
    assert.ok(readControlMessage(whole, 22));
    const following = new Uint8Array(64);
    for (let length = 0; length < whole.length - 3; length++) {
      const cut = concatBytes(hex("0300"), Uint8Array.of(length), whole.subarray(3, 3 + length));
      assertCloses("PROTOCOL_VIOLATION", () => readControlMessage(concatBytes(cut, following), 22));
    }
  });

  test("takes the context of the request that the stream belongs to", () => {
    const ok = hex(framed("07", "01 10 01"));
    assert.ok(readControlMessage(ok, 18, 0, { answers: "PUBLISH" }));
    assertCloses("PROTOCOL_VIOLATION", () =>
      readControlMessage(ok, 18, 0, { answers: "REQUEST_UPDATE" }),
    );
  });

  test("tells offsets in the bytes that it was given", () => {
    const stream = concatBytes(new Uint8Array(10), hex(vector("ns-emptyfield")));
    assert.throws(() => readControlMessage(stream, 22, 10), { offset: 21 });
  });
});
