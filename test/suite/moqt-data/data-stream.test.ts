import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, toHex } from "../../../src/bytes.ts";
import {
  type DataStreamHeader,
  encodeDataStreamHeader,
  MoqtEncodingError,
  MoqtError,
  readDataStreamHeader,
  readUniStreamType,
} from "../../../src/moqt/mod.ts";
import { anyInteger } from "../moqt/arbitrary.ts";
import { anySubgroupHeader, assertCloses, hex } from "./support.ts";

const plain = { hasProperties: false, endOfGroup: false, firstObject: false } as const;

/** Asserts that the bytes are this header, and this header those bytes. */
function assertHeader(digits: string, header: DataStreamHeader): void {
  const bytes = hex(digits);
  assert.deepEqual(readDataStreamHeader(bytes), { header, length: bytes.length });
  assert.equal(toHex(encodeDataStreamHeader(header)), toHex(bytes));
}

describe("a unidirectional stream", () => {
  test("is what its type says", () => {
    assert.equal(readUniStreamType(hex("af00")), "CONTROL");
    assert.equal(readUniStreamType(hex("05")), "FETCH");
    assert.equal(readUniStreamType(hex("f0132b3e28")), "PADDING");
    assert.equal(readUniStreamType(hex("af")), undefined);
    assert.equal(readUniStreamType(hex("")), undefined);
    for (let type = 0; type < 0x80; type++) {
      // The types that every draft lists.
      const isSubgroup = [0x10, 0x18, 0x30, 0x38, 0x50, 0x58, 0x70, 0x78].some(
        (first) => type >= first && type <= first + 5,
      );
      if (isSubgroup) assert.equal(readUniStreamType(Uint8Array.of(type)), "SUBGROUP");
      else if (type !== 5) {
        assertCloses("PROTOCOL_VIOLATION", () => readUniStreamType(Uint8Array.of(type)));
      }
    }
    // 0x90 would be a subgroup if only its low bits counted.
    assertCloses("PROTOCOL_VIOLATION", () => readUniStreamType(hex("8090")));
  });

  test("has a header of data only where it carries data", () => {
    assertCloses("PROTOCOL_VIOLATION", () => readDataStreamHeader(hex("af00")));
    assertCloses("PROTOCOL_VIOLATION", () => readDataStreamHeader(hex("f0132b3e28")));
  });
});

describe("the header of a data stream", () => {
  test("of a subgroup says which subgroup, and what its objects have", () => {
    assertHeader("14 02 00 01 00", {
      ...plain,
      type: "SUBGROUP",
      trackAlias: 2n,
      groupId: 0n,
      subgroupId: 1n,
      publisherPriority: 0,
    });
    assertHeader("10 02 05 80", {
      ...plain,
      type: "SUBGROUP",
      trackAlias: 2n,
      groupId: 5n,
      subgroupId: 0n,
      publisherPriority: 128,
    });
    assertHeader("32 80c8 05", { ...plain, type: "SUBGROUP", trackAlias: 200n, groupId: 5n });
    assertHeader("7d 02 05 03", {
      type: "SUBGROUP",
      trackAlias: 2n,
      groupId: 5n,
      subgroupId: 3n,
      hasProperties: true,
      endOfGroup: true,
      firstObject: true,
    });
  });

  test("of a fetch says which request", () => {
    assertHeader("05 04", { type: "FETCH", requestId: 4n });
    assertHeader("05 ffffffffffffffffff", { type: "FETCH", requestId: 2n ** 64n - 1n });
  });

  test("may have longer integers than needed, and Subgroup ID 0 spelled out", () => {
    const read = readDataStreamHeader(hex("c00014 8002 c00000 00 00 ff"));
    assert.equal(read?.length, 10);
    assert.deepEqual(read?.header, {
      ...plain,
      type: "SUBGROUP",
      trackAlias: 2n,
      groupId: 0n,
      subgroupId: 0n,
      publisherPriority: 0,
    });
  });

  test("is complete with its last byte, and reads back", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anySubgroupHeader(),
          anyInteger().map((requestId): DataStreamHeader => ({ type: "FETCH", requestId })),
        ),
        fc.uint8Array({ maxLength: 5 }),
        (header, following) => {
          const bytes = encodeDataStreamHeader(header);
          assert.ok(bytes.length <= 37);
          for (let length = 0; length < bytes.length; length++) {
            assert.equal(readDataStreamHeader(bytes.subarray(0, length)), undefined);
          }
          const read = readDataStreamHeader(concatBytes(bytes, following));
          assert.deepEqual(read, { header, length: bytes.length });
        },
      ),
    );
  });

  test("of any bytes reads, or closes the session", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          const read = readDataStreamHeader(bytes);
          assert.ok(read === undefined || read.length <= bytes.length);
        } catch (error) {
          assert.ok(error instanceof MoqtError);
          assert.equal(error.code, "PROTOCOL_VIOLATION");
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("cannot be written with a value that does not fit", () => {
    const header = { ...plain, type: "SUBGROUP", trackAlias: 0n, groupId: 0n } as const;
    for (const wrong of [
      { ...header, publisherPriority: 256 },
      { ...header, trackAlias: -1n },
      { ...header, groupId: 2n ** 64n },
    ]) {
      assert.throws(() => encodeDataStreamHeader(wrong), MoqtEncodingError);
    }
  });
});
