import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type { Draft, LocationFilter } from "../../../src/moqt/mod.ts";
import {
  assertBytesClose,
  assertNotEncodable,
  assertRoundTrip,
  decodeHex,
  fields,
  framed,
} from "./support.ts";

const early: readonly Draft[] = [18, 19];
const middle: readonly Draft[] = [20, 21];
const late: readonly Draft[] = [22];

function subscribe(filter: LocationFilter) {
  return {
    type: "SUBSCRIBE",
    requestId: 0n,
    trackNamespace: fields("a"),
    trackName: utf8("t"),
    parameters: [{ type: "LOCATION_FILTER", filter }],
  } as const;
}

/** A SUBSCRIBE whose filter has these bytes after its type. */
function filtered(value: string): string {
  return framed("03", `00 01 0161 0174 01 21 ${value}`);
}

function assertFilter(filter: LocationFilter, value: string, drafts: readonly Draft[]): void {
  assertRoundTrip(filtered(value), subscribe(filter), drafts);
}

// Values from 128 on take two bytes: a length is then not the number of fields.
const start = { group: 200n, object: 300n };

describe("LOCATION_FILTER", () => {
  test("of the next object", () => {
    assertFilter({ kind: "NEXT_OBJECT" }, "01 02", early);
    assertFilter({ kind: "NEXT_OBJECT" }, "02 00 00", middle);
    assertFilter({ kind: "NEXT_OBJECT" }, "05", late);
  });

  test("of the next group, and of groups before the current one", () => {
    assertFilter({ kind: "RELATIVE", groupsBack: 0n }, "01 01", early);
    assertFilter({ kind: "RELATIVE", groupsBack: 0n }, "01 00", [...middle, ...late]);
    assertFilter({ kind: "RELATIVE", groupsBack: 200n }, "02 80c8", middle);
    assertFilter({ kind: "RELATIVE", groupsBack: 200n }, "01 80c8", late);
    assertNotEncodable(subscribe({ kind: "RELATIVE", groupsBack: 200n }), early);
  });

  test("of an absolute start", () => {
    assertFilter({ kind: "START", start }, "05 03 80c8 812c", early);
    assertFilter({ kind: "START", start }, "04 80c8 812c", middle);
    assertFilter({ kind: "START", start }, "02 80c8 812c", late);
  });

  test("of a range to the end of a group", () => {
    const filter: LocationFilter = { kind: "RANGE", start, endGroup: 350n };
    assertFilter(filter, "07 04 80c8 812c 8096", early);
    assertFilter(filter, "06 80c8 812c 8096", middle);
    assertFilter(filter, "03 80c8 812c 8096", late);
    assertFilter({ ...filter, endGroup: 200n }, "03 80c8 812c 00", late);
  });

  test("of a range to an object", () => {
    const filter: LocationFilter = { kind: "RANGE", start, endGroup: 350n, endObject: 130n };
    assertFilter(filter, "08 80c8 812c 8096 8082", middle);
    assertFilter(filter, "04 80c8 812c 8096 8082", late);
    assertNotEncodable(subscribe(filter), early);
  });

  test("of nothing", () => {
    assertFilter({ kind: "NONE" }, "00", [...middle, ...late]);
    assertNotEncodable(subscribe({ kind: "NONE" }), early);
    assertBytesClose("PROTOCOL_VIOLATION", filtered("00"), early);
  });

  test("that starts at {0, 0} is the next object in drafts 20 and 21, and cannot be sent there", () => {
    const filter: LocationFilter = { kind: "START", start: { group: 0n, object: 0n } };
    assertFilter(filter, "03 03 00 00", early);
    assertFilter(filter, "02 00 00", late);
    assertNotEncodable(subscribe(filter), middle);
  });

  test("means another thing in another draft where the bytes do not tell", () => {
    const kindIn = (draft: Draft) => {
      const message = decodeHex(filtered("02 00 00"), draft);
      assert.ok(message.type === "SUBSCRIBE" && message.parameters[0]?.type === "LOCATION_FILTER");
      return message.parameters[0].filter.kind;
    };
    assert.equal(kindIn(21), "NEXT_OBJECT");
    assert.equal(kindIn(22), "START");
  });

  test("of an unknown type is a protocol violation", () => {
    assertBytesClose("PROTOCOL_VIOLATION", filtered("06"), late);
    assertBytesClose("PROTOCOL_VIOLATION", filtered("ffffffffffffffffff"), late);
    for (const value of ["01 00", "01 05", "09 ffffffffffffffffff"]) {
      assertBytesClose("PROTOCOL_VIOLATION", filtered(value), early);
    }
  });

  test("whose end lies beyond 2^64-1 is a protocol violation", () => {
    const range = "ffffffffffffffffff 00 01";
    assertBytesClose("PROTOCOL_VIOLATION", filtered(`0c 04 ${range}`), early);
    assertBytesClose("PROTOCOL_VIOLATION", filtered(`0b ${range}`), middle);
    assertBytesClose("PROTOCOL_VIOLATION", filtered(`03 ${range}`), late);
    const last = { kind: "RANGE", start: { group: 2n ** 64n - 1n, object: 0n } } as const;
    assertFilter({ ...last, endGroup: 2n ** 64n - 1n }, "03 ffffffffffffffffff 00 00", late);
  });

  test("fills its length exactly, with four integers at most", () => {
    for (const value of ["02 02 00", "02 03 00", "00"]) {
      assertBytesClose("PROTOCOL_VIOLATION", filtered(value), early);
    }
    for (const value of ["05 01 01 01 01 01", "01 80", "02 01"]) {
      assertBytesClose("PROTOCOL_VIOLATION", filtered(value), middle);
    }
    assertBytesClose("PROTOCOL_VIOLATION", filtered("04 01 01 01"), late);
  });

  test("may end before it starts in the same group, and never in an earlier one", () => {
    const filter: LocationFilter = { kind: "RANGE", start, endGroup: 200n, endObject: 5n };
    assertFilter(filter, "04 80c8 812c 00 05", late);
    assertNotEncodable(subscribe({ kind: "RANGE", start, endGroup: 199n }));
  });
});
