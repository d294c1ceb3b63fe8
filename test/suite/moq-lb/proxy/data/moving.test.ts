import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import type { GroupGate, Passage } from "../../../../../src/moq-lb/proxy/data/delivery.ts";
import { streamResetCodes } from "../../../../../src/moqt/mod.ts";
import type { TransportStream } from "../../../../../src/transport/transport.ts";
import { type DataPeer, dataPlaneBed } from "../../../../support/data-plane-bed.ts";
import { readToEnd } from "../../../../support/raw-peer.ts";
import { settle } from "../../../../support/settle.ts";
import { datagram, subgroup } from "./units.ts";

const { CANCELLED, GOING_AWAY, SESSION_CLOSED } = streamResetCodes;

/** Whether a promise has been resolved, once all has happened that can. */
async function isResolved(promise: Promise<unknown>): Promise<boolean> {
  let resolved = false;
  void promise.then(() => {
    resolved = true;
  });
  await settle();
  return resolved;
}

/** A gate whose mind is changed by hand: what it says of groups from `from` on. */
class Gate implements GroupGate {
  from = 0n;
  later: Passage = "forward";
  earlier: Passage = "forward";

  passageOf(groupId: bigint): Passage {
    return groupId < this.from ? this.earlier : this.later;
  }
}

/** A subscription of the client, alias 9, to the first of two relays, alias 5. */
async function movingBed() {
  const bed = await dataPlaneBed({ relays: 2 });
  const { plane, client, relays } = bed;
  const [old, next] = relays as [DataPeer, DataPeer];
  const gate = new Gate();
  const delivery = plane.deliver(client.session, 9n);
  const source = delivery.attach(old.session, 5n, gate);
  return { ...bed, old, next, gate, delivery, source };
}

describe("a gate", () => {
  test("holds streams and datagrams from a group on until it says otherwise [LB-PMOVE-8]", async () => {
    const { client, old, gate, source, delivery } = await movingBed();
    gate.from = 7n;
    gate.later = "hold";
    await old.uni(subgroup(5, 7), true);
    await old.uni(subgroup(5, 6), true);
    old.transport.sendDatagram(datagram(5, 8));
    assert.deepEqual((await client.received()).bytes, subgroup(9, 6));
    await settle();
    assert.deepEqual(client.datagrams, []);
    assert.deepEqual([source.streams, delivery.streams, delivery.largestGroup], [2n, 1n, 6n]);
    assert.equal(await isResolved(source.quiet(7n)), true);
    assert.equal(await isResolved(delivery.quiet()), true);
    const quiet = source.quiet();
    assert.equal(await isResolved(quiet), false);
    gate.later = "forward";
    source.reconsider();
    assert.deepEqual((await client.received()).bytes, subgroup(9, 7));
    await quiet;
    assert.deepEqual(client.datagrams, [datagram(9, 8)]);
    assert.equal(delivery.largestGroup, 8n);
  });

  test("that drops a group stops its streams, held ones as well, and its datagrams [LB-PMOVE-8]", async () => {
    const { plane, client, old, gate, source } = await movingBed();
    gate.from = 7n;
    gate.later = "hold";
    const held = await old.uni(subgroup(5, 8));
    old.transport.sendDatagram(datagram(5, 8));
    await settle();
    gate.later = "drop";
    source.reconsider();
    assert.equal(await held.stopped, CANCELLED);
    const late = await old.uni(subgroup(5, 9));
    assert.equal(await late.stopped, CANCELLED);
    old.transport.sendDatagram(datagram(5, 9));
    await settle();
    assert.deepEqual(client.datagrams, []);
    assert.equal(plane.counts.streams.toClient, 0);
    assert.equal(source.streams, 2n);
    await source.quiet();
  });

  test("lets the new relay deliver no group before its first [LB-PMOVE-7]", async () => {
    const { client, next, delivery } = await movingBed();
    const gate = new Gate();
    gate.from = 8n;
    gate.earlier = "drop";
    delivery.attach(next.session, 5n, gate);
    const early = await next.uni(subgroup(5, 7));
    assert.equal(await early.stopped, CANCELLED);
    await next.uni(subgroup(5, 8, "62"), true);
    assert.deepEqual((await client.received()).bytes, subgroup(9, 8, "62"));
  });

  test("does not keep a stream that is reset while it is held [LB-PDATA-17]", async () => {
    const { plane, client, old, gate, source } = await movingBed();
    gate.later = "hold";
    const held = await old.uni(subgroup(5, 7));
    await settle();
    held.reset(0x2n);
    await source.quiet();
    gate.later = "forward";
    source.reconsider();
    await old.uni(subgroup(5, 8), true);
    assert.deepEqual((await client.received()).bytes, subgroup(9, 8));
    assert.equal(plane.counts.streams.toClient, 1);
  });

  test("that drops what is under way cuts it at both ends", async () => {
    const { client, old, gate, source } = await movingBed();
    const stream = await old.uni(subgroup(5, 7));
    const arriving = await client.stream();
    gate.later = "drop";
    source.reconsider();
    assert.equal((await readToEnd(arriving)).end, CANCELLED);
    assert.equal(await stream.stopped, CANCELLED);
  });

  test("that holds leaves alone what is under way", async () => {
    const { client, old, gate, source } = await movingBed();
    const stream = await old.uni(subgroup(5, 7));
    const arriving = await client.stream();
    gate.later = "hold";
    source.reconsider();
    await stream.end();
    assert.deepEqual(await readToEnd(arriving), { bytes: subgroup(9, 7), end: "FIN" });
  });

  test("that holds again at any moment lets nothing by that nobody was told of [LB-PMOVE-8] [LB-S93]", async () => {
    for (let turns = 0; turns < 60; turns++) {
      const { plane, client, old, delivery, gate, source } = await movingBed();
      gate.later = "hold";
      await old.uni(subgroup(5, 7), true);
      await settle();
      gate.later = "forward";
      source.reconsider();
      for (let turn = 0; turn < turns; turn++) await undefined;
      gate.later = "hold";
      source.reconsider();
      const isTold = delivery.largestGroup === 7n;
      await settle();
      assert.equal(delivery.largestGroup === 7n, isTold, `after ${turns} turns`);
      assert.equal(plane.counts.streams.toClient, isTold ? 1 : 0);
      gate.later = "forward";
      source.reconsider();
      assert.deepEqual(await client.received(), { bytes: subgroup(9, 7), end: "FIN" });
      assert.equal(plane.counts.streams.toClient, 1);
    }
  });

  test("still holds a stream that waits to be opened [LB-PMOVE-8]", async () => {
    const { plane, client, relay } = await dataPlaneBed({ client: { uniStreams: 2 } });
    const gate = new Gate();
    const delivery = plane.deliver(client.session, 9n);
    const source = delivery.attach(relay.session, 5n, gate);
    const first = await relay.uni(subgroup(5, 6));
    const arriving = await client.stream();
    const waiting = await relay.uni(subgroup(5, 7));
    await settle();
    assert.equal(delivery.largestGroup, 6n);
    gate.from = 7n;
    gate.later = "hold";
    source.reconsider();
    await first.end();
    await readToEnd(arriving);
    await settle();
    assert.deepEqual([delivery.largestGroup, delivery.streams], [6n, 1n]);
    gate.later = "drop";
    source.reconsider();
    assert.equal(await waiting.stopped, CANCELLED);
    assert.deepEqual([delivery.largestGroup, delivery.streams], [6n, 1n]);
  });

  test("that holds datagrams holds so many of them and no more [LB-SEC-30]", async () => {
    const { plane, client, old, gate, source } = await movingBed();
    gate.later = "hold";
    for (let group = 0; group < 10; group++) old.transport.sendDatagram(datagram(5, group));
    await settle();
    gate.later = "forward";
    source.reconsider();
    await settle();
    assert.deepEqual(
      client.datagrams,
      [0, 1, 2, 3].map((group) => datagram(9, group)),
    );
    assert.equal(plane.counts.dropped.datagrams, 6);
  });
});

describe("a move", () => {
  const event = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant("stream" as const),
        of: fc.constantFrom("old" as const, "next" as const),
        group: fc.integer({ min: 0, max: 12 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant("datagram" as const),
        of: fc.constantFrom("old" as const, "next" as const),
        group: fc.integer({ min: 0, max: 12 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant("settle" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constantFrom("ask" as const, "accept" as const, "refuse" as const),
      }),
    },
  );

  test("lets each object through once, whatever comes when: old groups from the old relay, new ones from the new [LB-PMOVE-7] [LB-PMOVE-8] [LB-S52]", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
        const { plane, client, relays } = await dataPlaneBed({
          relays: 2,
          limits: { maximumHeld: 100, holdTime: 2000 },
        });
        const [old, next] = relays as [DataPeer, DataPeer];
        const gates = { old: new Gate(), next: new Gate() };
        const delivery = plane.deliver(client.session, 9n);
        const source = delivery.attach(old.session, 5n, gates.old);
        plane.expect(next.session);
        let phase: "before" | "asked" | "moved" = "before";
        let tag = 0;
        const sent: { of: "old" | "next"; group: bigint; tag: number; kind: string }[] = [];
        const received: { tag: number; kind: string }[] = [];
        client.transport.onDatagram = (bytes) =>
          received.push({ tag: bytes.at(-1) as number, kind: "datagram" });
        for (const happening of events) {
          switch (happening.type) {
            case "stream":
            case "datagram": {
              const { of, group } = happening;
              const peer = of === "old" ? old : next;
              const payload = Uint8Array.of(++tag);
              sent.push({ of, group: BigInt(group), tag, kind: happening.type });
              if (happening.type === "stream") await peer.uni(subgroup(5, group, payload), true);
              else peer.transport.sendDatagram(new Uint8Array([...datagram(5, group, ""), tag]));
              break;
            }
            case "settle":
              await settle();
              break;
            case "ask":
              if (phase !== "before") break;
              await settle();
              phase = "asked";
              gates.old.from = (delivery.largestGroup ?? -1n) + 1n;
              gates.old.later = "hold";
              source.reconsider();
              break;
            case "refuse":
              if (phase !== "asked") break;
              phase = "before";
              gates.old.later = "forward";
              source.reconsider();
              break;
            case "accept":
              if (phase !== "asked") break;
              phase = "moved";
              gates.old.later = "drop";
              gates.next.from = gates.old.from;
              gates.next.earlier = "drop";
              delivery.attach(next.session, 5n, gates.next);
              source.reconsider();
              break;
          }
        }
        await settle();
        const { from } = gates.old;
        const mayPass = ({ of, group }: (typeof sent)[number]) => {
          if (phase === "before") return of === "old";
          if (phase === "asked") return of === "old" && group < from;
          return of === "old" ? group < from : group >= from;
        };
        const expected = sent.filter(mayPass);
        for (const { kind } of expected) {
          if (kind !== "stream") continue;
          const { bytes, end } = await client.received();
          assert.equal(end, "FIN");
          received.push({ tag: bytes.at(-1) as number, kind });
        }
        await settle();
        const byTag = (a: { tag: number }, b: { tag: number }) => a.tag - b.tag;
        assert.deepEqual(
          received.sort(byTag),
          expected.map(({ tag: own, kind }) => ({ tag: own, kind })),
        );
        const streams = expected.filter(({ kind }) => kind === "stream").length;
        assert.deepEqual(
          [delivery.streams, plane.counts.streams.toClient],
          [BigInt(streams), streams],
        );
      }),
      { numRuns: 150 },
    );
  });
});

describe("a source", () => {
  test("is quiet below a group when the streams of such groups have ended", async () => {
    const { client, old, source, delivery } = await movingBed();
    const streams: TransportStream[] = [];
    for (const group of [5, 6, 7]) {
      streams.push(await old.uni(subgroup(5, group)));
      void client.received();
    }
    await settle();
    const below = source.quiet(7n);
    const all = source.quiet();
    const subscriber = delivery.quiet();
    await streams[0]?.end();
    assert.equal(await isResolved(below), false);
    streams[1]?.reset(0x2n);
    await below;
    assert.equal(await isResolved(all), false);
    assert.equal(await isResolved(subscriber), false);
    await streams[2]?.end();
    await Promise.all([all, subscriber]);
  });

  test("that is detached begins nothing more and ends what is under way in peace [LB-PMAP-14]", async () => {
    const { plane, client, old, source } = await movingBed();
    const stream = await old.uni(subgroup(5, 6));
    const arriving = await client.stream();
    source.detach();
    const late = await old.uni(subgroup(5, 7));
    assert.equal(await late.stopped, CANCELLED);
    assert.equal(plane.counts.dropped.streams, 1);
    await stream.end();
    assert.equal((await readToEnd(arriving)).end, "FIN");
    await source.quiet();
  });

  test("tells when as many streams have begun as a PUBLISH_DONE counts, late ones included [LB-PMAP-14] [LB-S52]", async () => {
    const { client, old, source } = await movingBed();
    await old.uni(subgroup(5, 6), true);
    await client.received();
    const begun = source.begun(2n);
    assert.equal(await isResolved(begun), false);
    await old.uni(subgroup(5, 7), true);
    await begun;
    assert.deepEqual((await client.received()).bytes, subgroup(9, 7));
    await source.quiet();
  });

  test("that ends stops its publisher and resets at the subscriber [LB-DISPL-14]", async () => {
    const { client, old, source, delivery } = await movingBed();
    const stream = await old.uni(subgroup(5, 6));
    const arriving = await client.stream();
    source.end(GOING_AWAY);
    assert.equal((await readToEnd(arriving)).end, GOING_AWAY);
    assert.equal(await stream.stopped, GOING_AWAY);
    await delivery.quiet();
  });

  test("of a lost relay is cut at the subscriber with SESSION_CLOSED", async () => {
    const { plane, client, old, next, source, delivery } = await movingBed();
    await old.uni(subgroup(5, 6));
    const arriving = await client.stream();
    old.transport.close(0n, "");
    assert.equal((await readToEnd(arriving)).end, SESSION_CLOSED);
    await source.quiet();
    delivery.attach(next.session, 1n);
    await next.uni(subgroup(1, 7), true);
    assert.deepEqual((await client.received()).bytes, subgroup(9, 7));
    assert.deepEqual(delivery.attach(old.session, 6n).streams, 0n);
    assert.equal(plane.counts.streams.toClient, 2);
  });

  test("is stopped with SESSION_CLOSED when its subscriber is lost", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(relay.session, 2n).attach(client.session, 7n);
    const stream = await client.uni(subgroup(7, 0));
    await relay.stream();
    relay.transport.close(0n, "");
    assert.equal(await stream.stopped, SESSION_CLOSED);
    const late = await client.uni(subgroup(7, 1));
    assert.equal(await late.stopped, CANCELLED);
  });
});

describe("a delivery", () => {
  test("cuts the streams of groups below one, and they are stopped at the relay [LB-S96]", async () => {
    const { client, old, delivery } = await movingBed();
    const streams = [await old.uni(subgroup(5, 6)), await old.uni(subgroup(5, 7))];
    const arriving = [await client.stream(), await client.stream()];
    delivery.cut(SESSION_CLOSED, 7n);
    assert.equal((await readToEnd(arriving[0] as TransportStream)).end, SESSION_CLOSED);
    assert.equal(await streams[0]?.stopped, SESSION_CLOSED);
    await streams[1]?.end();
    assert.equal((await readToEnd(arriving[1] as TransportStream)).end, "FIN");
  });

  test("cuts all there is", async () => {
    const { client, old, delivery } = await movingBed();
    await old.uni(subgroup(5, 6));
    const arriving = await client.stream();
    delivery.cut(GOING_AWAY);
    assert.equal((await readToEnd(arriving)).end, GOING_AWAY);
    await delivery.quiet();
  });

  test("that has ended takes nothing more [LB-PMAP-14]", async () => {
    const { client, old, next, delivery } = await movingBed();
    const stream = await old.uni(subgroup(5, 6));
    const arriving = await client.stream();
    delivery.end();
    delivery.attach(next.session, 5n);
    for (const relay of [old, next]) {
      const late = await relay.uni(subgroup(5, 7));
      assert.equal(await late.stopped, CANCELLED);
    }
    await stream.end();
    assert.equal((await readToEnd(arriving)).end, "FIN");
    await delivery.quiet();
  });
});

describe("what comes before its alias means something", () => {
  test("waits unread, and goes on when it does [LB-S72]", async () => {
    const { plane, client, relay, clock } = await dataPlaneBed();
    const done = plane.expect(relay.session);
    await relay.uni(subgroup(5, 3), true);
    await settle();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    done();
    assert.deepEqual((await client.received()).bytes, subgroup(9, 3));
    assert.equal(clock.pending, 0);
  });

  test("is stopped when nothing is expected, when its time is over, and when too much waits [LB-S72] [LB-SEC-30]", async () => {
    const { plane, relay, clock } = await dataPlaneBed();
    const unknown = await relay.uni(subgroup(5, 0));
    assert.equal(await unknown.stopped, CANCELLED);
    const done = plane.expect(relay.session);
    const held: TransportStream[] = [];
    for (let group = 0; group < 4; group++) held.push(await relay.uni(subgroup(5, group)));
    await settle();
    const tooMuch = await relay.uni(subgroup(5, 5));
    assert.equal(await tooMuch.stopped, CANCELLED);
    clock.advance(1999);
    assert.equal(await isResolved((held[0] as TransportStream).stopped), false);
    clock.advance(1);
    for (const stream of held) assert.equal(await stream.stopped, CANCELLED);
    const last = await relay.uni(subgroup(5, 6));
    assert.equal(await isResolved(last.stopped), false);
    done();
    done();
    assert.equal(await last.stopped, CANCELLED);
    assert.equal(plane.counts.dropped.streams, 7);
    assert.equal(clock.pending, 0);
  });

  test("does not wait longer than its session lasts [LB-S72]", async () => {
    const { plane, relay, clock } = await dataPlaneBed();
    plane.expect(relay.session);
    await relay.uni(subgroup(5, 0));
    relay.transport.sendDatagram(datagram(5, 0));
    await settle();
    relay.transport.close(0n, "");
    await settle();
    assert.deepEqual(plane.counts.dropped, { datagrams: 1, streams: 1 });
    assert.equal(clock.pending, 0);
  });

  test("of other tracks does not hinder those that are known [LB-S72]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 9n).attach(relay.session, 5n);
    plane.expect(relay.session);
    for (let alias = 20; alias < 30; alias++) await relay.uni(subgroup(alias, 0));
    await relay.uni(subgroup(5, 0), true);
    assert.deepEqual((await client.received()).bytes, subgroup(9, 0));
  });
});

describe("an alias that has stood for a track", () => {
  /** A subscription to `a` under alias 5 that has just ended, and one to come. */
  async function ended() {
    const bed = await dataPlaneBed();
    const { plane, client, relay } = bed;
    const former = plane.deliver(client.session, 1n, "a");
    former.attach(relay.session, 5n);
    former.end();
    return { ...bed, done: plane.expect(relay.session) };
  }

  test("means another: what comes late of the first is not the other's [LB-PDATA-14] [LB-PMAP-14]", async () => {
    const { plane, client, relay, done, clock } = await ended();
    const late = await relay.uni(subgroup(5, 33));
    relay.transport.sendDatagram(datagram(5, 34));
    await settle();
    plane.deliver(client.session, 2n, "b").attach(relay.session, 5n);
    done();
    assert.equal(await late.stopped, CANCELLED);
    await relay.uni(subgroup(5, 3), true);
    assert.deepEqual((await client.received()).bytes, subgroup(2, 3));
    assert.deepEqual(client.datagrams, []);
    assert.deepEqual(plane.counts.dropped, { datagrams: 1, streams: 1 });
    assert.equal(clock.pending, 0);
  });

  test("means it again: what comes before that is known is its own [LB-S72]", async () => {
    const { plane, client, relay, done } = await ended();
    await relay.uni(subgroup(5, 3), true);
    await settle();
    plane.deliver(client.session, 2n, "a").attach(relay.session, 5n);
    done();
    assert.deepEqual((await client.received()).bytes, subgroup(2, 3));
  });

  test("means another when nothing can be late any more: what came before that is known is the other's [LB-S72]", async () => {
    const { plane, client, relay, done, clock } = await ended();
    clock.advance(2000);
    await relay.uni(subgroup(5, 3), true);
    await settle();
    plane.deliver(client.session, 2n, "b").attach(relay.session, 5n);
    done();
    assert.deepEqual((await client.received()).bytes, subgroup(2, 3));
  });

  test("means another while streams of the first are waited for: each goes where its alias points now [LB-PDATA-14]", async () => {
    const { plane, client, relay } = await dataPlaneBed();
    plane.deliver(client.session, 1n, "a").attach(relay.session, 5n);
    const running = await relay.uni(subgroup(5, 3));
    const arriving = await client.stream();
    plane.deliver(client.session, 2n, "b").attach(relay.session, 5n);
    await relay.uni(subgroup(5, 0), true);
    assert.deepEqual((await client.received()).bytes, subgroup(2, 0));
    await running.end();
    assert.deepEqual(await readToEnd(arriving), { bytes: subgroup(1, 3), end: "FIN" });
    assert.equal(plane.counts.streams.toClient, 2);
  });
});
