/** The flows of the draft's figures, in every draft of MOQT. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { RequestRefused } from "../../../src/client/errors.ts";
import { drafts, formatName } from "../../../src/moqt/mod.ts";
import { Deployment, relayUri } from "./internet.ts";
import { namespace, Objects, story, text, track } from "./tracks.ts";

for (const draft of drafts) {
  describe(`redirect mode over draft ${draft}`, () => {
    test("one session places two tracks on two relays, and stays open [LB-EX-1, LB-EX-2, LB-REDIR-2, LB-REDIR-9, LB-REDIR-10, LB-REDIR-11]", async () => {
      const net = new Deployment(["R1", "R2"]);
      const publisher = net.client(relayUri("R1"), { draft });
      const game = await publisher.client.publish(track("live/sports/game-7", "audio"));
      const news = await publisher.client.publish(track("live/news/ch-2", "video"));
      const { client, events } = net.client(net.serviceUri, { draft });

      const audio = await client.subscribe(track("live/sports/game-7", "audio"));
      const video = await client.subscribe(track("live/news/ch-2", "video"));
      const group = game.openGroup();
      await group.write(utf8("kick-off"));
      await group.write(utf8("goal"));
      await group.end();
      const other = news.openGroup();
      await other.write(utf8("headlines"));
      await other.end();

      assert.deepEqual(await new Objects(audio).take(2), ["0/0 kick-off", "0/1 goal"]);
      assert.deepEqual(await new Objects(video).take(1), ["0/0 headlines"]);
      assert.deepEqual(
        story(events).filter((line) => !line.startsWith("connect")),
        [
          "redirected to moqt://r2.example/moq",
          "SUBSCRIBE live-sports-game.2d7--audio accepted by moqt://r2.example/moq",
          "redirected to moqt://r1.example/moq",
          "SUBSCRIBE live-news-ch.2d2--video accepted by moqt://r1.example/moq",
        ],
      );
      assert.equal(net.balancer.status().sessions, 1);
      assert.equal(net.connectionsTo(net.serviceUri), 1);
      await client.close();
      await publisher.client.close();
    });

    test("participants of a meeting meet on one relay, other meetings elsewhere [LB-EX-7, LB-EX-8, LB-REDIR-6, LB-REDIR-12, RD-14]", async () => {
      const net = new Deployment(["r1", "r2", "r3"], { keyFields: 2 });
      const alice = net.client(net.serviceUri, { draft }).client;
      const camera = alice.track(track("example.com/m1/alice", "camera"));
      await alice.publishNamespace({ trackNamespace: namespace("example.com/m1/alice") });
      const bob = net.client(net.serviceUri, { draft }).client;

      const namespaces = await bob.subscribeNamespace({ prefix: namespace("example.com/m1") });
      const { value: found } = await namespaces[Symbol.asyncIterator]().next();
      assert.equal(found?.type, "NAMESPACE");
      assert.equal(formatName(found?.trackNamespace ?? []), "example.2ecom-m1-alice");
      const subscription = await bob.subscribe(track("example.com/m1/alice", "camera"));
      await camera.wanted();
      const group = camera.openGroup();
      await group.write(utf8("hello"));
      await group.end();
      assert.deepEqual(await new Objects(subscription).take(1), ["0/0 hello"]);

      assert.deepEqual(
        net.relay("r2").seen.map(({ type, name }) => `${type} ${name}`),
        [
          "PUBLISH_NAMESPACE example.2ecom-m1-alice",
          "SUBSCRIBE_NAMESPACE example.2ecom-m1",
          "SUBSCRIBE example.2ecom-m1-alice--camera",
        ],
      );
      assert.equal(net.connectionsTo(relayUri("r2")), 2);

      await bob.publishNamespace({ trackNamespace: namespace("example.com/m3/bob") });
      assert.deepEqual(
        net.relay("r3").seen.map(({ name }) => name),
        ["example.2ecom-m3-bob"],
      );
      // Each of the two has one session with the balancer; bob has one with r2 and one with r3.
      assert.equal(net.connections.length, 2 + 1 + 2);
      await alice.close();
      await bob.close();
    });

    test("FETCH and TRACK_STATUS find the relay of their track", async () => {
      const net = new Deployment(["R1", "R2"]);
      const publisher = net.client(relayUri("R2"), { draft }).client;
      const game = await publisher.publish(track("live/sports/game-7", "audio"));
      for (const word of ["one", "two", "three"]) {
        const group = game.openGroup();
        await group.write(utf8(word));
        await group.write(utf8(`${word} again`));
        await group.end();
      }
      const { client } = net.client(net.serviceUri, { draft });
      // The relay has everything once it has the last object.
      const late = new Objects(await client.subscribe(track("live/sports/game-7", "audio")));
      assert.deepEqual(await late.take(2), ["2/0 three", "2/1 three again"]);

      const status = await client.trackStatus(track("live/sports/game-7", "audio"));
      assert.deepEqual(status.largest, { group: 2n, object: 1n });
      const fetched = await client.fetch({
        ...track("live/sports/game-7", "audio"),
        start: { group: 0n, object: 1n },
        end: { group: 1n, object: 0n },
      });
      assert.deepEqual(fetched.end, { group: 1n, object: 0n });
      const payloads: string[] = [];
      for await (const item of fetched) {
        payloads.push(item.type === "OBJECT" ? text(item.payload) : item.reason);
      }
      assert.deepEqual(payloads, ["one again", "two"]);
      assert.deepEqual(
        net.relay("R2").seen.map(({ type }) => type),
        ["PUBLISH", "SUBSCRIBE", "TRACK_STATUS", "FETCH"],
      );
      await client.close();
      await publisher.close();
    });

    if (draft === 18) {
      test("PUBLISH and SUBSCRIBE_TRACKS cannot be redirected, and the client says why [RD-03]", async () => {
        const net = new Deployment(["R1", "R2"]);
        const { client } = net.client(net.serviceUri, { draft });
        const refused = (error: unknown) =>
          error instanceof RequestRefused &&
          error.errorName === "NOT_SUPPORTED" &&
          /draft 18 cannot redirect .* draft 19 or later/.test(error.message);
        await assert.rejects(client.publish(track("live/sports/game-7", "audio")), refused);
        await assert.rejects(client.subscribeTracks({ prefix: namespace("live/sports") }), refused);
        await client.close();
      });
    } else {
      test("a PUBLISH and a SUBSCRIBE_TRACKS meet where the table sends them [RD-04]", async () => {
        const net = new Deployment(["r1", "r2", "r3"], { keyFields: 2 });
        const bob = net.client(net.serviceUri, { draft }).client;
        const tracks = await bob.subscribeTracks({ prefix: namespace("example.com/m1") });
        const alice = net.client(net.serviceUri, { draft }).client;
        const camera = await alice.publish(track("example.com/m1/alice", "camera"));
        const { value: subscription } = await tracks[Symbol.asyncIterator]().next();
        assert.ok(subscription);
        assert.equal(
          formatName(subscription.trackNamespace, subscription.trackName),
          "example.2ecom-m1-alice--camera",
        );
        const group = camera.openGroup();
        await group.write(utf8("hello"));
        await camera.end();
        assert.deepEqual(await new Objects(subscription).take(2), ["0/0 hello"]);
        assert.equal((await subscription.ended).status, "TRACK_ENDED");
        assert.deepEqual(
          net.relay("r2").seen.map(({ type }) => type),
          ["SUBSCRIBE_TRACKS", "PUBLISH"],
        );
        await alice.close();
        await bob.close();
      });
    }
  });
}

test("a listener of the client's events that fails hinders nothing", async () => {
  for (const fail of [() => Promise.reject(new Error("full, later")), failAtOnce]) {
    const net = new Deployment(["R1", "R2"]);
    const publisher = net.client(net.serviceUri, { onEvent: fail }).client;
    const published = await publisher.publish(track("live/sports/game-7", "audio"));
    const { client } = net.client(net.serviceUri, { onEvent: fail });
    const objects = new Objects(await client.subscribe(track("live/sports/game-7", "audio")));
    const group = published.openGroup();
    await group.write(utf8("kick-off"));
    await group.end();
    assert.deepEqual(await objects.take(1), ["0/0 kick-off"]);
    await Promise.all([client.close(), publisher.close()]);
  }
});

function failAtOnce(): never {
  throw new Error("full");
}
