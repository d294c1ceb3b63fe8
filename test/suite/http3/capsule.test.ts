import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  CapsuleReader,
  encodeClose,
  encodeDrain,
  type SessionCapsule,
} from "../../../src/http3/capsule.ts";
import { concatBytes, hex, pieces, utf8 } from "./support.ts";

const malformed = { code: "H3_MESSAGE_ERROR", numericCode: 0x10en };

async function readAllOf(...chunks: readonly Uint8Array[]): Promise<SessionCapsule[]> {
  const reader = new CapsuleReader(pieces(...chunks));
  const capsules: SessionCapsule[] = [];
  for (let next = await reader.next(); next !== null; next = await reader.next()) {
    capsules.push(next);
  }
  return capsules;
}

describe("capsules", () => {
  test("close a session with 32 bits and a text", async () => {
    assert.equal(
      toHex(encodeClose(0x0102_0304n, "bye")),
      "6843 07 01020304 627965".replaceAll(" ", ""),
    );
    assert.deepEqual(await readAllOf(hex("6843 07 ffffffff c3a421")), [
      { type: "close", code: 0xffff_ffffn, reason: "ä!" },
    ]);
    assert.deepEqual(await readAllOf(hex("6843 04 00000000")), [
      { type: "close", code: 0n, reason: "" },
    ]);
  });

  test("ask for the end of a session, and carry datagrams", async () => {
    assert.equal(toHex(encodeDrain()), "800078ae00");
    assert.deepEqual(await readAllOf(hex("800078ae 00 00 02 0102")), [
      { type: "drain" },
      { type: "datagram", payload: hex("0102") },
    ]);
  });

  test("are skipped where they are unknown, also where they are long", async () => {
    const long = concatBytes(hex("21 80020000"), new Uint8Array(0x2_0000));
    assert.deepEqual(await readAllOf(long, encodeDrain()), [{ type: "drain" }]);
    // WT_MAX_DATA: without flow control it means nothing.
    assert.deepEqual(await readAllOf(hex("990b4d3d 01 05")), []);
  });

  test("are malformed where the stream ends inside one", async () => {
    for (const bytes of ["68", "6843", "6843 07 01020304", "00 40", "21 05 01"]) {
      await assert.rejects(readAllOf(hex(bytes)), malformed, bytes);
    }
  });

  test("are malformed where a close is too short, too long or no UTF-8", async () => {
    await assert.rejects(readAllOf(hex("6843 03 010203")), malformed);
    const tooLong = concatBytes(hex("6843 4405 00000000"), new Uint8Array(1025));
    await assert.rejects(readAllOf(tooLong), malformed);
    await assert.rejects(readAllOf(hex("6843 05 00000000 ff")), malformed);
  });

  test("are malformed where they belong to WebTransport over HTTP/2", async () => {
    await assert.rejects(readAllOf(hex("990b4d3e 00")), malformed);
    await assert.rejects(readAllOf(hex("990b4d42 00")), malformed);
  });

  test("cut a reason between characters, to 1,024 bytes at most", async () => {
    const [close] = await readAllOf(encodeClose(1n, `${"x".repeat(1023)}ä`));
    assert.deepEqual(close, { type: "close", code: 1n, reason: "x".repeat(1023) });
    const [whole] = await readAllOf(encodeClose(1n, `${"x".repeat(1022)}ä`));
    assert.equal(utf8((whole as { reason: string }).reason).length, 1024);
  });

  test("bring code and reason back through any pieces", async () => {
    const reason = fc.string({ unit: "grapheme", maxLength: 40 });
    const size = fc.integer({ min: 1, max: 7 });
    await fc.assert(
      fc.asyncProperty(fc.bigInt(0n, 0xffff_ffffn), reason, size, async (code, text, step) => {
        const bytes = encodeClose(code, text);
        const chunks = Array.from({ length: Math.ceil(bytes.length / step) }, (_, i) =>
          bytes.slice(i * step, (i + 1) * step),
        );
        assert.deepEqual(await readAllOf(...chunks), [{ type: "close", code, reason: text }]);
      }),
    );
  });

  test("end in their typed error or at the end, whatever the bytes", async () => {
    const damaged = fc.tuple(fc.nat(100), fc.nat()).map(([cut, flip]) => {
      const bytes = concatBytes(encodeDrain(), encodeClose(7n, "reason"));
      const at = flip % (bytes.length * 8);
      bytes[at >> 3] = (bytes[at >> 3] as number) ^ (1 << (at & 7));
      return [bytes.subarray(0, cut)];
    });
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 12 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(chunks, damaged), async (bytes) => {
        await readAllOf(...bytes).catch((error) => assert.equal(error.code, "H3_MESSAGE_ERROR"));
      }),
      { numRuns: 300 },
    );
  });
});
