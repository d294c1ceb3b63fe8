/** The UDP sockets of the quiche back-end on Bun. */

import { expect, test } from "bun:test";
import type { Address } from "../../src/quic/quiche/messages.ts";
import { openUdp } from "../../src/quic/quiche/udp.ts";
import { until } from "../quic/pair.ts";

test("a socket keeps a burst of packets that comes while nobody reads", async () => {
  // Half again as many as the system keeps by itself, and fewer than its usual limit allows.
  const count = 150;
  const length = 1200;
  const local: Address = { host: "127.0.0.1", port: 0 };
  let received = 0;
  const receiver = await openUdp(local, () => received++);
  const sender = await openUdp(local, () => {});
  try {
    // Over the loopback interface they are in the buffer before this returns.
    sender.send({
      bytes: new Uint8Array(count * length),
      lengths: Array.from({ length: count }, () => length),
      addresses: Array.from({ length: count }, () => receiver.local),
    });
    await until(() => received === count, 2_000).catch(() => {});
    expect(received).toBe(count);
  } finally {
    receiver.close();
    sender.close();
  }
});
