import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  checkAnswer,
  checkReceivedByServer,
  checkRequestId,
  type RequestError,
  requestMessage,
  requestTypes,
} from "../../../src/moqt/mod.ts";
import { assertCloses, decodeHex } from "./support.ts";
import { vector } from "./vectors.ts";

function requestError(id: string): RequestError {
  const message = decodeHex(vector(id));
  assert.ok(message.type === "REQUEST_ERROR");
  return message;
}

describe("a server", () => {
  test("cannot be sent elsewhere by a GOAWAY [GA-01]", () => {
    const check = (id: string) => checkReceivedByServer(decodeHex(vector(id)));
    assertCloses("PROTOCOL_VIOLATION", () => check("ga-client-uri"));
    check("ga");
  });

  test("cannot be redirected to a URI [LB-S105]", () => {
    assertCloses("PROTOCOL_VIOLATION", () => checkReceivedByServer(requestError("rd-sub")));
    checkReceivedByServer(requestError("rd-nouri"));
    checkReceivedByServer(requestError("dne"));
  });
});

describe("the redirect of a request for a namespace", () => {
  test("has no Track Name [RD-02]", () => {
    for (const type of ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const) {
      const request = requestMessage(type, { requestId: 0n, name: "live" });
      checkAnswer(request, requestError("rd-ns"));
      checkAnswer(request, requestError("dne"));
      assertCloses("PROTOCOL_VIOLATION", () => checkAnswer(request, requestError("rd-ns-bad")));
    }
  });

  test("is no matter for requests that name a track", () => {
    for (const type of ["SUBSCRIBE", "PUBLISH", "FETCH", "TRACK_STATUS"] as const) {
      const request = requestMessage(type, { requestId: 0n, name: "live--v" });
      checkAnswer(request, requestError("rd-ns-bad"));
      checkAnswer(request, requestError("rd-ns"));
    }
  });
});

describe("a Request ID", () => {
  test("is even from a client and odd from a server [RQ-01]", () => {
    const check = (id: string, from: "client" | "server") =>
      checkRequestId(decodeHex(vector(id)), from);
    assertCloses("INVALID_REQUEST_ID", () => check("rid-odd", "client"));
    assertCloses("INVALID_REQUEST_ID", () => check("rid-4", "server"));
    check("rid-4", "client");
    check("rid-odd", "server");
    check("px-pub", "server");
  });

  test("is checked in every message that has one [RQ-01]", () => {
    for (const type of requestTypes) {
      const name = type.includes("NAMESPACE") || type.includes("TRACKS") ? "live" : "live--v";
      for (const requestId of [1n, 2n ** 64n - 1n]) {
        const request = requestMessage(type, { requestId, name });
        checkRequestId(request, "server");
        assertCloses("INVALID_REQUEST_ID", () => checkRequestId(request, "client"));
      }
    }
    const update = { type: "REQUEST_UPDATE", requestId: 3n, parameters: [] } as const;
    assertCloses("INVALID_REQUEST_ID", () => checkRequestId(update, "client"));
    checkRequestId(decodeHex(vector("dne")), "client");
  });

  test("of a GOAWAY is one of its receiver's", () => {
    const goaway = { type: "GOAWAY", newSessionUri: "", timeout: 0n } as const;
    checkRequestId({ ...goaway, requestId: 4n }, "server");
    checkRequestId({ ...goaway, requestId: 1n }, "client");
    assertCloses("INVALID_REQUEST_ID", () =>
      checkRequestId({ ...goaway, requestId: 4n }, "client"),
    );
    assertCloses("INVALID_REQUEST_ID", () =>
      checkRequestId({ ...goaway, requestId: 1n }, "server"),
    );
    checkRequestId(goaway, "client");
  });
});
