/** Frames in a stream of bytes, however it is cut. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, toHex } from "../../../src/bytes.ts";
import { CONNECTION_PREFACE, encodeFrame, type FrameHeader } from "../../../src/http2/frame.ts";
import {
  type Disposition,
  FrameScanner,
  type FrameVisitor,
} from "../../../src/http2/frame-scanner.ts";

/** What a visitor is to do with a frame, by its type. */
const byType: Disposition[] = ["pass", "rewrite", "drop", "gather", "inspect"];
const PASS = 0;
const REWRITE = 1;
const DROP = 2;
const GATHER = 3;
const INSPECT = 4;
/** Gathered, or inspected, and gone. */
const LIFT = 8;
const TAKE = 9;
/** Inspected, and another in its place. */
const REPLACE = 14;
const injected = encodeFrame({ type: 99, flags: 0, streamId: 0 }, [1, 2, 3]);

/** Does with each frame what its type says, and puts a frame behind those of stream 13. */
class Recorder implements FrameVisitor {
  readonly seen: string[] = [];
  readonly emitted: Uint8Array[] = [];

  begin(header: FrameHeader): Disposition {
    this.seen.push(`${header.type}/${header.flags}/${header.streamId}/${header.length}`);
    if (header.type === REWRITE) header.flags = 0xee;
    return byType[header.type % 5] as Disposition;
  }

  gathered(header: FrameHeader, payload: Uint8Array): Uint8Array | boolean {
    this.seen.push(`whole ${toHex(payload)}`);
    if (header.type === REPLACE) return injected;
    return header.type !== LIFT && header.type !== TAKE;
  }

  emit(bytes: Uint8Array): void {
    assert.ok(bytes.length > 0);
    this.emitted.push(bytes);
  }

  ended({ streamId }: FrameHeader): boolean {
    return streamId === 13;
  }

  interrupted(): void {
    this.emitted.push(injected);
  }
}

interface Given {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Uint8Array;
}

function expected(frames: readonly Given[]): Uint8Array {
  const out: Uint8Array[] = [CONNECTION_PREFACE];
  for (const { type, flags, streamId, payload } of frames) {
    if (type === PASS || type === GATHER || type === INSPECT)
      out.push(encodeFrame({ type, flags, streamId }, payload));
    if (type === REWRITE) out.push(encodeFrame({ type, flags: 0xee, streamId }, payload));
    if (type === REPLACE) out.push(injected);
    if (streamId === 13) out.push(injected);
  }
  return concatBytes(...out);
}

function scan(chunks: Iterable<Uint8Array>): Recorder {
  const recorder = new Recorder();
  const scanner = new FrameScanner(recorder, CONNECTION_PREFACE.length);
  for (const chunk of chunks) scanner.push(chunk);
  assert.ok(scanner.between);
  return recorder;
}

function* cut(bytes: Uint8Array, cuts: readonly number[]): Generator<Uint8Array> {
  let from = 0;
  for (const to of [...new Set(cuts.map((at) => at % bytes.length))].sort((a, b) => a - b)) {
    if (to > from) yield bytes.subarray(from, to);
    from = Math.max(from, to);
  }
  yield bytes.subarray(from);
}

const frames = fc.array(
  fc.record({
    type: fc.constantFrom(PASS, REWRITE, DROP, GATHER, LIFT, INSPECT, TAKE, REPLACE),
    flags: fc.integer({ min: 0, max: 255 }),
    streamId: fc.constantFrom(0, 1, 13),
    payload: fc.uint8Array({ maxLength: 30 }),
  }),
  { minLength: 1, maxLength: 12 },
);

const bytesOf = (given: readonly Given[]) =>
  concatBytes(CONNECTION_PREFACE, ...given.map((one) => encodeFrame(one, one.payload)));

describe("the scanner of frames", () => {
  test("finds the same frames however the bytes are cut or run together [CG-PROC-12, D09]", () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(), { maxLength: 20 }), (given, cuts) => {
        const bytes = bytesOf(given);
        const whole = scan([bytes]);
        const inPieces = scan(cut(bytes, cuts));
        const byOctets = scan(Array.from(bytes, (byte) => Uint8Array.of(byte)));
        assert.equal(toHex(concatBytes(...whole.emitted)), toHex(expected(given)));
        for (const other of [inPieces, byOctets]) {
          assert.deepEqual(other.seen, whole.seen);
          assert.equal(toHex(concatBytes(...other.emitted)), toHex(expected(given)));
        }
      }),
    );
  });

  test("every single place to cut gives the same frames", () => {
    const given: Given[] = [PASS, LIFT, INSPECT, REWRITE, TAKE, GATHER, DROP, PASS].map(
      (type, index) => ({
        type,
        flags: index,
        streamId: index === 2 ? 13 : 1,
        payload: new Uint8Array(index === 7 ? 0 : 13).fill(index),
      }),
    );
    const bytes = bytesOf(given);
    for (let at = 1; at < bytes.length; at++) {
      const { emitted } = scan([bytes.subarray(0, at), bytes.subarray(at)]);
      assert.equal(toHex(concatBytes(...emitted)), toHex(expected(given)), `cut at ${at}`);
    }
  });

  test("what goes on is the chunk itself, not a copy", () => {
    const bytes = bytesOf([
      { type: PASS, flags: 0, streamId: 1, payload: new Uint8Array(1000) },
      { type: PASS, flags: 0, streamId: 3, payload: new Uint8Array(1000) },
    ]);
    assert.equal(scan([bytes]).emitted[0], bytes);
    const { emitted } = scan([bytes.subarray(0, 500), bytes.subarray(500)]);
    assert.ok(emitted.every(({ buffer }) => buffer === bytes.buffer));
    assert.equal(emitted.length, 2);
  });

  test("what is inspected and goes on stays in one piece with its neighbours", () => {
    const payload = new Uint8Array(100);
    const types = [INSPECT, PASS, INSPECT];
    const bytes = bytesOf(types.map((type) => ({ type, flags: 0, streamId: 1, payload })));
    assert.deepEqual(scan([bytes]).emitted, [bytes]);
  });

  test("a frame that is dropped is consumed to its end, however long", () => {
    const recorder = new Recorder();
    const scanner = new FrameScanner(recorder);
    const long = encodeFrame({ type: DROP, flags: 0, streamId: 1 }, new Uint8Array(100_000));
    const after = encodeFrame({ type: PASS, flags: 0, streamId: 1 }, [7]);
    scanner.push(long.subarray(0, 50_000));
    assert.equal(scanner.between, false);
    scanner.push(concatBytes(long.subarray(50_000), after));
    assert.deepEqual(recorder.emitted.map(toHex), [toHex(after)]);
  });

  test("nothing is between frames while a chunk is looked at", () => {
    const between: boolean[] = [];
    class Nosy extends Recorder {
      override begin(header: FrameHeader): Disposition {
        between.push(scanner.between);
        return super.begin(header);
      }
      override ended(): boolean {
        between.push(scanner.between);
        return false;
      }
    }
    const scanner: FrameScanner = new FrameScanner(new Nosy());
    assert.equal(scanner.between, true);
    scanner.push(encodeFrame({ type: PASS, flags: 0, streamId: 1 }, [7]));
    assert.deepEqual(between, [false, false]);
    assert.equal(scanner.between, true);
  });
});
