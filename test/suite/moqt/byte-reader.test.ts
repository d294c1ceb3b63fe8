import assert from "node:assert/strict";
import { describe, test } from "#test";
import { ByteReader } from "../../../src/moqt/byte-reader.ts";
import { assertCloses, hex } from "./support.ts";

describe("ByteReader", () => {
  test("ends where it is told to, not where the bytes end", () => {
    const reader = () => new ByteReader(hex("05 80 01 00 00"), 0, 2);
    assertCloses("PROTOCOL_VIOLATION", () => {
      const bounded = reader();
      assert.equal(bounded.varint("first"), 5n);
      bounded.varint("second");
    });
    for (const read of [
      (bounded: ByteReader) => bounded.bytes(3, "bytes"),
      (bounded: ByteReader) => bounded.within(3, "part"),
      (bounded: ByteReader) => bounded.size("size"),
    ]) {
      assertCloses("PROTOCOL_VIOLATION", () => read(reader()));
    }
    const done = new ByteReader(hex("05"), 0, 0);
    assertCloses("PROTOCOL_VIOLATION", () => done.uint8("byte"));
    assertCloses("PROTOCOL_VIOLATION", () => done.varint("integer"));
  });

  test("throws the fault that it was made with, and its parts theirs", () => {
    const reader = new ByteReader(hex("00 00"));
    const part = reader.within(1, "part", "KEY_VALUE_FORMATTING_ERROR");
    assertCloses("KEY_VALUE_FORMATTING_ERROR", () => part.within(1, "inner").bytes(2, "bytes"));
    assertCloses("PROTOCOL_VIOLATION", () => reader.bytes(2, "bytes"));
  });
});
