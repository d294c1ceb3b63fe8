import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../../../../src/bytes.ts";
import { streamResetCodes } from "../../../../../src/moqt/mod.ts";
import { StreamStopped } from "../../../../../src/quic/errors.ts";
import type { TransportStream } from "../../../../../src/transport/transport.ts";
import { dataPlaneBed } from "../../../../support/data-plane-bed.ts";
import { bytesOf, readToEnd } from "../../../../support/raw-peer.ts";
import { settle } from "../../../../support/settle.ts";
import { fetched, subgroup } from "./units.ts";

/** Reads until `bytes` are there. */
async function readAll(stream: TransportStream, bytes: number): Promise<Uint8Array> {
  let read: Uint8Array = new Uint8Array(0);
  while (read.length < bytes) {
    const part = await stream.read();
    assert.ok(part !== null);
    read = concatBytes(read, part);
  }
  return read;
}

describe("a data stream", () => {
  test("of a relay arrives at the client under the alias of its subscription, FIN and all [LB-PDATA-9] [LB-PDATA-15] [LB-PDATA-18]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    const delivery = plane.deliver(client.session, 9n);
    const source = delivery.attach(relay.session, 5n);
    await relay.uni(subgroup(5, 3), true);
    assert.deepEqual(await client.received(), { bytes: subgroup(9, 3), end: "FIN" });
    assert.deepEqual(plane.counts.streams, { toClient: 1, toRelay: 0 });
    assert.deepEqual(plane.counts.bytes, { toClient: subgroup(9, 3).length, toRelay: 0 });
    assert.deepEqual([source.streams, delivery.streams, delivery.largestGroup], [1n, 1n, 3n]);
  });

  test("of a client arrives at the relay that it publishes to [LB-PDATA-10]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(relay.session, 2n).attach(client.session, 7n);
    await client.uni(subgroup(7, 1), true);
    assert.deepEqual(await relay.received(), { bytes: subgroup(2, 1), end: "FIN" });
    assert.deepEqual(plane.counts.streams, { toClient: 0, toRelay: 1 });
  });

  test("that answers a FETCH has the Request ID of the client's [LB-PDATA-9] [LB-PDATA-14] [LB-PDATA-15]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session).attachFetch(relay.session, 4n, 10n);
    await relay.uni(fetched(4), true);
    assert.deepEqual(await client.received(), { bytes: fetched(10), end: "FIN" });
  });

  test("that is a fill goes with the subscription, under the ID of the request that asked [LB-PDATA-14]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    const delivery = plane.deliver(client.session, 9n);
    delivery.attach(relay.session, 5n);
    delivery.attachFetch(relay.session, 2n, 6n);
    await relay.uni(fetched(2), true);
    assert.deepEqual(await client.received(), { bytes: fetched(6), end: "FIN" });
    assert.equal(delivery.streams, 1n);
    assert.equal(delivery.largestGroup, undefined);
  });

  test("has one for it on the other leg, and the empty one has too [LB-PDATA-11] [LB-PDATA-18]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    for (let group = 0; group < 20; group++) {
      await relay.uni(
        group % 2 === 0 ? subgroup(5, group) : Uint8Array.of(0x14, 5, group, 0, 0),
        true,
      );
    }
    for (let group = 0; group < 20; group++) {
      const bytes = group % 2 === 0 ? subgroup(9, group) : Uint8Array.of(0x14, 9, group, 0, 0);
      assert.deepEqual(await client.received(), { bytes, end: "FIN" });
    }
    assert.equal(plane.counts.streams.toClient, 20);
  });

  test("gets to its own track or fetch however they are interleaved [LB-PDATA-14] [LB-PMAP-9]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    for (const [ours, theirs] of [
      [11n, 1n],
      [12n, 2n],
      [13n, 3n],
    ] as const) {
      plane.deliver(client.session, ours).attach(relay.session, theirs);
    }
    // Track Aliases and Request IDs are different things: this one has the number of a track.
    plane.deliver(client.session).attachFetch(relay.session, 2n, 12n);
    const sent = [
      subgroup(1, 0, "a1"),
      subgroup(3, 0, "a3"),
      fetched(2, "af"),
      subgroup(2, 0, "a2"),
    ];
    for (const bytes of sent) await relay.uni(bytes, true);
    const received = [];
    while (received.length < sent.length) received.push((await client.received()).bytes);
    assert.deepEqual(received, [
      subgroup(11, 0, "a1"),
      subgroup(13, 0, "a3"),
      fetched(12, "af"),
      subgroup(12, 0, "a2"),
    ]);
  });

  test("of two relays that chose the same alias keeps its own track [LB-PMAP-9] [LB-PMAP-13] [PX-02]", async () => {
    const { plane, client, relays } = await dataPlaneBed({ relays: 2 });
    const [first, second] = relays as [(typeof relays)[0], (typeof relays)[0]];
    plane.deliver(client.session, 1n).attach(first.session, 7n);
    plane.deliver(client.session, 2n).attach(second.session, 7n);
    await second.uni(subgroup(7, 0, "22"), true);
    assert.deepEqual((await client.received()).bytes, subgroup(2, 0, "22"));
    await first.uni(subgroup(7, 0, "11"), true);
    assert.deepEqual((await client.received()).bytes, subgroup(1, 0, "11"));
  });

  test("keeps every byte of its objects, cut anywhere [LB-PDATA-16] [LB-S73]", async () => {
    const payload = Uint8Array.from({ length: 20_000 }, (_, i) => (i * 7) & 0xff);
    for (const segment of [1000, 7, 1]) {
      const { plane, client, relay } = await dataPlaneBed({
        client: { segment: 333, streamWindow: 1500 },
        relay: { segment },
      });
      plane.deliver(client.session, 9n).attach(relay.session, 5n);
      void relay.uni(subgroup(5, 3, payload.subarray(0, 20 * segment)), true);
      const { bytes, end } = await client.received();
      assert.deepEqual(bytes, subgroup(9, 3, payload.subarray(0, 20 * segment)));
      assert.equal(end, "FIN");
    }
  });

  test("with integers longer than they need to be keeps them [LB-PDATA-16]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 300n).attach(relay.session, 5n);
    await relay.uni("8014 c00005 8003 e0000000 80 0001 61", true);
    const { bytes } = await client.received();
    assert.deepEqual(bytes, bytesOf("8014 812c 8003 e0000000 80 0001 61"));
  });

  for (const code of [...Object.values(streamResetCodes), 0x1234_5678n]) {
    test(`that is reset with code ${code} is reset with that code [LB-PDATA-17]`, async () => {
      const { plane, client, relay } = await dataPlaneBed();
      plane.deliver(client.session, 9n).attach(relay.session, 5n);
      const stream = await relay.uni(subgroup(5, 3));
      const arriving = await client.stream();
      assert.deepEqual(await readAll(arriving, 8), subgroup(9, 3));
      stream.reset(code);
      assert.equal((await readToEnd(arriving)).end, code);
    });

    test(`that the subscriber stops with code ${code} is stopped with that code [LB-S74]`, async () => {
      const { plane, client, relay } = await dataPlaneBed();
      plane.deliver(client.session, 9n).attach(relay.session, 5n);
      const stream = await relay.uni(subgroup(5, 3));
      (await client.stream()).stopSending(code);
      assert.equal(await stream.stopped, code);
    });
  }

  test("with codes that stacks cannot send ends with the largest that they can", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    const resetting = await relay.uni(subgroup(5, 3));
    const arriving = await client.stream();
    await readAll(arriving, 8);
    resetting.reset(2n ** 62n - 1n);
    assert.equal((await readToEnd(arriving)).end, 2n ** 53n - 1n);
    const stream = await relay.uni(subgroup(5, 4));
    (await client.stream()).stopSending(2n ** 60n);
    assert.equal(await stream.stopped, 2n ** 53n - 1n);
    assert.equal(client.session.isOver, false);
  });

  test("that is stopped while a write waits for the subscriber is stopped at once [LB-S74]", async () => {
    const { plane, client, relay } = await dataPlaneBed({ client: { streamWindow: 64 } });
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    const stream = await relay.uni(subgroup(5, 3));
    const writing = stream.write(new Uint8Array(0x4_0000));
    (await client.stream()).stopSending(0x5n);
    await assert.rejects(writing, (error) => error instanceof StreamStopped);
    assert.equal(await stream.stopped, 0x5n);
  });

  test("that is reset while a write waits for the subscriber is reset at once: what waits would come too late [LB-PDATA-17]", async () => {
    const { plane, client, relay } = await dataPlaneBed({ client: { streamWindow: 64 } });
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    const stream = await relay.uni(subgroup(5, 3, new Uint8Array(1000)));
    const arriving = await client.stream();
    await settle();
    stream.reset(streamResetCodes.DELIVERY_TIMEOUT);
    await settle();
    assert.equal((await readToEnd(arriving)).end, streamResetCodes.DELIVERY_TIMEOUT);
  });

  test("that is reset while the client grants no stream for it never gets one [LB-PDATA-17] [LB-S52]", async () => {
    // One is taken by the control stream.
    const { plane, client, relay } = await dataPlaneBed({ client: { uniStreams: 2 } });
    const delivery = plane.deliver(client.session, 9n);
    const source = delivery.attach(relay.session, 5n);
    const first = await relay.uni(subgroup(5, 0));
    const arriving = await client.stream();
    const waiting = await relay.uni(subgroup(5, 1));
    await settle();
    waiting.reset(streamResetCodes.DELIVERY_TIMEOUT);
    await settle();
    await first.end();
    await readToEnd(arriving);
    await source.quiet();
    assert.deepEqual([source.streams, delivery.streams, delivery.largestGroup], [2n, 1n, 0n]);
  });

  test("is read no further than its subscriber reads [LB-SEC-30]", async () => {
    const { plane, client, relay } = await dataPlaneBed({
      client: { streamWindow: 1024 },
      relay: { streamWindow: 1024 },
    });
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    const stream = await relay.uni(subgroup(5, 3));
    const arriving = await client.stream();
    let taken = 0;
    const writing = (async () => {
      for (; taken < 100; taken++) await stream.write(new Uint8Array(1024));
      await stream.end();
    })();
    await settle();
    // What each window has, and a chunk on its way.
    assert.ok(taken <= 5, `${taken} KiB were taken`);
    assert.equal((await readToEnd(arriving)).bytes.length, 8 + 100 * 1024);
    await writing;
  });
});

describe("streams", () => {
  test("do not wait for another that nobody reads [LB-PDATA-12] [LB-PDATA-13]", async () => {
    const { plane, client, relay } = await dataPlaneBed({ client: { streamWindow: 256 } });
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    plane.deliver(relay.session, 2n).attach(client.session, 7n);
    const stalled = await relay.uni(subgroup(5, 0));
    void stalled.write(new Uint8Array(0x4_0000)).catch(() => {});
    await client.stream();
    await settle();
    for (let group = 1; group < 30; group++) {
      await relay.uni(subgroup(5, group), true);
      assert.deepEqual((await client.received()).bytes, subgroup(9, group));
      const up = await client.uni(subgroup(7, group), true);
      assert.equal(up.local, true);
      assert.deepEqual((await relay.received()).bytes, subgroup(2, group));
    }
  });

  test("to a client that grants none wait unread, those to relays go on [LB-PDATA-13] [LB-SEC-30]", async () => {
    // One is taken by the control stream.
    const { plane, client, relay } = await dataPlaneBed({ client: { uniStreams: 2 } });
    const delivery = plane.deliver(client.session, 9n);
    delivery.attach(relay.session, 5n);
    plane.deliver(relay.session, 2n).attach(client.session, 7n);
    const first = await relay.uni(subgroup(5, 0));
    for (let group = 1; group < 4; group++) await relay.uni(subgroup(5, group), true);
    const arriving = await client.stream();
    await client.uni(subgroup(7, 0), true);
    assert.deepEqual((await relay.received()).bytes, subgroup(2, 0));
    assert.deepEqual([delivery.streams, delivery.largestGroup], [1n, 0n]);
    await first.end();
    assert.equal((await readToEnd(arriving)).end, "FIN");
    for (let group = 1; group < 4; group++) {
      assert.deepEqual((await client.received()).bytes, subgroup(9, group));
    }
    assert.deepEqual([delivery.streams, delivery.largestGroup], [4n, 3n]);
  });

  test("of tracks that a session publishes and receives are independent [LB-PDATA-12]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    // The same alias means one thing in each direction.
    plane.deliver(client.session, 3n).attach(relay.session, 3n);
    plane.deliver(relay.session, 4n).attach(client.session, 3n);
    await Promise.all([
      relay.uni(subgroup(3, 0, "d0"), true),
      client.uni(subgroup(3, 0, "e0"), true),
    ]);
    assert.deepEqual((await client.received()).bytes, subgroup(3, 0, "d0"));
    assert.deepEqual((await relay.received()).bytes, subgroup(4, 0, "e0"));
  });

  test("of padding, and datagrams of it, go nowhere [LB-PDATA-21]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    const padding = bytesOf("f0132b3e28");
    const stream = await relay.uni(padding);
    // It is read and discarded: far more than a window goes.
    for (let i = 0; i < 10; i++) await stream.write(new Uint8Array(0x1_0000));
    relay.transport.sendDatagram(concatBytes(bytesOf("f0132b3e29"), new Uint8Array(100)));
    await relay.uni(subgroup(5, 0), true);
    assert.deepEqual((await client.received()).bytes, subgroup(9, 0));
    await settle();
    assert.deepEqual(client.datagrams, []);
    assert.equal(plane.counts.streams.toClient, 1);
    assert.equal(client.session.isOver, false);
  });

  test("and datagrams are the only ones that the balancer starts: it makes no padding of its own [LB-PDATA-22]", async () => {
    const { plane, client, relay, clock } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    clock.advance(60_000);
    await settle();
    assert.deepEqual(plane.counts.streams, { toClient: 0, toRelay: 0 });
    assert.deepEqual([...client.datagrams, ...relay.datagrams], []);
  });
});

describe("one alias for two subscriptions", () => {
  test("is one at the subscriber too, and each stream goes there once [LB-S71]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    const deliveries = [plane.deliver(client.session, 9n), plane.deliver(client.session, 9n)];
    const sources = deliveries.map((delivery) => delivery.attach(relay.session, 5n));
    await relay.uni(subgroup(5, 3), true);
    relay.transport.sendDatagram(bytesOf("00 05 04 01 80 61"));
    assert.deepEqual((await client.received()).bytes, subgroup(9, 3));
    await settle();
    assert.equal(plane.counts.streams.toClient, 1);
    assert.deepEqual(client.datagrams, [bytesOf("00 09 04 01 80 61")]);
    for (const { streams, largestGroup } of deliveries) {
      assert.deepEqual([streams, largestGroup], [1n, 4n]);
    }
    assert.deepEqual(
      sources.map(({ streams }) => streams),
      [1n, 1n],
    );
  });

  test("goes on for the one when the other ends [LB-S71]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    const [first, second] = [plane.deliver(client.session, 9n), plane.deliver(client.session, 9n)];
    const source = first.attach(relay.session, 5n);
    second.attach(relay.session, 5n);
    const stream = await relay.uni(subgroup(5, 3));
    const arriving = await client.stream();
    source.end(streamResetCodes.GOING_AWAY);
    await first.quiet();
    await stream.write(utf8("more"), true);
    const { bytes, end } = await readToEnd(arriving);
    assert.deepEqual([bytes, end], [concatBytes(subgroup(9, 3), utf8("more")), "FIN"]);
    await second.quiet();
  });

  test("where the subscriber has two gets to both, at the pace of each stream's slower one [LB-S71]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 8n).attach(relay.session, 5n);
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    const stream = await relay.uni(subgroup(5, 3));
    const arriving = [await client.stream(), await client.stream()] as const;
    arriving[0].stopSending(0x1n);
    await settle();
    await stream.end();
    assert.deepEqual(await readToEnd(arriving[1]), { bytes: subgroup(9, 3), end: "FIN" });
  });
});
