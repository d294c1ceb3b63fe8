import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type Draft,
  decodeControlMessage,
  draftFacts,
  draftFactsOf,
  draftName,
  drafts,
  encodeControlMessage,
  isGrease,
  MoqtError,
  parseDraftName,
  publishDoneCodes,
  publishDoneName,
  type RequestType,
  readControlMessage,
  requestErrorCodes,
  requestErrorName,
  requestMessage,
  requestTypes,
  sessionErrorCodes,
  sessionErrorName,
  streamResetCodes,
  streamResetName,
  UnknownDraftError,
} from "../../../src/moqt/mod.ts";
import { allDrafts, hex } from "./support.ts";

/** `0x1 NAME, …` as the registries are listed. */
function registry(list: string): Record<string, bigint> {
  const entries = list.split(", ").map((entry) => entry.split(" "));
  return Object.fromEntries(entries.map(([code, name]) => [name, BigInt(code as string)]));
}

describe("the registries of codes", () => {
  test("have the names and numbers of the standard", () => {
    assert.deepEqual(
      { ...sessionErrorCodes },
      registry(
        "0x0 NO_ERROR, 0x1 INTERNAL_ERROR, 0x2 UNAUTHORIZED, 0x3 PROTOCOL_VIOLATION, " +
          "0x4 INVALID_REQUEST_ID, 0x5 DUPLICATE_TRACK_ALIAS, 0x6 KEY_VALUE_FORMATTING_ERROR, " +
          "0x8 INVALID_PATH, 0x9 MALFORMED_PATH, 0x10 GOAWAY_TIMEOUT, 0x11 CONTROL_MESSAGE_TIMEOUT, " +
          "0x12 DATA_STREAM_TIMEOUT, 0x13 AUTH_TOKEN_CACHE_OVERFLOW, 0x14 DUPLICATE_AUTH_TOKEN_ALIAS, " +
          "0x15 VERSION_NEGOTIATION_FAILED, 0x16 MALFORMED_AUTH_TOKEN, 0x17 UNKNOWN_AUTH_TOKEN_ALIAS, " +
          "0x18 EXPIRED_AUTH_TOKEN, 0x19 INVALID_AUTHORITY, 0x1a MALFORMED_AUTHORITY, " +
          "0x1b TOO_MANY_REQUEST_UPDATES",
      ),
    );
    assert.deepEqual(
      { ...requestErrorCodes },
      registry(
        "0x0 INTERNAL_ERROR, 0x1 UNAUTHORIZED, 0x2 TIMEOUT, 0x3 NOT_SUPPORTED, " +
          "0x4 MALFORMED_AUTH_TOKEN, 0x5 EXPIRED_AUTH_TOKEN, 0x6 GOING_AWAY, 0x9 EXCESSIVE_LOAD, " +
          "0x10 DOES_NOT_EXIST, 0x11 INVALID_RANGE, 0x12 MALFORMED_TRACK, 0x19 DUPLICATE_SUBSCRIPTION, " +
          "0x20 UNINTERESTED, 0x30 PREFIX_OVERLAP, 0x31 NAMESPACE_TOO_LARGE, " +
          "0x32 INVALID_JOINING_REQUEST_ID, 0x33 UNSUPPORTED_EXTENSION, 0x34 REDIRECT, " +
          "0x35 CONFLICTING_FILTERS, 0x36 INVALID_FILTER",
      ),
    );
    assert.deepEqual(
      { ...publishDoneCodes },
      registry(
        "0x0 INTERNAL_ERROR, 0x1 UNAUTHORIZED, 0x2 TRACK_ENDED, 0x3 SUBSCRIPTION_ENDED, " +
          "0x4 GOING_AWAY, 0x5 TOO_FAR_BEHIND, 0x6 EXPIRED, 0x8 UPDATE_FAILED, 0x9 EXCESSIVE_LOAD, " +
          "0x12 MALFORMED_TRACK",
      ),
    );
    assert.deepEqual(
      { ...streamResetCodes },
      registry(
        "0x0 INTERNAL_ERROR, 0x1 CANCELLED, 0x2 DELIVERY_TIMEOUT, 0x3 SESSION_CLOSED, " +
          "0x4 GOING_AWAY, 0x5 TOO_FAR_BEHIND, 0x6 UNKNOWN_OBJECT_STATUS, 0x7 EXPIRED_AUTH_TOKEN, " +
          "0x9 EXCESSIVE_LOAD, 0x12 MALFORMED_TRACK",
      ),
    );
  });

  test("name each code in the drafts that have it", () => {
    const having = (nameIn: (draft: 18 | 19 | 20 | 21 | 22) => string | undefined) =>
      allDrafts.filter((draft) => nameIn(draft) !== undefined);
    assert.deepEqual(
      having((draft) => sessionErrorName(0x15n, draft)),
      [18, 19],
    );
    assert.deepEqual(
      having((draft) => sessionErrorName(0x1bn, draft)),
      [19, 20, 21, 22],
    );
    assert.deepEqual(
      having((draft) => requestErrorName(0x19n, draft)),
      [18],
    );
    assert.deepEqual(
      having((draft) => requestErrorName(0x32n, draft)),
      [18, 19],
    );
    assert.deepEqual(
      having((draft) => requestErrorName(0x35n, draft)),
      [19, 20, 21, 22],
    );
    assert.deepEqual(
      having((draft) => requestErrorName(0x36n, draft)),
      [19, 20, 21, 22],
    );
    assert.deepEqual(
      having((draft) => publishDoneName(0x3n, draft)),
      [18, 19],
    );
    assert.deepEqual(
      having((draft) => requestErrorName(0x34n, draft)),
      [...allDrafts],
    );
  });

  test("name a code without asking for the draft, and no unknown one [RQ-12]", () => {
    assert.equal(sessionErrorName(3n), "PROTOCOL_VIOLATION");
    assert.equal(requestErrorName(0x19n), "DUPLICATE_SUBSCRIPTION");
    assert.equal(publishDoneName(8n), "UPDATE_FAILED");
    assert.equal(streamResetName(1n), "CANCELLED");
    for (const nameOf of [sessionErrorName, requestErrorName, publishDoneName, streamResetName]) {
      assert.equal(nameOf(0x9dn), undefined);
      assert.equal(nameOf(2n ** 64n - 1n), undefined);
    }
  });
});

describe("grease", () => {
  test("is 0x7f * N + 0x9D", () => {
    for (const value of [0x9dn, 0x11cn, 0x19bn, 0x3fff_ffff_ffff_ffden]) {
      assert.equal(isGrease(value), true, value.toString(16));
    }
    for (const value of [
      0x1en,
      0x9cn,
      0x9en,
      0x11dn,
      0x3fff_ffff_ffff_ffden + 0x7fn,
      2n ** 64n - 1n,
    ]) {
      assert.equal(isGrease(value), false, value.toString(16));
    }
  });
});

describe("the drafts", () => {
  test("are preferred newest first, and go by their ALPN", () => {
    assert.deepEqual(drafts, [22, 21, 20, 19, 18]);
    assert.deepEqual(drafts.map(draftName), [
      "moqt-22",
      "moqt-21",
      "moqt-20",
      "moqt-19",
      "moqt-18",
    ]);
    for (const draft of drafts) assert.equal(parseDraftName(draftName(draft)), draft);
    for (const name of [
      "moqt-17",
      "moqt-23",
      "moqt-022",
      "MOQT-22",
      "moqt-22 ",
      "moqt",
      "h3",
      "",
    ]) {
      assert.equal(parseDraftName(name), undefined);
    }
  });

  test("are these alone: whatever takes a draft names one that is not spoken", () => {
    const subscribe = hex("03000a0001046c697665017600");
    const message = decodeControlMessage(subscribe, 22);
    for (const draft of [17, 23, "22", undefined, null, "toString"] as unknown as Draft[]) {
      const uses: (() => unknown)[] = [
        () => decodeControlMessage(subscribe, draft),
        () => readControlMessage(subscribe, draft),
        () => readControlMessage(new Uint8Array(), draft),
        () => encodeControlMessage(message, draft),
        () => draftFactsOf(draft),
      ];
      if (draft !== undefined) {
        // Where the draft may be left out, `undefined` is no draft.
        uses.push(
          () => sessionErrorName(0x3n, draft),
          () => requestErrorName(0x34n, draft),
          () => publishDoneName(0x2n, draft),
          () => requestMessage("FETCH", { requestId: 0n, name: "a--b", draft }),
        );
      }
      for (const use of uses) {
        assert.throws(use, (error) => {
          assert.ok(error instanceof UnknownDraftError, `${use}: ${error}`);
          assert.equal(error.code, "UNKNOWN_DRAFT");
          assert.equal(error.message, "the draft has to be one of 22, 21, 20, 19, 18");
          return true;
        });
      }
    }
  });

  test("differ in these facts", () => {
    const later: RequestType[] = ["PUBLISH", "SUBSCRIBE_TRACKS"];
    for (const draft of allDrafts) {
      const facts = draftFacts[draft];
      assert.equal(facts.draft, draft);
      assert.equal(facts.exclusiveEnd, draft <= 19);
      assert.equal(facts.emptyRedirectKeepsName, draft <= 19);
      assert.equal(facts.unknownStreamCount, draft <= 19 ? 2n ** 62n - 1n : 2n ** 64n - 1n);
      const redirectable = requestTypes.filter((type) => draft > 18 || !later.includes(type));
      assert.deepEqual([...facts.redirectable].toSorted(), redirectable.toSorted());
    }
  });
});

describe("MoqtError", () => {
  test("has the name and the number of the session error, and where it was found", () => {
    const error = new MoqtError("INVALID_REQUEST_ID", "wrong parity", { offset: 3 });
    assert.equal(error.code, "INVALID_REQUEST_ID");
    assert.equal(error.numericCode, 4n);
    assert.equal(error.offset, 3);
    assert.equal(error.message, "wrong parity (at byte 3)");
    assert.equal(error.name, "MoqtError");
    assert.equal("offset" in new MoqtError("NO_ERROR", "done"), false);
  });
});
