import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  decodeControlMessage,
  defaultPublisherPriority,
  encodeControlMessage,
  parseTrackProperties,
} from "../../../src/moqt/mod.ts";
import {
  allDrafts,
  assertBytesClose,
  assertCloses,
  assertNotEncodable,
  decodeHex,
  framed,
  hex,
} from "./support.ts";

/** The four messages with Track Properties, around these bytes. */
function messagesWith(properties: string): string[] {
  return [
    framed("04", `07 00 ${properties}`),
    framed("1d", `00 01 0161 0174 07 00 ${properties}`),
    framed("18", `00 00 00 00 ${properties}`),
    framed("07", `00 ${properties}`),
  ];
}

describe("Track Properties", () => {
  test("keep their bytes, unknown types and integers that are longer than needed included", () => {
    for (const digits of messagesWith("8004c00005 07 8002 abcd 80bd 01")) {
      for (const draft of allDrafts) {
        const message = decodeControlMessage(hex(digits), draft);
        assert.ok("trackProperties" in message);
        assert.equal(toHex(message.trackProperties), "8004c00005078002abcd80bd01");
        assert.equal(toHex(encodeControlMessage(message, draft)), digits);
      }
    }
  });

  test("that are no Key-Value-Pairs are a protocol violation", () => {
    for (const properties of ["04", "0b 05 00", "80", "ff", "fffffffffffffffffe 00 02 00"]) {
      for (const digits of messagesWith(properties)) {
        assertBytesClose("PROTOCOL_VIOLATION", digits);
      }
    }
  });

  test("with a priority beyond 255 close with KEY_VALUE_FORMATTING_ERROR", () => {
    for (const digits of messagesWith("0e 8100")) {
      assertBytesClose("KEY_VALUE_FORMATTING_ERROR", digits);
    }
  });

  test("with a value that the standard forbids are a protocol violation", () => {
    for (const property of ["22 00", "22 03", "30 02", "30 8100"]) {
      for (const digits of messagesWith(property)) assertBytesClose("PROTOCOL_VIOLATION", digits);
    }
    for (const property of ["22 01", "22 02", "30 00", "30 01", "0e 80ff"]) {
      for (const digits of messagesWith(property)) assert.ok(decodeHex(digits));
    }
  });

  test("are not sent where they would close the session at the other end", () => {
    const ok = { type: "REQUEST_OK", parameters: [] } as const;
    for (const properties of ["04", "22 00", "0e 8100"]) {
      assertNotEncodable({ ...ok, trackProperties: hex(properties) });
    }
    const message = { ...ok, trackProperties: hex("0e64") };
    for (const answers of ["PUBLISH", "REQUEST_UPDATE"] as const) {
      assert.throws(() => encodeControlMessage(message, 22, { answers }), {
        code: "NOT_ENCODABLE",
      });
    }
    assert.ok(encodeControlMessage(message, 22, { answers: "TRACK_STATUS" }));
  });

  test("can be read as pairs", () => {
    assert.deepEqual(parseTrackProperties(hex("04 80c8 07 02 aabb 00 00 03 64")), [
      { type: 4n, value: 200n },
      { type: 11n, value: hex("aabb") },
      { type: 11n, value: hex("") },
      { type: 14n, value: 100n },
    ]);
    assert.deepEqual(parseTrackProperties(hex("")), []);
  });

  test("have values of 65,535 bytes at most", () => {
    const bytes = new Uint8Array(4 + 65_536);
    bytes.set(hex("0b c10000"));
    assertCloses("PROTOCOL_VIOLATION", () => parseTrackProperties(bytes));
    bytes.set(hex("0b c0ffff"));
    assert.equal(parseTrackProperties(bytes.subarray(0, 4 + 65_535)).length, 1);
  });
});

describe("the Publisher Priority of a track", () => {
  test("is its DEFAULT_PUBLISHER_PRIORITY, and 128 where it names none", () => {
    for (const [digits, expected] of [
      ["", 128],
      // OBJECT_DELIVERY_TIMEOUT alone.
      ["0205", 128],
      ["0e00", 0],
      ["0205 0c80ff", 255],
      ["0e07 0201", 7],
    ] as const) {
      assert.equal(defaultPublisherPriority(hex(digits)), expected);
    }
  });
});
