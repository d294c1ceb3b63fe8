/** What a client does when relays drain or fail. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Relay } from "../../../scripts/relay/mod.ts";
import { utf8 } from "../../../src/bytes.ts";
import type { GroupWriter, Publication } from "../../../src/client/mod.ts";
import { type Draft, drafts } from "../../../src/moqt/mod.ts";
import { pass, settle } from "../../support/settle.ts";
import { Deployment, relayUri } from "./internet.ts";
import { namespace, Objects, story, track } from "./tracks.ts";

const game = track("live/sports/game-7", "audio");

/** A balancer before R1 and R2, a publisher at R1, and a subscriber that was sent to R2. */
async function subscribed(draft: Draft = 22) {
  const net = new Deployment(["R1", "R2"]);
  const publisher = net.client(relayUri("R1"), { draft }).client;
  const publication = await publisher.publish(game);
  const { client, events } = net.client(net.serviceUri, { draft });
  const subscription = await client.subscribe(game);
  const objects = new Objects(subscription);
  await publishGroup(publication, "before");
  assert.deepEqual(await objects.take(1), ["0/0 before"]);
  const close = async () => {
    await client.close();
    await publisher.close();
  };
  return { net, publication, client, events, subscription, objects, close };
}

async function publishGroup(publication: Publication, ...payloads: string[]): Promise<GroupWriter> {
  const group = publication.openGroup();
  for (const payload of payloads) await group.write(utf8(payload));
  await group.end();
  return group;
}

/** The part of the story from the first line that starts with `start`. */
function since(lines: readonly string[], start: string): string[] {
  return lines.slice(lines.findIndex((line) => line.startsWith(start)));
}

for (const draft of drafts) {
  test(`GOAWAY of a relay sends its requests back to the balancer, without a gap, in draft ${draft} [LB-RGOAWAY-1, LB-RGOAWAY-2, LB-RGOAWAY-3, LB-RGOAWAY-4, LB-DISPL-8]`, async () => {
    const { net, publication, events, objects, close } = await subscribed(draft);
    net.publish({ R2: "draining" });
    net.relay("R2").drain(net.serviceUri);
    await settle();
    await publishGroup(publication, "after", "all");
    assert.deepEqual(await objects.take(2), ["1/0 after", "1/1 all"]);
    assert.deepEqual(since(story(events), "goaway"), [
      `goaway from ${relayUri("R2")}`,
      `retrying at ${net.serviceUri} after 0 ms: GOAWAY`,
      `redirected to ${relayUri("R1")}`,
      `connecting ${relayUri("R1")}`,
      `connected ${relayUri("R1")}`,
      `SUBSCRIBE live-sports-game.2d7--audio accepted by ${relayUri("R1")}`,
      `disconnected ${relayUri("R2")}`,
    ]);
    const goaway = events.find(({ type }) => type === "goaway");
    assert.equal(goaway?.type === "goaway" && goaway.newSessionUri, net.serviceUri);
    assert.equal(net.connectionsTo(net.serviceUri), 1);
    await close();
  });
}

describe("a relay that drains", () => {
  test("without a New Session URI means the balancer too, whose table decides [LB-GOAWAY-3, LB-RGOAWAY-3]", async () => {
    const { net, publication, objects, close } = await subscribed();
    net.publish({ R2: "draining" });
    net.relay("R2").drain();
    await settle();
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    assert.equal(net.relay("R2").sessions, 0);
    await close();
  });

  test("is left with NO_ERROR once nothing is left there", async () => {
    const { net, events, close } = await subscribed();
    net.publish({ R2: "draining" });
    net.relay("R2").drain(net.serviceUri, 5000);
    await settle();
    const end = events.find(({ type }) => type === "disconnected");
    assert.ok(end?.type === "disconnected");
    assert.equal(end.uri, relayUri("R2"));
    assert.equal(end.close.by, "local");
    assert.equal(end.close.code, 0n);
    await close();
  });

  test("gets no new request on the session that it wants to end [LB-S100]", async () => {
    const { net, client, close } = await subscribed();
    const other = net.client(relayUri("R1")).client;
    await other.publish(track("live/sports/game-7", "video"));
    // The balancer does not know yet, and names the relay again.
    net.relay("R2").drain(net.serviceUri);
    await settle();
    await client.subscribe(track("live/sports/game-7", "video"));
    assert.equal(net.connectionsTo(relayUri("R2")), 2);
    await other.close();
    await close();
  });

  test("that names another place is obeyed, as MOQT demands", async () => {
    const { net, publication, objects, close } = await subscribed();
    net.relay("R2").drain(relayUri("R1"));
    await settle();
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    assert.deepEqual(
      net.relay("R1").seen.map(({ type }) => type),
      ["PUBLISH", "SUBSCRIBE"],
    );
    assert.equal(net.connectionsTo(net.serviceUri), 1);
    await close();
  });

  test("for one request moves that one alone [LB-GOAWAY-2, LB-S108]", async () => {
    const { net, client, events, publication, objects, close } = await subscribed();
    const other = net.client(relayUri("R1")).client;
    await other.publish(track("live/sports/game-4", "audio"));
    await client.subscribe(track("live/sports/game-4", "audio"));
    assert.deepEqual(net.relay("R2").seen.at(-1)?.name, "live-sports-game.2d4--audio");
    net.publish({ R2: "draining" });
    net.relay("R2").move(namespace("live/sports/game-7"), net.serviceUri);
    await settle();
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    assert.equal(since(story(events), "goaway")[0], `goaway from ${relayUri("R2")} for a request`);
    assert.equal(net.relay("R2").sessions, 1);
    assert.equal(net.relay("R1").seen.at(-1)?.type, "SUBSCRIBE");
    await other.close();
    await close();
  });

  test("and a balancer that still names it are asked a bounded number of times, ever more slowly [LB-S101, LB-REDIR-19]", async () => {
    const net = new Deployment(["R1"]);
    const beside = new Relay({ name: "beside", network: net.network });
    net.listen(relayUri("beside"), (transport) => beside.serve(transport));
    const publisher = net.client(relayUri("beside")).client;
    await publisher.publish(game);
    const { client, events } = net.client(net.serviceUri, { maximumAttempts: 4 });
    const drain = () => net.relay("R1").drain(net.serviceUri, 1);
    const subscription = await client.subscribe(game);
    for (let round = 0; round < 10; round++) {
      drain();
      await pass(net.clock, 1000, 100);
    }
    const { status, error } = await subscription.ended;
    assert.equal(status, "FAILED");
    assert.match(String(error), /asked to move again and again/);
    const waits = events.flatMap((event) => (event.type === "retrying" ? [event.delay] : []));
    assert.deepEqual(waits.slice(0, 3), [0, 500, 1000]);
    await client.close();
    await publisher.close();
  });

  test("lets a publisher end its group there and begin the next one elsewhere [LB-PMOVE-22]", async () => {
    const net = new Deployment(["R1", "R2"]);
    const viewer = net.client(relayUri("R1")).client;
    const publisher = net.client(net.serviceUri);
    const publication = await publisher.client.publish(game);
    assert.equal(net.relay("R2").seen.at(-1)?.type, "PUBLISH");
    const objects = new Objects(await viewer.subscribe(game));
    const group = publication.openGroup();
    await group.write(utf8("first"));
    assert.deepEqual(await objects.take(1), ["0/0 first"]);

    net.publish({ R2: "draining" });
    net.relay("R2").drain(net.serviceUri);
    await settle();
    assert.equal(net.relay("R1").seen.at(-1)?.type, "PUBLISH");
    await group.write(utf8("second"));
    await group.end();
    await publishGroup(publication, "next");
    assert.deepEqual(await objects.take(2), ["0/1 second", "1/0 next"]);
    await settle();
    assert.equal(net.relay("R2").sessions, 0);
    await publisher.client.close();
    await viewer.close();
  });

  test("has the namespaces of a client announced, and watched, through the balancer again", async () => {
    const net = new Deployment(["r1", "r2", "r3"], { keyFields: 2 });
    const alice = net.client(net.serviceUri).client;
    const bob = net.client(net.serviceUri).client;
    await alice.publishNamespace({ trackNamespace: namespace("example.com/m1/alice") });
    const changes = (await bob.subscribeNamespace({ prefix: namespace("example.com/m1") }))[
      Symbol.asyncIterator
    ]();
    assert.equal((await changes.next()).value?.type, "NAMESPACE");
    net.publish({ r2: "draining" });
    net.relay("r2").drain(net.serviceUri);
    await settle();
    const moved = ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE"];
    assert.deepEqual(
      net
        .relay("r1")
        .seen.map(({ type }) => type)
        .sort(),
      moved,
    );
    await alice.publishNamespace({ trackNamespace: namespace("example.com/m1/alice2") });
    let seen = "";
    while (!seen.endsWith("alice2")) {
      const { value } = await changes.next();
      seen = new TextDecoder().decode(value?.trackNamespace.at(-1));
    }
    await alice.close();
    await bob.close();
  });
});

describe("a relay that fails", () => {
  test("sends its clients back to the balancer, not all in one instant [LB-RGOAWAY-5, LB-RGOAWAY-6, LB-DISPL-13, HD-03]", async () => {
    const { net, publication, events, objects, close } = await subscribed();
    net.publish({ R2: "unhealthy" });
    net.unplug(relayUri("R2"));
    net.relay("R2").fail();
    await settle();
    assert.deepEqual(since(story(events), "disconnected"), [
      `disconnected ${relayUri("R2")}`,
      `retrying at ${net.serviceUri} after 250 ms: session lost (INTERNAL_ERROR)`,
    ]);
    await pass(net.clock, 250);
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    assert.equal(net.relay("R1").seen.at(-1)?.type, "SUBSCRIBE");
    await close();
  });

  test("is noticed by the idle timeout where it says nothing any more [LB-RGOAWAY-5]", async () => {
    const { net, events, publication, objects, close } = await subscribed();
    net.publish({ R2: "unhealthy" });
    net.connections.find(({ uri }) => uri === relayUri("R2"))?.client.expire();
    await pass(net.clock, 250);
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    assert.ok(story(events).some((line) => line.endsWith("session lost (idle timeout)")));
    await close();
  });

  test("is asked again ever more slowly while the balancer names it, and in the end no more [LB-S107]", async () => {
    const { net, events, subscription, close } = await subscribed();
    net.unplug(relayUri("R2"));
    net.relay("R2").fail();
    await pass(net.clock, 120_000, 250);
    const { status, error } = await subscription.ended;
    assert.equal(status, "FAILED");
    assert.equal((error as { code: string }).code, "CONNECT_FAILED");
    const waits = events.flatMap((event) => (event.type === "retrying" ? [event.delay] : []));
    assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    await close();
  });

  test("in the middle of a group loses nothing that the next relay has", async () => {
    const { net, publication, objects, close } = await subscribed();
    const group = publication.openGroup();
    await group.write(utf8("one"));
    await group.write(utf8("two"));
    assert.deepEqual(await objects.take(2), ["1/0 one", "1/1 two"]);
    net.publish({ R2: "unhealthy" });
    net.relay("R2").fail();
    await settle();
    await group.write(utf8("three"));
    await pass(net.clock, 250);
    await group.write(utf8("four"));
    await group.end();
    assert.deepEqual(await objects.take(2), ["1/2 three", "1/3 four"]);
    await close();
  });

  test("has its publishers publish elsewhere, where an open group goes on", async () => {
    const net = new Deployment(["R1", "R2"]);
    const viewer = net.client(relayUri("R1")).client;
    const publisher = net.client(net.serviceUri).client;
    const publication = await publisher.publish(game);
    const objects = new Objects(await viewer.subscribe(game));
    const group = publication.openGroup();
    await group.write(utf8("one"));
    assert.deepEqual(await objects.take(1), ["0/0 one"]);
    net.publish({ R2: "unhealthy" });
    net.relay("R2").fail();
    await settle();
    assert.equal(publication.isWanted, false);
    await group.write(utf8("lost"));
    await pass(net.clock, 250);
    await publication.wanted();
    await group.write(utf8("three"));
    await group.end();
    assert.deepEqual(await objects.take(1), ["0/2 three"]);
    await publisher.close();
    await viewer.close();
  });
});

describe("a balancer", () => {
  test("that closes an idle session gets a new one with the next request [LB-REDIR-17]", async () => {
    const net = new Deployment(["R1", "R2"], { limits: { idleTimeout: 10_000 } });
    const { client, events } = net.client(net.serviceUri);
    await client.publish(game);
    await pass(net.clock, 11_000, 500);
    assert.equal(net.balancer.status().sessions, 0);
    const end = events.find(({ type }) => type === "disconnected");
    assert.ok(end?.type === "disconnected" && end.close.code === 0n);
    await client.publish(track("live/news/ch-2", "video"));
    assert.equal(net.connectionsTo(net.serviceUri), 2);
    await client.close();
  });

  test("that drains is asked on a new session, and its relays do not notice [GA-10]", async () => {
    const { net, client, publication, objects, close } = await subscribed();
    const old = net.balancer;
    const next = new Deployment(["R1", "R2"]);
    net.listen(net.serviceUri, (transport) => next.balancer.serve(transport));
    void old.drain(1000);
    await settle();
    assert.equal(old.status().sessions, 0);
    await client.publish(track("live/news/ch-2", "video"));
    assert.equal(next.balancer.status().sessions, 1);
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    await close();
  });

  test("that is lost costs no subscription, and is tried again [LB-CONNLB-4]", async () => {
    const { net, client, publication, objects, close } = await subscribed();
    net.connections.find(({ uri }) => uri === net.serviceUri)?.client.expire();
    await settle();
    await publishGroup(publication, "after");
    assert.deepEqual(await objects.take(1), ["1/0 after"]);
    await client.publish(track("live/news/ch-2", "video"));
    assert.equal(net.connectionsTo(net.serviceUri), 2);
    await close();
  });
});
