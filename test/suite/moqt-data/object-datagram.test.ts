import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import {
  decodeObjectDatagram,
  encodeObjectDatagram,
  MoqtEncodingError,
  MoqtError,
  type ObjectDatagram,
} from "../../../src/moqt/mod.ts";
import { anyInteger } from "../moqt/arbitrary.ts";
import { anyPayload, assertCloses, hex, someProperties } from "./support.ts";

const plain: ObjectDatagram = {
  trackAlias: 2n,
  groupId: 5n,
  objectId: 1n,
  publisherPriority: 128,
  endOfGroup: false,
  status: "NORMAL",
  payload: utf8("hi"),
};
const none = new Uint8Array(0);

function assertDatagram(digits: string, datagram: ObjectDatagram): void {
  assert.deepEqual(decodeObjectDatagram(hex(digits)), datagram);
  assert.equal(toHex(encodeObjectDatagram(datagram)), digits.replaceAll(" ", ""));
}

describe("an object datagram", () => {
  test("carries one object", () => {
    const { publisherPriority: _, ...inherited } = plain;
    assertDatagram("00 02 05 01 80 6869", plain);
    assertDatagram("02 02 05 01 80 6869", { ...plain, endOfGroup: true });
    assertDatagram("04 02 05 80 6869", { ...plain, objectId: 0n });
    assertDatagram("08 02 05 01 6869", inherited);
    assertDatagram("01 02 05 01 80 02 0205 6869", { ...plain, properties: hex("0205") });
    assertDatagram("00 02 05 01 80", { ...plain, payload: none });
    assertDatagram("28 02 05 08 03", {
      ...inherited,
      objectId: 8n,
      status: "END_OF_GROUP",
      payload: none,
    });
    assertDatagram("20 02 05 01 80 04", { ...plain, status: "END_OF_TRACK", payload: none });
  });

  test("may say that its object is a normal one", () => {
    const datagram = decodeObjectDatagram(hex("21 02 05 01 80 02 0205 00"));
    assert.deepEqual(datagram, { ...plain, properties: hex("0205"), payload: none });
  });

  test("has one of the types that every draft lists", () => {
    const allowed = new Set([
      ...Array.from({ length: 16 }, (_, type) => type),
      ...[0x20, 0x21, 0x24, 0x25, 0x28, 0x29, 0x2c, 0x2d],
    ]);
    for (let type = 0; type < 0x80; type++) {
      const bytes = concatType(type);
      if (allowed.has(type)) assert.ok(decodeObjectDatagram(bytes), `type ${type}`);
      else assertCloses("PROTOCOL_VIOLATION", () => decodeObjectDatagram(bytes));
    }
    assertCloses("PROTOCOL_VIOLATION", () => decodeObjectDatagram(hex("8080 02 05 01 80")));
    assertCloses("PROTOCOL_VIOLATION", () =>
      decodeObjectDatagram(hex("fe01000000000000 02 05 01 80")),
    );

    function concatType(type: number): Uint8Array {
      const id = (type & 0x04) === 0 ? "01" : "";
      const priority = (type & 0x08) === 0 ? "80" : "";
      const properties = (type & 0x01) === 0 ? "" : "020205";
      const status = (type & 0x20) === 0 ? "" : "00";
      const digits = type.toString(16).padStart(2, "0");
      return hex(`${digits}0205${id}${priority}${properties}${status}`);
    }
  });

  test("closes the session where it breaks the rules of its type", () => {
    for (const digits of [
      "01 02 05 01 80 00",
      "21 02 05 01 80 02 0205 03",
      "20 02 05 01 80 01",
      "20 02 05 01 80 00 00",
      "20 02 05 01 80",
      "00 02 05 01",
      "01 02 05 01 80 03 0205",
      "",
    ]) {
      assertCloses("PROTOCOL_VIOLATION", () => decodeObjectDatagram(hex(digits)));
    }
  });

  test("of padding is nothing", () => {
    assert.equal(decodeObjectDatagram(hex("f0132b3e29")), undefined);
    assert.equal(decodeObjectDatagram(hex("f0132b3e29 0000ff")), undefined);
  });

  test("cannot be written with a status and what does not go with it", () => {
    for (const wrong of [
      { ...plain, status: "END_OF_GROUP" },
      { ...plain, status: "END_OF_TRACK", payload: none, properties: hex("0205") },
      { ...plain, status: "END_OF_GROUP", payload: none, endOfGroup: true },
      { ...plain, publisherPriority: -1 },
    ] as const) {
      assert.throws(() => encodeObjectDatagram(wrong), MoqtEncodingError);
    }
  });

  test("reads back", () => {
    const anyDatagram = fc
      .tuple(
        anyInteger(),
        anyInteger(),
        anyInteger(),
        fc.option(fc.integer({ min: 0, max: 255 }), { nil: undefined }),
        fc.option(someProperties, { nil: undefined }),
        fc.constantFrom("NORMAL" as const, "END_OF_GROUP" as const, "END_OF_TRACK" as const),
        fc.boolean(),
        anyPayload(),
      )
      .map(([trackAlias, groupId, objectId, priority, properties, status, end, payload]) => ({
        trackAlias,
        groupId,
        objectId,
        ...(priority === undefined ? {} : { publisherPriority: priority }),
        ...(properties === undefined || status !== "NORMAL" ? {} : { properties }),
        endOfGroup: end && status === "NORMAL",
        status,
        payload: status === "NORMAL" ? payload : none,
      }));
    fc.assert(
      fc.property(anyDatagram, (datagram) => {
        assert.deepEqual(decodeObjectDatagram(encodeObjectDatagram(datagram)), datagram);
      }),
    );
  });

  test("of any bytes reads, or closes the session", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          decodeObjectDatagram(bytes);
        } catch (error) {
          assert.ok(error instanceof MoqtError);
          assert.equal(error.code, "PROTOCOL_VIOLATION");
        }
      }),
      { numRuns: 1000 },
    );
  });
});
