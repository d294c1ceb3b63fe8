import assert from "node:assert/strict";
import { describe, test } from "#test";
import { ClientGroupError, StreamMap } from "../../../src/client-group/mod.ts";

/** A request as whoever keeps the map has it. */
function request(connection: string, stream: number | undefined) {
  return {
    from: { connection, stream },
    identifier: undefined as number | undefined,
    sent: false,
    contentComplete: false,
    replayable: false,
    responseReceived: false,
    responseForwarded: false,
  };
}

describe("the stream map", () => {
  test("names both sides of a request, which travel under numbers of their own [CG-MAP-1, CG-MAP-2, CG-MAP-3, CG-MAP-7]", () => {
    const map = new StreamMap<ReturnType<typeof request>>();
    const entry = request("c1", 1);
    entry.identifier = 907;
    map.place(entry, "u1", 39);
    const [row] = map.dump();
    assert.deepEqual(row?.from, { connection: "c1", stream: 1 });
    assert.deepEqual(row?.to, { connection: "u1", stream: 39 });
    assert.equal(row?.identifier, 907);
    assert.equal(map.at("u1", 39), entry);
    assert.equal(map.at("u1", 1), undefined);
    assert.equal(map.at("u2", 39), undefined);
  });

  test("shows how far a request has come [CG-MAP-4, CG-MAP-5, CG-MAP-6]", () => {
    const map = new StreamMap<ReturnType<typeof request>>();
    const entry = request("c1", undefined);
    map.wait(entry);
    const [waiting] = map.dump();
    assert.equal(waiting?.to, undefined);
    assert.equal(waiting?.sent, false);
    map.place(entry, "u1", 1);
    Object.assign(entry, { sent: true, contentComplete: true, replayable: true });
    Object.assign(entry, { responseReceived: true });
    assert.deepEqual(map.dump(), [
      {
        from: { connection: "c1", stream: undefined },
        to: { connection: "u1", stream: 1 },
        identifier: undefined,
        sent: true,
        contentComplete: true,
        replayable: true,
        responseReceived: true,
        responseForwarded: false,
      },
    ]);
    // A dump is of its moment.
    assert.equal(waiting?.sent, false);
  });

  test("finds the requests of one shared connection, in the order of their streams [CG-CGOAWAY-1]", () => {
    const map = new StreamMap<ReturnType<typeof request>>();
    const entries = [37, 39, 41].map((stream) => {
      const entry = request("c1", stream - 36);
      map.place(entry, "u1", stream);
      return [stream, entry] as const;
    });
    map.place(request("c2", 1), "u2", 1);
    assert.deepEqual([...map.on("u1")], entries);
    assert.equal(map.count("u1"), 3);
    assert.deepEqual([...map.on("u3")], []);
  });

  test("is empty once all requests have ended [CG-STATE-4]", () => {
    const map = new StreamMap<ReturnType<typeof request>>();
    const gone = request("c1", 1);
    map.wait(gone);
    map.place(request("c1", 3), "u1", 1);
    assert.equal(map.size, 2);
    assert.equal(map.leave(gone), true);
    assert.equal(map.leave(gone), false);
    map.end("u1", 1);
    map.end("u1", 1);
    map.end("u9", 1);
    assert.equal(map.size, 0);
    assert.deepEqual(map.dump(), []);
  });

  test("has one request for each stream", () => {
    const map = new StreamMap<ReturnType<typeof request>>();
    map.place(request("c1", 1), "u1", 1);
    assert.throws(
      () => map.place(request("c2", 1), "u1", 1),
      (error) => error instanceof ClientGroupError && error.code === "OUT_OF_ORDER",
    );
    assert.equal(map.size, 1);
  });
});
