import assert from "node:assert/strict";
import { describe, test } from "#test";
import { compareBytes, concatBytes, equalBytes, fromHex, toHex, utf8 } from "../../../src/bytes.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

describe("byte strings", () => {
  test("are equal where length and every byte are", () => {
    assert.ok(equalBytes(bytes(), bytes()));
    assert.ok(equalBytes(bytes(0, 255), bytes(0, 255)));
    assert.ok(!equalBytes(bytes(0, 255), bytes(0, 254)));
    assert.ok(!equalBytes(bytes(1, 255), bytes(0, 255)));
    assert.ok(!equalBytes(bytes(0), bytes(0, 0)));
  });

  test("are ordered by unsigned bytes, a prefix first [LB-S29]", () => {
    const ascending = [bytes(), bytes(0), bytes(0, 0), bytes(0, 255), bytes(1), bytes(127)];
    ascending.push(bytes(128), bytes(255), bytes(255, 0));
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) {
        assert.equal(Math.sign(compareBytes(a, b)), Math.sign(i - j), `${toHex(a)} ${toHex(b)}`);
      }
    }
  });

  test("are joined in order into bytes of their own", () => {
    const part = bytes(1, 2);
    const joined = concatBytes(part, bytes(), bytes(3));
    assert.deepEqual(joined, bytes(1, 2, 3));
    part[0] = 9;
    assert.equal(joined[0], 1);
    assert.deepEqual(concatBytes(), bytes());
  });

  test("have two hexadecimal digits a byte", () => {
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    assert.equal(toHex(bytes(0, 9, 10, 127, 128, 255)), "00090a7f80ff");
    assert.deepEqual(fromHex(toHex(all)), all);
    assert.deepEqual(fromHex("00090A7f80FF"), bytes(0, 9, 10, 127, 128, 255));
    assert.deepEqual(fromHex(""), bytes());
    for (const text of ["0", "0g", "0x00", " 00", "00 ", "é0"]) {
      assert.equal(fromHex(text), undefined, text);
    }
  });

  test("of text are its UTF-8", () => {
    assert.equal(toHex(utf8("é€")), "c3a9e282ac");
  });
});
