import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, toHex, utf8 } from "../../../src/bytes.ts";
import {
  type FetchGap,
  type FetchItem,
  type FetchObject,
  type FetchOptions,
  FetchReader,
  FetchWriter,
  MoqtEncodingError,
  MoqtError,
  ObjectTooLargeError,
} from "../../../src/moqt/mod.ts";
import { anyPayload, assertCloses, hex, piecesOf, readAll, someProperties } from "./support.ts";

const ascending: FetchOptions = { draft: 22, groupOrder: "ASCENDING" };
const descending: FetchOptions = { draft: 22, groupOrder: "DESCENDING" };

function object(
  groupId: bigint,
  objectId: bigint,
  text: string,
  changes: Partial<FetchObject> = {},
): FetchObject {
  return {
    type: "OBJECT",
    groupId,
    subgroupId: 0n,
    objectId,
    publisherPriority: 128,
    payload: utf8(text),
    ...changes,
  };
}

function gap(reason: FetchGap["reason"], groupId: bigint, objectId: bigint): FetchGap {
  return { type: "GAP", reason, groupId, objectId };
}

function asDatagram({ subgroupId: _, ...rest }: FetchObject): FetchObject {
  return rest;
}

function read(digits: string, options = ascending): FetchItem[] {
  return readAll(new FetchReader(options), [hex(digits)]);
}

/** Asserts that the bytes are these items, in any pieces, and these items those bytes. */
function assertItems(digits: string, items: FetchItem[], options = ascending): void {
  const bytes = hex(digits);
  for (let size = 1; size <= bytes.length; size++) {
    assert.deepEqual(readAll(new FetchReader(options), piecesOf(bytes, size)), items);
  }
  const writer = new FetchWriter(options);
  assert.equal(toHex(concatBytes(...items.map((item) => writer.encode(item)))), toHex(bytes));
}

describe("the objects of a fetch", () => {
  test("leave out what the one before has said", () => {
    assertItems("1c 03 00 80 02 6869 00 02 796f", [object(3n, 0n, "hi"), object(3n, 1n, "yo")]);
    assertItems("1f 03 01 00 80 02 6869 01 02 796f", [
      object(3n, 0n, "hi", { subgroupId: 1n }),
      object(3n, 1n, "yo", { subgroupId: 1n }),
    ]);
    assertItems("1f 03 01 00 80 01 61 02 01 62 03 09 01 63", [
      object(3n, 0n, "a", { subgroupId: 1n }),
      object(3n, 1n, "b", { subgroupId: 2n }),
      object(3n, 2n, "c", { subgroupId: 9n }),
    ]);
  });

  test("count groups in the order of the request, and objects anew in each", () => {
    assertItems("1c 03 05 80 00 0c 00 07 00 04 02 00", [
      object(3n, 5n, ""),
      object(4n, 7n, ""),
      object(4n, 9n, ""),
    ]);
    const items = [object(3n, 5n, ""), object(1n, 0n, "")];
    assertItems("1c 03 05 80 00 0c 01 00 00", items, descending);
  });

  test("go on counting where the object delta is left out, also into another group", () => {
    assert.deepEqual(read("1c 03 05 80 00 08 00 00"), [object(3n, 5n, ""), object(4n, 6n, "")]);
  });

  test("may change their priority, and have properties", () => {
    assertItems("3c 00 00 80 02 0205 01 61 10 05 01 62", [
      object(0n, 0n, "a", { properties: hex("0205") }),
      object(0n, 1n, "b", { publisherPriority: 5 }),
    ]);
    const [empty] = read("3c 00 00 80 00 01 61");
    assert.deepEqual(empty, object(0n, 0n, "a"));
  });

  test("have no subgroup where they were datagrams, whatever the low bits say", () => {
    assertItems("5c 00 00 80 01 61 40 01 62", [
      asDatagram(object(0n, 0n, "a")),
      asDatagram(object(0n, 1n, "b")),
    ]);
    assert.deepEqual(read("5f 00 00 80 01 61"), [asDatagram(object(0n, 0n, "a"))]);
  });

  test("may be missing, for a reason", () => {
    assertItems("810c 05 09", [gap("UNKNOWN", 5n, 9n)]);
    assertItems("808c 05 09 820c 06 00", [gap("NON_EXISTENT", 5n, 9n), gap("TIMED_OUT", 6n, 0n)]);
    for (const draft of [20, 21] as const) {
      assert.equal(read("820c 05 09", { ...ascending, draft }).length, 1);
    }
    for (const draft of [18, 19] as const) {
      const options = { ...ascending, draft };
      assertCloses("PROTOCOL_VIOLATION", () => read("820c 05 09", options));
      assert.equal(read("810c 05 09", options).length, 1);
      const writer = new FetchWriter(options);
      assert.throws(() => writer.encode(gap("TIMED_OUT", 0n, 0n)), MoqtEncodingError);
    }
  });

  test("count from a gap, but have subgroup and priority from the last object", () => {
    assertItems("1f 03 01 00 80 01 61 810c 03 06 01 01 62", [
      object(3n, 0n, "a", { subgroupId: 1n }),
      gap("UNKNOWN", 3n, 6n),
      object(3n, 7n, "b", { subgroupId: 1n }),
    ]);
    assert.deepEqual(read("810c 03 06 10 80 01 61")[1], object(3n, 7n, "a"));
    assertCloses("PROTOCOL_VIOLATION", () => read("810c 03 06 00 01 61"));
    assertCloses("PROTOCOL_VIOLATION", () => read("810c 03 06 11 80 01 61"));
    assertCloses("PROTOCOL_VIOLATION", () => read("810c 03 06 12 80 01 61"));
  });

  test("close the session where the first refers to one before", () => {
    for (const flags of ["18 03 80 00", "14 03 80 00", "1d 03 00 80 00", "1e 03 00 80 00"]) {
      assertCloses("PROTOCOL_VIOLATION", () => read(flags));
    }
    assertCloses("PROTOCOL_VIOLATION", () => read("0c 03 00 00"));
  });

  test("have IDs up to 2^64-1", () => {
    const max = "ffffffffffffffffff";
    const last = 2n ** 64n - 1n;
    assertItems(`1c ${max} ${max} 80 00`, [object(last, last, "")]);
    const next = "fffffffffffffffffe";
    assert.deepEqual(read(`1f ${next} ${next} ${next} 80 00 0e 00 ${max} 00`), [
      object(last - 1n, last - 1n, "", { subgroupId: last - 1n }),
      object(last, last, "", { subgroupId: last }),
    ]);
    assert.equal(read(`1c 00 ${next} 80 00 00 00`)[1]?.objectId, last);
    assert.equal(read("1c 01 00 80 00 0c 00 00 00", descending)[1]?.groupId, 0n);
  });

  test("close the session where an ID leaves its range", () => {
    const max = "ffffffffffffffffff";
    assertCloses("PROTOCOL_VIOLATION", () => read(`1c ${max} 00 80 00 0c 00 00 00`));
    assertCloses("PROTOCOL_VIOLATION", () => read("1c 00 00 80 00 0c 00 00 00", descending));
    assertCloses("PROTOCOL_VIOLATION", () => read(`1c 00 ${max} 80 00 00 00`));
    assertCloses("PROTOCOL_VIOLATION", () => read(`1c 00 01 80 00 04 ${max} 00`));
    assertCloses("PROTOCOL_VIOLATION", () => read(`1f 00 ${max} 00 80 00 02 00`));
  });

  test("close the session with unknown flags", () => {
    for (const flags of ["8080", "809d", "8100", "830c", "840c"]) {
      assertCloses("PROTOCOL_VIOLATION", () => read(`${flags} 00 00`));
    }
  });

  test("may be limited in size, and close the session where FIN cuts one off", () => {
    assert.throws(
      () => new FetchReader(ascending, 50).push(hex("1c 03 00 80 33")),
      ObjectTooLargeError,
    );
    const bytes = hex("1c 03 00 80 02 6869");
    for (let length = 1; length < bytes.length; length++) {
      assertCloses("PROTOCOL_VIOLATION", () =>
        readAll(new FetchReader(ascending), [bytes.slice(0, length)]),
      );
    }
    assert.deepEqual(read(""), []);
  });

  test("cannot be written out of order", () => {
    for (const [options, next] of [
      [ascending, object(2n, 0n, "")],
      [descending, object(4n, 0n, "")],
      [ascending, object(3n, 5n, "")],
      [ascending, object(3n, 4n, "")],
      [ascending, object(2n ** 64n, 4n, "")],
      [ascending, object(3n, 2n ** 64n, "")],
      [ascending, object(3n, 6n, "", { publisherPriority: 256 })],
    ] as const) {
      const writer = new FetchWriter(options);
      writer.encode(object(3n, 5n, ""));
      assert.throws(() => writer.encode(next), MoqtEncodingError);
      assert.equal(toHex(writer.encode(object(3n, 6n, ""))), "0000", "the writer goes on");
    }
  });

  test("read back in any pieces, in either order", () => {
    const anyItems = fc
      .tuple(
        fc.constantFrom("ASCENDING" as const, "DESCENDING" as const),
        fc.array(
          fc.record({
            isGap: fc.boolean(),
            groupStep: fc.bigInt({ min: 0n, max: 2n }),
            objectStep: fc.bigInt({ min: 1n, max: 300n }),
            subgroupId: fc.option(fc.bigInt({ min: 0n, max: 3n }), { nil: undefined }),
            publisherPriority: fc.constantFrom(0, 128, 255),
            properties: fc.option(someProperties, { nil: undefined }),
            payload: anyPayload(),
          }),
          { maxLength: 8 },
        ),
      )
      .map(([groupOrder, steps]) => {
        let groupId = 1000n;
        let objectId = 0n;
        const items = steps.map((step): FetchItem => {
          groupId += groupOrder === "ASCENDING" ? step.groupStep : -step.groupStep;
          objectId = step.groupStep === 0n ? objectId + step.objectStep : step.objectStep - 1n;
          if (step.isGap) return gap("UNKNOWN", groupId, objectId);
          const { subgroupId, publisherPriority, properties, payload } = step;
          return {
            type: "OBJECT",
            groupId,
            ...(subgroupId === undefined ? {} : { subgroupId }),
            objectId,
            publisherPriority,
            ...(properties === undefined ? {} : { properties }),
            payload,
          };
        });
        return { options: { draft: 22, groupOrder } as const, items };
      });
    fc.assert(
      fc.property(anyItems, fc.integer({ min: 1, max: 300 }), ({ options, items }, size) => {
        const writer = new FetchWriter(options);
        const bytes = concatBytes(...items.map((item) => writer.encode(item)));
        assert.deepEqual(readAll(new FetchReader(options), piecesOf(bytes, size)), items);
      }),
    );
  });

  test("of any bytes read, are refused, or close the session", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 6 }),
        fc.constantFrom(ascending, descending),
        (pieces, options) => {
          try {
            readAll(new FetchReader(options, 1000), pieces);
          } catch (error) {
            assert.ok(error instanceof MoqtError || error instanceof ObjectTooLargeError);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
