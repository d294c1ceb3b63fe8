import assert from "node:assert/strict";
import { test } from "#test";
import { streamResetCodes } from "../../../src/moqt/mod.ts";
import {
  assertRefused,
  assertServes,
  liveAt,
  RedirectBed,
  subscribeBytes,
} from "../../support/redirect-bed.ts";
import { settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";

async function listeningBed() {
  const bed = new RedirectBed();
  await bed.listen((server) => ({
    async connect(protocol) {
      const [near, far] = memoryTransportPair({ protocol });
      void server.serve(far);
      return near;
    },
    async close() {},
  }));
  return bed;
}

test("redirect mode holds no requests: a displacement says nothing to clients, and new requests follow the new table [LB-DISPL-7] [LB-ROT-2] [LB-S119]", async () => {
  const bed = await listeningBed();
  const client = await bed.client();
  await assertServes(client, 0, "r2");
  const { transport } = client;
  const control = await transport.accept();
  assert.ok(control);
  assert.notEqual(await control.read(), null);
  const heard: string[] = [];
  void transport.accept().then(() => heard.push("a stream"));
  void control.read().then(() => heard.push("a message"));
  bed.holder.active = liveAt("r1", 2);
  await settle();
  bed.clock.advance(20_000);
  await settle();
  assert.deepEqual(heard, []);
  await assertServes(client, 2, "r1");
});

test("redirect mode goes by the agent's word alone: what clients meet at a relay changes no redirect [LB-HEALTH-7]", async () => {
  const bed = await listeningBed();
  const client = await bed.client();
  await assertServes(client, 0, "r2");
  // A client that has met a dead relay gives its session up in a hurry, and asks again.
  const other = await bed.client();
  await assertServes(other, 0, "r2");
  other.transport.close(streamResetCodes.INTERNAL_ERROR, "the relay does not answer");
  await settle();
  await assertServes(client, 2, "r2");
  // Nothing but a version of the agent changes that.
  const next = liveAt("r2", 2);
  const relays = next.snapshot.relays.map((relay) =>
    relay.uri.includes("r2") ? { ...relay, health: "unhealthy" as const } : relay,
  );
  bed.holder.active = { ...next, snapshot: { ...next.snapshot, relays } };
  await assertRefused(client, subscribeBytes(4), "INTERNAL_ERROR");
});
