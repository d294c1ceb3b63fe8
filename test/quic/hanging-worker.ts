/** The Worker of the quiche back-end, which hangs or fails when a certain datagram comes. */

import { pbkdf2Sync } from "node:crypto";
import type { Order } from "../../src/quic/quiche/messages.ts";
import "../../src/quic/quiche/engine/worker.ts";

interface WorkerScope {
  onmessage: (message: MessageEvent<Order[]>) => void;
}

const scope = globalThis as unknown as WorkerScope;
const work = scope.onmessage;

/** Tells tests when a Worker begins, and when it stops by itself. */
const lives = new BroadcastChannel("lives of the quiche Workers");
lives.postMessage("begins");

/** What each datagram does, by its text. */
const spells: Record<string, () => void> = {
  "loop for ever": () => {
    for (;;);
  },
  // Native code, which no runtime can stop: a few seconds of it.
  "hang in native code": () => {
    pbkdf2Sync("password", "salt", 8_000_000, 32, "sha256");
  },
  "be slow": () => {
    const until = performance.now() + 800;
    while (performance.now() < until);
  },
  fail: () => {
    throw new Error("the Worker fails, as it was told to");
  },
};

scope.onmessage = (message) => {
  for (const { command } of message.data) {
    if (command.type === "stop-worker") lives.postMessage("stops");
    if (command.type !== "packets") continue;
    let offset = 0;
    for (const length of command.packets.lengths) {
      spells[new TextDecoder().decode(command.packets.bytes.subarray(offset, offset + length))]?.();
      offset += length;
    }
  }
  work(message);
};
