/** What RFC 9113 says of a frame by its header, and which error it has for it. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { GroupConnectionError } from "../../../src/client-group/mod.ts";
import { frameFlags, frameTypes as types } from "../../../src/http2/frame.ts";
import { FrameOrder, type Role } from "../../../src/http2/frame-rules.ts";

const GROUP_CONTROL = 0xf7;
const { END_HEADERS, ACK } = frameFlags;

type Row = readonly [type: number, length: number, streamId: number, flags?: number];

const settings: Row = [types.SETTINGS, 0, 0];

/** The error for the last of the frames; none for the others. */
function fault(rows: readonly Row[], role: Role = "client", first = true): string | undefined {
  const order = new FrameOrder({ role, maxHeaderBlock: 50_000, maxContinuations: 4 });
  const all = first ? [settings, ...rows] : rows;
  for (const [index, [type, length, streamId, flags = 0]] of all.entries()) {
    try {
      order.receive({ type, length, streamId, flags }, 16_384);
    } catch (error) {
      assert.ok(error instanceof GroupConnectionError);
      assert.equal(index, all.length - 1, `${error.message} at frame ${index}`);
      return error.code;
    }
  }
  return undefined;
}

describe("the order and size of frames", () => {
  test("the first frame is SETTINGS (RFC 9113 §3.4)", () => {
    assert.equal(fault([[GROUP_CONTROL, 13, 0]], "client", false), "PROTOCOL_ERROR");
    assert.equal(fault([[types.SETTINGS, 0, 0, ACK]], "client", false), "PROTOCOL_ERROR");
    assert.equal(fault([settings], "client", false), undefined);
  });

  test("HEADERS are on a client's stream: no server opens one (RFC 9113 §5.1.1, §8.4)", () => {
    for (const role of ["client", "server"] as const) {
      assert.equal(fault([[types.HEADERS, 10, 2, END_HEADERS]], role), "PROTOCOL_ERROR");
      assert.equal(fault([[types.HEADERS, 10, 3, END_HEADERS]], role), undefined);
    }
  });

  test("nothing comes within a header block, GROUP_CONTROL neither [E14]", () => {
    const begun: Row = [types.HEADERS, 10, 1];
    for (const between of [
      [GROUP_CONTROL, 13, 0],
      [types.DATA, 1, 1],
      [types.PING, 8, 0],
      [types.HEADERS, 1, 1],
      [types.CONTINUATION, 1, 3, END_HEADERS],
      [0x42, 0, 0],
    ] as Row[]) {
      assert.equal(fault([begun, between]), "PROTOCOL_ERROR", `type ${between[0]}`);
    }
    const whole: Row[] = [
      begun,
      [types.CONTINUATION, 1, 1],
      [types.CONTINUATION, 0, 1, END_HEADERS],
    ];
    assert.equal(fault([...whole, [GROUP_CONTROL, 13, 0]]), undefined);
    assert.equal(
      fault([
        [types.HEADERS, 10, 1, END_HEADERS],
        [types.CONTINUATION, 1, 1],
      ]),
      "PROTOCOL_ERROR",
    );
  });

  test("a header block has an end (ENHANCE_YOUR_CALM)", () => {
    const begun: Row = [types.HEADERS, 16_384, 1];
    const more: Row = [types.CONTINUATION, 16_384, 1];
    assert.equal(fault([begun, more, more, more]), "ENHANCE_YOUR_CALM");
    const empty: Row = [types.CONTINUATION, 0, 1];
    assert.equal(fault([begun, empty, empty, empty, empty, empty]), "ENHANCE_YOUR_CALM");
  });

  test("frames of the connection are on stream 0, and those of streams are not [A15]", () => {
    assert.equal(fault([[types.GOAWAY, 8, 1]]), "PROTOCOL_ERROR");
    assert.equal(fault([[types.SETTINGS, 6, 1]]), "PROTOCOL_ERROR");
    assert.equal(fault([[types.PING, 8, 1]]), "PROTOCOL_ERROR");
    for (const [type, length] of [
      [types.DATA, 1],
      [types.HEADERS, 1],
      [types.PRIORITY, 5],
      [types.RST_STREAM, 4],
    ] as const) {
      assert.equal(fault([[type, length, 0]]), "PROTOCOL_ERROR", `type ${type}`);
    }
  });

  test("frames of a fixed size have it (FRAME_SIZE_ERROR)", () => {
    const wrong: Row[] = [
      [types.RST_STREAM, 5, 1],
      [types.SETTINGS, 7, 0],
      [types.SETTINGS, 6, 0, ACK],
      [types.PING, 7, 0],
      [types.GOAWAY, 7, 0],
      [types.WINDOW_UPDATE, 3, 0],
      [types.DATA, 16_385, 1],
      [GROUP_CONTROL, 16_385, 0],
    ];
    for (const row of wrong) assert.equal(fault([row]), "FRAME_SIZE_ERROR", `type ${row[0]}`);
    const right: Row[] = [
      [types.RST_STREAM, 4, 1],
      [types.SETTINGS, 12, 0],
      [types.SETTINGS, 0, 0, ACK],
      [types.PING, 8, 0],
      [types.GOAWAY, 60, 0],
      [types.WINDOW_UPDATE, 4, 0],
      [types.DATA, 16_384, 1],
    ];
    assert.equal(fault(right), undefined);
  });

  test("GROUP_CONTROL of any length and on any stream is left to whoever takes it [E01]", () => {
    assert.equal(
      fault([
        [GROUP_CONTROL, 12, 0],
        [GROUP_CONTROL, 14, 0],
        [GROUP_CONTROL, 0, 0],
        [GROUP_CONTROL, 13, 1],
      ]),
      undefined,
    );
  });

  test("nobody takes a PUSH_PROMISE (RFC 9113 §8.4)", () => {
    for (const role of ["client", "server"] as const) {
      assert.equal(fault([[types.PUSH_PROMISE, 4, 1, END_HEADERS]], role), "PROTOCOL_ERROR");
    }
  });

  test("unknown types are of any size, on any stream, with any flags [D09]", () => {
    assert.equal(
      fault([
        [0x42, 0, 0],
        [0x42, 16_384, 7, 0xff],
        [0xff, 9, 0x7fff_ffff],
      ]),
      undefined,
    );
  });
});
