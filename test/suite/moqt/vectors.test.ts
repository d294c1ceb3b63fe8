import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, toHex, utf8 } from "../../../src/bytes.ts";
import {
  type ControlMessage,
  type Draft,
  decodeControlMessage,
  encodeControlMessage,
  type MessageParameter,
  type RequestError,
  readControlMessage,
} from "../../../src/moqt/mod.ts";
import { allDrafts, assertCloses, fields, hex } from "./support.ts";
import { vector, vectorIds } from "./vectors.ts";

type Expected = ControlMessage | "PROTOCOL_VIOLATION";

/** What a vector means in each draft. */
type Meaning = Expected | ((draft: Draft) => Expected);

const none = new Uint8Array();

function request<Type extends "SUBSCRIBE" | "TRACK_STATUS" | "FETCH">(
  type: Type,
  requestId: bigint,
  namespace: readonly string[],
  name: string,
  parameters: readonly MessageParameter[] = [],
) {
  const trackNamespace = fields(...namespace);
  return { type, requestId, trackNamespace, trackName: utf8(name), parameters };
}

function prefix<Type extends "SUBSCRIBE_NAMESPACE" | "SUBSCRIBE_TRACKS">(
  type: Type,
  requestId: bigint,
  ...namespace: string[]
) {
  return { type, requestId, trackNamespacePrefix: fields(...namespace), parameters: [] };
}

function publishNamespace(requestId: bigint, ...namespace: string[]): ControlMessage {
  const trackNamespace = fields(...namespace);
  return { type: "PUBLISH_NAMESPACE", requestId, trackNamespace, parameters: [] };
}

function publish(
  requestId: bigint,
  name: string,
  trackAlias: bigint,
  parameters: readonly MessageParameter[] = [],
): ControlMessage {
  return {
    type: "PUBLISH",
    requestId,
    trackNamespace: fields("live"),
    trackName: utf8(name),
    trackAlias,
    parameters,
    trackProperties: none,
  };
}

function setup(...options: Extract<ControlMessage, { type: "SETUP" }>["options"]): ControlMessage {
  return { type: "SETUP", options };
}

function goaway(newSessionUri: string, timeout: bigint): ControlMessage {
  return { type: "GOAWAY", newSessionUri, timeout };
}

function failure(errorCode: bigint, retryInterval = 0n, errorReason = ""): RequestError {
  return { type: "REQUEST_ERROR", errorCode, retryInterval, errorReason };
}

function redirect(
  connectUri: string,
  namespace: readonly string[],
  name: string,
  retryInterval = 0n,
  reason = "",
): RequestError {
  const target = { trackNamespace: fields(...namespace), trackName: utf8(name) };
  return { ...failure(0x34n, retryInterval, reason), redirect: { connectUri, ...target } };
}

function useToken(value: string): MessageParameter[] {
  const token = { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8(value) } as const;
  return [{ type: "AUTHORIZATION_TOKEN", token }];
}

function registerToken(alias: bigint, value: string): MessageParameter[] {
  const token = { aliasType: "REGISTER", alias, tokenType: 0n, tokenValue: utf8(value) } as const;
  return [{ type: "AUTHORIZATION_TOKEN", token }];
}

/** `message` from draft `first` on; before that, the bytes are a protocol violation. */
function since(first: Draft, message: ControlMessage): Meaning {
  return (draft) => (draft >= first ? message : "PROTOCOL_VIOLATION");
}

const relay = "moqt://r2.example:4443/moq";

const capturedSubscribe = (groupsBack: bigint) =>
  request("SUBSCRIBE", 0n, ["live", "video-room"], "video", [
    { type: "FORWARD", value: 1 },
    { type: "SUBSCRIBER_PRIORITY", value: 255 },
    { type: "LOCATION_FILTER", filter: { kind: "RELATIVE", groupsBack } },
    { type: "GROUP_ORDER", value: "DESCENDING" },
  ]);

/** The meaning of every vector, in groups that share a test. */
const meanings: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  "names [NS-02] [NS-03] [NS-04] [NS-05] [NS-06] [NS-08] [NS-09] [NS-10] [NS-16]": {
    "ns-32": request("SUBSCRIBE", 0n, Array<string>(32).fill("a"), "t"),
    "ns-emptyfield": "PROTOCOL_VIOLATION",
    "ns-zero-sub": request("SUBSCRIBE", 0n, [], "t"),
    "subns-empty": prefix("SUBSCRIBE_NAMESPACE", 0n),
    "subtracks-empty": prefix("SUBSCRIBE_TRACKS", 0n),
    "ftn-4096": request("SUBSCRIBE", 0n, ["a".repeat(4000)], "b".repeat(96)),
    "prefix-4097": "PROTOCOL_VIOLATION",
    "ns-nonutf8": {
      ...request("SUBSCRIBE", 0n, [], ""),
      trackNamespace: [hex("ff00"), hex("c328")],
      trackName: hex("80"),
    },
    "ns-short": "PROTOCOL_VIOLATION",
    // Not a message, but a namespace alone; as a message it is cut off.
    "ns-b1": "PROTOCOL_VIOLATION",
    "res-dot-sub": request("SUBSCRIBE", 0n, ["."], "x"),
    "res-dot-pubns": publishNamespace(2n, "."),
    "res-other": request("SUBSCRIBE", 0n, [".catalog", "a"], "x"),
  },
  "frames and parameters [NS-13] [VI-03] [VI-04] [RQ-04] [RQ-05] [RQ-07] [RQ-11]": {
    "sub-trailing": "PROTOCOL_VIOLATION",
    "vi-min": request("SUBSCRIBE", 0n, ["live"], "v"),
    "setup-wrong": "PROTOCOL_VIOLATION",
    "setup-right": setup(),
    "delta-overflow": "PROTOCOL_VIOLATION",
    "param-unknown": "PROTOCOL_VIOLATION",
    "param-scope": "PROTOCOL_VIOLATION",
    "type-unknown": "PROTOCOL_VIOLATION",
    "reason-1025": "PROTOCOL_VIOLATION",
    lf22: since(
      22,
      request("SUBSCRIBE", 0n, ["live"], "v", [
        { type: "LOCATION_FILTER", filter: { kind: "NEXT_OBJECT" } },
      ]),
    ),
  },
  SETUP: {
    "setup-unknown": setup(
      { type: "UNKNOWN", optionType: 0x7en, value: 1n },
      { type: "UNKNOWN", optionType: 0x7en, value: 2n },
    ),
    "setup-path": setup({ type: "PATH", value: "/moq" }),
    "setup-auth": setup({ type: "AUTHORITY", value: "localhost:1" }),
    "setup-pathq": setup(
      { type: "PATH", value: "/moq?x=1" },
      { type: "AUTHORITY", value: "lb:4443" },
    ),
  },
  "requests [RQ-18] [RQ-19]": {
    "rid-odd": request("SUBSCRIBE", 1n, ["live"], "v"),
    "rid-4": request("SUBSCRIBE", 4n, ["live"], "v"),
    "auth-reg": request("SUBSCRIBE", 0n, ["live"], "video", registerToken(0n, "secret-token")),
    ov1: prefix("SUBSCRIBE_NAMESPACE", 0n, "live"),
    ov2: prefix("SUBSCRIBE_NAMESPACE", 2n, "live", "a"),
    ts: request("TRACK_STATUS", 0n, ["live"], "v"),
    fetch20: since(20, request("FETCH", 0n, ["live"], "v")),
    "px-pub": publish(1n, "v", 7n),
  },
  "answers [RQ-12] [RD-01] [RD-02] [RD-03] [RD-04] [RD-06] [RD-08]": {
    "err-unknown": failure(0x7777n, 0n, "?"),
    "rd-sub": redirect(relay, ["live", "sports", "game-7"], "audio"),
    "rd-ns": redirect(relay, ["live"], ""),
    "rd-ns-bad": redirect(relay, ["live"], "x"),
    "rd-pub18-no": failure(3n, 0n, "redirect needs draft 19"),
    "rd-pub": redirect(relay, ["live"], "v"),
    ri0: failure(0n, 0n),
    ri1: failure(0n, 1n),
    ri5001: failure(0n, 5001n),
    "rd-nouri": redirect("", ["live"], "replacement", 1n),
    dne: failure(0x10n),
    unint: failure(0x20n),
    "no-elig": failure(0n, 2001n),
  },
  GOAWAY: {
    "ga-relative": goaway("/moq", 0n),
    "ga-client-uri": goaway("moqt://x/", 0n),
    ga: goaway("", 0n),
    "ga-8192": goaway("m".repeat(8192), 0n),
    "ga-19": goaway("", 0n),
    "ga-t0": goaway("", 0n),
    "ga-req": goaway("moqt://evil.example/", 1000n),
    "ga-out": goaway("", 5000n),
  },
  "the facts of moqtap/test-vectors": {
    "mt-setup-path": setup({ type: "PATH", value: "/moq" }),
    "mt-setup-cache1024": setup({ type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 1024n }),
    "mt-setup-path-impl": setup(
      { type: "PATH", value: "/moq" },
      { type: "MOQT_IMPLEMENTATION", value: "test-v1" },
    ),
    "mt-setup-authority": setup({ type: "AUTHORITY", value: "example.com:443" }),
    "mt-setup-truncated-INVALID": "PROTOCOL_VIOLATION",
    "mt-goaway-d19": goaway("", 0n),
    "mt-goaway-uri-d19": goaway("moqt://relay/path", 5000n),
    "mt-goaway-timeout-d19": goaway("", 1000n),
    "mt-err-internal": failure(0n, 0n, "internal error"),
    "mt-err-unauth-retry1": failure(1n, 1n, "unauthorized"),
    "mt-err-dne": failure(0x10n, 0n, "does not exist"),
    "mt-err-going-away": failure(6n, 0n, "going away"),
    "mt-err-excessive-load": failure(9n, 0n, "excessive load"),
    "mt-err-uninterested": failure(0x20n, 0n, "uninterested"),
    "mt-err-prefix-overlap": failure(0x30n, 0n, "prefix overlap"),
    "mt-redirect-full": redirect(
      "moqt://relay.example.com/path",
      ["live"],
      "new-video",
      5000n,
      "go elsewhere",
    ),
    "mt-redirect-no-uri": redirect("", ["live"], "replacement"),
    "mt-subscribe": request("SUBSCRIBE", 1n, ["live"], "video"),
    "mt-subscribe-2f": request("SUBSCRIBE", 3n, ["conference", "room42"], "audio"),
    "mt-subscribe-auth-register": request(
      "SUBSCRIBE",
      1n,
      ["live"],
      "video",
      registerToken(1n, "secret-token"),
    ),
    "mt-subscribe-auth-value": request(
      "SUBSCRIBE",
      1n,
      ["live"],
      "video",
      useToken("my-bearer-token"),
    ),
    "mt-pubns": publishNamespace(1n, "conference"),
    "mt-pubns-2f": publishNamespace(3n, "live", "sports"),
    "mt-subns-empty": prefix("SUBSCRIBE_NAMESPACE", 2n),
    "mt-subtracks": prefix("SUBSCRIBE_TRACKS", 1n, "conference"),
    "mt-subtracks-empty": prefix("SUBSCRIBE_TRACKS", 7n),
    "mt-publish": publish(1n, "video", 0n),
    "mt-publish-token": publish(1n, "video", 0n, useToken("pub-token")),
    "mt-fetch-d20": since(20, request("FETCH", 2n, ["live"], "video")),
    "mt-fetch-fill-param-INVALID-d20": "PROTOCOL_VIOLATION",
  },
  "bytes captured from @moq/net": {
    // The same bytes name the next group in drafts 18 and 19, the current one in later drafts.
    "cap-moqnet-subscribe-d20": (draft) => capturedSubscribe(draft >= 20 ? 1n : 0n),
    "cap-moqnet-subns-empty": prefix("SUBSCRIBE_NAMESPACE", 2n),
  },
};

const meaningOf: ReadonlyMap<string, Meaning> = new Map(
  Object.values(meanings).flatMap((group) => Object.entries(group)),
);

function expected(id: string, draft: Draft): Expected {
  const meaning = meaningOf.get(id);
  if (meaning === undefined) throw new Error(`no meaning of ${id}`);
  return typeof meaning === "function" ? meaning(draft) : meaning;
}

describe("the vectors of", () => {
  for (const [group, ids] of Object.entries(meanings)) {
    test(`${group} mean what they have to, and are written back byte for byte`, () => {
      for (const id of Object.keys(ids)) {
        for (const draft of allDrafts) {
          const bytes = hex(vector(id));
          const meaning = expected(id, draft);
          if (meaning === "PROTOCOL_VIOLATION") {
            assertCloses("PROTOCOL_VIOLATION", () => decodeControlMessage(bytes, draft));
          } else {
            const message = decodeControlMessage(bytes, draft);
            assert.deepEqual(message, meaning, `${id}, draft ${draft}`);
            assert.equal(toHex(encodeControlMessage(message, draft)), vector(id), id);
          }
        }
      }
    });
  }

  test("all groups together are all vectors", () => {
    assert.deepEqual([...meaningOf.keys()].toSorted(), vectorIds.toSorted());
  });

  test("all groups are found one after another in a stream", () => {
    const readable = vectorIds.filter((id) => expected(id, 22) !== "PROTOCOL_VIOLATION");
    const stream = concatBytes(...readable.map((id) => hex(vector(id))));
    let offset = 0;
    for (const id of readable) {
      const read = readControlMessage(stream, 22, offset);
      assert.deepEqual(read?.message, expected(id, 22), id);
      offset += read?.length ?? 0;
    }
    assert.equal(offset, stream.length);
    assert.equal(readControlMessage(stream, 22, offset), undefined);
  });
});
