/** Header blocks that are held against RFC 9113 §8, and what node:http2 gets of them. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import { frameFlags, frameTypes } from "../../../src/http2/frame.ts";
import type { MessageCheck } from "../../../src/http2/message-check.ts";
import { RequestCheck } from "../../../src/http2/request-check.ts";
import { ResponseCheck } from "../../../src/http2/response-check.ts";
import { type FieldToSend, HpackDecoder, HpackEncoder } from "../../support/http2/hpack.ts";

const { END_STREAM, END_HEADERS, PADDED } = frameFlags;
const { HEADERS: type } = frameTypes;
const get: readonly FieldToSend[] = [
  [":method", "GET", "indexed"],
  [":scheme", "https", "indexed"],
  [":path", "/", "indexed"],
];

function bed(check: MessageCheck = new RequestCheck(1_000)) {
  const encoder = new HpackEncoder();
  let streamId = -1;
  return {
    check,
    /** What becomes of a whole header section on a stream of its own. */
    take(fields: readonly FieldToSend[]) {
      streamId += 2;
      const payload = encoder.encode(fields);
      const flags = END_STREAM | END_HEADERS;
      return check.fields({ type, flags, streamId, length: payload.length }, payload);
    },
  };
}

/** The fields in a frame that goes on, for a decoder that has seen nothing else. */
function read(frame: unknown): (readonly [string, string])[] {
  assert.ok(frame instanceof Uint8Array);
  assert.equal(frame[3], type);
  return new HpackDecoder().decode(frame.subarray(9)).map(({ name, value }) => [name, value]);
}

describe("header blocks on their way to node:http2", () => {
  test("go on as they came while none is kept from it", () => {
    const { take } = bed();
    const first = [...get, [":authority", "a.example", "incremental"]] as const;
    const again = [...get, [":authority", "a.example", "indexed"]] as const;
    assert.equal(take(first), true);
    assert.equal(take(again), true);
    assert.equal(take(again), true);
  });

  test("need no table once one was, with whatever that has put into the peer's", () => {
    const { take } = bed();
    assert.equal(take([...get, [":authority", "a.example", "incremental"]]), true);
    const faulty = [...get, [":authority", "b.example", "incremental"], ["Bad", "x"]] as const;
    assert.equal(take(faulty), "malformed");
    for (const host of ["a.example", "b.example"]) {
      const fields = [...get, [":authority", host, "indexed"], ["x-key", "s", "never-indexed"]];
      const frame = take(fields as FieldToSend[]);
      const expected = fields.map(([name, value]) => [name, value]);
      assert.deepEqual(read(frame), expected);
      const last = new HpackDecoder().decode((frame as Uint8Array).subarray(9)).at(-1);
      assert.equal(last?.as, "never-indexed");
    }
  });

  test("that is kept from it by somebody else counts as well", () => {
    const { check, take } = bed();
    assert.equal(take([...get, [":authority", "a.example", "incremental"]]), true);
    check.withheld();
    assert.deepEqual(read(take([...get, [":authority", "a.example", "indexed"]])).at(-1), [
      ":authority",
      "a.example",
    ]);
  });

  test("mean what the table says, were the same octets seen before or not", () => {
    const { take } = bed();
    assert.equal(take([...get, ["host", "a.example", "incremental"]]), true);
    const same: FieldToSend[] = [...get, ["host", "a.example", "indexed"]];
    assert.equal(take(same), true);
    assert.equal(take(same), true);
    // The newest entry is another now: the same octets name no host.
    assert.equal(take([...get, [":authority", "a"], ["x-a", "1", "incremental"]]), true);
    assert.equal(take([...get, ["x-a", "1", "indexed"]]), "malformed");
  });

  test("that say the same again are held against the content of their own stream", () => {
    const { check, take } = bed();
    const request: FieldToSend[] = [...get, [":authority", "a"], ["content-length", "0"]];
    assert.equal(take(request), true);
    assert.equal(take(request), true);
    assert.equal(check.data(3, 0, true), "closed");
    const long: FieldToSend[] = [...get, [":authority", "a"], ["content-length", "3"]];
    assert.equal(take(long), "malformed");
    assert.equal(take(long), "malformed");
  });

  test("lose their padding, and are whole where they came in pieces", () => {
    const { check } = bed();
    const block = new HpackEncoder().encode([...get, [":authority", "a"]]);
    const padded = concatBytes(Uint8Array.of(2), block, Uint8Array.of(0, 0));
    const flags = END_STREAM | END_HEADERS | PADDED;
    const found = check.fields({ type, flags, streamId: 1, length: padded.length }, padded);
    assert.deepEqual((found as Uint8Array).subarray(9), block);
    const begin = { type, flags: END_STREAM, streamId: 3, length: 2 };
    assert.equal(check.fields(begin, block.subarray(0, 2)), undefined);
    const rest = block.subarray(2);
    const end = { type: frameTypes.CONTINUATION, flags: END_HEADERS, streamId: 3 };
    const whole = check.fields({ ...end, length: rest.length }, rest);
    assert.deepEqual((whole as Uint8Array).subarray(9), block);
  });

  test("go on without a length that says nothing", () => {
    const { take } = bed(new ResponseCheck(1_000));
    assert.deepEqual(
      read(
        take([
          [":status", "204", "indexed"],
          ["content-length", "0"],
        ]),
      ),
      [[":status", "204"]],
    );
  });
});
