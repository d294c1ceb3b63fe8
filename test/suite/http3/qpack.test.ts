import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { PrefixedReader, PrefixedWriter } from "../../../src/http3/prefixed.ts";
import { decodeFieldSection, encodeFieldSection } from "../../../src/http3/qpack.ts";
import { readDecoderStream, readEncoderStream } from "../../../src/http3/qpack-instructions.ts";
import { staticTable } from "../../../src/http3/qpack-static-table.ts";
import { fields, hex, pieces } from "./support.ts";

const unlimited = Number.POSITIVE_INFINITY;
const decode = (bytes: string) => decodeFieldSection(hex(bytes), unlimited);
const failed = { code: "QPACK_DECOMPRESSION_FAILED", numericCode: 0x200n };

/** Field lines with bytes of any kind in their values. */
const line = fc
  .record({
    name: fc.oneof(
      fc.string({ maxLength: 12 }).map((name) => name.replace(/[^\x21-\x7e]/g, "x")),
      fc.constantFrom(...staticTable.map(({ name }) => name)),
    ),
    value: fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => String.fromCharCode(...bytes)),
      fc.constantFrom(...staticTable.map(({ value }) => value)),
    ),
    neverIndex: fc.constantFrom(true as const, undefined),
  })
  .map(({ name, value, neverIndex }) =>
    neverIndex ? { name, value, neverIndex } : { name, value },
  );

describe("prefixed integers", () => {
  test("are those of RFC 7541 C.1", () => {
    for (const [value, prefix, encoding] of [
      [10, 5, "0a"],
      [1337, 5, "1f9a0a"],
      [42, 8, "2a"],
    ] as const) {
      const writer = new PrefixedWriter();
      writer.integer(0, prefix, value);
      assert.equal(toHex(writer.toBytes()), encoding);
      assert.equal(new PrefixedReader(hex(encoding), RangeError).integer(prefix), value);
    }
  });

  test("may have 62 bits, and no more than that many bytes", () => {
    const reader = new PrefixedReader(hex("ff80feffffffffffff3f"), RangeError);
    assert.equal(reader.integer(8), 2 ** 62 - 1);
    const longest = new PrefixedReader(hex("ff80808080808080808001"), (text) => RangeError(text));
    assert.throws(() => longest.integer(8), RangeError);
  });
});

describe("field sections", () => {
  test("read the example without a dynamic table of RFC 9204 B.1", () => {
    assert.deepEqual(
      decode("0000 510b 2f69 6e64 6578 2e68 746d 6c"),
      fields([":path", "/index.html"]),
    );
  });

  test("write static fields, static names and literals in their shortest forms", () => {
    // 0xc0 | 17 for :method GET; 0x50 | 1 for the name :path; "/x" is shorter unencoded.
    assert.equal(toHex(encodeFieldSection(fields([":method", "GET"]))), "0000d1");
    assert.equal(toHex(encodeFieldSection(fields([":path", "/x"]))), "000051022f78");
    // Index 63 needs a second byte behind a prefix of 6 bits, the name at 24 one behind 4 bits.
    assert.equal(toHex(encodeFieldSection(fields([":status", "100"]))), "0000ff00");
    assert.equal(toHex(encodeFieldSection(fields([":status", "999"]))), "00005f0903393939");
    assert.equal(toHex(encodeFieldSection(fields([":status", "000"]))), "00005f09820001");
    // The names and values of RFC 7541 C.4.3, Huffman coded behind a prefix of 3 bits.
    assert.equal(
      toHex(encodeFieldSection(fields(["custom-key", "custom-value"]))),
      "00002f0125a849e95ba97d7f8925a849e95bb8e8b4bf",
    );
  });

  test("keep the mark of fields that must not be indexed [G08]", () => {
    const secret = { name: "authorization", value: "x", neverIndex: true };
    const own = { name: "x-secret", value: "", neverIndex: true };
    // A field of the static table is spelled out too: 0x70 instead of 0x50, 0x30 instead of 0x20.
    const method = { name: ":method", value: "GET", neverIndex: true };
    const bytes = encodeFieldSection([method, secret, own]);
    assert.equal(toHex(bytes).slice(0, 8), "00007f00");
    assert.deepEqual(decodeFieldSection(bytes, unlimited), [method, secret, own]);
    assert.equal(decode("00003178 00")?.[0]?.neverIndex, true);
    assert.equal(decode("00002178 00")?.[0]?.neverIndex, undefined);
  });

  test("have 99 static entries, which all come back", () => {
    assert.equal(staticTable.length, 99);
    assert.deepEqual(staticTable[0], { name: ":authority", value: "" });
    assert.deepEqual(staticTable[63], { name: ":status", value: "100" });
    assert.deepEqual(staticTable[98], { name: "x-frame-options", value: "sameorigin" });
    const bytes = encodeFieldSection(staticTable);
    assert.deepEqual(decodeFieldSection(bytes, unlimited), staticTable);
    // One byte each up to 62, two from 63 on, and the prefix.
    assert.equal(bytes.length, 2 + 63 + 2 * 36);
  });

  test("refuse whatever refers to the dynamic table", () => {
    const references = {
      "a required insert count, as in RFC 9204 B.2": "0381 1011",
      "an indexed dynamic entry": "0000 80",
      "a dynamic name": "0000 4001 78",
      "an indexed entry behind the base": "0000 10",
      "a dynamic name behind the base": "0000 0001 78",
      "a negative base": "0080 d1",
    };
    for (const [what, bytes] of Object.entries(references)) {
      assert.throws(() => decode(bytes), failed, what);
    }
  });

  test("refuse what is cut off, beyond the static table, or no Huffman code", () => {
    for (const bytes of ["", "00", "0000 ff", "0000 ff24", "0000 51", "0000 5105 2f", "0000 21"]) {
      assert.throws(() => decode(bytes), failed, bytes);
    }
    assert.throws(() => decode("0000 5181 ff"), failed);
    assert.throws(() => decode("0000 ffffffffffffffffffffff01"), failed);
  });

  test("accept a base that nothing counts from", () => {
    assert.deepEqual(decode("007f808001 d1"), fields([":method", "GET"]));
  });

  test("are not decoded beyond the size that is accepted", () => {
    const section = encodeFieldSection(fields([":method", "GET"], ["a", "b"]));
    // 7 + 3 + 32, and 1 + 1 + 32.
    assert.equal(decodeFieldSection(section, 76)?.length, 2);
    assert.equal(decodeFieldSection(section, 75), undefined);
  });

  test("bring every field line back", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), (lines) => {
        assert.deepEqual(decodeFieldSection(encodeFieldSection(lines), unlimited), lines);
      }),
    );
  });

  test("end in a typed error or in fields, whatever the bytes", () => {
    const damaged = fc
      .tuple(fc.array(line, { maxLength: 4 }), fc.nat(), fc.nat())
      .map(([lines, cut, flip]) => {
        const bytes = encodeFieldSection(lines);
        const at = flip % (bytes.length * 8);
        bytes[at >> 3] = (bytes[at >> 3] as number) ^ (1 << (at & 7));
        return bytes.subarray(0, bytes.length - (cut % bytes.length));
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 40 }), damaged), (bytes) => {
        try {
          decodeFieldSection(bytes, 4096);
        } catch (error) {
          assert.equal((error as { code?: string }).code, "QPACK_DECOMPRESSION_FAILED");
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("QPACK streams of the peer", () => {
  test("may set the capacity of the table to 0 and cancel streams", async () => {
    await readEncoderStream(pieces(hex("20"), hex("2020")));
    // RFC 9204 B.4 cancels stream 8; a stream ID can also take several bytes, in pieces.
    await readDecoderStream(pieces(hex("48"), hex("7f"), hex("80"), hex("01 40")));
  });

  test("may not change the table: QPACK_ENCODER_STREAM_ERROR", async () => {
    const instructions = {
      "the capacity 220 of RFC 9204 B.2": "3fbd01",
      "an insertion by static name of B.2": "c00f7777772e6578616d706c652e636f6d",
      "an insertion by literal name of B.3": "4a637573746f6d2d6b65790c637573746f6d2d76616c7565",
      "the duplication of B.4": "02",
    };
    for (const [what, bytes] of Object.entries(instructions)) {
      await assert.rejects(
        readEncoderStream(pieces(hex(bytes))),
        { code: "QPACK_ENCODER_STREAM_ERROR", numericCode: 0x201n },
        what,
      );
    }
  });

  test("may not acknowledge anything: QPACK_DECODER_STREAM_ERROR", async () => {
    // The section acknowledgment of B.2, the insert count increment of B.3, and one of 0.
    for (const bytes of ["84", "01", "00", "7fffffffffffffffffffff01"]) {
      await assert.rejects(readDecoderStream(pieces(hex(bytes))), {
        code: "QPACK_DECODER_STREAM_ERROR",
        numericCode: 0x202n,
      });
    }
  });

  test("end in their typed error or at their end, whatever the bytes", async () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 8 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(chunks, async (bytes) => {
        for (const [read, code] of [
          [readEncoderStream, "QPACK_ENCODER_STREAM_ERROR"],
          [readDecoderStream, "QPACK_DECODER_STREAM_ERROR"],
        ] as const) {
          await read(pieces(...bytes)).catch((error) => assert.equal(error.code, code));
        }
      }),
    );
  });
});
