import assert from "node:assert/strict";
import { describe, test } from "#test";
import { type Awaiting, Confirmations } from "../../../src/quic/quiche/engine/confirmations.ts";

const WINDOW = 20_000;
const RTT = 100;

interface Waiting {
  readonly wroteAt: number;
  awaiting: Awaiting | undefined;
}

/** A stream whose last bytes went out at 0, with 5,000 bytes on their way. */
function begun(): [Confirmations, Waiting] {
  const confirmations = new Confirmations();
  const stream: Waiting = { wroteAt: 0, awaiting: undefined };
  confirmations.took(5000);
  confirmations.heard(WINDOW - 5000, WINDOW, 0, [stream]);
  confirmations.flushed(0, [stream]);
  return [confirmations, stream];
}

function send(confirmations: Confirmations, count: number, stream: Waiting): void {
  confirmations.took(count);
  confirmations.sent(count + 40);
  confirmations.flushed(0, [stream]);
}

describe("when the bytes of a stream are taken for confirmed", () => {
  test("soon after less is on its way than was sent since", () => {
    const [confirmations, stream] = begun();
    const late = confirmations.finishAt(stream, RTT);
    send(confirmations, 3000, stream);
    confirmations.heard(WINDOW - 3000, WINDOW, 100, [stream]);
    assert.equal(confirmations.finishAt(stream, RTT), late);
    confirmations.heard(WINDOW - 2999, WINDOW, 110, [stream]);
    const soon = confirmations.finishAt(stream, RTT);
    // RFC 9002 §6.1.2: by then, what is older is confirmed or taken for lost.
    assert.ok(soon >= 110 + (RTT * 5) / 4 && soon < late);
    confirmations.heard(WINDOW, WINDOW, 120, [stream]);
    assert.equal(confirmations.finishAt(stream, RTT), soon);
  });

  test("anew after a loss, which sends them again", () => {
    const [confirmations, stream] = begun();
    send(confirmations, 3000, stream);
    confirmations.heard(WINDOW - 1000, WINDOW, 110, [stream]);
    const soon = confirmations.finishAt(stream, RTT);
    confirmations.flushed(1, [stream]);
    const late = confirmations.finishAt(stream, RTT);
    assert.ok(late > soon + 200);
    confirmations.heard(WINDOW - 1000, WINDOW, 210, [stream]);
    assert.equal(confirmations.finishAt(stream, RTT), late);
  });

  test("no sooner where the window is full, and some may not have gone out", () => {
    const confirmations = new Confirmations();
    const stream: Waiting = { wroteAt: 0, awaiting: undefined };
    confirmations.took(5000);
    confirmations.heard(0, WINDOW, 0, [stream]);
    confirmations.flushed(0, [stream]);
    assert.equal(stream.awaiting, undefined);
    const late = confirmations.finishAt(stream, RTT);
    confirmations.heard(WINDOW, WINDOW, 50, [stream]);
    assert.equal(confirmations.finishAt(stream, RTT), late);
  });
});
