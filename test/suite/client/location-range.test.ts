import assert from "node:assert/strict";
import { describe, test } from "#test";
import { isInRange, locationRange } from "../../../src/client/location-range.ts";
import type { Location, LocationFilter } from "../../../src/moqt/mod.ts";

const at = (group: number, object: number): Location => ({
  group: BigInt(group),
  object: BigInt(object),
});

describe("what a LOCATION_FILTER lets pass", () => {
  test("starts where it says, from the point of view of the largest object", () => {
    const cases: [LocationFilter | undefined, Location | undefined, Location][] = [
      [undefined, at(5, 3), at(0, 0)],
      [{ kind: "NONE" }, at(5, 3), at(0, 0)],
      [{ kind: "NEXT_OBJECT" }, at(5, 3), at(5, 4)],
      [{ kind: "NEXT_OBJECT" }, undefined, at(0, 0)],
      [{ kind: "RELATIVE", groupsBack: 0n }, at(5, 3), at(6, 0)],
      [{ kind: "RELATIVE", groupsBack: 1n }, at(5, 3), at(5, 0)],
      [{ kind: "RELATIVE", groupsBack: 99n }, at(5, 3), at(0, 0)],
      [{ kind: "RELATIVE", groupsBack: 1n }, undefined, at(0, 0)],
      [{ kind: "START", start: at(2, 7) }, at(5, 3), at(2, 7)],
    ];
    for (const [filter, largest, start] of cases) {
      assert.deepEqual(locationRange(filter, largest), { start }, filter?.kind ?? "none");
    }
  });

  test("includes both ends, or the whole of the last group", () => {
    const toGroup = locationRange({ kind: "RANGE", start: at(1, 2), endGroup: 3n }, undefined);
    const inside = (group: number, object: number) =>
      isInRange(toGroup, BigInt(group), BigInt(object));
    assert.deepEqual(
      [inside(1, 1), inside(1, 2), inside(2, 0), inside(3, 999), inside(4, 0), inside(0, 9)],
      [false, true, true, true, false, false],
    );
    const toObject = locationRange(
      { kind: "RANGE", start: at(1, 2), endGroup: 3n, endObject: 4n },
      undefined,
    );
    assert.deepEqual(
      [isInRange(toObject, 3n, 4n), isInRange(toObject, 3n, 5n), isInRange(toObject, 2n, 99n)],
      [true, false, true],
    );
  });
});
