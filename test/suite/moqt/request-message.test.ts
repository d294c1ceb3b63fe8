import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  decodeControlMessage,
  encodeControlMessage,
  MalformedNameError,
  requestMessage,
  requestTypes,
} from "../../../src/moqt/mod.ts";
import { allDrafts, decodeHex } from "./support.ts";

describe("requestMessage", () => {
  test("makes each request for a name, in each draft", () => {
    for (const draft of allDrafts) {
      for (const type of requestTypes) {
        const name = /NAMESPACE|TRACKS/.test(type) ? "live-a" : "live-a--v";
        const request = requestMessage(type, { requestId: 2n, name, draft });
        const bytes = encodeControlMessage(request, draft);
        assert.deepEqual(decodeControlMessage(bytes, draft), request);
      }
    }
  });

  test("takes the parameters and the Track Alias that it is given", () => {
    const message = requestMessage("PUBLISH", {
      requestId: 1n,
      name: "live--v",
      trackAlias: 7n,
      parameters: [{ type: "FORWARD", value: 0 }],
    });
    assert.deepEqual(message, decodeHex("1d000d0101046c69766501760701 1000".replace(" ", "")));
  });

  test("asks for group 0 where a FETCH has to name a range", () => {
    const request = requestMessage("FETCH", { requestId: 0n, name: "live--v", draft: 18 });
    assert.deepEqual(request, decodeHex("16000f000101046c69766501760000000000", 18));
  });

  test("refuses a Track Name too much or too few", () => {
    const refused = (type: (typeof requestTypes)[number], name: string) =>
      assert.throws(() => requestMessage(type, { requestId: 0n, name }), MalformedNameError);
    for (const type of ["SUBSCRIBE", "PUBLISH", "FETCH", "TRACK_STATUS"] as const) {
      refused(type, "live");
      refused(type, "not a name");
    }
    for (const type of ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const) {
      refused(type, "live--v");
      refused(type, "live--");
    }
  });
});
