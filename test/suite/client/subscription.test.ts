/** Objects on their way from a relay to the application. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type { SubscribeOptions } from "../../../src/client/mod.ts";
import {
  type Draft,
  draftFacts,
  drafts,
  encodeDataStreamHeader,
  encodeObjectDatagram,
  publishDoneCodes,
  type SubgroupHeader,
  SubgroupWriter,
} from "../../../src/moqt/mod.ts";
import type { IncomingRequest, MoqtSession } from "../../../src/session/mod.ts";
import type { TransportStream } from "../../../src/transport/transport.ts";
import { pass, settle } from "../../support/settle.ts";
import { Internet } from "./internet.ts";
import { grant, ScriptedService } from "./scripted.ts";
import { Objects, track } from "./tracks.ts";

const uri = "moqt://relay.example/moq";
const game = track("live/sports/game-7", "audio");

/** A client with a subscription, and the relay's end of both. */
async function subscribed(
  options: Partial<SubscribeOptions> & { readonly draft?: Draft } & Parameters<
      Internet["client"]
    >[1] = {},
) {
  const { draft = 22, ...rest } = options;
  const net = new Internet();
  const service = new ScriptedService(grant);
  net.listen(uri, service.serve);
  const { client } = net.client(uri, { ...rest, draft });
  const subscription = await client.subscribe({ ...game, ...rest });
  const session = service.sessions[0];
  const request = service.requests[0];
  assert.ok(session && request);
  return {
    net,
    client,
    service,
    subscription,
    objects: new Objects(subscription),
    session,
    request,
  };
}

/** A subgroup that a relay sends. */
class Subgroup {
  readonly stream: TransportStream;
  readonly #writer: SubgroupWriter;
  #next = 0n;

  private constructor(stream: TransportStream, header: SubgroupHeader) {
    this.stream = stream;
    this.#writer = new SubgroupWriter(header);
  }

  static async open(session: MoqtSession, groupId: bigint, trackAlias = 7n): Promise<Subgroup> {
    const header: SubgroupHeader = {
      type: "SUBGROUP",
      trackAlias,
      groupId,
      subgroupId: 0n,
      hasProperties: false,
      endOfGroup: true,
      firstObject: true,
    };
    const stream = await session.openDataStream();
    await stream.write(encodeDataStreamHeader(header));
    return new Subgroup(stream, header);
  }

  async write(...payloads: string[]): Promise<void> {
    for (const payload of payloads) await this.stream.write(this.encode(utf8(payload)));
  }

  encode(payload: Uint8Array): Uint8Array {
    return this.#writer.encode({ objectId: this.#next++, status: "NORMAL", payload });
  }
}

function done(request: IncomingRequest, streamCount: bigint): void {
  request.send({
    type: "PUBLISH_DONE",
    statusCode: publishDoneCodes.TRACK_ENDED,
    streamCount,
    errorReason: "over",
  });
}

describe("a subscription", () => {
  test("ends when the streams that PUBLISH_DONE counts have come, however late", async () => {
    const { client, subscription, objects, session, request } = await subscribed();
    const first = await Subgroup.open(session, 0n);
    await first.write("a");
    done(request, 2n);
    await first.write("b");
    await first.stream.end();
    const second = await Subgroup.open(session, 1n);
    await second.write("c");
    await second.stream.end();
    assert.deepEqual(await objects.take(9), ["0/0 a", "0/1 b", "1/0 c"]);
    const { status, reason } = await subscription.ended;
    assert.deepEqual([status, reason], ["TRACK_ENDED", "over"]);
    await client.close();
  });

  for (const draft of drafts) {
    test(`ends a while after a PUBLISH_DONE that does not know its count, in draft ${draft}`, async () => {
      const { net, client, subscription, objects, session, request } = await subscribed({ draft });
      done(request, draftFacts[draft].unknownStreamCount);
      await pass(net.clock, 1000, 100);
      const late = await Subgroup.open(session, 0n);
      await late.write("late");
      await late.stream.end();
      await pass(net.clock, 1990, 100);
      assert.deepEqual(await objects.take(1), ["0/0 late"]);
      await pass(net.clock, 100);
      assert.equal((await subscription.ended).status, "TRACK_ENDED");
      await client.close();
    });
  }

  test("is cancelled at the relay, and its streams are stopped, where the application has enough", async () => {
    const { client, subscription, session, request } = await subscribed();
    const group = await Subgroup.open(session, 0n);
    await group.write("a", "b");
    for await (const { objectId } of subscription) {
      assert.equal(objectId, 0n);
      break;
    }
    assert.equal(await group.stream.stopped, 1n);
    assert.deepEqual((await request.ended).how, "cancelled");
    assert.equal((await subscription.ended).status, "CANCELLED");
    const late = await Subgroup.open(session, 1n);
    assert.equal(await late.stream.stopped, 1n);
    assert.equal(session.isOver, false);
    await client.close();
  });

  test("gets objects that come before its SUBSCRIBE_OK [LB-S72]", async () => {
    const net = new Internet();
    let open: Promise<Subgroup> | undefined;
    const service = new ScriptedService((request, _count, session) => {
      open = Subgroup.open(session, 0n).then(async (group) => {
        await group.write("early");
        session.sendDatagram(datagram(1n, "earlier"));
        await settle();
        grant(request);
        return group;
      });
    });
    net.listen(uri, service.serve);
    const { client } = net.client(uri);
    const objects = new Objects(await client.subscribe(game));
    const group = await open;
    assert.deepEqual(await objects.take(2), ["1/0 earlier", "0/0 early"]);
    await group?.write("on time");
    assert.deepEqual(await objects.take(1), ["0/1 on time"]);
    await client.close();
  });

  test("gets the objects of a track that is over as soon as it is granted", async () => {
    const net = new Internet();
    const service = new ScriptedService(async (request, _count, session) => {
      const group = await Subgroup.open(session, 0n);
      await group.write("all");
      await group.stream.end();
      await settle();
      grant(request);
      done(request, 1n);
    });
    net.listen(uri, service.serve);
    const { client } = net.client(uri);
    const subscription = await client.subscribe(game);
    assert.deepEqual(await new Objects(subscription).take(9), ["0/0 all"]);
    assert.equal((await subscription.ended).status, "TRACK_ENDED");
    await client.close();
  });

  test("does not pay for streams of tracks that nobody asked for", async () => {
    const { client, session } = await subscribed();
    const stray = await Subgroup.open(session, 0n, 99n);
    assert.equal(await stray.stream.stopped, 1n);
    assert.equal(session.isOver, false);
    await client.close();
  });

  test("holds no more than its share for an application that does not read", async () => {
    const { client, objects, session } = await subscribed({ maximumQueuedBytes: 4000 });
    const group = await Subgroup.open(session, 0n);
    let written = 0;
    const writing = (async () => {
      for (let i = 0; i < 1000; i++) {
        await group.stream.write(group.encode(new Uint8Array(1000).fill(120)));
        written++;
      }
    })();
    await settle();
    // 4 of them in the queue, a few on their way, and 64 KiB in the window of the stream.
    assert.ok(written > 60 && written < 80, `${written} objects were taken`);
    const taken = await objects.take(1000);
    await writing;
    assert.equal(taken.length, 1000);
    assert.equal(taken.at(-1)?.slice(0, 7), "0/999 x");
    await client.close();
  });

  test("stops a stream with an object that is too long, and keeps the others", async () => {
    const { client, objects, session } = await subscribed({ maximumObjectBytes: 100 });
    const long = await Subgroup.open(session, 0n);
    await long.stream.write(long.encode(new Uint8Array(200)));
    assert.equal(await long.stream.stopped, 9n);
    const short = await Subgroup.open(session, 1n);
    await short.write("fine");
    assert.deepEqual(await objects.take(1), ["1/0 fine"]);
    await client.close();
  });

  test("whose stream breaks the rules costs the session, not the client", async () => {
    const { net, client, session, service } = await subscribed();
    const group = await Subgroup.open(session, 0n);
    // An object of four bytes, of which one comes.
    await group.stream.write(new Uint8Array([0, 4, 97]), true);
    const close = await session.closed;
    assert.deepEqual([close.by, close.code], ["remote", 3n]);
    await pass(net.clock, 250);
    assert.equal(service.sessions.length, 2);
    assert.equal(service.requests.length, 2);
    await client.close();
  });

  test("goes on where a stream is reset", async () => {
    const { client, objects, session } = await subscribed();
    const group = await Subgroup.open(session, 0n);
    await group.write("a");
    assert.deepEqual(await objects.take(1), ["0/0 a"]);
    group.stream.reset(2n);
    const next = await Subgroup.open(session, 1n);
    await next.write("b");
    assert.deepEqual(await objects.take(1), ["1/0 b"]);
    await client.close();
  });

  test("gets datagrams, with all that they say", async () => {
    const { client, subscription, session } = await subscribed();
    session.sendDatagram(datagram(3n, "hi"));
    const { value } = await subscription[Symbol.asyncIterator]().next();
    assert.deepEqual(value, {
      groupId: 3n,
      objectId: 0n,
      publisherPriority: 9,
      status: "NORMAL",
      payload: utf8("hi"),
    });
    assert.deepEqual(subscription.largest, { group: 3n, object: 0n });
    await client.close();
  });

  test("that the publisher ends because it goes away is made again", async () => {
    const { net, client, service, request } = await subscribed();
    request.send({
      type: "PUBLISH_DONE",
      statusCode: publishDoneCodes.GOING_AWAY,
      streamCount: 0n,
      errorReason: "",
    });
    await pass(net.clock, 250);
    assert.equal(service.requests.length, 2);
    await client.close();
  });

  test("asks the next relay for what comes after the last group, or for the rest of it where the relay is lost [LB-PMOVE-6]", async () => {
    for (const draft of drafts) {
      const { net, client, objects, service, session } = await subscribed({ draft });
      const group = await Subgroup.open(session, 5n);
      await group.write("a");
      assert.deepEqual(await objects.take(1), ["5/0 a"]);
      session.goaway();
      await settle();
      assert.deepEqual(filterOf(service.requests[1]), {
        kind: "START",
        start: { group: 6n, object: 0n },
      });
      const next = await Subgroup.open(service.sessions[1] as MoqtSession, 6n);
      await next.write("b");
      assert.deepEqual(await objects.take(1), ["6/0 b"]);
      service.sessions[1]?.close("INTERNAL_ERROR");
      await pass(net.clock, 1000);
      assert.deepEqual(filterOf(service.requests[2]), {
        kind: "START",
        start: { group: 6n, object: 0n },
      });
      await client.close();
    }
  });

  test("of a range that has come in full is over when its relay is lost [LB-S92]", async () => {
    const filter = { kind: "RANGE", start: { group: 0n, object: 0n }, endGroup: 4n } as const;
    const { net, client, subscription, objects, service, session } = await subscribed({ filter });
    const group = await Subgroup.open(session, 5n);
    await group.write("beyond");
    await objects.take(1);
    session.close("INTERNAL_ERROR");
    await pass(net.clock, 1000);
    assert.equal(service.requests.length, 1);
    assert.equal((await subscription.ended).status, "SUBSCRIPTION_ENDED");
    await client.close();
  });

  test("says what it wants in the words of each draft", async () => {
    for (const draft of drafts) {
      const { client, request } = await subscribed({
        draft,
        filter: { kind: "NEXT_OBJECT" },
        priority: 3,
        groupOrder: "DESCENDING",
        rendezvousTimeout: 500,
        objectDeliveryTimeout: 60,
      });
      assert.deepEqual(request.message.parameters, [
        { type: "OBJECT_DELIVERY_TIMEOUT", value: 60n },
        { type: "RENDEZVOUS_TIMEOUT", value: 500n },
        { type: "SUBSCRIBER_PRIORITY", value: 3 },
        { type: "LOCATION_FILTER", filter: { kind: "NEXT_OBJECT" } },
        { type: "GROUP_ORDER", value: "DESCENDING" },
      ]);
      await client.close();
    }
  });
});

function filterOf(request: IncomingRequest | undefined) {
  const filter = request?.message.parameters.find(({ type }) => type === "LOCATION_FILTER");
  return filter?.type === "LOCATION_FILTER" ? filter.filter : undefined;
}

function datagram(groupId: bigint, payload: string): Uint8Array {
  return encodeObjectDatagram({
    trackAlias: 7n,
    groupId,
    objectId: 0n,
    publisherPriority: 9,
    endOfGroup: false,
    status: "NORMAL",
    payload: utf8(payload),
  });
}
