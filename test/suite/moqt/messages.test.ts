import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type ControlMessage,
  decodeControlMessage,
  encodeControlMessage,
  type RequestError,
} from "../../../src/moqt/mod.ts";
import {
  allDrafts,
  assertBytesClose,
  assertNotEncodable,
  assertRoundTrip,
  decodeHex,
  fields,
  framed,
  hex,
  joiningFetch,
} from "./support.ts";

const live = fields("live");
const v = utf8("v");
const none = new Uint8Array();
const track = { trackNamespace: live, trackName: v };

describe("the layout of", () => {
  test("SETUP", () => {
    assertRoundTrip("af000000", { type: "SETUP", options: [] });
    assertRoundTrip("af00001301082f6d6f713f783d3104076c623a34343433", {
      type: "SETUP",
      options: [
        { type: "PATH", value: "/moq?x=1" },
        { type: "AUTHORITY", value: "lb:4443" },
      ],
    });
  });

  test("GOAWAY", () => {
    assertRoundTrip("1000020000", { type: "GOAWAY", newSessionUri: "", timeout: 0n });
    assertRoundTrip("10000d0a6d6f71743a2f2f72322f9388", {
      type: "GOAWAY",
      newSessionUri: "moqt://r2/",
      timeout: 5000n,
    });
  });

  test("GOAWAY with the Request ID of draft 18, and without it there", () => {
    const goaway = { type: "GOAWAY", newSessionUri: "", timeout: 0n } as const;
    assertRoundTrip("100003000004", { ...goaway, requestId: 4n }, [18]);
    assertRoundTrip("1000020000", goaway, [18]);
    assertBytesClose("PROTOCOL_VIOLATION", "100003000004", [19, 20, 21, 22]);
    assertNotEncodable({ ...goaway, requestId: 4n }, [19, 20, 21, 22]);
  });

  test("REQUEST_OK", () => {
    assertRoundTrip("07000100", { type: "REQUEST_OK", parameters: [], trackProperties: none });
    assertRoundTrip("07000401089388", {
      type: "REQUEST_OK",
      parameters: [{ type: "EXPIRES", value: 5000n }],
      trackProperties: none,
    });
  });

  test("REQUEST_ERROR", () => {
    assertRoundTrip("050003100000", {
      type: "REQUEST_ERROR",
      errorCode: 0x10n,
      retryInterval: 0n,
      errorReason: "",
    });
  });

  test("REQUEST_ERROR with a Redirect to a track and to a namespace", () => {
    const redirected = { type: "REQUEST_ERROR", errorCode: 0x34n, retryInterval: 0n } as const;
    assertRoundTrip("0500163400000a6d6f71743a2f2f72322f01046c6976650176", {
      ...redirected,
      errorReason: "",
      redirect: { connectUri: "moqt://r2/", trackNamespace: live, trackName: v },
    });
    assertRoundTrip("0500153400000a6d6f71743a2f2f72322f01046c69766500", {
      ...redirected,
      errorReason: "",
      redirect: { connectUri: "moqt://r2/", trackNamespace: live, trackName: none },
    });
  });

  test("REQUEST_UPDATE", () => {
    assertRoundTrip("0200020200", { type: "REQUEST_UPDATE", requestId: 2n, parameters: [] });
  });

  test("SUBSCRIBE and TRACK_STATUS", () => {
    const request = { requestId: 0n, ...track, parameters: [] };
    assertRoundTrip("03000a0001046c697665017600", { type: "SUBSCRIBE", ...request });
    assertRoundTrip("0d000a0001046c697665017600", { type: "TRACK_STATUS", ...request });
  });

  test("SUBSCRIBE_OK, with parameters and Track Properties", () => {
    assertRoundTrip("0400020700", {
      type: "SUBSCRIBE_OK",
      trackAlias: 7n,
      parameters: [],
      trackProperties: none,
    });
    assertRoundTrip("04000e070208938801030904c0ea600a64", {
      type: "SUBSCRIBE_OK",
      trackAlias: 7n,
      parameters: [
        { type: "EXPIRES", value: 5000n },
        { type: "LARGEST_OBJECT", location: { group: 3n, object: 9n } },
      ],
      trackProperties: hex("04c0ea600a64"),
    });
  });

  test("PUBLISH", () => {
    assertRoundTrip("1d000f0101046c6976650176070110000e64", {
      type: "PUBLISH",
      requestId: 1n,
      ...track,
      trackAlias: 7n,
      parameters: [{ type: "FORWARD", value: 0 }],
      trackProperties: hex("0e64"),
    });
  });

  test("PUBLISH_DONE", () => {
    const done = {
      type: "PUBLISH_DONE",
      statusCode: 2n,
      streamCount: 5n,
      errorReason: "",
    } as const;
    assertRoundTrip("0b0003020500", done);
    assertRoundTrip("0b000b02ffffffffffffffffff00", { ...done, streamCount: 2n ** 64n - 1n });
  });

  test("PUBLISH_STATE_NOTIFY, unknown before draft 20", () => {
    const notify = {
      type: "PUBLISH_STATE_NOTIFY",
      parameters: [
        { type: "LARGEST_OBJECT", location: { group: 3n, object: 9n } },
        { type: "FORWARD", value: 0 },
      ],
    } as const;
    assertRoundTrip("220006020903090700", notify, [20, 21, 22]);
    assertBytesClose("PROTOCOL_VIOLATION", "220006020903090700", [18, 19]);
    assertNotEncodable(notify, [18, 19]);
  });

  test("FETCH since draft 20", () => {
    assertRoundTrip(
      "16000a0001046c697665017600",
      { type: "FETCH", requestId: 0n, ...track, parameters: [] },
      [20, 21, 22],
    );
  });

  test("FETCH before draft 20, with its three types", () => {
    assertRoundTrip(
      "16000f000101046c69766501760100030500",
      {
        type: "FETCH",
        requestId: 0n,
        fetchType: "STANDALONE",
        ...track,
        startLocation: { group: 1n, object: 0n },
        endLocation: { group: 3n, object: 5n },
        parameters: [],
      },
      [18, 19],
    );
    const joining = { type: "FETCH", requestId: 2n, joiningRequestId: 0n, parameters: [] } as const;
    assertRoundTrip(
      "1600050202000100",
      { ...joining, fetchType: "RELATIVE_JOINING", joiningStart: 1n },
      [18, 19],
    );
    assertRoundTrip(
      framed("16", "02 03 00 80c8 00"),
      { ...joining, fetchType: "ABSOLUTE_JOINING", joiningStart: 200n },
      [18, 19],
    );
  });

  test("FETCH of one era is a protocol violation in the other [RQ-19]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", "16000a0001046c697665017600", [18, 19]);
    assertBytesClose("PROTOCOL_VIOLATION", "16000f000101046c69766501760100030500", [20, 21, 22]);
    assertBytesClose("PROTOCOL_VIOLATION", framed("16", "02 00 00 01 00"), [18, 19]);
    assertBytesClose("PROTOCOL_VIOLATION", framed("16", "02 04 00 01 00"), [18, 19]);
    assertNotEncodable({ type: "FETCH", requestId: 0n, ...track, parameters: [] }, [18, 19]);
    assertNotEncodable(joiningFetch(), [20, 21, 22]);
  });

  test("FETCH_OK", () => {
    const ok = {
      type: "FETCH_OK",
      endOfTrack: false,
      endLocation: { group: 3n, object: 4n },
      parameters: [],
      trackProperties: none,
    } as const;
    assertRoundTrip("18000400030400", ok);
    assertRoundTrip("18000401030400", { ...ok, endOfTrack: true });
    assertBytesClose("PROTOCOL_VIOLATION", "18000402030400");
  });

  test("PUBLISH_NAMESPACE, SUBSCRIBE_NAMESPACE and SUBSCRIBE_TRACKS", () => {
    const request = { requestId: 0n, parameters: [] };
    assertRoundTrip("0600080001046c69766500", {
      type: "PUBLISH_NAMESPACE",
      ...request,
      trackNamespace: live,
    });
    assertRoundTrip("5000080001046c69766500", {
      type: "SUBSCRIBE_NAMESPACE",
      ...request,
      trackNamespacePrefix: live,
    });
    assertRoundTrip("510003000000", {
      type: "SUBSCRIBE_TRACKS",
      ...request,
      trackNamespacePrefix: [],
    });
  });

  test("NAMESPACE, NAMESPACE_DONE and PUBLISH_SKIPPED", () => {
    const trackNamespaceSuffix = fields("a");
    assertRoundTrip("080003010161", { type: "NAMESPACE", trackNamespaceSuffix });
    assertRoundTrip("0e0003010161", { type: "NAMESPACE_DONE", trackNamespaceSuffix });
    assertRoundTrip("0f00050101610176", {
      type: "PUBLISH_SKIPPED",
      trackNamespaceSuffix,
      trackName: v,
    });
  });
});

describe("the frame of a message", () => {
  test("has a known type [RQ-07] [VI-03]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", "3f0000");
    // 0x2f00 as an integer of RFC 9000 is type 0x6f here.
    assertBytesClose("PROTOCOL_VIOLATION", "6f000000");
    for (const reserved of ["01", "1e", "20", "21", "40", "41"]) {
      assertBytesClose("PROTOCOL_VIOLATION", framed(reserved, ""));
    }
    assertBytesClose("PROTOCOL_VIOLATION", framed("ffffffffffffffffff", ""));
  });

  test("has a length that its body fills [NS-13]", () => {
    assertBytesClose("PROTOCOL_VIOLATION", "03000b0001046c69766501760000");
    for (const digits of ["1000020000", "0200020200", "0b0003020500", "080003010161"]) {
      const type = digits.slice(0, 2);
      const body = digits.slice(6);
      assertBytesClose("PROTOCOL_VIOLATION", framed(type, `${body}00`), [19, 20, 21, 22]);
      assertBytesClose("PROTOCOL_VIOLATION", framed(type, body.slice(0, -2)));
    }
  });

  test("is all there is, where one message is asked for", () => {
    assertBytesClose("PROTOCOL_VIOLATION", "0200020200 00");
    assertBytesClose("PROTOCOL_VIOLATION", "02000202");
    assertBytesClose("PROTOCOL_VIOLATION", "0200");
    assertBytesClose("PROTOCOL_VIOLATION", "");
  });

  test("holds a body of 65,535 bytes and refuses one more", () => {
    const setup = (length: number): ControlMessage => ({
      type: "SETUP",
      options: [{ type: "UNKNOWN", optionType: 0x9dn, value: new Uint8Array(length) }],
    });
    // Two bytes of type, three of length.
    const largest = encodeControlMessage(setup(65_530), 22);
    assert.equal(largest.length, 2 + 2 + 65_535);
    assert.deepEqual(decodeControlMessage(largest, 22), setup(65_530));
    assertNotEncodable(setup(65_531));
  });
});

describe("a Reason Phrase", () => {
  const error = (errorReason: string): RequestError => ({
    type: "REQUEST_ERROR",
    errorCode: 0n,
    retryInterval: 0n,
    errorReason,
  });
  const sent = (reason: string) => {
    const message = decodeControlMessage(encodeControlMessage(error(reason), 22), 22);
    assert.ok(message.type === "REQUEST_ERROR");
    return message.errorReason;
  };

  test("of more than 1,024 bytes is a protocol violation [RQ-11]", () => {
    const body = (length: number) => `00 00 84${(length - 1024).toString(16).padStart(2, "0")}`;
    assertBytesClose("PROTOCOL_VIOLATION", framed("05", `${body(1025)}${"78".repeat(1025)}`));
    const allowed = decodeHex(framed("05", `${body(1024)}${"78".repeat(1024)}`));
    assert.deepEqual(allowed, error("x".repeat(1024)));
  });

  test("of our own is cut between two characters [RQ-11]", () => {
    assert.equal(sent("x".repeat(3000)), "x".repeat(1024));
    // Three bytes each: 341 of them fit, and one byte stays free.
    assert.equal(sent("€".repeat(400)), "€".repeat(341));
    assert.equal(sent(`x${"😀".repeat(300)}`), `x${"😀".repeat(255)}`);
    assert.equal(sent("é".repeat(512)), "é".repeat(512));
    assert.equal(sent("\ufeffx"), "\ufeffx");
    assert.equal(sent("é".repeat(64)), "é".repeat(64));
  });

  test("that is no UTF-8 is shown with replacement characters", () => {
    assert.deepEqual(decodeHex(framed("05", "00 00 03 61ff62")), error("a\ufffdb"));
  });
});

describe("REQUEST_ERROR", () => {
  const redirect = { connectUri: "moqt://r2/", ...track };
  const message = { type: "REQUEST_ERROR", retryInterval: 0n, errorReason: "" } as const;

  test("has a Redirect where its code is REDIRECT, and only there", () => {
    assertBytesClose("PROTOCOL_VIOLATION", framed("05", "34 00 00"));
    assertBytesClose("PROTOCOL_VIOLATION", framed("05", "34 00 00 00 00"));
    assertBytesClose("PROTOCOL_VIOLATION", framed("05", "10 00 00 00 00 00"));
    assertBytesClose("PROTOCOL_VIOLATION", framed("05", "34 00 00 00 00 00 00"));
    assertNotEncodable({ ...message, errorCode: 0x34n });
    assertNotEncodable({ ...message, errorCode: 0x10n, redirect });
  });

  test("with a code written longer than needed is a REDIRECT all the same", () => {
    assert.deepEqual(
      decodeHex(framed("05", "8034 00 00 0a 6d6f71743a2f2f72322f 01046c697665 0176")),
      {
        ...message,
        errorCode: 0x34n,
        redirect,
      },
    );
  });

  test("keeps an unknown code as it came [RQ-12]", () => {
    assertRoundTrip("050006c0777700013f", {
      type: "REQUEST_ERROR",
      errorCode: 0x7777n,
      retryInterval: 0n,
      errorReason: "?",
    });
    assertRoundTrip(framed("05", "809d 00 00"), { ...message, errorCode: 0x9dn });
  });
});

describe("GOAWAY", () => {
  test("names a URI of 8,192 bytes at most", () => {
    const body = (length: number) => `a0${(length - 0x2000).toString(16).padStart(2, "0")}`;
    const allowed = framed("10", `${body(8192)}${"6d".repeat(8192)}00`);
    assertRoundTrip(allowed, { type: "GOAWAY", newSessionUri: "m".repeat(8192), timeout: 0n });
    assertBytesClose("PROTOCOL_VIOLATION", framed("10", `${body(8193)}${"6d".repeat(8193)}00`));
    assertNotEncodable({ type: "GOAWAY", newSessionUri: "m".repeat(8193), timeout: 0n });
  });
});

describe("encodeControlMessage", () => {
  test("refuses integers that the wire cannot carry", () => {
    for (const requestId of [-1n, 2n ** 64n]) {
      assertNotEncodable({ type: "REQUEST_UPDATE", requestId, parameters: [] });
    }
  });

  test("refuses a type that no message has", () => {
    for (const type of ["SUBSCRIBED", "toString", undefined]) {
      assertNotEncodable({ type, requestId: 0n } as unknown as ControlMessage);
    }
  });

  test("refuses a message without one of its fields", () => {
    assertNotEncodable({ type: "SUBSCRIBE", requestId: 0n } as unknown as ControlMessage);
  });

  test("leaves the message as it was", () => {
    const parameters = Object.freeze([
      Object.freeze({ type: "FORWARD", value: 1 } as const),
      Object.freeze({ type: "OBJECT_DELIVERY_TIMEOUT", value: 9n } as const),
    ]);
    const message = Object.freeze({ type: "SUBSCRIBE", requestId: 0n, ...track, parameters });
    for (const draft of allDrafts) encodeControlMessage(message as ControlMessage, draft);
  });
});
