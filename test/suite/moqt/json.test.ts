import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import { messageToJson } from "../../../src/moqt/mod.ts";
import { anyDraftAndMessage, anyToken } from "./arbitrary.ts";
import { decodeHex, fields, framed } from "./support.ts";
import { vector } from "./vectors.ts";

describe("messageToJson", () => {
  test("shows a Redirect with its code by name and its target in text form", () => {
    assert.deepEqual(messageToJson(decodeHex(vector("rd-sub"))), {
      type: "REQUEST_ERROR",
      errorCode: 0x34,
      errorName: "REDIRECT",
      retryInterval: 0,
      errorReason: "",
      redirect: {
        connectUri: "moqt://r2.example:4443/moq",
        trackNamespace: "live-sports-game.2d7",
        trackName: "audio",
        fullTrackName: "live-sports-game.2d7--audio",
      },
    });
  });

  test("shows a request with its parameters", () => {
    assert.deepEqual(messageToJson(decodeHex(vector("cap-moqnet-subscribe-d20"), 20)), {
      type: "SUBSCRIBE",
      requestId: 0,
      trackNamespace: "live-video.2droom",
      trackName: "video",
      parameters: [
        { type: "FORWARD", value: 1 },
        { type: "SUBSCRIBER_PRIORITY", value: 255 },
        { type: "LOCATION_FILTER", filter: { kind: "RELATIVE", groupsBack: 1 } },
        { type: "GROUP_ORDER", value: "DESCENDING" },
      ],
      fullTrackName: "live-video.2droom--video",
    });
  });

  test("shows Track Properties as pairs, and status codes by name", () => {
    assert.deepEqual(messageToJson(decodeHex(framed("04", "07 00 0e64 7102 abcd"))), {
      type: "SUBSCRIBE_OK",
      trackAlias: 7,
      parameters: [],
      trackProperties: [
        { type: 14, name: "DEFAULT_PUBLISHER_PRIORITY", value: 100 },
        { type: 127, name: "unknown", value: "abcd" },
      ],
    });
    assert.deepEqual(messageToJson(decodeHex(framed("0b", "809d 05 00"))), {
      type: "PUBLISH_DONE",
      statusCode: 0x9d,
      statusName: "unknown",
      streamCount: 5,
      errorReason: "",
    });
  });

  test("keeps integers exact: beyond 2^53-1 they are decimal text", () => {
    const update = (requestId: bigint) =>
      messageToJson({ type: "REQUEST_UPDATE", requestId, parameters: [] }).requestId;
    assert.equal(update(2n ** 53n - 1n), 9007199254740991);
    assert.equal(update(2n ** 53n), "9007199254740992");
    assert.equal(update(2n ** 64n - 1n), "18446744073709551615");
  });

  test("never shows the value of a token", () => {
    assert.deepEqual(messageToJson(decodeHex(vector("mt-publish-token"))).parameters, [
      {
        type: "AUTHORIZATION_TOKEN",
        token: { aliasType: "USE_VALUE", tokenType: 0, tokenValue: "redacted (9 bytes)" },
      },
    ]);
    const secret = utf8("a-secret-nobody-may-see");
    fc.assert(
      fc.property(anyToken(true), fc.boolean(), (token, inSetup) => {
        const hidden = { ...token, tokenValue: secret } as typeof token;
        const parameter = { type: "AUTHORIZATION_TOKEN", token: hidden } as const;
        const text = JSON.stringify(
          messageToJson(
            inSetup
              ? { type: "SETUP", options: [parameter] }
              : {
                  type: "PUBLISH_NAMESPACE",
                  requestId: 0n,
                  trackNamespace: fields("a"),
                  parameters: [parameter],
                },
          ),
        );
        assert.ok(!text.includes(toHex(secret)) && !text.includes("secret"));
      }),
      { numRuns: 30 },
    );
  });

  test("is JSON for any message", () => {
    fc.assert(
      fc.property(anyDraftAndMessage(), ([, message]) => {
        const json = messageToJson(message);
        assert.deepEqual(JSON.parse(JSON.stringify(json)), json);
      }),
      { numRuns: 200 },
    );
  });
});
