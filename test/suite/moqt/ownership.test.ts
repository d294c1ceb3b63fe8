import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../../src/bytes.ts";
import {
  decodeControlMessage,
  encodeControlMessage,
  MoqtError,
  readControlMessage,
  requestMessage,
} from "../../../src/moqt/mod.ts";

const subscribe = requestMessage("SUBSCRIBE", { requestId: 0n, name: "live--video" });

describe("a decoded message", () => {
  test("owns its bytes: buffers are reused by whoever received them", () => {
    const plain = encodeControlMessage(subscribe, 22);
    // A Buffer's own slice() would still be the received bytes.
    for (const received of [new Uint8Array(plain), Buffer.from(plain)]) {
      const message = decodeControlMessage(received, 22);
      received.fill(0xff);
      assert.deepEqual(message, subscribe);
    }
  });

  test("keeps no more than itself of the buffer that it stood in", () => {
    const received = concatBytes(encodeControlMessage(subscribe, 22), new Uint8Array(60_000));
    const read = readControlMessage(received, 22);
    assert.ok(read !== undefined && read.message.type === "SUBSCRIBE");
    assert.ok(read.message.trackName.buffer.byteLength < 100);
  });

  test("consists of views of bytes that were given away, wherever it stands in them", () => {
    const bytes = encodeControlMessage(subscribe, 22);
    const received = concatBytes(bytes, bytes, bytes);
    const read = readControlMessage(received, 22, bytes.length, {}, true);
    assert.deepEqual(read, { message: subscribe, length: bytes.length });
    assert.ok(read?.message.type === "SUBSCRIBE");
    assert.equal(read.message.trackName.buffer, received.buffer);
    assert.deepEqual(decodeControlMessage(bytes, 22, {}, true), subscribe);
    const broken = concatBytes(
      bytes,
      Uint8Array.of(0x03, 0x00, 0x07, 0x00, 0x01, 0x09),
      utf8("live"),
    );
    assert.throws(
      () => readControlMessage(broken, 22, bytes.length, {}, true),
      (error) => error instanceof MoqtError && error.offset === bytes.length + 5,
    );
  });

  test("that stands behind another reports faults where they are in the buffer", () => {
    const first = encodeControlMessage(subscribe, 22);
    // SUBSCRIBE, Request ID 0, one field "live" whose length says 9.
    const broken = concatBytes(Uint8Array.of(0x03, 0x00, 0x07, 0x00, 0x01, 0x09), utf8("live"));
    assert.throws(
      () => readControlMessage(concatBytes(first, broken), 22, first.length),
      (error) => error instanceof MoqtError && error.offset === first.length + 5,
    );
  });
});
