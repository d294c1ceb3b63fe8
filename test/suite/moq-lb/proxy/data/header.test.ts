import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, equalBytes } from "../../../../../src/bytes.ts";
import { withId } from "../../../../../src/moq-lb/proxy/data/header.ts";
import {
  type DataStreamHeader,
  decodeObjectDatagram,
  encodeDataStreamHeader,
  encodeObjectDatagram,
  readDataStreamHeader,
} from "../../../../../src/moqt/mod.ts";
import { minimalVarintLength, varint } from "../../../../../src/varint.ts";
import { bytesOf } from "../../../../support/raw-peer.ts";

const anyId = fc.oneof(
  fc.bigInt({ min: 0n, max: 300n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);

/** `value` in that many bytes, if it fits: integers of MOQT may be longer than they need. */
function padded(value: bigint, length: number): Uint8Array {
  const minimal = minimalVarintLength(value);
  if (length <= minimal) return varint(value);
  const bytes = new Uint8Array(length);
  let rest = value;
  for (let i = length - 1; i >= 0 && rest > 0n; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  bytes[0] = (bytes[0] as number) | ((0xff00 >> (length - 1)) & 0xff);
  return bytes;
}

const paddedId = fc
  .tuple(anyId, fc.integer({ min: 1, max: 9 }))
  .map(([value, length]) => ({ value, bytes: padded(value, length) }));

/** Flags of SUBGROUP_HEADER: below 0x80, bit 0x10 set, ID mode not 3 (MOQT draft 22 §11.4.2). */
const subgroupTypes = Array.from({ length: 0x80 }, (_, type) => type).filter(
  (type) => (type & 0x10) !== 0 && (type & 0x06) !== 0x06,
);

describe("the header of a data stream", () => {
  const cases: [name: string, unit: string, id: bigint, changed: string][] = [
    [
      "an alias of the same length",
      "14 02 00 00 00 0004 61626364",
      7n,
      "14 07 00 00 00 0004 61626364",
    ],
    ["a longer alias", "10 02 05 80 00 01 aa", 300n, "10 812c 05 80 00 01 aa"],
    ["a shorter alias", "10 812c 05 80 00 01 aa", 2n, "10 02 05 80 00 01 aa"],
    ["an alias in more bytes than it needs", "10 e0000002 05 80", 3n, "10 03 05 80"],
    ["a type in more bytes than it needs", "8014 02 8000 c00000 00", 9n, "8014 09 8000 c00000 00"],
    ["a Request ID", "05 04 1f 03 01 00 80 02 6869", 6n, "05 06 1f 03 01 00 80 02 6869"],
    ["an alias of nine bytes", "10 ff0000000000000001 00 00", 1n, "10 01 00 00"],
  ];
  for (const [name, unit, id, changed] of cases) {
    test(`has ${name} replaced, and nothing else changed [LB-PDATA-15] [LB-S73]`, () => {
      assert.deepEqual(withId(bytesOf(unit), varint(id)), bytesOf(changed));
    });
  }

  test("of every type of subgroup keeps its flags, Group ID, Subgroup ID and priority [LB-PDATA-16]", () => {
    for (const type of subgroupTypes) {
      const unit = concatBytes(Uint8Array.of(type), bytesOf("8105 8106 8107 09 aabbcc"));
      const before = readDataStreamHeader(unit);
      const after = readDataStreamHeader(withId(unit, varint(0x4321n)));
      assert.ok(before?.header.type === "SUBGROUP" && after?.header.type === "SUBGROUP");
      assert.deepEqual(after.header, { ...before.header, trackAlias: 0x4321n });
    }
  });

  test("and all that follows it stay byte for byte what they were, however the integers are written [LB-PDATA-16]", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0x05, ...subgroupTypes),
        fc.integer({ min: 1, max: 9 }),
        paddedId,
        paddedId,
        anyId,
        fc.uint8Array({ minLength: 1, maxLength: 64 }),
        (type, typeLength, theirs, group, ours, rest) => {
          const front = padded(BigInt(type), typeLength);
          const tail = concatBytes(group.bytes, rest);
          const changed = withId(concatBytes(front, theirs.bytes, tail), varint(ours));
          assert.ok(equalBytes(changed, concatBytes(front, varint(ours), tail)));
        },
      ),
    );
  });

  test("leaves what was read alone: another subscriber may get it too", () => {
    const unit = bytesOf("10 02 05 80");
    withId(unit, varint(9n));
    assert.deepEqual(unit, bytesOf("10 02 05 80"));
  });

  test("there and back is what it was [LB-PDATA-15]", () => {
    const header: DataStreamHeader = {
      type: "SUBGROUP",
      trackAlias: 5n,
      groupId: 900n,
      subgroupId: 3n,
      hasProperties: true,
      endOfGroup: true,
      firstObject: true,
    };
    const unit = encodeDataStreamHeader(header);
    assert.deepEqual(withId(withId(unit, varint(99_999n)), varint(5n)), unit);
  });
});

describe("a datagram", () => {
  test("keeps all but its alias [LB-PDATA-15] [LB-PDATA-16]", () => {
    fc.assert(
      fc.property(
        anyId,
        anyId,
        anyId,
        anyId,
        fc.option(fc.integer({ min: 0, max: 255 }), { nil: undefined }),
        fc.boolean(),
        fc.uint8Array({ maxLength: 40 }),
        (theirs, ours, groupId, objectId, publisherPriority, endOfGroup, payload) => {
          const datagram = {
            trackAlias: theirs,
            groupId,
            objectId,
            endOfGroup,
            status: "NORMAL" as const,
            payload,
            ...(publisherPriority !== undefined && { publisherPriority }),
          };
          const changed = withId(encodeObjectDatagram(datagram), varint(ours));
          assert.deepEqual(decodeObjectDatagram(changed), { ...datagram, trackAlias: ours });
        },
      ),
    );
  });
});
