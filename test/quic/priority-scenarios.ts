/** Which of several streams goes first where less goes out than there is to send. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Http3ClientConnection, Http3ServerConnection } from "../../src/http3/mod.ts";
import type { QuicConnection, QuicStream } from "../../src/quic/mod.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { webTransportTransport } from "../../src/transport/webtransport.ts";
import { accept, type Backends, connect, readAll, within, withPair, withServer } from "./pair.ts";

type Opener = Pick<Transport, "openUni">;
type Accepter = Pick<Transport, "accept">;
type Priority = readonly [urgency: number, rank: number];

/** More than may go out before the peer has confirmed anything. */
const LONG = 256 * 1024;
/** Several packets, and no more than a stream may always have between the threads. */
const SHORT = 12 * 1024;

const everything = [0, 1, 2, 3, 4, 5, 6];

/** Streams in the order of their opening. `undefined`: nothing is said of it. */
const priorities: readonly (Priority | undefined)[] = [
  [200, 0],
  [128, 255],
  [128, 128],
  undefined,
  [128, 127],
  [16, 200],
  [16, 100],
];

/** In which order these have to end: the first of them fills the path. */
const expected = [3, 6, 5, 4, 2, 1, 0];

/**
 * Has one stream fill the path, writes the others after it in the same turn, so that none of them
 * can have gone before the last is there, and tells in which order they end at the peer.
 */
async function orderOfEnds(
  from: Opener,
  to: Accepter,
  prioritise: (stream: QuicStream, index: number) => void,
): Promise<number[]> {
  const streams: QuicStream[] = [];
  for (const _ of everything) streams.push(await from.openUni());
  streams.forEach((stream, index) => {
    prioritise(stream, index);
    const bytes = new Uint8Array(index === 0 ? LONG : SHORT).fill(index);
    stream.write(bytes, true).catch(() => {});
  });
  const ended: number[] = [];
  const readings: Promise<void>[] = [];
  for (const _ of everything) {
    const stream = await to.accept();
    assert.ok(stream !== null, "the connection is closed");
    readings.push(
      readAll(stream).then((bytes) => {
        const index = bytes[0] as number;
        assert.equal(bytes.length, index === 0 ? LONG : SHORT);
        ended.push(index);
      }),
    );
  }
  await within(Promise.all(readings));
  return ended;
}

function asListed(stream: QuicStream, index: number): void {
  const priority = priorities[index];
  if (priority !== undefined) stream.prioritise?.(...priority);
}

export function priorityScenarios(backends: Backends): void {
  describe(`priorities of streams from ${backends.server} to ${backends.client}`, () => {
    test("decide which goes first once the path is full, whichever was opened first", () =>
      withPair(backends, async ({ client, accepted }) => {
        const ended = await orderOfEnds(quicTransport(accepted), quicTransport(client), asListed);
        assert.deepEqual(ended, expected);
      }));

    test("count for streams of a client as well", () =>
      withPair(backends, async ({ client, accepted }) => {
        assert.deepEqual(await orderOfEnds(client, accepted, asListed), expected);
      }));

    test("can change while a stream waits", () =>
      withPair(backends, async ({ client, accepted }) => {
        let last: QuicStream | undefined;
        const ended = await orderOfEnds(accepted, client, (stream, index) => {
          asListed(stream, index);
          if (index === 1) last = stream;
          // It waits already, with all its bytes: now as the first of those with a priority.
          if (index === 6) last?.prioritise?.(0, 0);
        });
        assert.deepEqual(ended, [3, 1, 6, 5, 4, 2, 0]);
      }));

    test("count for streams of a WebTransport session", () =>
      withWebTransport(backends, async (client, server) => {
        assert.deepEqual(await orderOfEnds(server, client, asListed), expected);
      }));

    test("are no reason for a stream not to be reset, or ended without a byte", () =>
      withPair(backends, async ({ client, accepted }) => {
        const [reset, empty] = [await accepted.openUni(), await accepted.openUni()];
        reset.prioritise?.(1, 1);
        reset.reset(7n);
        empty.prioritise?.(1, 1);
        await empty.end();
        const [one, other] = [await client.accept(), await client.accept()];
        const streams = new Map([one, other].map((stream) => [stream?.id, stream]));
        await assert.rejects(within(streams.get(reset.id)?.read() as Promise<unknown>), {
          applicationCode: 7n,
        });
        assert.equal(await within(streams.get(empty.id)?.read() as Promise<unknown>), null);
        // It is over: nothing happens.
        reset.prioritise?.(2, 2);
      }));

    test("are whole numbers from 0 to 255", () =>
      withPair(backends, async ({ accepted }) => {
        const stream = await accepted.openUni();
        for (const [urgency, rank] of [
          [256, 0],
          [-1, 0],
          [0, 1.5],
          [0, Number.NaN],
        ] as const) {
          assert.throws(() => stream.prioritise?.(urgency, rank), { code: "INVALID_OPTION" });
        }
      }));
  });
}

async function withWebTransport(
  backends: Backends,
  body: (client: Transport, server: Transport) => Promise<void>,
): Promise<void> {
  await withServer(backends, { alpn: ["h3"] }, async (listener) => {
    const quic: QuicConnection = await connect(backends, listener, { alpn: ["h3"] });
    const client = new Http3ClientConnection(quic, { webTransport: true });
    const server = new Http3ServerConnection(await accept(listener), {
      webTransport: { accept: ({ protocols: [protocol = ""] }) => ({ protocol }) },
    });
    const request = { authority: "localhost", path: "/moq", protocols: ["moqt-22"] };
    const [here, there] = await Promise.all([client.connect(request), server.acceptSession()]);
    assert.ok(there !== null, "the connection is closed");
    try {
      await body(webTransportTransport(here), webTransportTransport(there));
    } finally {
      client.close();
      await client.closed;
    }
  });
}
