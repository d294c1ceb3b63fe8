/** What sessions cost in redirect mode, in objects: nothing is kept of what is answered or over. */

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { RawPeer } from "../support/raw-peer.ts";
import { RedirectBed, subscribeBytes } from "../support/redirect-bed.ts";
import { memoryTransportPair } from "../support/transport-pair.ts";

function liveObjects(): number {
  Bun.gc(true);
  Bun.gc(true);
  return heapStats().objectCount;
}

/** Asks for redirects with these Request IDs, a few at a time. */
async function redirects(peer: RawPeer, from: number, count: number): Promise<void> {
  const atOnce = 20;
  for (let i = 0; i < count; i += atOnce) {
    const answers = Array.from({ length: atOnce }, (_, k) =>
      peer.ask(subscribeBytes(2 * (from + i + k))),
    );
    for (const { end } of await Promise.all(answers)) if (end !== "FIN") throw new Error("reset");
  }
}

test("200,000 redirects in one session leave nothing behind [LB-REDIR-16]", async () => {
  const bed = new RedirectBed();
  const [near, far] = memoryTransportPair();
  void bed.server.serve(far);
  const peer = new RawPeer(near);
  await peer.setup();
  await redirects(peer, 0, 10_000);
  const before = liveObjects();
  await redirects(peer, 10_000, 200_000);
  const after = liveObjects();
  expect(after - before).toBeLessThan(1000);
  expect(bed.server.status().sessions).toBe(1);
}, 60_000);

test("2,000 sessions one after another leave nothing behind", async () => {
  const bed = new RedirectBed();
  const session = async () => {
    const [near, far] = memoryTransportPair();
    const served = bed.server.serve(far);
    const peer = new RawPeer(near);
    await peer.setup();
    await redirects(peer, 0, 1);
    near.close(0n, "");
    await served;
  };
  for (let i = 0; i < 200; i++) await session();
  bed.events.length = 0;
  const before = liveObjects();
  for (let i = 0; i < 2000; i++) await session();
  bed.events.length = 0;
  expect(liveObjects() - before).toBeLessThan(1000);
  expect(bed.clock.pending).toBe(0);
}, 60_000);
