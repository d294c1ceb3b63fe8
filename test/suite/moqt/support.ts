/** Shorthand for the tests of this room. */

import assert from "node:assert/strict";
import { fromHex, toHex } from "../../../src/bytes.ts";
import {
  type ControlMessage,
  type Draft,
  decodeControlMessage,
  encodeControlMessage,
  type JoiningFetch,
  MoqtEncodingError,
  MoqtError,
  type RequestContext,
  type SessionErrorName,
  sessionErrorCodes,
} from "../../../src/moqt/mod.ts";
import { fields } from "../../support/names.ts";

export { fields };

export const allDrafts: readonly Draft[] = [18, 19, 20, 21, 22];

/** Bytes of hexadecimal digits; white space is for the reader. */
export function hex(digits: string): Uint8Array {
  const bytes = fromHex(digits.replace(/\s+/g, ""));
  assert.ok(bytes, `not hexadecimal: ${digits}`);
  return bytes;
}

/** A FETCH of drafts 18 and 19 that joins the subscription of request 0. */
export function joiningFetch(
  fetchType: JoiningFetch["fetchType"] = "RELATIVE_JOINING",
): JoiningFetch {
  const joined = { joiningRequestId: 0n, joiningStart: 1n };
  return { type: "FETCH", fetchType, requestId: 2n, ...joined, parameters: [] };
}

/** Hexadecimal digits of a control message around a body; white space is for the reader. */
export function framed(type: string, body: string): string {
  const digits = body.replace(/\s+/g, "");
  return type + (digits.length / 2).toString(16).padStart(4, "0") + digits;
}

export function decodeHex(digits: string, draft: Draft = 22, context?: RequestContext) {
  return decodeControlMessage(hex(digits), draft, context);
}

/** Asserts that the bytes mean `message` in each draft, and `message` those bytes. */
export function assertRoundTrip(
  digits: string,
  message: ControlMessage,
  drafts: readonly Draft[] = allDrafts,
): void {
  for (const draft of drafts) {
    assert.deepEqual(decodeControlMessage(hex(digits), draft), message, `decode, draft ${draft}`);
    assert.equal(
      toHex(encodeControlMessage(message, draft)),
      digits.replace(/\s+/g, ""),
      `encode, draft ${draft}`,
    );
  }
}

/** Asserts that `body` throws the session error `code`. */
export function assertCloses(code: SessionErrorName, body: () => unknown): void {
  assert.throws(body, (error) => {
    assert.ok(error instanceof MoqtError, `not a MoqtError: ${error}`);
    assert.equal(error.code, code);
    assert.equal(error.numericCode, sessionErrorCodes[code]);
    return true;
  });
}

/** Asserts that decoding the bytes throws the session error `code` in each draft. */
export function assertBytesClose(
  code: SessionErrorName,
  digits: string,
  drafts: readonly Draft[] = allDrafts,
  context?: RequestContext,
): void {
  for (const draft of drafts) {
    assertCloses(code, () => decodeControlMessage(hex(digits), draft, context));
  }
}

/** Asserts that `message` cannot be encoded in each draft. */
export function assertNotEncodable(
  message: ControlMessage,
  drafts: readonly Draft[] = allDrafts,
): void {
  for (const draft of drafts) {
    assert.throws(
      () => encodeControlMessage(message, draft),
      (error) => error instanceof MoqtEncodingError && error.code === "NOT_ENCODABLE",
    );
  }
}
