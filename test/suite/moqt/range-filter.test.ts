import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type { Draft, MessageParameter, RangeFilter } from "../../../src/moqt/mod.ts";
import {
  assertBytesClose,
  assertNotEncodable,
  assertRoundTrip,
  decodeHex,
  fields,
  framed,
} from "./support.ts";

const drafts: readonly Draft[] = [19, 20, 21, 22];

function subscribe(...parameters: MessageParameter[]) {
  const track = { trackNamespace: fields("a"), trackName: utf8("t") };
  return { type: "SUBSCRIBE", requestId: 0n, ...track, parameters } as const;
}

function withFilter(parameter: string): string {
  return framed("03", `00 01 0161 0174 01 ${parameter}`);
}

function filterOf(parameter: string): RangeFilter {
  const message = decodeHex(withFilter(parameter));
  assert.ok(message.type === "SUBSCRIBE");
  const [first] = message.parameters;
  assert.ok(
    first?.type.endsWith("_FILTER") && "filter" in first && first.type !== "LOCATION_FILTER",
  );
  return first.filter;
}

describe("a range filter", () => {
  test("has ranges as deltas: 3 to 5 and 10 to 15 in set 1", () => {
    assertRoundTrip(
      withFilter("26 05 01 03 02 05 05"),
      subscribe({
        type: "OBJECTID_FILTER",
        filter: {
          kind: "RANGES",
          setId: 1,
          ranges: [
            { start: 3n, end: 5n },
            { start: 10n, end: 15n },
          ],
        },
      }),
      drafts,
    );
  });

  test("has a SetID of one byte, and may be open at its end", () => {
    const filter: RangeFilter = { kind: "RANGES", setId: 255, ranges: [{ start: 3n }] };
    assertRoundTrip(
      withFilter("25 02 ff 03"),
      subscribe({ type: "SUBGROUP_FILTER", filter }),
      drafts,
    );
  });

  test("of a property names it", () => {
    const filter: RangeFilter = {
      kind: "RANGES",
      setId: 0,
      propertyType: 0x3cn,
      ranges: [{ start: 200n, end: 400n }],
    };
    assertRoundTrip(
      withFilter("28 06 00 3c 80c8 80c8"),
      subscribe({ type: "OBJECT_PROPERTY_FILTER", filter }),
      drafts,
    );
  });

  test("of no bytes removes the filter", () => {
    const filter: RangeFilter = { kind: "REMOVE" };
    assertRoundTrip(withFilter("27 00"), subscribe({ type: "PRIORITY_FILTER", filter }), drafts);
  });

  test("that breaks its rules is kept as invalid, to be answered, not to close the session", () => {
    for (const parameter of [
      "27 04 00 8100 00", // priority 256
      "27 04 00 01 80ff", // priority 1 to 256
      "28 04 00 03 01 01", // odd property
      "26 0b 00 ffffffffffffffffff 01", // end beyond 2^64-1
      "26 01 00", // no range
      "26 02 00 80", // cut off
      "28 01 00", // no property
    ]) {
      assert.equal(filterOf(parameter).kind, "INVALID", parameter);
    }
  });

  test("of all allowed values is valid", () => {
    assert.deepEqual(filterOf("27 04 00 00 80ff"), {
      kind: "RANGES",
      setId: 0,
      ranges: [{ start: 0n, end: 255n }],
    });
    assert.deepEqual(filterOf("26 0b 00 00 ffffffffffffffffff"), {
      kind: "RANGES",
      setId: 0,
      ranges: [{ start: 0n, end: 2n ** 64n - 1n }],
    });
  });

  test("longer than its message is a protocol violation", () => {
    assertBytesClose("PROTOCOL_VIOLATION", withFilter("26 06 01 03 02 05 05"));
  });

  test("is only sent where it is valid", () => {
    const ranges = [{ start: 1n, end: 2n }];
    const invalid: RangeFilter[] = [
      { kind: "INVALID", problem: "" },
      { kind: "RANGES", setId: 256, ranges },
      { kind: "RANGES", setId: 0, ranges: [] },
      { kind: "RANGES", setId: 0, ranges: [{ start: 1n }, { start: 2n }] },
      { kind: "RANGES", setId: 0, ranges: [{ start: 2n, end: 1n }] },
      { kind: "RANGES", setId: 0, ranges: [...ranges, { start: 1n, end: 3n }] },
      { kind: "RANGES", setId: 0, ranges, propertyType: 2n },
      { kind: "RANGES", setId: 0, ranges: [{ start: 2n ** 64n }] },
    ];
    for (const filter of invalid) {
      assertNotEncodable(subscribe({ type: "OBJECTID_FILTER", filter }));
    }
    const priority: RangeFilter = { kind: "RANGES", setId: 0, ranges: [{ start: 0n, end: 256n }] };
    assertNotEncodable(subscribe({ type: "PRIORITY_FILTER", filter: priority }));
    for (const property of [{}, { propertyType: 3n }]) {
      const filter: RangeFilter = { kind: "RANGES", setId: 0, ranges, ...property };
      assertNotEncodable(subscribe({ type: "OBJECT_PROPERTY_FILTER", filter }));
    }
  });
});
