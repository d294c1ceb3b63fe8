import assert from "node:assert/strict";
import { describe, test } from "#test";
import { DataStreams, type TrackSink } from "../../../src/client/data-streams.ts";
import type { ObjectDatagram } from "../../../src/moqt/mod.ts";
import type { IncomingDataStream } from "../../../src/session/mod.ts";

/** A stream of a track, and the code that it was stopped with. */
function streamOf(trackAlias: bigint) {
  const stops: bigint[] = [];
  const incoming = {
    header: {
      type: "SUBGROUP",
      trackAlias,
      groupId: 0n,
      hasProperties: false,
      endOfGroup: false,
      firstObject: true,
    },
    headerLength: 3,
    stream: { stopSending: (code: bigint) => stops.push(code) },
  } as unknown as IncomingDataStream;
  return { incoming, stops };
}

function datagramOf(trackAlias: bigint): ObjectDatagram {
  const payload = new Uint8Array(0);
  return { trackAlias, groupId: 0n, objectId: 0n, endOfGroup: false, status: "NORMAL", payload };
}

class Sink implements TrackSink {
  readonly streams: IncomingDataStream[] = [];
  readonly datagrams: ObjectDatagram[] = [];

  onStream(stream: IncomingDataStream): void {
    this.streams.push(stream);
  }

  onDatagram(datagram: ObjectDatagram): void {
    this.datagrams.push(datagram);
  }
}

describe("data streams of a session", () => {
  test("wait for their alias while an answer is expected, in order [LB-S72]", () => {
    const streams = new DataStreams();
    streams.expect();
    const [first, other, second] = [streamOf(7n), streamOf(8n), streamOf(7n)];
    for (const { incoming } of [first, other, second]) streams.onStream(incoming);
    streams.onDatagram(datagramOf(7n));
    const sink = new Sink();
    streams.bindTrack(7n, sink);
    assert.deepEqual(sink.streams, [first.incoming, second.incoming]);
    assert.equal(sink.datagrams.length, 1);
    assert.deepEqual(other.stops, []);
  });

  test("that wait are stopped once no answer is expected any more", () => {
    const streams = new DataStreams();
    const known = streams.expect();
    const also = streams.expect();
    const { incoming, stops } = streamOf(7n);
    streams.onStream(incoming);
    known();
    known();
    assert.deepEqual(stops, []);
    also();
    assert.deepEqual(stops, [1n]);
  });

  test("wait in a bounded number: the oldest makes room", () => {
    const streams = new DataStreams();
    streams.expect();
    const all = Array.from({ length: 70 }, () => streamOf(7n));
    for (const { incoming } of all) streams.onStream(incoming);
    for (let i = 0; i < 1000; i++) streams.onDatagram(datagramOf(7n));
    assert.equal(all.filter(({ stops }) => stops.length === 1).length, 6);
    assert.deepEqual(all[5]?.stops, [1n]);
    const sink = new Sink();
    streams.bindTrack(7n, sink);
    assert.deepEqual([sink.streams.length, sink.datagrams.length], [64, 64]);
  });

  test("of nobody are stopped at once", () => {
    const streams = new DataStreams();
    const { incoming, stops } = streamOf(7n);
    streams.onStream(incoming);
    assert.deepEqual(stops, [1n]);
    const fetch = { ...incoming, header: { type: "FETCH", requestId: 2n } } as IncomingDataStream;
    streams.onStream(fetch);
    assert.deepEqual(stops, [1n, 1n]);
  });

  test("of an alias that two subscriptions share go to the later one, then to the other", () => {
    const streams = new DataStreams();
    const [early, late] = [new Sink(), new Sink()];
    streams.bindTrack(7n, early);
    const unbind = streams.bindTrack(7n, late);
    streams.onStream(streamOf(7n).incoming);
    unbind();
    streams.onStream(streamOf(7n).incoming);
    assert.deepEqual([early.streams.length, late.streams.length], [1, 1]);
  });

  test("of a FETCH go to it once", () => {
    const streams = new DataStreams();
    const received: IncomingDataStream[] = [];
    streams.bindFetch(2n, (stream) => received.push(stream));
    const { incoming, stops } = streamOf(0n);
    const fetch = { ...incoming, header: { type: "FETCH", requestId: 2n } } as IncomingDataStream;
    streams.onStream(fetch);
    streams.onStream(fetch);
    assert.deepEqual([received.length, stops.length], [1, 1]);
  });
});
