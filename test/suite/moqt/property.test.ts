import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import {
  type ControlMessage,
  type Draft,
  decodeControlMessage,
  encodeControlMessage,
  MoqtError,
  messageToJson,
  readControlMessage,
} from "../../../src/moqt/mod.ts";
import { anyDraftAndMessage } from "./arbitrary.ts";
import { allDrafts } from "./support.ts";

/** Decodes `bytes`, and holds the outcome to what every outcome has to be. */
function decodeAnything(bytes: Uint8Array, draft: Draft): ControlMessage | undefined {
  try {
    const message = decodeControlMessage(bytes, draft);
    assert.doesNotThrow(() => JSON.stringify(messageToJson(message)));
    return message;
  } catch (error) {
    assert.ok(error instanceof MoqtError, `not a MoqtError: ${error}`);
    assert.ok(["PROTOCOL_VIOLATION", "KEY_VALUE_FORMATTING_ERROR"].includes(error.code));
    return undefined;
  }
}

describe("any message of any draft", () => {
  test("comes back from its bytes as it was", () => {
    fc.assert(
      fc.property(anyDraftAndMessage(), ([draft, message]) => {
        const bytes = encodeControlMessage(message, draft);
        assert.deepEqual(decodeControlMessage(bytes, draft), message);
      }),
      { numRuns: 600 },
    );
  });

  test("needs all of its bytes, and says so without throwing while they come", () => {
    fc.assert(
      fc.property(anyDraftAndMessage(), fc.nat(), ([draft, message], cut) => {
        const bytes = encodeControlMessage(message, draft);
        const part = bytes.subarray(0, cut % bytes.length);
        assert.equal(readControlMessage(part, draft), undefined);
        assert.equal(decodeAnything(part, draft), undefined);
      }),
      { numRuns: 200 },
    );
  });

  test("with a shortened body is another message or a MoqtError", () => {
    fc.assert(
      fc.property(anyDraftAndMessage(), fc.nat(), ([draft, message], cut) => {
        const bytes = encodeControlMessage(message, draft).slice();
        const header = bytes[0] === 0xaf ? 2 : 1;
        const length = bytes.length - header - 2;
        const shorter = length === 0 ? 0 : cut % length;
        bytes[header] = shorter >> 8;
        bytes[header + 1] = shorter & 0xff;
        decodeAnything(bytes.subarray(0, header + 2 + shorter), draft);
      }),
      { numRuns: 300 },
    );
  });

  test("with any one bit flipped is another message or a MoqtError", () => {
    fc.assert(
      fc.property(anyDraftAndMessage(), fc.nat(), ([draft, message], place) => {
        const bytes = encodeControlMessage(message, draft);
        const bit = place % (8 * bytes.length);
        const index = bit >> 3;
        bytes[index] = (bytes[index] as number) ^ (1 << (bit & 7));
        decodeAnything(bytes, draft);
      }),
      { numRuns: 500 },
    );
  });

  test("shares no byte with the input it was decoded from", () => {
    fc.assert(
      fc.property(anyDraftAndMessage(), ([draft, message]) => {
        const bytes = encodeControlMessage(message, draft);
        const decoded = decodeControlMessage(bytes, draft);
        bytes.fill(0xff);
        assert.deepEqual(decoded, message);
      }),
      { numRuns: 100 },
    );
  });
});

describe("any bytes at all", () => {
  const types = [0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8, 0xb, 0xd, 0xe, 0xf, 0x10, 0x16, 0x18, 0x1d];
  const anyBody = fc.uint8Array({ maxLength: 120 });
  const anyDraft = fc.constantFrom(...allDrafts);

  test("are a message or a MoqtError", () => {
    fc.assert(
      fc.property(anyBody, anyDraft, (bytes, draft) => {
        decodeAnything(bytes, draft);
      }),
      { numRuns: 1000 },
    );
  });

  test("in a frame of any message type are a message or a MoqtError", () => {
    const anyType = fc.constantFrom(...types, 0x22, 0x50, 0x51);
    fc.assert(
      fc.property(anyType, anyBody, anyDraft, (type, body, draft) => {
        const bytes = Uint8Array.of(type, 0, body.length, ...body);
        const message = decodeAnything(bytes, draft);
        if (message !== undefined) {
          assert.deepEqual(readControlMessage(bytes, draft), { message, length: bytes.length });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
