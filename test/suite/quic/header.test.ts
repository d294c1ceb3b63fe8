import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import {
  ID_LENGTH,
  mayBegin,
  readHeader,
  versionNegotiation,
} from "../../../src/quic/quiche/engine/header.ts";

const destination = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const source = Uint8Array.of(9, 10, 11);

function longHeader(first: number, version: number, rest: Uint8Array): Uint8Array {
  const versionBytes = new Uint8Array(4);
  new DataView(versionBytes.buffer).setUint32(0, version);
  return concatBytes(
    Uint8Array.of(first),
    versionBytes,
    Uint8Array.of(destination.length),
    destination,
    Uint8Array.of(source.length),
    source,
    rest,
  );
}

describe("headers of QUIC packets", () => {
  test("an Initial shows both connection IDs and its token", () => {
    const short = longHeader(0xc3, 1, Uint8Array.of(2, 0xaa, 0xbb, 0x41, 0x00));
    assert.deepEqual(readHeader(short), {
      type: "initial",
      destinationId: destination,
      sourceId: source,
      token: Uint8Array.of(0xaa, 0xbb),
    });
    const token = new Uint8Array(300).fill(7);
    const long = longHeader(0xc0, 1, concatBytes(Uint8Array.of(0x41, 0x2c), token));
    const header = readHeader(long);
    assert.ok(header?.type === "initial");
    assert.deepEqual(header.token, token);
  });

  test("Handshake, 0-RTT and Version Negotiation packets show the connection that they are for", () => {
    for (const packet of [
      longHeader(0xe0, 1, Uint8Array.of(0)),
      longHeader(0xd0, 1, Uint8Array.of(0)),
      longHeader(0x80, 0, Uint8Array.of(0, 0, 0, 1)),
    ]) {
      assert.deepEqual(readHeader(packet), { type: "long", destinationId: destination });
    }
  });

  test("a version that is not ours keeps its IDs, so that it can be answered", () => {
    assert.deepEqual(readHeader(longHeader(0x80, 0x1a2a3a4a, Uint8Array.of())), {
      type: "unknown-version",
      destinationId: destination,
      sourceId: source,
    });
  });

  test("a short header has an ID of our length", () => {
    const packet = new Uint8Array(40).fill(0x55);
    assert.deepEqual(readHeader(packet), {
      type: "short",
      destinationId: new Uint8Array(ID_LENGTH).fill(0x55),
    });
    assert.equal(readHeader(packet.subarray(0, ID_LENGTH)), undefined);
    assert.equal(readHeader(new Uint8Array(40)), undefined);
  });

  test("only a datagram of 1,200 bytes, with an ID of 8 bytes, begins a connection", () => {
    assert.equal(mayBegin(new Uint8Array(1200), destination), true);
    assert.equal(mayBegin(new Uint8Array(1199), destination), false);
    assert.equal(mayBegin(new Uint8Array(1200), destination.subarray(1)), false);
  });

  test("IDs longer than version 1 has are no packet of it", () => {
    const packet = new Uint8Array(1200);
    packet.set([0xc0, 0, 0, 0, 1, 21]);
    assert.equal(readHeader(packet), undefined);
  });

  test("any bytes give a header inside them, or none", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 80 }),
        fc.constantFrom(0x40, 0xc0, 0xd3),
        (bytes, first) => {
          if (bytes.length > 0) bytes[0] = first;
          if (bytes.length > 4 && first !== 0x40) bytes.set([0, 0, 0, 1], 1);
          const header = readHeader(bytes);
          if (header === undefined) return;
          for (const part of Object.values(header)) {
            if (part instanceof Uint8Array) assert.equal(part.buffer, bytes.buffer);
          }
        },
      ),
    );
  });

  test("Version Negotiation swaps the IDs and offers version 1", () => {
    const packet = versionNegotiation(destination, source);
    assert.equal((packet[0] as number) & 0xc0, 0xc0);
    assert.deepEqual(
      packet.subarray(1),
      Uint8Array.of(0, 0, 0, 0, 3, ...source, 8, ...destination, 0, 0, 0, 1),
    );
  });
});
