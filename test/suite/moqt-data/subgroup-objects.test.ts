import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, toHex, utf8 } from "../../../src/bytes.ts";
import {
  MoqtEncodingError,
  MoqtError,
  ObjectTooLargeError,
  type SubgroupHeader,
  type SubgroupObject,
  SubgroupReader,
  SubgroupWriter,
} from "../../../src/moqt/mod.ts";
import { anyInteger } from "../moqt/arbitrary.ts";
import { anyPayload, assertCloses, hex, piecesOf, readAll, someProperties } from "./support.ts";

const header: SubgroupHeader = {
  type: "SUBGROUP",
  trackAlias: 2n,
  groupId: 0n,
  subgroupId: 0n,
  publisherPriority: 0,
  hasProperties: false,
  endOfGroup: false,
  firstObject: false,
};
const withProperties: SubgroupHeader = { ...header, hasProperties: true };
const none = new Uint8Array(0);

function object(objectId: bigint, text: string, changes: Partial<SubgroupObject> = {}) {
  return { objectId, status: "NORMAL", payload: utf8(text), ...changes } as const;
}

/** Asserts that the bytes are these objects, in any pieces, and these objects those bytes. */
function assertObjects(of: SubgroupHeader, digits: string, objects: SubgroupObject[]): void {
  const bytes = hex(digits);
  for (let size = 1; size <= bytes.length; size++) {
    assert.deepEqual(readAll(new SubgroupReader(of), piecesOf(bytes, size)), objects);
  }
  const writer = new SubgroupWriter(of);
  const written = concatBytes(...objects.map((each) => writer.encode(each)));
  assert.equal(toHex(written), toHex(bytes));
}

function read(of: SubgroupHeader, digits: string): SubgroupObject[] {
  return readAll(new SubgroupReader(of), [hex(digits)]);
}

describe("the objects of a subgroup", () => {
  test("count their IDs from the one before, and one more", () => {
    assertObjects(header, "00 04 61626364 00 04 65666768", [
      object(0n, "abcd"),
      object(1n, "efgh"),
    ]);
    assertObjects(header, "05 01 61 02 01 62", [object(5n, "a"), object(8n, "b")]);
  });

  test("say what they are where they have no payload", () => {
    assertObjects(header, "00 00 00 00 00 03", [
      object(0n, ""),
      object(1n, "", { status: "END_OF_GROUP" }),
    ]);
    assertObjects(header, "07 00 04", [object(7n, "", { status: "END_OF_TRACK" })]);
  });

  test("have properties all of them, or none", () => {
    assertObjects(withProperties, "00 02 0205 01 61 00 00 01 62 00 00 00 03", [
      object(0n, "a", { properties: hex("0205") }),
      object(1n, "b"),
      object(2n, "", { status: "END_OF_GROUP" }),
    ]);
  });

  test("close the session with an unknown status, or properties where there can be none", () => {
    for (const status of ["01", "02", "05", "809d"]) {
      assertCloses("PROTOCOL_VIOLATION", () => read(header, `00 00 ${status}`));
    }
    assertCloses("PROTOCOL_VIOLATION", () => read(withProperties, "00 02 0205 00 03"));
    assert.equal(read(withProperties, "00 02 0205 00 00").length, 1);
  });

  test("close the session with an ID beyond 2^64-1", () => {
    const largest = "ff ffffffffffffffff 01 61";
    assert.equal(read(header, largest)[0]?.objectId, 2n ** 64n - 1n);
    assertCloses("PROTOCOL_VIOLATION", () => read(header, `${largest} 00 01 61`));
    assertCloses("PROTOCOL_VIOLATION", () => read(header, "05 01 61 fffffffffffffffffa 01 61"));
    assert.equal(read(header, "05 01 61 fffffffffffffffff9 01 61").length, 2);
  });

  test("close the session where FIN cuts one off, and only there", () => {
    const bytes = hex("00 02 0205 02 6162 00 00 00 03");
    const ends = [0, 7, 11];
    for (let length = 0; length <= bytes.length; length++) {
      const reader = new SubgroupReader(withProperties);
      reader.push(bytes.slice(0, length));
      if (ends.includes(length)) reader.end();
      else assertCloses("PROTOCOL_VIOLATION", () => reader.end());
    }
  });

  test("may be limited in size, and are refused before their bytes come", () => {
    assert.throws(
      () => new SubgroupReader(header, 100).push(hex("00 bfff")),
      (error) => error instanceof ObjectTooLargeError && error.code === "OBJECT_TOO_LARGE",
    );
    assert.throws(
      () => new SubgroupReader(withProperties, 100).push(hex("00 ffffffffffffffffff")),
      ObjectTooLargeError,
    );
    const exact = concatBytes(hex("00 62"), new Uint8Array(98));
    assert.equal(new SubgroupReader(header, 100).push(exact).length, 1);
    assert.throws(() => new SubgroupReader(header, 99).push(exact), ObjectTooLargeError);
  });

  test("have IDs up to 2^64-1", () => {
    assertObjects(header, "ffffffffffffffffff 01 61", [object(2n ** 64n - 1n, "a")]);
  });

  test("cannot be written out of order, or with what they cannot have", () => {
    const wrong: [SubgroupHeader, SubgroupObject][] = [
      [header, object(1n, "again")],
      [header, object(0n, "back")],
      [header, object(2n, "", { properties: hex("0205") })],
      [header, object(2n, "text", { status: "END_OF_GROUP" })],
      [withProperties, object(2n, "", { status: "END_OF_TRACK", properties: hex("0205") })],
      [header, object(2n ** 64n + 1n, "far")],
    ];
    for (const [of, next] of wrong) {
      const writer = new SubgroupWriter(of);
      writer.encode(object(1n, "first"));
      assert.throws(() => writer.encode(next), MoqtEncodingError);
      assert.ok(writer.encode(object(2n, "next")).length > 0, "the writer goes on");
    }
  });

  test("read back in any pieces", () => {
    const anyObjects = fc
      .tuple(
        fc.boolean(),
        fc.array(
          fc.tuple(
            anyInteger(2n ** 60n),
            fc.option(someProperties, { nil: undefined }),
            anyPayload(),
            fc.constantFrom("NORMAL" as const, "END_OF_GROUP" as const, "END_OF_TRACK" as const),
          ),
          { maxLength: 8 },
        ),
      )
      .map(([hasProperties, drafts]) => {
        let objectId = -1n;
        const objects = drafts.map(([step, properties, payload, status]): SubgroupObject => {
          objectId += step + 1n;
          if (status !== "NORMAL") return { objectId, status, payload: none };
          const extra = hasProperties && properties !== undefined ? { properties } : {};
          return { objectId, ...extra, status, payload };
        });
        return { of: { ...header, hasProperties }, objects };
      });
    fc.assert(
      fc.property(anyObjects, fc.integer({ min: 1, max: 300 }), ({ of, objects }, size) => {
        const writer = new SubgroupWriter(of);
        const bytes = concatBytes(...objects.map((each) => writer.encode(each)));
        assert.deepEqual(readAll(new SubgroupReader(of), piecesOf(bytes, size)), objects);
      }),
    );
  });

  test("of any bytes read, are refused, or close the session", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 6 }),
        fc.boolean(),
        (pieces, hasProperties) => {
          try {
            readAll(new SubgroupReader({ ...header, hasProperties }, 1000), pieces);
          } catch (error) {
            assert.ok(error instanceof MoqtError || error instanceof ObjectTooLargeError);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("that dribble are not read over and over", () => {
    const payload = new Uint8Array(200_000).fill(7);
    const bytes = new SubgroupWriter(header).encode({ objectId: 0n, status: "NORMAL", payload });
    const [read] = readAll(new SubgroupReader(header), piecesOf(bytes, 1));
    assert.deepEqual(read?.payload, payload);
  });
});
