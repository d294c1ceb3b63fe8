import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../../src/bytes.ts";
import { streamResetCodes } from "../../../src/moqt/mod.ts";
import {
  type IncomingRequest,
  MoqtSession,
  type MoqtSessionOptions,
  RequestEndedError,
} from "../../../src/session/mod.ts";
import { TakenStream } from "../../../src/session/taken-stream.ts";
import type { TransportStream } from "../../../src/transport/transport.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { bytesOf, RawPeer, readToEnd } from "../../support/raw-peer.ts";
import { settle } from "../../support/settle.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";

const subscribe = {
  type: "SUBSCRIBE",
  trackNamespace: [utf8("live")],
  trackName: utf8("v"),
  parameters: [],
} as const;

/** A session as client, and a server that sends it bytes. */
async function clientPair(options: Partial<MoqtSessionOptions> = {}) {
  const [near, far] = memoryTransportPair();
  const session = new MoqtSession(near, { role: "client", clock: new ManualClock(), ...options });
  void session.run();
  const server = new RawPeer(far);
  await server.setup();
  await session.setup;
  return { session, server };
}

/** The next request stream of the other end. */
async function requestStream({ transport }: RawPeer): Promise<TransportStream> {
  for (;;) {
    const stream = await transport.accept();
    assert.ok(stream !== null);
    if (stream.kind === "bidi") return stream;
  }
}

describe("a stream that was taken over", () => {
  const stream = (reads: (Uint8Array | null)[]) =>
    ({ read: async () => reads.shift() ?? null }) as unknown as TransportStream;

  test("is read from its first byte on, in pieces as long as asked for", async () => {
    const pending = Promise.resolve(utf8("def"));
    const taken = new TakenStream(stream([utf8("gh"), null]), utf8("abc"), false, pending);
    const parts: Uint8Array[] = [];
    for (let part = await taken.read(2); part !== null; part = await taken.read(2)) {
      assert.ok(part.length <= 2);
      parts.push(part);
    }
    assert.deepEqual(concatBytes(...parts), utf8("abcdefgh"));
  });

  test("ends where the read that was under way found its end", async () => {
    const taken = new TakenStream(stream([]), utf8("a"), false, Promise.resolve(null));
    assert.deepEqual(await taken.read(), utf8("a"));
    assert.equal(await taken.read(), null);
    assert.equal(await taken.read(), null);
  });

  test("reads no further than its FIN, which came with the first bytes", async () => {
    const taken = new TakenStream(stream([utf8("x")]), utf8("a"), true, undefined);
    assert.deepEqual(await taken.read(), utf8("a"));
    assert.equal(await taken.read(), null);
  });
});

describe("a request of a client", () => {
  test("hears of GOAWAY on its stream, and goes on", async () => {
    const { session, server } = await clientPair();
    const request = session.request(subscribe);
    const moves: object[] = [];
    request.onGoaway = ({ newSessionUri, timeout }) => moves.push({ newSessionUri, timeout });
    const stream = await requestStream(server);
    await stream.write(bytesOf("040002 07 00 100003 00 9388"));
    assert.equal((await request.answer).type, "SUBSCRIBE_OK");
    await settle();
    assert.deepEqual(moves, [{ newSessionUri: "", timeout: 5000n }]);
    assert.equal(request.isOver, false);
  });

  test("ends with the code of a reset, and what waits for it is rejected", async () => {
    const { session, server } = await clientPair();
    const request = session.request(subscribe);
    const stream = await requestStream(server);
    stream.reset(streamResetCodes.EXCESSIVE_LOAD);
    assert.deepEqual(await request.ended, { how: "cancelled", cause: "RESET", code: 0x9n });
    const error = await request.answer.catch((reason) => reason);
    assert.ok(error instanceof RequestEndedError);
    assert.match(error.message, /RESET, code 9/);
    await assert.rejects(request.update([]), { code: "REQUEST_ENDED" });
    assert.equal(session.openRequests, 0);
  });

  test("ends with the code of STOP_SENDING, and resets its direction", async () => {
    const { session, server } = await clientPair();
    const request = session.request(subscribe);
    const stream = await requestStream(server);
    stream.stopSending(streamResetCodes.GOING_AWAY);
    assert.deepEqual(await request.ended, { how: "cancelled", cause: "STOP_SENDING", code: 0x4n });
    assert.equal(session.openRequests, 0);
  });

  for (const code of [2n ** 53n, 2n ** 62n - 1n]) {
    test(`ends with code ${code} of STOP_SENDING, which goes back as the largest that stacks send [LB-S76]`, async () => {
      const { session, server } = await clientPair();
      const { transport } = session;
      const open = transport.openBidi.bind(transport);
      const codes: bigint[] = [];
      transport.openBidi = async () => {
        const stream = await open();
        const reset = stream.reset.bind(stream);
        return Object.assign(stream, {
          reset(sent: bigint) {
            codes.push(sent);
            reset(sent);
          },
        });
      };
      const request = session.request(subscribe);
      (await requestStream(server)).stopSending(code);
      const end = await request.ended;
      assert.deepEqual(end, { how: "cancelled", cause: "STOP_SENDING", code });
      await settle();
      assert.deepEqual(codes, [2n ** 53n - 1n]);
      assert.equal(session.isOver, false);
    });

    test(`that is cancelled with code ${code} ends with the largest that stacks send [LB-PDATA-17]`, async () => {
      for (const isEarly of [true, false]) {
        const [near, far] = memoryTransportPair({ bidiStreams: 1 });
        const session = new MoqtSession(near, { role: "client", clock: new ManualClock() });
        void session.run();
        const server = new RawPeer(far);
        await server.setup();
        await session.setup;
        const request = session.request(subscribe);
        if (isEarly) request.cancel(code);
        const stream = await requestStream(server);
        if (!isEarly) request.cancel(code);
        assert.equal(await stream.stopped, 2n ** 53n - 1n);
        assert.equal((await readToEnd(stream)).end, 2n ** 53n - 1n);
        assert.equal(session.isOver, false);
      }
    });
  }

  test("that is cancelled before its stream is open is never seen, and frees its place", async () => {
    const [near, far] = memoryTransportPair({ bidiStreams: 1 });
    const session = new MoqtSession(near, { role: "client", clock: new ManualClock() });
    void session.run();
    const server = new RawPeer(far);
    await server.setup();
    await session.setup;
    const first = session.request(subscribe);
    const second = session.request(subscribe);
    second.cancel();
    assert.deepEqual(await second.ended, { how: "cancelled", cause: "LOCAL" });
    const stream = await requestStream(server);
    await stream.write(bytesOf("050003 10 00 00"), true);
    assert.equal((await first.answer).type, "REQUEST_ERROR");
    first.finish();
    await settle();
    assert.equal(session.openRequests, 0);
  });

  test("rejects updates that no answer comes to", async () => {
    const { session, server } = await clientPair();
    const request = session.request(subscribe);
    const stream = await requestStream(server);
    await stream.write(bytesOf("040002 07 00"));
    await request.answer;
    const update = request.update([{ type: "FORWARD", value: 0 }]);
    await settle();
    server.transport.close(0n, "");
    await assert.rejects(update, { code: "REQUEST_ENDED" });
  });

  test("cannot send what does not belong there", async () => {
    const { session } = await clientPair();
    const request = session.request(subscribe);
    const wrong = { type: "SUBSCRIBE_OK", trackAlias: 0n, parameters: [] } as const;
    assert.throws(() => request.send({ ...wrong, trackProperties: new Uint8Array() }), {
      code: "OUT_OF_PLACE",
    });
    assert.equal(request.isOver, false);
  });
});

describe("a request of the peer", () => {
  test("is refused with bytes as with a message, and is over then", async () => {
    const [near, far] = memoryTransportPair();
    const asked: IncomingRequest[] = [];
    const session = new MoqtSession(far, {
      role: "server",
      clock: new ManualClock(),
      onRequest: (request) => asked.push(request),
    });
    void session.run();
    const peer = new RawPeer(near);
    await peer.setup();
    const answer = peer.ask("03000a0001046c697665017600");
    await settle();
    const [request] = asked as [IncomingRequest];
    request.refuse(bytesOf("050003 10 00 00"));
    assert.deepEqual(await answer, { bytes: bytesOf("050003 10 00 00"), end: "FIN" });
    assert.equal(request.isOver, true);
    assert.equal(session.openRequests, 0);
    // Once more does nothing: its end may have crossed the command.
    request.refuse(bytesOf("050003 10 00 00"));
  });
});
