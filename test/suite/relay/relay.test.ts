/** The test relay, which other tests rely on. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Relay, RelayNetwork } from "../../../scripts/relay/mod.ts";
import { utf8 } from "../../../src/bytes.ts";
import { RequestRefused } from "../../../src/client/errors.ts";
import type { FetchOptions, Publication, Subscription } from "../../../src/client/mod.ts";
import {
  type Draft,
  drafts,
  formatName,
  type LocationFilter,
  type RequestErrorName,
} from "../../../src/moqt/mod.ts";
import { pass, settle } from "../../support/settle.ts";
import { Internet } from "../client/internet.ts";
import { namespace, Objects, text, track } from "../client/tracks.ts";

const uri = "moqt://relay.example/moq";
const elsewhere = "moqt://other.example/moq";
const game = track("live/sports/game-7", "audio");

/** Two relays of one network, and a way to get clients of both. */
function relays(draft: Draft = 22) {
  const net = new Internet();
  const network = new RelayNetwork(net.clock);
  const relay = new Relay({ name: "r1", network });
  const other = new Relay({ name: "r2", network });
  net.listen(uri, (transport) => relay.serve(transport));
  net.listen(elsewhere, (transport) => other.serve(transport));
  const client = (at = uri) => net.client(at, { draft, maximumAttempts: 1 }).client;
  return { net, relay, other, client };
}

async function publishGroup(publication: Publication, ...payloads: string[]): Promise<void> {
  const group = publication.openGroup();
  for (const payload of payloads) await group.write(utf8(payload));
  await group.end();
  await settle();
}

const refusedWith = (code: RequestErrorName) => (error: unknown) =>
  error instanceof RequestRefused && error.errorName === code;

describe("the test relay", () => {
  test("serves any track at any relay of its network [LB-KEY-8, LB-KEY-9, LB-REDIR-13]", async () => {
    const { client } = relays();
    const publisher = client();
    const viewer = client(elsewhere);
    const publication = await publisher.publish(game);
    const objects = new Objects(await viewer.subscribe(game));
    await publishGroup(publication, "a", "b");
    assert.deepEqual(await objects.take(2), ["0/0 a", "0/1 b"]);
    await publisher.close();
    await viewer.close();
  });

  test("gives a late subscriber the newest group in full, and what follows", async () => {
    const { client } = relays();
    const publisher = client();
    const publication = await publisher.publish(game);
    await publishGroup(publication, "old");
    const group = publication.openGroup();
    await group.write(utf8("new"));
    await group.write(utf8("newer"));
    await settle();
    const viewer = client();
    const objects = new Objects(await viewer.subscribe(game));
    await group.write(utf8("newest"));
    await group.end();
    assert.deepEqual(await objects.take(3), ["1/0 new", "1/1 newer", "1/2 newest"]);
    await publisher.close();
    await viewer.close();
  });

  const filters: [LocationFilter, string[]][] = [
    [{ kind: "NEXT_OBJECT" }, ["1/2 c", "2/0 d"]],
    [{ kind: "RELATIVE", groupsBack: 0n }, ["2/0 d"]],
    [{ kind: "START", start: { group: 1n, object: 1n } }, ["1/1 b", "1/2 c", "2/0 d"]],
    [
      { kind: "RANGE", start: { group: 0n, object: 0n }, endGroup: 1n },
      ["1/0 a", "1/1 b", "1/2 c"],
    ],
  ];
  for (const draft of drafts) {
    test(`sends what passes the filter of a subscription, in draft ${draft}`, async () => {
      for (const [filter, expected] of filters) {
        const { client } = relays(draft);
        const publisher = client();
        const publication = await publisher.publish(game);
        await publishGroup(publication, "old");
        const group = publication.openGroup();
        await group.write(utf8("a"));
        await group.write(utf8("b"));
        await settle();
        const viewer = client();
        const objects = new Objects(await viewer.subscribe({ ...game, filter }));
        await group.write(utf8("c"));
        await group.end();
        await publishGroup(publication, "d");
        await publication.end();
        assert.deepEqual(await objects.take(9), expected, filter.kind);
        await publisher.close();
        await viewer.close();
      }
    });

    test(`lets a subscriber wait for its track as long as it asks, in draft ${draft}`, async () => {
      const { net, client } = relays(draft);
      const viewer = client();
      await assert.rejects(viewer.subscribe(game), refusedWith("DOES_NOT_EXIST"));
      const waiting = viewer.subscribe({ ...game, rendezvousTimeout: 1000 });
      waiting.catch(() => {});
      await pass(net.clock, 1000);
      await assert.rejects(waiting, refusedWith("TIMEOUT"));

      const patient = viewer.subscribe({ ...game, rendezvousTimeout: 1000 });
      await pass(net.clock, 500);
      const publisher = client(elsewhere);
      const publication = await publisher.publish(game);
      const objects = new Objects(await patient);
      await publishGroup(publication, "a");
      assert.deepEqual(await objects.take(1), ["0/0 a"]);
      await publisher.close();
      await viewer.close();
    });

    test(`fetches what it has kept, in draft ${draft}`, async () => {
      const { client } = relays(draft);
      const publisher = client();
      const viewer = client();
      await assert.rejects(viewer.fetch(game), refusedWith("INVALID_RANGE"));
      const publication = await publisher.publish(game);
      for (const word of ["a", "b", "c"]) await publishGroup(publication, word, `${word}${word}`);
      const fetched = async (options: Partial<FetchOptions>) => {
        const objects: string[] = [];
        for await (const item of await viewer.fetch({ ...game, ...options })) {
          if (item.type === "OBJECT") objects.push(text(item.payload));
        }
        return objects.join(" ");
      };
      assert.equal(await fetched({}), "a aa b bb c cc");
      assert.equal(await fetched({ groupOrder: "DESCENDING" }), "c cc b bb a aa");
      assert.equal(await fetched({ start: { group: 1n, object: 1n } }), "bb c cc");
      assert.equal(await fetched({ end: { group: 1n } }), "a aa b bb");
      assert.equal(await fetched({ end: { group: 1n, object: 0n } }), "a aa b");
      const beyond = viewer.fetch({ ...game, start: { group: 9n, object: 0n } });
      await assert.rejects(beyond, refusedWith("INVALID_RANGE"));
      await publisher.close();
      await viewer.close();
    });
  }

  test("subscribes at whoever announced the namespace, for as long as somebody wants it", async () => {
    const { client } = relays();
    const publisher = client();
    const local = publisher.track(game);
    await publisher.publishNamespace({ trackNamespace: namespace("live/sports") });
    const viewer = client(elsewhere);
    const subscription = await viewer.subscribe(game);
    await local.wanted();
    await local.openGroup().write(utf8("a"));
    assert.deepEqual(await new Objects(subscription).take(1), ["0/0 a"]);
    subscription.cancel();
    await settle();
    assert.equal(local.isWanted, false);
    await publisher.close();
    await viewer.close();
  });

  test("lets a waiting subscriber have a track that is announced in the meantime", async () => {
    const { client } = relays();
    const viewer = client();
    const waiting = viewer.subscribe({ ...game, rendezvousTimeout: 1000 });
    await settle();
    const publisher = client();
    const local = publisher.track(game);
    await publisher.publishNamespace({ trackNamespace: namespace("live") });
    const objects = new Objects(await waiting);
    await local.openGroup().write(utf8("a"));
    assert.deepEqual(await objects.take(1), ["0/0 a"]);
    await publisher.close();
    await viewer.close();
  });

  test("passes on what the publisher refuses", async () => {
    const { client } = relays();
    const publisher = client();
    await publisher.publishNamespace({ trackNamespace: namespace("live/sports") });
    await assert.rejects(client().subscribe(game), refusedWith("DOES_NOT_EXIST"));
    await publisher.close();
  });

  test("ends its subscriptions with their track, or when a lost publisher does not come back", async () => {
    const { net, client } = relays();
    const publisher = client();
    const viewer = client();
    const first = await publisher.publish(game);
    const ended = await viewer.subscribe(game);
    await publishGroup(first, "a");
    await first.end();
    assert.deepEqual(await new Objects(ended).take(9), ["0/0 a"]);
    assert.equal((await ended.ended).status, "TRACK_ENDED");

    await publisher.publish(game);
    const orphaned = await viewer.subscribe(game);
    net.connections[0]?.client.expire();
    await pass(net.clock, 9_900, 100);
    assert.equal(await isOver(orphaned), false);
    await pass(net.clock, 200, 100);
    assert.equal((await orphaned.ended).status, "INTERNAL_ERROR");
    await publisher.close();
    await viewer.close();
  });

  test("sends everything before it ends a subscription, also where streams are scarce", async () => {
    const { net, client } = relays();
    net.streams = 2;
    const publisher = client();
    const viewer = client();
    const publication = await publisher.publish(game);
    const objects = new Objects(await viewer.subscribe(game));
    for (const word of ["a", "b", "c", "d"]) {
      const group = publication.openGroup();
      await group.write(utf8(word));
      await group.end();
    }
    await publication.end();
    assert.deepEqual(await objects.take(9), ["0/0 a", "1/0 b", "2/0 c", "3/0 d"]);
    await publisher.close();
    await viewer.close();
  });

  test("tells of namespaces with publishers, and when the last of them is gone", async () => {
    const { client } = relays();
    const publisher = client();
    const announcement = await publisher.publishNamespace({ trackNamespace: namespace("live/a") });
    await publisher.publish(track("live/b", "video"));
    const viewer = client(elsewhere);
    const subscription = await viewer.subscribeNamespace({ prefix: namespace("live") });
    const changes = subscription[Symbol.asyncIterator]();
    const next = async () => {
      const { value } = await changes.next();
      return `${value?.type} ${formatName(value?.trackNamespace ?? [])}`;
    };
    assert.deepEqual([await next(), await next()], ["NAMESPACE live-a", "NAMESPACE live-b"]);
    announcement.withdraw();
    assert.equal(await next(), "NAMESPACE_DONE live-a");
    await publisher.close();
    assert.equal(await next(), "NAMESPACE_DONE live-b");
    await viewer.close();
  });

  test("refuses a prefix that overlaps another of the session, and reserved names", async () => {
    const { client } = relays();
    const viewer = client();
    await viewer.subscribeNamespace({ prefix: namespace("live") });
    const inside = viewer.subscribeNamespace({ prefix: namespace("live/sports") });
    await assert.rejects(inside, refusedWith("PREFIX_OVERLAP"));
    await viewer.subscribeTracks({ prefix: namespace("live/sports") });
    await viewer.subscribeNamespace({ prefix: namespace("other") });
    for (const field of [".", ".session"]) {
      await assert.rejects(viewer.subscribe(track(field, "x")), refusedWith("DOES_NOT_EXIST"));
    }
    await viewer.close();
  });

  test("offers the tracks under a prefix, but nobody its own", async () => {
    const { client } = relays();
    const alice = client();
    const bob = client(elsewhere);
    await alice.publish(track("room/alice", "video"));
    await bob.publish(track("room/bob", "video"));
    const tracks = (await bob.subscribeTracks({ prefix: namespace("room") }))[
      Symbol.asyncIterator
    ]();
    await alice.publish(track("room/alice", "audio"));
    await bob.publish(track("room/bob", "audio"));
    await alice.publish(track("room/alice", "chat"));
    const names: string[] = [];
    while (names.length < 3) {
      const { value } = await tracks.next();
      if (value !== undefined) names.push(formatName(value.trackNamespace, value.trackName));
    }
    assert.deepEqual(names, ["room-alice--video", "room-alice--audio", "room-alice--chat"]);
    await alice.close();
    await bob.close();
  });

  test("passes datagrams on", async () => {
    const { client } = relays();
    const publisher = client();
    const publication = await publisher.publish(game);
    const viewer = client();
    const objects = new Objects(await viewer.subscribe(game));
    publication.sendDatagram({ groupId: 4n, objectId: 2n, payload: utf8("hi") });
    assert.deepEqual(await objects.take(1), ["4/2 hi"]);
    await publisher.close();
    await viewer.close();
  });
});

async function isOver(subscription: Subscription): Promise<boolean> {
  let over = false;
  void subscription.ended.then(() => {
    over = true;
  });
  await settle();
  return over;
}
