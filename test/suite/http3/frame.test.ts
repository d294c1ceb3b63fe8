import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { encodeFrame, FrameReader } from "../../../src/http3/frame.ts";
import { quicVarints } from "../../../src/http3/mod.ts";
import { concatBytes, frame, hex, pieces } from "./support.ts";

const frameError = { code: "H3_FRAME_ERROR", numericCode: 0x106n };

/** Frames as [type, payload], and the same bytes cut into pieces of `size`. */
const frames = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 70_000 }), fc.uint8Array({ maxLength: 100 })),
  { maxLength: 6 },
);

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.slice(at, at + size));
  return parts;
}

describe("frames", () => {
  test("are type, length and payload", () => {
    assert.equal(toHex(encodeFrame(0n, hex("aabb"))), "0002aabb");
    assert.equal(toHex(encodeFrame(0xf7n, hex("00"))), "40f70100");
    assert.equal(toHex(encodeFrame(1n, new Uint8Array(64)).subarray(0, 3)), "014040");
  });

  test("come back from any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(frames, fc.integer({ min: 1, max: 9 }), async (sent, size) => {
        const bytes = concatBytes(...sent.map(([type, payload]) => frame(type, payload)));
        const reader = new FrameReader(pieces(...cut(bytes, size)));
        for (const [type, payload] of sent) {
          assert.deepEqual(await reader.next(), { type: BigInt(type), length: payload.length });
          assert.deepEqual(await reader.payload(), payload);
        }
        assert.equal(await reader.next(), null);
      }),
    );
  });

  test("can be read in pieces, and what is left of one is skipped", async () => {
    const reader = new FrameReader(pieces(hex("0004 01020304 0003"), hex("05"), hex("0607 0000")));
    await reader.next();
    assert.deepEqual(await reader.read(3), hex("010203"));
    await reader.next();
    assert.deepEqual(await reader.read(), hex("05"));
    assert.deepEqual(await reader.read(1), hex("06"));
    assert.deepEqual(await reader.next(), { type: 0n, length: 0 });
    assert.equal(await reader.read(), null);
    assert.equal(await reader.next(), null);
  });

  test("are an error where the stream ends inside one", async () => {
    for (const bytes of ["00", "40", "0040", "000501020304"]) {
      const reader = new FrameReader(pieces(hex(bytes)));
      await assert.rejects(async () => {
        while ((await reader.next()) !== null);
      }, frameError);
    }
    const reader = new FrameReader(pieces(hex("0005 01")));
    await reader.next();
    await assert.rejects(reader.payload(), frameError);
  });

  test("may claim any length below 2^53 without costing memory", async () => {
    const claim = concatBytes(quicVarints(0x21, 2 ** 53 - 1), hex("01"));
    const reader = new FrameReader(pieces(claim));
    assert.equal((await reader.next())?.length, 2 ** 53 - 1);
    await assert.rejects(reader.next(), frameError);
    const more = new FrameReader(pieces(quicVarints(0x21, 2n ** 53n)));
    await assert.rejects(more.next(), { code: "H3_EXCESSIVE_LOAD", numericCode: 0x107n });
  });

  test("end in a typed error or at the end, whatever the bytes and pieces", async () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 12 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(chunks, async (bytes) => {
        const reader = new FrameReader(pieces(...bytes));
        try {
          while ((await reader.next()) !== null);
        } catch (error) {
          assert.match((error as { code: string }).code, /^H3_(FRAME_ERROR|EXCESSIVE_LOAD)$/);
        }
      }),
      { numRuns: 300 },
    );
  });
});
