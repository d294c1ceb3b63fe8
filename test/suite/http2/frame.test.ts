/** Frames as RFC 9113 lays them out. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  CONNECTION_PREFACE,
  encodeFrame,
  encodeFrameHeader,
  encodeGoaway,
  encodePing,
  encodeRstStream,
  encodeSettings,
  encodeWindowUpdate,
  type FrameHeader,
  readFrameHeader,
  readSettings,
} from "../../../src/http2/frame.ts";

describe("frames of HTTP/2", () => {
  test("have the octets of RFC 9113", () => {
    assert.equal(
      toHex(CONNECTION_PREFACE),
      "505249202a20485454502f322e300d0a0d0a534d0d0a0d0a",
      "§3.4",
    );
    assert.equal(
      toHex(
        encodeSettings([
          [0x3, 100],
          [0xf0c1, 1],
        ]),
      ),
      "00000c040000000000000300000064f0c100000001",
    );
    assert.equal(toHex(encodeRstStream(39, 0x8)), "000004030000000027" + "00000008");
    assert.equal(
      toHex(encodeGoaway(0x7fff_ffff, 0x0)),
      "000008070000000000" + "7fffffff" + "00000000",
    );
    assert.equal(
      toHex(encodeGoaway(1, 0xb, Uint8Array.of(65))),
      "00000907000000000000000001" + "0000000b41",
    );
    assert.equal(toHex(encodeWindowUpdate(3, 65_535)), "000004080000000003" + "0000ffff");
    assert.equal(
      toHex(encodePing(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), true)),
      "0000080601000000000102030405060708",
    );
  });

  test("a header is read as it was written, its reserved bit ignored", () => {
    const uint = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
    fc.assert(
      fc.property(
        uint(24),
        uint(8),
        uint(8),
        uint(31),
        fc.boolean(),
        (length, type, flags, streamId, r) => {
          const bytes = encodeFrameHeader({ length, type, flags, streamId });
          assert.equal(bytes.length, 9);
          assert.equal((bytes[5] as number) & 0x80, 0);
          if (r) bytes[5] = (bytes[5] as number) | 0x80;
          const read: FrameHeader = { length: 0, type: 0, flags: 0, streamId: 0 };
          readFrameHeader(Uint8Array.of(0xff, ...bytes), 1, read);
          assert.deepEqual(read, { length, type, flags, streamId });
        },
      ),
    );
  });

  test("settings keep their order, repeats and unknown identifiers", () => {
    const pair = fc.tuple(
      fc.integer({ min: 0, max: 0xffff }),
      fc.integer({ min: 0, max: 0xffff_ffff }),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 20 }), (pairs) => {
        assert.deepEqual(readSettings(encodeSettings(pairs).subarray(9)), pairs);
      }),
    );
  });

  test("a frame says how long its payload is", () => {
    const payload = new Uint8Array(0x01_02_03);
    assert.equal(
      toHex(encodeFrame({ type: 0, flags: 1, streamId: 5 }, payload).subarray(0, 9)),
      "010203000100000005",
    );
  });
});
