import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { decodeRequest, tokensWithoutSession } from "../../../src/moq-lb/mod.ts";
import type { MessageParameter, Token } from "../../../src/moqt/mod.ts";
import { allDrafts, assertCloses, hex } from "../moqt/support.ts";
import { vector } from "../moqt/vectors.ts";
import { vectorRequest } from "./fixtures.ts";

describe("a request as bytes", () => {
  test("is any of the seven that open a request stream [LB-KEY-22]", () => {
    const publish = hex("1d000f0001046c6976650176070110000e64");
    assert.equal(decodeRequest(publish, 22).type, "PUBLISH");
    assert.deepEqual(
      ["vi-min", "ts", "fetch20", "res-dot-pubns", "ov1", "subtracks-empty"].map(
        (id) => vectorRequest(id).type,
      ),
      [
        "SUBSCRIBE",
        "TRACK_STATUS",
        "FETCH",
        "PUBLISH_NAMESPACE",
        "SUBSCRIBE_NAMESPACE",
        "SUBSCRIBE_TRACKS",
      ],
    );
  });

  test("cannot be a message that belongs elsewhere: PROTOCOL_VIOLATION [LB-KEY-23]", () => {
    for (const id of ["ga", "setup-right", "rd-sub", "dne"]) {
      for (const draft of allDrafts) {
        assertCloses("PROTOCOL_VIOLATION", () => decodeRequest(hex(vector(id)), draft));
      }
    }
    assertCloses("PROTOCOL_VIOLATION", () => decodeRequest(hex("0200020000"), 22));
  });

  test("has an even Request ID, as only a client sends it [RQ-01]", () => {
    for (const draft of allDrafts) {
      assertCloses("INVALID_REQUEST_ID", () => decodeRequest(hex(vector("rid-odd")), draft));
    }
    assert.equal(vectorRequest("rid-4").requestId, 4n);
  });
});

describe("tokens of a request without a session", () => {
  function tokens(...given: Token[]) {
    const parameters = given.map(
      (token): MessageParameter => ({ type: "AUTHORIZATION_TOKEN", token }),
    );
    return tokensWithoutSession([{ type: "FORWARD", value: 1 }, ...parameters]);
  }

  const byValue = (text: string): Token => ({
    aliasType: "USE_VALUE",
    tokenType: 0n,
    tokenValue: utf8(text),
  });

  test("are all that come by value, in order", () => {
    const found = tokens(byValue("a"), byValue("b"));
    assert.deepEqual(
      found.map(({ tokenValue }) => tokenValue),
      [utf8("a"), utf8("b")],
    );
    assert.deepEqual(tokens(), []);
  });

  test("cannot be registered: the cache has size 0 [RQ-14]", () => {
    assertCloses("AUTH_TOKEN_CACHE_OVERFLOW", () =>
      tokens(byValue("a"), {
        aliasType: "REGISTER",
        alias: 0n,
        tokenType: 0n,
        tokenValue: utf8("b"),
      }),
    );
    assertCloses("AUTH_TOKEN_CACHE_OVERFLOW", () =>
      tokensWithoutSession(vectorRequest("auth-reg").parameters),
    );
  });

  test("have no aliases: every alias is unknown", () => {
    for (const aliasType of ["USE_ALIAS", "DELETE"] as const) {
      assertCloses("UNKNOWN_AUTH_TOKEN_ALIAS", () => tokens({ aliasType, alias: 0n }));
    }
  });
});
