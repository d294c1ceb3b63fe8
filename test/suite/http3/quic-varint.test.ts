import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { MAX_QUIC_VARINT, quicVarints, readQuicVarint } from "../../../src/http3/mod.ts";
import { hex } from "./support.ts";

describe("QUIC varints", () => {
  test("are those of RFC 9000 Appendix A.1", () => {
    const examples: readonly (readonly [string, bigint])[] = [
      ["c2197c5eff14e88c", 151_288_809_941_952_652n],
      ["9d7f3e7d", 494_878_333n],
      ["7bbd", 15_293n],
      ["25", 37n],
    ];
    for (const [encoding, value] of examples) {
      assert.deepEqual(readQuicVarint(hex(encoding)), { value, length: encoding.length / 2 });
      assert.equal(toHex(quicVarints(value)), encoding);
    }
  });

  test("may be longer than needed when read", () => {
    assert.deepEqual(readQuicVarint(hex("4025")), { value: 37n, length: 2 });
    assert.deepEqual(readQuicVarint(hex("c000000000000025")), { value: 37n, length: 8 });
  });

  test("differ from MOQT varints from 64 on", () => {
    assert.equal(toHex(quicVarints(63, 64)), "3f4040");
  });

  test("change length at 2^6, 2^14 and 2^30, and end at 2^62-1", () => {
    assert.equal(toHex(quicVarints(63, 16_383, 1_073_741_823)), "3f7fffbfffffff");
    assert.equal(toHex(quicVarints(16_384)), "80004000");
    assert.equal(toHex(quicVarints(1_073_741_824)), "c000000040000000");
    assert.equal(toHex(quicVarints(MAX_QUIC_VARINT)), "ffffffffffffffff");
    for (const value of [-1, MAX_QUIC_VARINT + 1n, 0.5, 2 ** 53]) {
      assert.throws(() => quicVarints(value), RangeError);
    }
  });

  test("come back as they went, one after another, and never from fewer bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt(0n, MAX_QUIC_VARINT), { maxLength: 5 }), (values) => {
        const bytes = quicVarints(...values);
        let offset = 0;
        for (const value of values) {
          const read = readQuicVarint(bytes, offset);
          assert.equal(read?.value, value);
          assert.equal(
            readQuicVarint(bytes.subarray(0, offset + read.length - 1), offset),
            undefined,
          );
          offset += read.length;
        }
        assert.equal(offset, bytes.length);
      }),
    );
  });
});
