import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, toHex } from "../../../src/bytes.ts";
import { allDrafts, hex, readyClient, readyServer, resetCode, withEveryCut } from "./support.ts";

const subgroup = {
  type: "SUBGROUP",
  trackAlias: 200n,
  groupId: 3n,
  subgroupId: 1n,
  publisherPriority: 9,
  hasProperties: false,
  endOfGroup: false,
  firstObject: false,
} as const;
const subgroupBytes = hex("14 80c8 03 01 09");

describe("a data stream", () => {
  test("is handed over with its header, once that is complete", () => {
    for (const draft of allDrafts) {
      const bytes = concatBytes(subgroupBytes, hex("0001ff"));
      withEveryCut(bytes.length, (cut) => {
        const driven = readyClient({ draft });
        const stream = driven.open("uni");
        driven.feed(stream, bytes, true, cut);
        const event = driven.last("dataStream");
        assert.equal(event.stream, stream);
        assert.deepEqual(event.header, subgroup);
        assert.equal(event.headerLength, subgroupBytes.length);
        assert.equal(toHex(event.bytes), toHex(bytes).slice(0, 2 * event.bytes.length));
        assert.equal(driven.core.bufferedBytes, 0);
        assert.equal(driven.core.nextTimeout, undefined);
      });
    }
  });

  test("of a fetch has the Request ID that it answers", () => {
    const driven = readyClient();
    driven.feed(driven.open("uni"), "0504", true);
    const event = driven.last("dataStream");
    assert.deepEqual(event.header, { type: "FETCH", requestId: 4n });
    assert.equal(event.fin, true);
  });

  test("of a track that nobody subscribed to is the application's affair [LB-S7]", () => {
    const driven = readyServer();
    const stream = driven.open("uni");
    driven.feed(stream, subgroupBytes);
    assert.equal(driven.closed, undefined);
    assert.equal(driven.last("dataStream").header.type, "SUBGROUP");
    const before = driven.actions.length;
    driven.feed(stream, "ffffffff").finish(stream).reset(stream).stop(stream);
    assert.equal(driven.actions.length, before);
  });

  test("whose header FIN cuts off closes the session", () => {
    for (let length = 0; length < subgroupBytes.length; length++) {
      const driven = readyClient();
      driven.feed(driven.open("uni"), subgroupBytes.subarray(0, length), true);
      assert.equal(driven.closed, "PROTOCOL_VIOLATION");
    }
  });

  test("that is reset before its header is complete is forgotten", () => {
    const driven = readyClient();
    const stream = driven.open("uni");
    driven.feed(stream, "14").reset(stream);
    assert.equal(driven.core.nextTimeout, undefined);
    assert.equal(driven.core.bufferedBytes, 0);
    assert.deepEqual(driven.cuts(stream), []);
  });

  test("of an unknown type closes the session with its type", () => {
    for (const type of [
      "00",
      "04",
      "06",
      "0f",
      "16",
      "1e",
      "8080",
      "8090",
      "c02f01",
      "809d",
      "7e",
    ]) {
      const driven = readyServer();
      driven.feed(driven.open("uni"), type);
      assert.equal(driven.closed, "PROTOCOL_VIOLATION", type);
    }
  });

  test("may have a type that is encoded longer than needed", () => {
    const driven = readyServer();
    driven.feed(driven.open("uni"), "8005 8004");
    assert.deepEqual(driven.last("dataStream").header, { type: "FETCH", requestId: 4n });
  });

  test("takes no place once it is handed over", () => {
    const driven = readyClient({ limits: { unreadStreams: 1 } });
    for (let count = 0; count < 5; count++) driven.feed(driven.open("uni"), subgroupBytes);
    assert.equal(driven.eventsOf("dataStream").length, 5);
  });

  test("beyond the limit on incomplete headers is stopped", () => {
    const driven = readyClient({ limits: { bufferedBytes: 3 } });
    const stream = driven.open("uni");
    driven.feed(stream, "14 80c8 03");
    assert.deepEqual(driven.cuts(stream), [`stop ${resetCode("EXCESSIVE_LOAD")}`]);
    assert.equal(driven.closed, undefined);
  });
});

describe("padding", () => {
  test("is discarded, on streams and in datagrams", () => {
    const driven = readyServer();
    const stream = driven.open("uni");
    driven.feed(stream, "f0132b3e28").feed(stream, new Uint8Array(100_000), true);
    driven.take(driven.core.datagram(hex("f0132b3e29 0000"), 0));
    assert.equal(driven.core.bufferedBytes, 0);
    assert.equal(driven.core.nextTimeout, undefined);
    assert.deepEqual(
      driven.events.map(({ type }) => type),
      ["setup"],
    );
    assert.equal(driven.closed, undefined);
  });

  test("before SETUP needs no place", () => {
    const driven = readyServer({ limits: { unreadStreams: 0 } });
    driven.feed(driven.open("uni"), "f0132b3e2800");
    assert.equal(driven.closed, undefined);
  });
});

describe("a datagram", () => {
  test("is told decoded, and as it came", () => {
    const bytes = hex("00 02 05 01 80 6869");
    const driven = readyClient();
    driven.take(driven.core.datagram(bytes, 0));
    assert.deepEqual(driven.last("datagram"), {
      type: "datagram",
      datagram: {
        trackAlias: 2n,
        groupId: 5n,
        objectId: 1n,
        publisherPriority: 128,
        endOfGroup: false,
        status: "NORMAL",
        payload: hex("6869"),
      },
      bytes,
    });
  });

  test("of an unknown type, or cut off, closes the session", () => {
    for (const bytes of ["10 02 05 01 80", "22 02 05 01 80 00", "40", "00 02", ""]) {
      const driven = readyClient();
      driven.take(driven.core.datagram(hex(bytes), 0));
      assert.equal(driven.closed, "PROTOCOL_VIOLATION", bytes);
    }
  });
});

describe("a closed session", () => {
  test("hears and does nothing more", () => {
    const driven = readyServer();
    // The control stream, a request, and a data stream are each in the middle of something.
    driven.feed(0, "1000").request("03000a");
    driven.feed(driven.open("uni"), "14");
    assert.equal(driven.core.bufferedBytes, 6);
    driven.take(driven.core.close("UNAUTHORIZED", "not you", 0));
    assert.deepEqual(driven.actions.at(-1), { type: "close", code: 2n, reason: "not you" });
    assert.equal(driven.core.isClosed, true);
    const stream = driven.open("bidi");
    driven.feed(stream, "ff").reset(stream).stop(stream).wait(1_000_000);
    driven.take(driven.core.datagram(hex("ff"), 0));
    driven.take(driven.core.close("NO_ERROR", "", 0));
    assert.equal(driven.core.nextTimeout, undefined);
    assert.equal(driven.core.bufferedBytes, 0);
  });

  test("by the transport needs no close", () => {
    const driven = readyServer();
    driven.core.transportClosed();
    assert.equal(driven.core.isClosed, true);
    assert.deepEqual(driven.core.close("NO_ERROR", "", 0), []);
  });
});
