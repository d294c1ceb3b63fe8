import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { StreamBuffer } from "../../../src/moqt/stream-buffer.ts";

describe("StreamBuffer", () => {
  test("has the unread bytes in order, and keeps its own once it was told to", () => {
    const deed = fc.oneof(
      fc.record({ push: fc.uint8Array({ maxLength: 20 }) }),
      fc.record({ drop: fc.nat({ max: 25 }) }),
    );
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 20 }), (deeds) => {
        const buffer = new StreamBuffer();
        let model = new Uint8Array(0);
        for (const each of deeds) {
          if ("push" in each) {
            const lent = new Uint8Array(each.push);
            buffer.push(lent);
            buffer.keep();
            lent.fill(0xee);
            model = new Uint8Array([...model, ...each.push]);
          } else {
            const count = Math.min(each.drop, model.length);
            buffer.drop(count);
            model = model.slice(count);
          }
          assert.equal(buffer.length, model.length);
          assert.equal(toHex(buffer.bytes), toHex(model));
        }
        buffer.clear();
        assert.equal(buffer.length, 0);
      }),
    );
  });

  test("borrows a chunk until then", () => {
    const chunk = Uint8Array.of(1, 2, 3);
    const buffer = new StreamBuffer();
    buffer.push(chunk);
    assert.equal(buffer.bytes, chunk);
    buffer.drop(1);
    assert.equal(buffer.bytes.buffer, chunk.buffer);
    buffer.keep();
    assert.notEqual(buffer.bytes.buffer, chunk.buffer);
  });
});
