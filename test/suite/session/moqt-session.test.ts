import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import { requestErrorCodes, sessionErrorCodes } from "../../../src/moqt/mod.ts";
import {
  type IncomingDataStream,
  type IncomingRequest,
  MoqtSession,
  type MoqtSessionOptions,
} from "../../../src/session/mod.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { bytesOf, RawPeer, readToEnd } from "../../support/raw-peer.ts";
import { settle } from "../../support/settle.ts";
import { type MemoryTransportOptions, memoryTransportPair } from "../../support/transport-pair.ts";

const subscribe = {
  type: "SUBSCRIBE",
  trackNamespace: [utf8("live")],
  trackName: utf8("v"),
  parameters: [],
} as const;

const subscribeOk = {
  type: "SUBSCRIBE_OK",
  trackAlias: 7n,
  parameters: [],
  trackProperties: new Uint8Array(0),
} as const;

const doesNotExist = {
  type: "REQUEST_ERROR",
  errorCode: requestErrorCodes.DOES_NOT_EXIST,
  retryInterval: 0n,
  errorReason: "",
} as const;

interface PairOptions {
  readonly client?: Partial<MoqtSessionOptions>;
  readonly server?: Partial<MoqtSessionOptions>;
  readonly transport?: MemoryTransportOptions;
}

/** Two sessions that talk to each other. */
function sessionPair({ client, server, transport }: PairOptions = {}) {
  const clock = new ManualClock();
  const [near, far] = memoryTransportPair(transport);
  const clientSession = new MoqtSession(near, { role: "client", clock, ...client });
  const serverSession = new MoqtSession(far, { role: "server", clock, ...server });
  void serverSession.run();
  void clientSession.run();
  return { client: clientSession, server: serverSession, clock };
}

/** A session as server, and a peer that sends it bytes. */
function rawPair(options: Partial<MoqtSessionOptions> = {}, transport?: MemoryTransportOptions) {
  const clock = new ManualClock();
  const [near, far] = memoryTransportPair(transport);
  const session = new MoqtSession(far, { role: "server", clock, ...options });
  void session.run();
  return { peer: new RawPeer(near), session, clock };
}

/** A promise, and what resolves it with the first value given. */
function first<Value>(): { promise: Promise<Value>; give: (value: Value) => void } {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { promise, give: resolve };
}

describe("a session", () => {
  test("tells both ends what the other's SETUP says", async () => {
    const option = (value: string) => ({ type: "MOQT_IMPLEMENTATION", value }) as const;
    const { client, server } = sessionPair({
      client: { setupOptions: [option("a client")] },
      server: { setupOptions: [option("a server")] },
    });
    assert.equal((await client.setup)?.implementation, "a server");
    assert.equal((await server.setup)?.implementation, "a client");
  });

  test("brings a request to the other end and its answer back", async () => {
    const { client } = sessionPair({
      server: { onRequest: (request) => request.send(subscribeOk) },
    });
    const request = client.request(subscribe);
    assert.deepEqual(await request.answer, subscribeOk);
    assert.equal(request.isOver, false);
  });

  test("tells when its last open request is over, whoever made and whoever ended it", async () => {
    let idle = 0;
    const asked: IncomingRequest[] = [];
    const { client, server } = sessionPair({
      client: { onIdle: () => idle++ },
      server: { onRequest: (request) => asked.push(request) },
    });
    const [first, second] = [client.request(subscribe), client.request(subscribe)];
    await settle();
    first.cancel();
    assert.equal(idle, 0);
    asked[1]?.refuse(doesNotExist);
    await second.ended;
    assert.equal(idle, 1);
    const ours = server.request(subscribe);
    await settle();
    ours.cancel();
    await settle();
    assert.equal(idle, 2);
    assert.equal(client.openRequests, 0);
  });

  test("numbers requests as the standard says: client even, server odd", async () => {
    const asked: IncomingRequest[] = [];
    const onRequest = (request: IncomingRequest) => {
      asked.push(request);
      request.refuse(doesNotExist);
    };
    const { client, server } = sessionPair({ client: { onRequest }, server: { onRequest } });
    for (const session of [client, client, server, server]) {
      await session.request(subscribe).answer;
    }
    assert.deepEqual(
      asked.map(({ message }) => message.requestId),
      [0n, 2n, 1n, 3n],
    );
  });

  test("holds nothing of a request that was refused [LB-REDIR-16]", async () => {
    const { client, server } = sessionPair({
      server: { onRequest: (request) => request.refuse(doesNotExist) },
    });
    const request = client.request(subscribe);
    assert.deepEqual(await request.answer, doesNotExist);
    assert.deepEqual(await request.ended, { how: "finished" });
    assert.equal(server.openRequests, 0);
    assert.equal(client.openRequests, 0);
  });

  test("answers NOT_SUPPORTED where nobody takes requests", async () => {
    const { client } = sessionPair();
    const answer = await client.request(subscribe).answer;
    assert.ok(answer.type === "REQUEST_ERROR");
    assert.equal(answer.errorCode, requestErrorCodes.NOT_SUPPORTED);
  });

  test("carries news of a request, and its end", async () => {
    const { client } = sessionPair({
      server: {
        onRequest(request) {
          request.send(subscribeOk);
          request.send({
            type: "PUBLISH_DONE",
            statusCode: 2n,
            streamCount: 0n,
            errorReason: "over",
          });
        },
      },
    });
    const request = client.request(subscribe);
    const news: string[] = [];
    request.onMessage = ({ type }) => news.push(type);
    await request.answer;
    assert.deepEqual(await request.ended, { how: "finished" });
    assert.deepEqual(news, ["PUBLISH_DONE"]);
  });

  test("carries an update and its answer", async () => {
    const { client } = sessionPair({
      server: {
        onRequest(request) {
          request.send(subscribeOk);
          request.onMessage = ({ type }) => {
            assert.equal(type, "REQUEST_UPDATE");
            request.send({ type: "REQUEST_OK", parameters: [], trackProperties: new Uint8Array() });
          };
        },
      },
    });
    const request = client.request(subscribe);
    await request.answer;
    const answer = await request.update([{ type: "FORWARD", value: 0 }]);
    assert.equal(answer.type, "REQUEST_OK");
  });

  test("tells the other end of a cancelled request, and rejects what waits for it", async () => {
    const asked = first<IncomingRequest>();
    const { client } = sessionPair({ server: { onRequest: asked.give } });
    const request = client.request(subscribe);
    const there = await asked.promise;
    request.cancel();
    assert.deepEqual(await request.ended, { how: "cancelled", cause: "LOCAL" });
    await assert.rejects(request.answer, { code: "REQUEST_ENDED" });
    const end = await there.ended;
    assert.ok(end.how === "cancelled");
    // Too late is no fault: the two crossed.
    there.send(subscribeOk);
    assert.equal(there.isOver, true);
  });

  test("ends its requests with the session", async () => {
    const asked = first<IncomingRequest>();
    const { client, server } = sessionPair({ server: { onRequest: asked.give } });
    const request = client.request(subscribe);
    const there = await asked.promise;
    server.close("UNAUTHORIZED", "no");
    const end = await request.ended;
    assert.ok(end.how === "closed");
    assert.deepEqual(end.close, {
      by: "remote",
      app: true,
      code: sessionErrorCodes.UNAUTHORIZED,
      reason: "no",
    });
    assert.equal((await there.ended).how, "closed");
    await assert.rejects(request.answer, { code: "REQUEST_ENDED" });
    assert.throws(() => client.request(subscribe), { code: "SESSION_CLOSED" });
  });

  test("closes with the code and reason of either end", async () => {
    for (const closer of ["client", "server"] as const) {
      const pair = sessionPair();
      await Promise.all([pair.client.setup, pair.server.setup]);
      pair[closer].close("GOAWAY_TIMEOUT", "enough");
      for (const end of ["client", "server"] as const) {
        assert.deepEqual(await pair[end].closed, {
          by: end === closer ? "local" : "remote",
          app: true,
          code: 0x10n,
          reason: "enough",
        });
      }
      assert.equal(pair.clock.pending, 0);
    }
  });

  test("hands on GOAWAY, after which no request is made", async () => {
    const told = first<object>();
    const { client, server } = sessionPair({ client: { onGoaway: told.give } });
    await server.setup;
    server.goaway({ newSessionUri: "moqt://other.example", timeout: 5000 });
    const goaway = await told.promise;
    assert.deepEqual(goaway, {
      type: "goaway",
      newSessionUri: "moqt://other.example",
      timeout: 5000n,
    });
    assert.throws(() => client.request(subscribe), { code: "GOING_AWAY" });
  });

  test("hands a data stream over from its first byte on", async () => {
    const streams = first<IncomingDataStream>();
    const { client, server } = sessionPair({ client: { onDataStream: streams.give } });
    await client.setup;
    const sent = bytesOf("14 02 00 00 00 00 04 61626364");
    const stream = await server.openDataStream();
    await stream.write(sent.subarray(0, 6));
    await stream.write(sent.subarray(6), true);
    const { header, headerLength, stream: received } = await streams.promise;
    assert.equal(header.type, "SUBGROUP");
    assert.equal(headerLength, 5);
    assert.deepEqual(await readToEnd(received), { bytes: sent, end: "FIN" });
  });

  test("hands data streams over that came before SETUP, read or not", async () => {
    const streams: IncomingDataStream[] = [];
    const { peer, session } = rawPair({ onDataStream: (stream) => streams.push(stream) });
    const header = "14 02 00 00 00";
    const ended = await peer.uni(header, true);
    const open = await peer.uni(header);
    await peer.setup();
    await session.setup;
    // Streams that wait for SETUP are handed over right after it.
    await open.write(bytesOf("00 01 61"), true);
    assert.equal(streams.length, 2);
    const received = await Promise.all(streams.map(({ stream }) => readToEnd(stream)));
    assert.deepEqual(received, [
      { bytes: bytesOf(header), end: "FIN" },
      { bytes: bytesOf("14 02 00 00 00 00 01 61"), end: "FIN" },
    ]);
    assert.ok(ended.local);
  });

  test("stops data streams, and drops datagrams, that nobody asked for", async () => {
    const { peer } = rawPair();
    await peer.setup();
    const stream = await peer.uni("14 02 00 00 00");
    assert.equal(await stream.stopped, 0x1n);
    peer.transport.sendDatagram(bytesOf("00 02 05 01 80 6869"));
    const answer = await peer.refusal("03000a0001046c697665017600");
    assert.equal(answer.errorCode, requestErrorCodes.NOT_SUPPORTED);
  });

  test("hands on datagrams, and closes for what is none", async () => {
    const datagrams = first<Uint8Array>();
    const { peer, session } = rawPair({ onDatagram: (_, bytes) => datagrams.give(bytes) });
    await peer.setup();
    await session.setup;
    const sent = bytesOf("00 02 05 01 80 6869");
    peer.transport.sendDatagram(sent);
    assert.deepEqual(await datagrams.promise, sent);
    peer.transport.sendDatagram(bytesOf("22 02 05"));
    await peer.closedWith("PROTOCOL_VIOLATION");
  });

  test("puts messages together however they are cut", async () => {
    const { client } = sessionPair({
      transport: { segment: 1 },
      server: { onRequest: (request) => request.send(subscribeOk) },
    });
    assert.deepEqual(await client.request(subscribe).answer, subscribeOk);
  });

  test("is closed where SETUP does not come in time, by one timer", async () => {
    const { peer, clock } = rawPair({ limits: { setupTime: 1000 } });
    assert.equal(clock.pending, 1);
    clock.advance(999);
    clock.advance(1);
    await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
    assert.equal(clock.pending, 0);
  });

  test("is closed where a message does not come in full in time", async () => {
    const { peer, session, clock } = rawPair({ limits: { messageTime: 1000 } });
    await peer.setup();
    await session.setup;
    await peer.open("0300");
    // The bytes have to have come before the clock moves.
    await peer.refusal("03000a0001046c697665017600");
    clock.advance(1000);
    await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
  });

  test("ends with INTERNAL_ERROR where a handler throws, and tells of it", async () => {
    const faults: unknown[] = [];
    const { peer } = rawPair({
      onRequest() {
        throw new Error("a mistake");
      },
      onFault: (error) => faults.push(error),
    });
    await peer.setup();
    await peer.open("03000a0001046c697665017600");
    const close = await peer.closedWith("INTERNAL_ERROR");
    assert.equal(close.reason, "");
    assert.equal((faults[0] as Error).message, "a mistake");
  });

  test("ends with INTERNAL_ERROR where the promise of a handler is rejected, and tells of it", async () => {
    const faults: unknown[] = [];
    const { peer } = rawPair({
      onRequest: () => Promise.reject(new Error("a mistake")),
      onFault(error) {
        faults.push(error);
        throw error;
      },
    });
    await peer.setup();
    await peer.open("03000a0001046c697665017600");
    const close = await peer.closedWith("INTERNAL_ERROR");
    assert.equal(close.reason, "");
    assert.deepEqual(
      faults.map((error) => (error as Error).message),
      ["a mistake"],
    );
  });

  test("does not run over a transport that negotiated something else", () => {
    const [end] = memoryTransportPair({ protocol: "h3" });
    assert.throws(() => new MoqtSession(end, { role: "server" }), { code: "INVALID_OPTIONS" });
  });

  test("waits for room to open a stream, and keeps the order of what is sent", async () => {
    const { client } = sessionPair({
      transport: { bidiStreams: 1 },
      server: { onRequest: (request) => request.refuse(doesNotExist) },
    });
    const answers = await Promise.all([1, 2, 3].map(() => client.request(subscribe).answer));
    assert.deepEqual(answers, [doesNotExist, doesNotExist, doesNotExist]);
  });

  test("gives requests up that never got a stream", async () => {
    const { client, server } = sessionPair({ transport: { bidiStreams: 0 } });
    await client.setup;
    const request = client.request(subscribe);
    server.close("NO_ERROR", "");
    assert.equal((await request.ended).how, "closed");
  });
});

describe("a peer that does not read", () => {
  test("holds up its own stream alone", async () => {
    const { peer } = rawPair(
      { onRequest: (request) => request.refuse(new Uint8Array(2000)) },
      { streamWindow: 1000 },
    );
    await peer.setup();
    const stuck = await peer.open("03000a0001046c697665017600", true);
    const { bytes } = await peer.ask("03000a0201046c697665017600");
    assert.equal(bytes.length, 2000);
    assert.equal((await readToEnd(stuck)).bytes.length, 2000);
  });

  test("is cut off once too much waits for it, with INTERNAL_ERROR [LB-SEC-30]", async () => {
    const { peer, session } = rawPair(
      {
        onRequest: (request) => request.refuse(new Uint8Array(1000)),
        maximumQueuedBytes: 3500,
      },
      { streamWindow: 10 },
    );
    await peer.setup();
    for (const id of ["00", "02", "04"]) await peer.open(`03000a${id}01046c697665017600`);
    await peer.open("03000a0601046c697665017600");
    await peer.closedWith("INTERNAL_ERROR");
    assert.equal(session.queuedBytes, 0);
  });

  test("frees what waited for it when it stops the stream", async () => {
    const { peer, session } = rawPair(
      { onRequest: (request) => request.refuse(new Uint8Array(1000)) },
      { streamWindow: 10 },
    );
    await peer.setup();
    const stream = await peer.open("03000a0001046c697665017600");
    assert.ok((await stream.read()) !== null);
    assert.ok(session.queuedBytes >= 1000);
    stream.stopSending(0x1n);
    await peer.ask("03000a0201046c697665017600");
    assert.equal(session.queuedBytes, 0);
  });
});
