import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  formatField,
  formatName,
  formatNameForLog,
  MalformedNameError,
  parseName,
} from "../../../src/moqt/mod.ts";
import { anyFullName } from "./arbitrary.ts";
import { fields, hex } from "./support.ts";

const utf8 = new TextEncoder();

function refusal(text: string): MalformedNameError {
  try {
    parseName(text);
  } catch (error) {
    assert.ok(error instanceof MalformedNameError, `not a MalformedNameError: ${error}`);
    assert.equal(error.code, "MALFORMED_NAME");
    return error;
  }
  return assert.fail(`parsed: ${text}`);
}

describe("formatName", () => {
  test("writes letters, digits and _ as they are, any other byte as . and two digits", () => {
    const namespace = fields("example.net", "team2", "project_x");
    assert.equal(
      formatName(namespace, utf8.encode("report")),
      "example.2enet-team2-project_x--report",
    );
    assert.equal(formatField(hex("00 2d 2e 41 5a 5f 61 7a 7f 80 ff")), ".00.2d.2eAZ_az.7f.80.ff");
  });

  test("has a form for no fields, an empty name and a namespace alone", () => {
    assert.equal(formatName([], utf8.encode("t")), "--t");
    assert.equal(formatName([], hex("")), "--");
    assert.equal(formatName(fields("a"), hex("")), "a--");
    assert.equal(formatName(fields("a", "b")), "a-b");
    assert.equal(formatName([]), "");
  });
});

describe("parseName", () => {
  test("tells a namespace alone from an empty Track Name", () => {
    assert.deepEqual(parseName("example.2ecom-m1"), {
      trackNamespace: fields("example.com", "m1"),
    });
    assert.deepEqual(parseName("a--"), { trackNamespace: fields("a"), trackName: hex("") });
    assert.deepEqual(parseName("--t"), { trackNamespace: [], trackName: utf8.encode("t") });
    assert.deepEqual(parseName(""), { trackNamespace: [] });
  });

  test("reads what formatName wrote, and writes what it read", () => {
    fc.assert(
      fc.property(anyFullName(), fc.boolean(), ({ trackNamespace, trackName }, named) => {
        const text = named ? formatName(trackNamespace, trackName) : formatName(trackNamespace);
        const expected = named ? { trackNamespace, trackName } : { trackNamespace };
        assert.deepEqual(parseName(text), expected);
      }),
    );
  });

  test("refuses any second spelling of a name", () => {
    for (const [text, offset] of [
      ["a.61", 1],
      [".2E", 0],
      ["a.2", 1],
      ["a.", 1],
      ["a.zz", 1],
      ["a b", 1],
      ["a/b", 1],
      ["é", 0],
      ["a--b-c", 4],
      ["a---b", 3],
      ["ab-c.5f", 4],
    ] as const) {
      assert.equal(refusal(text).offset, offset, text);
    }
  });

  test("refuses names that cannot be on the wire", () => {
    for (const text of ["-", "a-", "-a", "a---", Array(33).fill("a").join("-")]) refusal(text);
    refusal("a".repeat(4097));
    refusal(`${"a".repeat(4000)}--${"b".repeat(97)}`);
    assert.equal(parseName("a".repeat(4096)).trackNamespace[0]?.length, 4096);
    assert.equal(parseName(Array(32).fill("a").join("-")).trackNamespace.length, 32);
  });

  test("gives a name that is written back the same, or a MalformedNameError, for any text", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."ab-._2ef-0") }));
    fc.assert(
      fc.property(text, (text) => {
        try {
          const { trackNamespace, trackName } = parseName(text);
          assert.equal(formatName(trackNamespace, trackName), text);
        } catch (error) {
          if (!(error instanceof MalformedNameError)) throw error;
        }
      }),
    );
  });

  test("tells where a text goes wrong without repeating it", () => {
    const error = refusal("secret token");
    assert.match(error.message, /at character 6/);
    assert.doesNotMatch(error.message, /secret|token/);
  });
});

describe("formatNameForLog", () => {
  test("leaves short names whole and cuts long ones, with a mark", () => {
    const namespace = fields("example.com", "meeting");
    assert.equal(formatNameForLog(namespace, undefined, 40), "example.2ecom-meeting");
    assert.equal(formatNameForLog(namespace, utf8.encode("v"), 24), "example.2ecom-meeting--v");
    assert.equal(formatNameForLog(namespace, utf8.encode("v"), 23), "example.2ecom-meeting-…");
    assert.equal(formatNameForLog(namespace, undefined, 1), "…");
    assert.equal(formatNameForLog([], undefined, 0), "");
  });

  test("is the text form or a beginning of it, never longer than asked [NS-09]", () => {
    fc.assert(
      fc.property(anyFullName(), fc.integer({ min: 1, max: 80 }), (name, maxLength) => {
        const whole = formatName(name.trackNamespace, name.trackName);
        const shown = formatNameForLog(name.trackNamespace, name.trackName, maxLength);
        assert.match(shown, /^[\w.-]*…?$/);
        assert.ok(shown.length <= maxLength);
        if (whole.length <= maxLength) assert.equal(shown, whole);
        else assert.equal(shown, `${whole.slice(0, maxLength - 1)}…`);
      }),
    );
  });
});
