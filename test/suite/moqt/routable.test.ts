import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type ControlMessage,
  isRoutableRequest,
  requestMessage,
  requestTrackName,
  requestTypes,
  routingKey,
} from "../../../src/moqt/mod.ts";
import { allDrafts, decodeHex, fields, joiningFetch } from "./support.ts";
import { vector, vectorIds } from "./vectors.ts";

const ofTrack = ["SUBSCRIBE", "PUBLISH", "FETCH", "TRACK_STATUS"] as const;
const ofNamespace = ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const;

describe("the routing key", () => {
  test("of a request for a track is its namespace alone [LB-KEY-18] [LB-KEY-19] [LB-KEY-20] [LB-KEY-21] [RQ-18]", () => {
    for (const type of ofTrack) {
      for (const draft of allDrafts) {
        for (const name of ["audio", "video"]) {
          const request = requestMessage(type, { requestId: 0n, name: `live-a--${name}`, draft });
          assert.deepEqual(routingKey(request), fields("live", "a"));
          assert.deepEqual(requestTrackName(request), utf8(name));
        }
      }
    }
  });

  test("of a request for a namespace is that namespace or prefix [LB-KEY-15] [LB-KEY-16] [LB-KEY-17]", () => {
    for (const type of ofNamespace) {
      const request = requestMessage(type, { requestId: 0n, name: "live-a" });
      assert.deepEqual(routingKey(request), fields("live", "a"));
      assert.equal(requestTrackName(request), undefined);
    }
  });

  test("of an empty namespace is empty, not absent [LB-S5]", () => {
    const request = decodeHex(vector("ns-zero-sub"));
    assert.ok(isRoutableRequest(request));
    assert.deepEqual(routingKey(request), []);
  });

  test("of a joining FETCH is absent [LB-A1] [LB-S1]", () => {
    assert.equal(routingKey(joiningFetch()), undefined);
    assert.equal(requestTrackName(joiningFetch()), undefined);
  });
});

describe("a routable request", () => {
  test("is one of seven messages, and no other [LB-KEY-22] [LB-KEY-23]", () => {
    const types = new Set<ControlMessage["type"]>();
    for (const id of vectorIds) {
      for (const draft of [19, 22] as const) {
        try {
          const message = decodeHex(vector(id), draft);
          types.add(message.type);
          const expected = (requestTypes as readonly string[]).includes(message.type);
          assert.equal(isRoutableRequest(message), expected);
        } catch {
          // Not a message.
        }
      }
    }
    for (const type of [...requestTypes, "SETUP", "GOAWAY", "REQUEST_ERROR"] as const) {
      assert.ok(types.has(type), type);
    }
    assert.deepEqual([...requestTypes].toSorted(), [...ofTrack, ...ofNamespace].toSorted());
    assert.equal(isRoutableRequest(joiningFetch()), true);
  });
});
