import assert from "node:assert/strict";
import { describe, test } from "#test";
import { frameFlags, frameTypes } from "../../../src/http2/frame.ts";
import { PeerAllowance } from "../../../src/http2/peer-allowance.ts";

function bed() {
  const clock = { now: 0 };
  const allowance = new PeerAllowance({
    now: () => clock.now,
    framesPerSecond: 2,
    resetsPerSecond: 1,
  });
  const header = (type: number, flags = 0, length = 8) => ({ type, flags, length, streamId: 0 });
  const ping = () => allowance.received(header(frameTypes.PING));
  const times = (count: number, run: () => void) => {
    for (let done = 0; done < count; done++) run();
  };
  return { clock, allowance, header, ping, times };
}

const calm = { code: "ENHANCE_YOUR_CALM" };

describe("what a client may send beyond its requests", () => {
  test("is five seconds' worth of frames at once, and then so many a second", () => {
    const { clock, ping, times } = bed();
    times(10, ping);
    assert.throws(ping, calm);
    clock.now = 1_000;
    times(2, ping);
    assert.throws(ping, calm);
  });

  test("grows with requests and with what is sent, and does not lapse before it is used", () => {
    const { allowance, header, ping, times } = bed();
    allowance.opened();
    times(100, () => allowance.sent(header(frameTypes.DATA)));
    times(10 + 8 + 400, ping);
    assert.throws(ping, calm);
  });

  test("are no frames with octets, and no header sections", () => {
    const { allowance, header, times } = bed();
    const { DATA, HEADERS } = frameTypes;
    times(1_000, () => allowance.received(header(DATA, 0, 1)));
    times(1_000, () => allowance.received(header(HEADERS, frameFlags.END_HEADERS, 0)));
    times(10, () => allowance.received(header(DATA, frameFlags.PADDED, 1)));
    assert.throws(() => allowance.received(header(DATA, 0, 0)), calm);
  });

  test("is two seconds' worth of resets, and one more for each stream that ends as it should", () => {
    const { clock, allowance, times } = bed();
    const reset = () => allowance.reset();
    times(2, reset);
    assert.throws(reset, calm);
    allowance.completed();
    reset();
    assert.throws(reset, calm);
    clock.now = 1_000;
    reset();
    assert.throws(reset, calm);
  });
});
