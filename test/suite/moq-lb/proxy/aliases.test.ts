import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../src/bytes.ts";
import { drafts, type NewRequest, requestErrorCodes } from "../../../../src/moqt/mod.ts";
import type { IncomingRequest } from "../../../../src/session/mod.ts";
import { grantOf, nothing, type Peer, ProxyBed, requestFor, requestOk, settle } from "./bed.ts";
import { subgroup } from "./data/units.ts";

const publish = (name: string, trackAlias = 3n): NewRequest => ({
  type: "PUBLISH",
  trackNamespace: [utf8("live")],
  trackName: utf8(name),
  trackAlias,
  parameters: [],
  trackProperties: nothing,
});
const done = {
  type: "PUBLISH_DONE",
  statusCode: 2n,
  // More than ever come, so that the rest is waited for.
  streamCount: 9n,
  errorReason: "",
} as const;

const aliasOf = ({ message }: IncomingRequest) =>
  message.type === "PUBLISH" ? message.trackAlias : undefined;

/** A publisher and a subscriber on either side of the balancer, who knows both of them. */
async function ends(bed: ProxyBed, publisher: "client" | "relay"): Promise<[Peer, Peer]> {
  await bed.client.ask(requestFor("SUBSCRIBE_TRACKS", "live", bed.client.session.draft));
  const relay = bed.relay();
  relay.only("SUBSCRIBE_TRACKS").send(requestOk);
  await settle();
  return publisher === "client" ? [bed.client, relay] : [relay, bed.client];
}

describe("a Track Alias", () => {
  for (const draft of drafts) {
    for (const side of ["client", "relay"] as const) {
      test(`draft ${draft}: of a ${side} that offers two tracks by it costs it the second one, and nobody a session [LB-S76] [LB-S66] [LB-PMAP-13]`, async () => {
        const bed = new ProxyBed({ draft });
        const [publisher, subscriber] = await ends(bed, side);
        const first = await publisher.ask(publish("a"));
        const second = await publisher.ask(publish("b"));
        assert.equal(second.error, requestErrorCodes.INTERNAL_ERROR);
        subscriber.only("PUBLISH").send(requestOk);
        await settle();
        assert.equal(first.answer?.type, "REQUEST_OK");
        assert.equal(publisher.session.isOver, false);
        assert.equal(subscriber.session.isOver, false);
        assert.deepEqual(bed.faults, []);
      });

      test(`draft ${draft}: of a ${side} is free once its track is refused, given up, or done, however late its streams are [LB-PMAP-13] [LB-PMAP-14]`, async () => {
        for (const how of ["refused", "given up", "done"] as const) {
          const bed = new ProxyBed({ draft });
          const [publisher, subscriber] = await ends(bed, side);
          const first = await publisher.ask(publish("a"));
          const request = subscriber.only("PUBLISH");
          if (how === "refused") {
            const errorCode = requestErrorCodes.UNINTERESTED;
            request.refuse({
              type: "REQUEST_ERROR",
              errorCode,
              retryInterval: 0n,
              errorReason: "",
            });
          } else request.send(requestOk);
          await settle();
          if (how === "given up") first.request.cancel();
          if (how === "done") first.request.send(done);
          await settle();
          const second = await publisher.ask(publish("b"));
          const [former, latter] = subscriber.of("PUBLISH") as [IncomingRequest, IncomingRequest];
          assert.notEqual(aliasOf(former), aliasOf(latter), how);
          latter.send(requestOk);
          await settle();
          assert.equal(second.answer?.type, "REQUEST_OK", how);
          assert.equal(subscriber.session.isOver, false, how);
          assert.equal(publisher.session.isOver, false, how);
        }
      });
    }
  }

  test("of a relay that answers a SUBSCRIBE by it while it offers another track is two aliases for the client [LB-S76] [LB-PMAP-9]", async () => {
    const bed = new ProxyBed();
    const [relay] = await ends(bed, "relay");
    await relay.ask(publish("a", 5n));
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live--b"));
    relay.only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    await settle();
    assert.ok(asked.answer?.type === "SUBSCRIBE_OK");
    assert.notEqual(asked.answer.trackAlias, aliasOf(bed.client.only("PUBLISH")));
    assert.equal(bed.client.session.isOver, false);
  });

  test("of several subscriptions to one track is one for the client too [LB-S71]", async () => {
    const bed = new ProxyBed();
    const aliases: bigint[] = [];
    for (let i = 0; i < 2; i++) {
      const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live--b"));
      bed.relay().of("SUBSCRIBE")[i]?.send(grantOf("SUBSCRIBE"));
      await settle();
      assert.ok(asked.answer?.type === "SUBSCRIBE_OK");
      aliases.push(asked.answer.trackAlias);
    }
    assert.equal(aliases[0], aliases[1]);
  });

  test("that a relay gives from one track to the next: late objects of the first are not the other's [LB-PDATA-14] [LB-PMAP-14]", async () => {
    const bed = new ProxyBed();
    const former = await bed.client.ask(requestFor("SUBSCRIBE", "live--a"));
    const relay = bed.relay();
    relay.only("SUBSCRIBE").send(grantOf("SUBSCRIBE"));
    await settle();
    former.request.cancel();
    const asked = await bed.client.ask(requestFor("SUBSCRIBE", "live--b"));
    await relay.send(subgroup(5, 33), true);
    relay.of("SUBSCRIBE")[1]?.send(grantOf("SUBSCRIBE"));
    await settle();
    await relay.send(subgroup(5, 2), true);
    assert.ok(asked.answer?.type === "SUBSCRIBE_OK");
    const { trackAlias } = asked.answer;
    assert.deepEqual(
      bed.client.streams.map(
        ({ header }) => header.type === "SUBGROUP" && [header.trackAlias, header.groupId],
      ),
      [[trackAlias, 2n]],
    );
  });
});
