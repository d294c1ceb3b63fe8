import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  parseDiagnosticSnapshot,
  parseSnapshot,
  SnapshotError,
  snapshotToJson,
} from "../../../src/snapshot/mod.ts";
import { validJson } from "./fixtures.ts";

/** Where reading `text` fails as `line:column`, and why. */
function faultOf(text: string, read: (text: string) => unknown = parseSnapshot): string {
  try {
    read(text);
  } catch (error) {
    assert.ok(error instanceof SnapshotError, String(error));
    assert.equal(error.code, "MALFORMED_SNAPSHOT");
    return `${error.position?.line}:${error.position?.column} ${error.message.split(": ").at(-1)}`;
  }
  return "none";
}

describe("the JSON form", () => {
  test("gives back what was read, with defaults left out", () => {
    const { routes, ...rest } = validJson();
    assert.deepEqual(snapshotToJson(parseSnapshot(validJson())), { ...rest, routes });
    const spelledOut = {
      version: 1,
      relays: [{ rid: "r1", uri: "https://r1.example", health: "healthy" }],
      routes: [
        { prefix: [], kind: "hashed", profile: "HRW-SHA256", rids: [{ rid: "r1", weight: 1 }] },
      ],
    };
    assert.deepEqual(snapshotToJson(parseSnapshot(spelledOut)).routes, [
      { prefix: [], kind: "hashed", rids: ["r1"] },
    ]);
  });

  test("writes bytes as text only where text shows them all [LB-CONF-17]", () => {
    const rids: [rid: unknown, written: unknown][] = [
      ["r1", "r1"],
      ["é 🎥", "é 🎥"],
      [{ hex: "7231" }, "r1"],
      [{ hex: "FF00FE" }, { hex: "ff00fe" }],
      [{ hex: "c328" }, { hex: "c328" }],
      ["a\u0000b", { hex: "610062" }],
      [{ hex: "efbbbf72" }, "\ufeffr"],
      ["", ""],
    ];
    for (const [rid, written] of rids) {
      const relay = { rid, uri: "https://r.example", health: "healthy" };
      const snapshot = parseSnapshot({ version: 1, relays: [relay], routes: [] });
      const json = snapshotToJson(snapshot);
      assert.deepEqual(json.relays[0]?.rid, written);
      assert.deepEqual(parseSnapshot(JSON.stringify(json)), snapshot);
    }
  });

  test("is read from text like from the parsed value", () => {
    const text = JSON.stringify(validJson(), null, 2);
    assert.deepEqual(parseSnapshot(text), parseSnapshot(validJson()));
  });
});

describe("a text that is not JSON", () => {
  test("is refused with the line and column of the fault", () => {
    assert.equal(faultOf(""), "1:1 expected a value, found the end");
    assert.equal(
      faultOf('{\n  "version": 7,\n  }'),
      '3:3 expected a key in double quotes, found "}"',
    );
    assert.equal(faultOf('{"version" 7}'), '1:12 expected ":", found "7"');
    assert.equal(faultOf('{"a": tru}'), '1:7 expected a value, found "t"');
    assert.equal(faultOf("[1, 2"), '1:6 expected "," or "]", found the end');
    assert.equal(faultOf("{} {}"), '1:4 expected the end of the text, found "{"');
    assert.equal(faultOf('"abc'), "1:1 the string has no end");
    assert.equal(faultOf('"a\tb"'), "1:3 control characters in a string have to be escaped");
    assert.equal(faultOf('"\\x"'), '1:2 expected an escape sequence of JSON, found "\\u005c"');
    for (const text of ["01", "+1", ".5", "1.", "-", "NaN", "'a'", "undefined", "/**/1"]) {
      assert.notEqual(faultOf(text), "none", text);
    }
  });

  test("has no position in the error once it is JSON, however wrong", () => {
    assert.throws(
      () => parseSnapshot("{}"),
      (error) =>
        error instanceof SnapshotError &&
        error.code === "INVALID_SNAPSHOT" &&
        error.position === undefined,
    );
  });

  test("may not have a key twice in one map", () => {
    assert.equal(
      faultOf('{"version": 7,\n "relays": [], "routes": [],\n "version": 8}'),
      '3:2 the key "version" occurs twice in one map',
    );
  });

  test("may not write an integer as a float [LB-HASHED-12]", () => {
    const weighted = (weight: string) =>
      `{"version":1,"relays":[{"rid":"r1","uri":"https://r1.example","health":"healthy"}],
        "routes":[{"prefix":[],"kind":"hashed","rids":[{"rid":"r1","weight":${weight}}]}]}`;
    assert.equal(faultOf(weighted("16")), "none");
    for (const weight of ["1.0", "1e0", "10e-1"]) {
      assert.equal(faultOf(weighted(weight)), "2:77 an integer is written as its digits alone");
    }
  });

  test("may not hold integers that a number cannot", () => {
    const version = (digits: string) => `{"version":${digits},"relays":[],"routes":[]}`;
    assert.equal(faultOf(version("9007199254740991")), "none");
    assert.equal(faultOf(version("9007199254740992")), "1:12 the integer is not within ±(2^53-1)");
    assert.equal(faultOf(version("1e400")), "1:12 the number is too large");
  });

  test("may not nest without end", () => {
    assert.match(faultOf("[".repeat(100_000)), /^1:65 nested deeper than 64 levels/);
  });
});

describe("a string of a JSON text", () => {
  test("has every escape and character of JSON", () => {
    const texts = ['a"\\/\b\f\n\r\tz', "\u0000\u001f\u007f\u0085\u2028\ud83c\udfa5", ""];
    for (const text of texts) {
      const json = JSON.stringify({ version: 1, relays: [], routes: [], attributes: { text } });
      assert.deepEqual(parseSnapshot(json).attributes, { text });
    }
    const escaped =
      '{"version":1,"relays":[],"routes":[],"attributes":{"\\u0061\\/":"\\ud83C\\udFa5"}}';
    assert.deepEqual(parseSnapshot(escaped).attributes, { "a/": "🎥" });
  });
});

describe("CBOR diagnostic notation", () => {
  const table = `
    / the draft's kind of table /
    { "version": 7, # newest
      "relays": [ { "rid": 'r1', "uri": "https://r1.example/moq", "health": "healthy" },
                  { "rid": h'00 ff 10', "uri": "https://r2.example/moq", "health": "draining" } ],
      "routes": [
        { "prefix": ['live'], "kind": "hashed", "rids": ['r1', {"rid": h'00FF10', "weight": 2}] },
        { "prefix": ['live', 'it\\'s'], "kind": "static", "rid": 'r1' },
        { "prefix": ['example.com'], "kind": "hashed", "key_fields": 2, "rids": ['r1'] } ] }`;

  test("is read as a table with static, hashed and key_fields routes [LB-EX-3]", () => {
    assert.deepEqual(snapshotToJson(parseDiagnosticSnapshot(table)), {
      version: 7,
      relays: [
        { rid: "r1", uri: "https://r1.example/moq", health: "healthy" },
        { rid: { hex: "00ff10" }, uri: "https://r2.example/moq", health: "draining" },
      ],
      routes: [
        { prefix: ["live"], kind: "hashed", rids: ["r1", { rid: { hex: "00ff10" }, weight: 2 }] },
        { prefix: ["live", "it's"], kind: "static", rid: "r1" },
        { prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1"] },
      ],
    });
  });

  test("tells text from bytes, as CBOR does [LB-S13]", () => {
    assert.throws(
      () => parseDiagnosticSnapshot(table.replace("\"rid\": 'r1'", '"rid": "r1"')),
      (error) => error instanceof SnapshotError && error.problems[0]?.path === "relays[0].rid",
    );
  });

  test("is refused with line and column where it is malformed", () => {
    const read = parseDiagnosticSnapshot;
    assert.match(faultOf("[\n h'0']", read), /^2:2 expected a byte string/);
    assert.equal(faultOf("/ no end", read), '1:1 the comment has no closing "/"');
    assert.match(faultOf("'\\ud800'", read), /^1:1 the string has an unpaired surrogate/);
    assert.match(faultOf("[1] 'x'", read), /^1:5 expected the end/);
  });
});
