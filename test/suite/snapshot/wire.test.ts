import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, fromHex, toHex, utf8 } from "../../../src/bytes.ts";
import {
  decodeSnapshot,
  encodeSnapshot,
  parseSnapshot,
  SnapshotError,
} from "../../../src/snapshot/mod.ts";
import { validJson } from "./fixtures.ts";

function text(value: string): string {
  const bytes = utf8(value);
  assert.ok(bytes.length < 24);
  return toHex(Uint8Array.of(0x60 | bytes.length)) + toHex(bytes);
}

function bytes(value: string): string {
  const content = utf8(value);
  return toHex(Uint8Array.of(0x40 | content.length)) + toHex(content);
}

const healthyR1 = [
  "a3",
  text("rid"),
  bytes("r1"),
  text("uri"),
  text("https://r1.example"),
  text("health"),
  text("healthy"),
];

/** A snapshot with one relay and `route`, assembled by hand in deterministic order. */
function wireWith(...route: string[]): Uint8Array {
  const hex = [
    "a3",
    text("relays"),
    "81",
    ...healthyR1,
    text("routes"),
    "81",
    ...route,
    text("version"),
    "01",
  ].join("");
  return fromHex(hex) as Uint8Array;
}

function code(wire: Uint8Array): string {
  try {
    decodeSnapshot(wire);
    return "none";
  } catch (error) {
    assert.ok(error instanceof SnapshotError, String(error));
    return [error.code, ...error.problems.map((problem) => problem.path)].join(" ");
  }
}

describe("the CBOR form", () => {
  test("is the hand-assembled one, keys in bytewise order and defaults left out", () => {
    const snapshot = parseSnapshot({
      version: 1,
      relays: [{ health: "healthy", uri: "https://r1.example", rid: "r1" }],
      routes: [
        {
          rids: [{ weight: 1, rid: "r1" }],
          profile: "HRW-SHA256",
          key_fields: 300,
          kind: "hashed",
          prefix: ["ab"],
        },
      ],
    });
    const route = [
      "a4",
      text("kind"),
      text("hashed"),
      text("rids"),
      "81",
      bytes("r1"),
      text("prefix"),
      "81",
      bytes("ab"),
      text("key_fields"),
      "19012c",
    ];
    assert.equal(toHex(encodeSnapshot(snapshot)), toHex(wireWith(...route)));
  });

  test("names profile and weight where they are not the defaults, and attributes", () => {
    const snapshot = parseSnapshot({
      version: 1,
      relays: [{ health: "healthy", uri: "https://r1.example", rid: "r1" }],
      routes: [
        {
          prefix: [],
          kind: "hashed",
          profile: "HRW-SHA256-64",
          rids: [{ rid: "r1", weight: 16 }],
          attributes: { x: [1.5, { hex: "ff" }, -1, null] },
        },
      ],
    });
    const route = [
      ...["a5", text("kind"), text("hashed"), text("rids"), "81"],
      ...["a2", text("rid"), bytes("r1"), text("weight"), "10"],
      ...[text("prefix"), "80", text("profile"), text("HRW-SHA256-64")],
      ...[text("attributes"), "a1", text("x"), "84", "f93e00", "41ff", "20", "f6"],
    ];
    assert.equal(toHex(encodeSnapshot(snapshot)), toHex(wireWith(...route)));
  });

  test("comes back as the same snapshot, byte strings exactly [LB-CONF-17]", () => {
    const snapshot = parseSnapshot(validJson());
    assert.deepEqual(decodeSnapshot(encodeSnapshot(snapshot)), snapshot);
  });

  test("takes what another encoder spells out [LB-HASHED-2] [LB-PROFILE-8]", () => {
    const route = [
      ...["a4", text("kind"), text("hashed"), text("rids"), "81"],
      ...["a2", text("rid"), bytes("r1"), text("weight"), "01"],
      ...[text("prefix"), "80", text("profile"), text("HRW-SHA256")],
    ];
    const plain = [
      "a3",
      text("kind"),
      text("hashed"),
      text("rids"),
      "81",
      bytes("r1"),
      text("prefix"),
      "80",
    ];
    assert.deepEqual(decodeSnapshot(wireWith(...route)), decodeSnapshot(wireWith(...plain)));
  });

  test("does not follow later changes of the bytes it was read from", () => {
    const wire = encodeSnapshot(parseSnapshot(validJson()));
    const snapshot = decodeSnapshot(wire);
    wire.fill(0);
    assert.deepEqual(snapshot, parseSnapshot(validJson()));
  });

  test("does not tell -0 from 0", () => {
    const wire = (zero: number) =>
      encodeSnapshot(
        parseSnapshot({ version: zero, relays: [], routes: [], attributes: { zero } }),
      );
    assert.deepEqual(wire(-0), wire(0));
  });

  test("keeps attribute keys that mean something to JavaScript", () => {
    const text = `{"version":1,"relays":[],"routes":[],"attributes":
      {"__proto__":{"toJSON":1},"constructor":"c","toCBOR":[],"hasOwnProperty":null,"":0}}`;
    const snapshot = parseSnapshot(text);
    const decoded = decodeSnapshot(encodeSnapshot(snapshot));
    assert.deepEqual(decoded, snapshot);
    const keys = ["", "toCBOR", "__proto__", "constructor", "hasOwnProperty"];
    assert.deepEqual(Object.keys(decoded.attributes ?? {}), keys);
  });

  test("is read the same from a view and from a Buffer-like subclass", () => {
    class Buffered extends Uint8Array {}
    const wire = encodeSnapshot(parseSnapshot(validJson()));
    const padded = concatBytes(Uint8Array.of(9, 9), wire, Uint8Array.of(9));
    const snapshot = parseSnapshot(validJson());
    assert.deepEqual(decodeSnapshot(padded.subarray(2, 2 + wire.length)), snapshot);
    assert.deepEqual(decodeSnapshot(new Buffered(wire)), snapshot);
  });
});

describe("CBOR that is not deterministic is refused", () => {
  test("text where bytes are required [LB-S13] [LB-TABLE-4]", () => {
    const route = (rid: string) =>
      wireWith("a3", text("rid"), rid, text("kind"), text("static"), text("prefix"), "80");
    assert.equal(code(route(bytes("r1"))), "none");
    assert.equal(code(route(text("r1"))), "INVALID_SNAPSHOT routes[0].rid");
  });

  test("encodings of any other kind [LB-HASHED-12]", () => {
    const hex = (text: string) => fromHex(text) as Uint8Array;
    const empty = `a3${text("relays")}80${text("routes")}80${text("version")}`;
    assert.equal(code(hex(`${empty}01`)), "none");
    const malformed: [what: string, bytes: Uint8Array][] = [
      ["nothing", new Uint8Array(0)],
      ["trailing bytes", hex(`${empty}0100`)],
      ["a longer integer", hex(`${empty}1801`)],
      ["an integer in eight bytes", hex(`${empty}1b0000000000000001`)],
      ["a float for an integer", hex(`${empty}f93c00`)],
      ["a longer float", hex(`${empty}fa3fc00000`)],
      ["a bignum", hex(`${empty}c24101`)],
      ["a tag", hex(`${empty}c101`)],
      ["a self-describing tag", hex(`d9d9f7${empty}01`)],
      ["undefined", hex(`${empty}f7`)],
      ["a simple value", hex(`${empty}f0`)],
      ["negative zero", hex(`${empty}f98000`)],
      ["a NaN with a payload", hex(`${empty}f97e01`)],
      [
        "a key twice",
        hex(`a4${text("relays")}80${text("routes")}80${text("version")}01${text("version")}01`),
      ],
      ["keys out of order", hex(`a3${text("version")}01${text("relays")}80${text("routes")}80`)],
      ["an indefinite map", hex(`bf${text("relays")}80${text("routes")}80${text("version")}01ff`)],
      [
        "an indefinite array",
        hex(`a3${text("relays")}9fff${text("routes")}80${text("version")}01`),
      ],
      ["an indefinite text", hex(`a17f${text("a")}ff00`)],
      ["text that is not UTF-8", hex("a162c32800")],
      ["a reserved length", hex("1c")],
      ["a lone break", hex("ff")],
      ["nesting without end", hex("81".repeat(5000))],
      ["an array of 2^64-1 items", hex("9bffffffffffffffff")],
      ["a map of 2^64-1 items", hex("bbffffffffffffffff")],
      ["an array of 2^32-1 items", hex("9affffffff00")],
      ["a byte string of 2^63 bytes", hex("5b800000000000000000")],
      ["a text of 2^32-1 bytes", hex("7affffffff61")],
    ];
    for (const [what, wire] of malformed) assert.equal(code(wire), "MALFORMED_SNAPSHOT", what);
  });

  test("values that are CBOR and yet no snapshot", () => {
    const hex = (text: string) => fromHex(text) as Uint8Array;
    for (const value of [
      "00",
      "40",
      "60",
      "80",
      "f6",
      "f5",
      "f93e00",
      "a10102",
      "1bffffffffffffffff",
    ]) {
      assert.equal(code(hex(value)), "INVALID_SNAPSHOT ", value);
    }
    const versionless = `a3${text("relays")}80${text("routes")}80${text("version")}`;
    for (const value of ["1bffffffffffffffff", "1b0020000000000000", "20", "f93e00"]) {
      assert.equal(code(hex(versionless + value)), "INVALID_SNAPSHOT version", value);
    }
  });
});
