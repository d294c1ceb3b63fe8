import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type ControlMessage,
  type Draft,
  decodeControlMessage,
  encodeControlMessage,
  MoqtError,
  type RequestContext,
} from "../../../src/moqt/mod.ts";
import {
  allDrafts,
  assertBytesClose,
  assertNotEncodable,
  decodeHex,
  framed,
  hex,
} from "./support.ts";

/** Where a parameter can be looked for: a message, and the request that it belongs to. */
const places: Readonly<
  Record<string, { type: string; before: string; context?: RequestContext; drafts?: Draft[] }>
> = {
  SUBSCRIBE: { type: "03", before: "00 01 0161 0174" },
  SUBSCRIBE_OK: { type: "04", before: "07" },
  PUBLISH: { type: "1d", before: "00 01 0161 0174 07" },
  NOTIFY: { type: "22", before: "", drafts: [20, 21, 22] },
  FETCH: { type: "16", before: "00 01 0161 0174", drafts: [20, 21, 22] },
  FETCH_18: { type: "16", before: "00 01 01 0161 0174 0000 0100", drafts: [18, 19] },
  FETCH_OK: { type: "18", before: "00 00 00" },
  TRACK_STATUS: { type: "0d", before: "00 01 0161 0174" },
  PUBLISH_NAMESPACE: { type: "06", before: "00 01 0161" },
  SUBSCRIBE_NAMESPACE: { type: "50", before: "00 01 0161" },
  SUBSCRIBE_TRACKS: { type: "51", before: "00 01 0161" },
  "U(SUBSCRIBE)": { type: "02", before: "00", context: { updates: "SUBSCRIBE" } },
  "U(PUBLISH)": { type: "02", before: "00", context: { updates: "PUBLISH" } },
  "U(FETCH)": { type: "02", before: "00", context: { updates: "FETCH" } },
  "U(PUBLISH_NAMESPACE)": { type: "02", before: "00", context: { updates: "PUBLISH_NAMESPACE" } },
  "U(SUBSCRIBE_NAMESPACE)": {
    type: "02",
    before: "00",
    context: { updates: "SUBSCRIBE_NAMESPACE" },
  },
  "U(SUBSCRIBE_TRACKS)": { type: "02", before: "00", context: { updates: "SUBSCRIBE_TRACKS" } },
  "OK(PUBLISH)": { type: "07", before: "", context: { answers: "PUBLISH" } },
  "OK(U)": { type: "07", before: "", context: { answers: "REQUEST_UPDATE" } },
  "OK(TRACK_STATUS)": { type: "07", before: "", context: { answers: "TRACK_STATUS" } },
  "OK(PUBLISH_NAMESPACE)": { type: "07", before: "", context: { answers: "PUBLISH_NAMESPACE" } },
  "OK(SUBSCRIBE_NAMESPACE)": {
    type: "07",
    before: "",
    context: { answers: "SUBSCRIBE_NAMESPACE" },
  },
  "OK(SUBSCRIBE_TRACKS)": { type: "07", before: "", context: { answers: "SUBSCRIBE_TRACKS" } },
};

const S = "SUBSCRIBE U(SUBSCRIBE) U(PUBLISH)";
const updates =
  "U(SUBSCRIBE) U(PUBLISH) U(FETCH) U(PUBLISH_NAMESPACE) U(SUBSCRIBE_NAMESPACE) U(SUBSCRIBE_TRACKS)";
const requests =
  "SUBSCRIBE PUBLISH FETCH FETCH_18 TRACK_STATUS PUBLISH_NAMESPACE SUBSCRIBE_NAMESPACE SUBSCRIBE_TRACKS";
const namespaceOks = "OK(PUBLISH_NAMESPACE) OK(SUBSCRIBE_NAMESPACE) OK(SUBSCRIBE_TRACKS)";
const objectFilter = {
  19: `${S} FETCH_18 SUBSCRIBE_TRACKS OK(PUBLISH)`,
  20: `${S} FETCH SUBSCRIBE_TRACKS`,
};
const timeout = {
  18: `${S} OK(PUBLISH)`,
  19: `${S} OK(PUBLISH) SUBSCRIBE_TRACKS`,
  20: `${S} PUBLISH SUBSCRIBE_TRACKS`,
};

/**
 * Each parameter: its type and some value as bytes, and where it is allowed from a draft on, up to
 * the next draft that is named. Written down from the definitions of the parameters, as the
 * standard has them; SUBSCRIBE_TRACKS since draft 19 with what only its prose allows.
 */
const parameters: readonly {
  readonly name: string;
  readonly bytes: string;
  readonly allowed: Readonly<Partial<Record<Draft, string>>>;
}[] = [
  { name: "OBJECT_DELIVERY_TIMEOUT", bytes: "02 05", allowed: timeout },
  {
    name: "AUTHORIZATION_TOKEN",
    bytes: "03 03 03 00 73",
    allowed: { 18: `${requests} ${updates}` },
  },
  {
    name: "RENDEZVOUS_TIMEOUT",
    bytes: "04 05",
    allowed: { 18: "SUBSCRIBE", 19: "SUBSCRIBE SUBSCRIBE_TRACKS" },
  },
  { name: "SUBGROUP_DELIVERY_TIMEOUT", bytes: "06 05", allowed: timeout },
  {
    name: "EXPIRES",
    bytes: "08 05",
    allowed: {
      18: "SUBSCRIBE_OK PUBLISH OK(PUBLISH) OK(U) OK(TRACK_STATUS)",
      19: `SUBSCRIBE_OK PUBLISH OK(PUBLISH) OK(U) OK(TRACK_STATUS) ${namespaceOks}`,
    },
  },
  {
    name: "LARGEST_OBJECT",
    bytes: "09 03 04",
    allowed: {
      18: "SUBSCRIBE_OK PUBLISH OK(U) OK(TRACK_STATUS)",
      20: "SUBSCRIBE_OK PUBLISH OK(U) OK(TRACK_STATUS) NOTIFY",
    },
  },
  { name: "FILL_TIMEOUT", bytes: "0a 05", allowed: { 18: "FETCH_18", 20: "FETCH" } },
  {
    name: "FORWARD",
    bytes: "10 01",
    allowed: {
      18: `${S} PUBLISH SUBSCRIBE_TRACKS OK(PUBLISH)`,
      20: `${S} PUBLISH SUBSCRIBE_TRACKS U(SUBSCRIBE_TRACKS) NOTIFY`,
    },
  },
  {
    name: "SUBSCRIBER_PRIORITY",
    bytes: "20 ff",
    allowed: {
      18: `${S} FETCH_18 U(FETCH) OK(PUBLISH)`,
      19: `${S} FETCH_18 U(FETCH) OK(PUBLISH) SUBSCRIBE_TRACKS`,
      20: `${S} FETCH U(FETCH) PUBLISH SUBSCRIBE_TRACKS`,
    },
  },
  // One byte that is a filter in every draft: next group, or StartGroup 1.
  {
    name: "LOCATION_FILTER",
    bytes: "21 01 01",
    allowed: {
      18: `${S} OK(PUBLISH)`,
      19: `${S} OK(PUBLISH) SUBSCRIBE_TRACKS`,
      20: `${S} PUBLISH FETCH NOTIFY SUBSCRIBE_TRACKS`,
    },
  },
  {
    name: "GROUP_ORDER",
    bytes: "22 02",
    allowed: {
      18: "SUBSCRIBE FETCH_18 OK(PUBLISH)",
      19: "SUBSCRIBE FETCH_18 SUBSCRIBE_TRACKS PUBLISH",
      20: "SUBSCRIBE FETCH SUBSCRIBE_TRACKS PUBLISH",
    },
  },
  {
    name: "FILL_PARAMETERS",
    bytes: "23 01 00",
    allowed: { 20: `${S} SUBSCRIBE_TRACKS` },
  },
  { name: "SUBGROUP_FILTER", bytes: "25 03 01 03 02", allowed: objectFilter },
  { name: "OBJECTID_FILTER", bytes: "26 03 01 03 02", allowed: objectFilter },
  { name: "PRIORITY_FILTER", bytes: "27 03 01 03 02", allowed: objectFilter },
  { name: "OBJECT_PROPERTY_FILTER", bytes: "28 04 01 02 03 02", allowed: objectFilter },
  {
    name: "TRACK_PROPERTY_FILTER",
    bytes: "29 04 01 02 03 02",
    allowed: { 19: "SUBSCRIBE_TRACKS U(SUBSCRIBE_TRACKS)" },
  },
  {
    name: "NEW_GROUP_REQUEST",
    bytes: "32 05",
    allowed: {
      18: `${S} OK(PUBLISH)`,
      19: `${S} OK(PUBLISH) SUBSCRIBE_TRACKS`,
      20: `${S} SUBSCRIBE_TRACKS`,
    },
  },
  {
    name: "TRACK_NAMESPACE_PREFIX",
    bytes: "34 01 0161",
    allowed: { 18: "U(SUBSCRIBE_NAMESPACE) U(SUBSCRIBE_TRACKS)" },
  },
  {
    name: "INCLUDE_PROPERTIES",
    bytes: "35 00",
    allowed: { 20: "SUBSCRIBE TRACK_STATUS FETCH SUBSCRIBE_TRACKS" },
  },
];

function allowedIn(allowed: Readonly<Partial<Record<Draft, string>>>, draft: Draft): string[] {
  const since = allDrafts.filter((first) => first <= draft && allowed[first] !== undefined).at(-1);
  return since === undefined ? [] : (allowed[since] as string).split(" ");
}

/** Decodes one parameter in one place; `undefined` where that closes the session. */
function carried(
  place: (typeof places)[string],
  bytes: string,
  draft: Draft,
  context: RequestContext = {},
): ControlMessage | undefined {
  try {
    const digits = framed(place.type, `${place.before} 01 ${bytes}`);
    return decodeControlMessage(hex(digits), draft, context);
  } catch (error) {
    assert.ok(error instanceof MoqtError && error.code === "PROTOCOL_VIOLATION", String(error));
    return undefined;
  }
}

describe("every Message Parameter", () => {
  test("is allowed where its draft says so, and a protocol violation elsewhere [RQ-05]", () => {
    for (const { name, bytes, allowed } of parameters) {
      for (const draft of allDrafts) {
        const expected = allowedIn(allowed, draft);
        for (const [placeName, place] of Object.entries(places)) {
          if (place.drafts?.includes(draft) === false) continue;
          const message = carried(place, bytes, draft, place.context);
          const where = `${name} in ${placeName}, draft ${draft}`;
          assert.equal(message !== undefined, expected.includes(placeName), where);
          if (message === undefined) continue;
          assert.ok("parameters" in message);
          assert.deepEqual(
            message.parameters.map(({ type }) => type),
            [name],
            where,
          );
          const encoded = encodeControlMessage(message, draft, place.context);
          assert.deepEqual(decodeControlMessage(encoded, draft, place.context), message, where);
        }
      }
    }
  });

  test("is allowed in REQUEST_OK and REQUEST_UPDATE of an unknown request where it is in any", () => {
    for (const { name, bytes, allowed } of parameters) {
      for (const draft of allDrafts) {
        const expected = allowedIn(allowed, draft);
        for (const [kind, type, before] of [
          ["U(", "02", "00"],
          ["OK(", "07", ""],
        ] as const) {
          assert.equal(
            carried({ type, before }, bytes, draft) !== undefined,
            expected.some((place) => place.startsWith(kind)),
            `${name} in ${kind}), draft ${draft}`,
          );
        }
      }
    }
  });

  test("is refused when it is to be sent where its draft does not allow it", () => {
    const publishNamespace = {
      type: "PUBLISH_NAMESPACE",
      requestId: 0n,
      trackNamespace: [hex("61")],
    } as const;
    assertNotEncodable({ ...publishNamespace, parameters: [{ type: "FORWARD", value: 1 }] });
    assertNotEncodable(
      {
        type: "TRACK_STATUS",
        requestId: 0n,
        trackNamespace: [],
        trackName: hex("74"),
        parameters: [{ type: "INCLUDE_PROPERTIES", value: 0 }],
      },
      [18, 19],
    );
  });
});

describe("a message out of place", () => {
  test("REQUEST_OK answers neither SUBSCRIBE nor FETCH", () => {
    for (const answers of ["SUBSCRIBE", "FETCH"] as const) {
      assertBytesClose("PROTOCOL_VIOLATION", "07000100", allDrafts, { answers });
      const ok = { type: "REQUEST_OK", parameters: [], trackProperties: hex("") } as const;
      assert.throws(() => encodeControlMessage(ok, 22, { answers }), { code: "NOT_ENCODABLE" });
    }
  });

  test("TRACK_STATUS cannot be updated", () => {
    const updates = "TRACK_STATUS";
    assertBytesClose("PROTOCOL_VIOLATION", "0200020200", allDrafts, { updates });
  });

  test("Track Properties come with the answer to TRACK_STATUS alone", () => {
    const digits = framed("07", "00 0e64");
    for (const answers of [
      "PUBLISH",
      "REQUEST_UPDATE",
      "PUBLISH_NAMESPACE",
      "SUBSCRIBE_NAMESPACE",
    ] as const) {
      assertBytesClose("PROTOCOL_VIOLATION", digits, allDrafts, { answers });
    }
    const expected = { type: "REQUEST_OK", parameters: [], trackProperties: hex("0e64") };
    assert.deepEqual(decodeHex(digits, 22, { answers: "TRACK_STATUS" }), expected);
    assert.deepEqual(decodeHex(digits, 22), expected);
  });
});
