import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  parseStringItem,
  parseStringList,
  serializeStrings,
} from "../../../src/http3/structured-strings.ts";

describe("structured fields of strings", () => {
  test("are lists in the order of the sender", () => {
    assert.deepEqual(parseStringList('"moqt-22", "moqt-21"'), ["moqt-22", "moqt-21"]);
    assert.deepEqual(parseStringList('  "a"\t,\t"b" '), ["a", "b"]);
    assert.deepEqual(parseStringList(""), []);
    assert.deepEqual(parseStringList('"a \\"b\\" \\\\"'), ['a "b" \\']);
  });

  test("ignore parameters of every type", () => {
    const parameters = ';a;b=1;c=-1.5;d="x;,";e=t/*k:n;f=:aGk=:;g=?0;h=@1700000000;i=%"%c3%a4"';
    assert.deepEqual(parseStringList(`"a"${parameters}, "b"; *k=1`), ["a", "b"]);
    assert.equal(parseStringItem(`"a"${parameters}`), "a");
  });

  test("count as absent where a member is no string, or the list is malformed", () => {
    const malformed = ["token", "1", '"a", 1', '("a")', '"a",', ',"a"', '"a" "b"', '"a', '"\\n"'];
    for (const text of [
      ...malformed,
      '"a";',
      '"a";A=1',
      '"a"\t',
      '"ä"',
      ":aGk=:",
      "?1",
      '"a", ,',
    ]) {
      assert.equal(parseStringList(text), undefined, text);
    }
    for (const text of ["", "moqt-22", '"a", "b"', '"a" x', "1"]) {
      assert.equal(parseStringItem(text), undefined, text);
    }
  });

  test("come back as they went", () => {
    const ascii = fc.array(
      fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
      { maxLength: 8 },
    );
    const strings = fc.array(
      ascii.map((characters) => characters.join("")),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(strings, (values) => {
        assert.deepEqual(parseStringList(serializeStrings(...values)), values);
      }),
    );
    assert.throws(() => serializeStrings("ä"), RangeError);
    assert.throws(() => serializeStrings("a\n"), RangeError);
  });

  test("parse any text without another exception", () => {
    const text = fc.string({ unit: fc.constantFrom(...'";,= a1.:?@%\\()*\t-') });
    fc.assert(
      fc.property(text, (value) => {
        parseStringList(value);
        parseStringItem(value);
      }),
      { numRuns: 500 },
    );
  });
});
