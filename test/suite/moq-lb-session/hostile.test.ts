import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import { createRedirectServer } from "../../../src/moq-lb/mod.ts";
import {
  encodeControlMessage,
  requestErrorCodes,
  sessionErrorCodes,
} from "../../../src/moqt/mod.ts";
import { QuicClosed, StreamStopped } from "../../../src/quic/errors.ts";
import { bytesOf, emptySetup, RawPeer } from "../../support/raw-peer.ts";
import {
  assertServes,
  type BedOptions,
  liveAt,
  RedirectBed,
  requestBytes,
  subscribeBytes,
} from "../../support/redirect-bed.ts";
import { settle } from "../../support/settle.ts";
import { type MemoryTransportOptions, memoryTransportPair } from "../../support/transport-pair.ts";

/** A bed whose clients come over memory. */
async function bedOf(options: BedOptions = {}, transport: MemoryTransportOptions = {}) {
  const bed = new RedirectBed(options);
  await bed.listen((server) => ({
    async connect(protocol) {
      const [near, far] = memoryTransportPair({ protocol, ...transport });
      void server.serve(far);
      return near;
    },
    async close() {},
  }));
  return bed;
}

const registered = new Set<bigint>(Object.values(sessionErrorCodes));

/** Sends and does not care: the other end may have closed by now. */
async function carelessly(sending: Promise<unknown>): Promise<void> {
  await sending.catch((error) => {
    if (!(error instanceof QuicClosed || error instanceof StreamStopped)) throw error;
  });
}

describe("a hostile client", () => {
  test("that sends any bytes anywhere is answered or closed with a registered code, others do not notice [LB-SEC-26]", async () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(emptySetup, "1000020000", "5000080001046c69766500").map(bytesOf),
      fc.constantFrom(subscribeBytes(0), subscribeBytes(2), requestBytes("PUBLISH", "live--v")),
    );
    const stream = fc.record({
      kind: fc.constantFrom("uni", "open", "datagram"),
      bytes: fc.array(piece, { maxLength: 3 }).map((pieces) => concatBytes(...pieces)),
      fin: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(stream, { maxLength: 12 }),
        async (setUp, streams) => {
          const bed = await bedOf();
          const neighbour = await bed.client();
          const peer = await bed.connect();
          if (setUp) await carelessly(peer.setup());
          for (const { kind, bytes, fin } of streams) {
            if (kind === "datagram") peer.transport.sendDatagram(bytes);
            else await carelessly(peer[kind as "uni" | "open"](bytes, fin));
          }
          await settle();
          peer.transport.close(0n, "");
          const close = await peer.transport.closed;
          assert.ok(registered.has(close.code), `code ${close.code}`);
          await assertServes(neighbour, 0);
          await settle();
          assert.equal(bed.server.status().sessions, 1);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("that leaves at any byte leaves nothing behind", async () => {
    const bed = await bedOf({}, { segment: 1 });
    const sent = [bytesOf(emptySetup), subscribeBytes(0)] as const;
    for (let cut = 0; cut <= sent[0].length + sent[1].length; cut++) {
      const peer = await bed.connect();
      await peer.setup(sent[0].subarray(0, cut));
      if (cut > sent[0].length) await peer.open(sent[1].subarray(0, cut - sent[0].length));
      peer.transport.close(0n, "");
      await settle();
      assert.equal(bed.server.status().sessions, 0, `cut at ${cut}`);
      assert.equal(bed.clock.pending, 0, `cut at ${cut}`);
    }
  });

  test("that says nothing is closed when its time is up, and only it", async () => {
    const bed = await bedOf();
    const neighbour = await bed.client();
    await assertServes(neighbour, 0);
    const silent = await bed.connect();
    await silent.controlMessage();
    bed.clock.advance(10_000);
    await silent.closedWith("CONTROL_MESSAGE_TIMEOUT");
    await assertServes(neighbour, 2);
  });

  test("that begins messages and ends none is closed when its time is up", async () => {
    const bed = await bedOf();
    const peer = await bed.client();
    await peer.open("03000a00");
    await settle();
    bed.clock.advance(10_000);
    await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
  });

  test("that opens streams without end gets EXCESSIVE_LOAD on them, within bounded memory [LB-SEC-28]", async () => {
    const bed = await bedOf({}, { bidiStreams: 2000, uniStreams: 2000 });
    const neighbour = await bed.client();
    const peer = await bed.client();
    const streams = [];
    for (let i = 0; i < 600; i++) streams.push(await peer.open("03"));
    await settle();
    const stopped = await Promise.all(
      streams.map((stream) => Promise.race([stream.stopped, Promise.resolve(undefined)])),
    );
    const refused = stopped.filter((code) => code !== undefined);
    assert.ok(refused.length >= 300, `${refused.length} refused`);
    assert.ok(refused.every((code) => code === 0x9n));
    await assertServes(neighbour, 0);
  });

  test("that asks for more than may wait gets EXCESSIVE_LOAD, and the rest when it is decided [LB-REJECT-8] [LB-SEC-28] [LB-SEC-33]", async () => {
    const decided = Promise.withResolvers<boolean>();
    const bed = await bedOf({
      authorization: { name: "slow", authorize: () => decided.promise },
      limits: { maximumRequests: 3 },
    });
    const peer = await bed.client();
    const answers = [0, 2, 4].map((id) => peer.refusal(subscribeBytes(id)));
    const overload = await peer.refusal(subscribeBytes(6));
    assert.equal(overload.errorCode, requestErrorCodes.EXCESSIVE_LOAD);
    assert.ok(overload.retryInterval > 0n);
    decided.resolve(true);
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.errorCode, requestErrorCodes.REDIRECT);
    }
    await assertServes(peer, 8);
  });

  test("that gives requests up before they are decided gets no answer and costs nothing [RQ-10]", async () => {
    const asked: ((granted: boolean) => void)[] = [];
    const bed = await bedOf({
      authorization: {
        name: "slow",
        authorize: () => new Promise((resolve) => asked.push(resolve)),
      },
      limits: { maximumRequests: 2 },
    });
    const peer = await bed.client();
    const reset = await peer.open(subscribeBytes(0));
    const stopped = await peer.open(subscribeBytes(2));
    await settle();
    reset.reset(0x1n);
    stopped.stopSending(0x1n);
    await settle();
    // Both places are free again.
    const next = [peer.refusal(subscribeBytes(4)), peer.refusal(subscribeBytes(6))];
    await settle();
    for (const decide of asked) decide(true);
    for (const answer of await Promise.all(next)) {
      assert.equal(answer.errorCode, requestErrorCodes.REDIRECT);
    }
    await assert.rejects(reset.read(), { code: "STREAM_RESET" });
  });

  test("that does not read its answers is closed once too much waits [LB-SEC-30]", async () => {
    const bed = await bedOf(
      { limits: { maximumQueuedBytes: 4000 } },
      { streamWindow: 1, bidiStreams: 1000 },
    );
    const neighbour = await bed.client();
    const peer = await bed.connect();
    const sending = (async () => {
      await peer.setup();
      for (let id = 0; id < 200; id += 2) await peer.open(subscribeBytes(id));
    })();
    await carelessly(sending);
    await peer.closedWith("INTERNAL_ERROR");
    await assertServes(neighbour, 0);
  });

  test("that never sends FIN may go on all the same: its oldest streams are stopped [LB-REDIR-16]", async () => {
    const bed = await bedOf({}, { bidiStreams: 100 });
    const peer = await bed.client();
    for (let id = 0; id < 1000; id += 2) {
      const answer = await peer.refusal(subscribeBytes(id), false);
      assert.equal(answer.errorCode, requestErrorCodes.REDIRECT);
    }
  });

  test("that sends a message longer than allowed loses that request alone", async () => {
    const bed = await bedOf({ limits: { maximumMessageSize: 200 } });
    const peer = await bed.client();
    const long = requestBytes("SUBSCRIBE", `live-${"x".repeat(300)}--v`);
    const stream = await peer.open(long);
    assert.equal(await stream.stopped, 0x9n);
    await assertServes(peer, 2);
  });

  test("that sends a message of 65,535 bytes full of parameters costs little [LB-SEC-26]", async () => {
    const bed = await bedOf();
    const peer = await bed.client();
    const token = { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: new Uint8Array(0) } as const;
    const parameter = { type: "AUTHORIZATION_TOKEN", token } as const;
    const bytes = encodeControlMessage(
      {
        type: "SUBSCRIBE",
        requestId: 0n,
        trackNamespace: [],
        trackName: new Uint8Array(0),
        parameters: Array.from({ length: 13_000 }, () => parameter),
      },
      22,
    );
    assert.ok(bytes.length > 50_000);
    const { errorCode } = await peer.refusal(bytes);
    assert.equal(errorCode, requestErrorCodes.MALFORMED_AUTH_TOKEN);
    await assertServes(peer, 2);
  });
});

describe("limits of a server", () => {
  test("close one session too many, of all or of one client, and let others be [LB-REJECT-8]", async () => {
    const bed = new RedirectBed({ limits: { maximumSessions: 3, maximumSessionsPerClient: 2 } });
    const connect = (remote: string) => {
      const [near, far] = memoryTransportPair();
      void bed.server.serve(Object.defineProperty(far, "remote", { value: remote }));
      return new RawPeer(near);
    };
    const [first, second] = [connect("192.0.2.1:1000"), connect("192.0.2.1:1001")];
    await connect("192.0.2.1:1002").closedWith("INTERNAL_ERROR");
    const other = connect("[2001:db8::1]:1000");
    await connect("[2001:db8::2]:1000").closedWith("INTERNAL_ERROR");
    for (const peer of [first, second, other]) {
      await peer.setup();
      await assertServes(peer, 0);
    }
    assert.deepEqual(
      bed.events.flatMap((event) => (event.type === "refused" ? [event.cause] : [])),
      ["client-limit", "session-limit"],
    );
    first.transport.close(0n, "");
    await settle();
    const next = connect("192.0.2.1:1003");
    await next.setup();
    await assertServes(next, 0);
  });

  test("are told before there is a session, for listeners that can say so", () => {
    const bed = new RedirectBed({ limits: { maximumSessions: 1 } });
    const address = { path: "/moqt", authority: "lb:4443" };
    assert.equal(bed.server.refusalOf("192.0.2.1:1", address), undefined);
    assert.equal(bed.server.refusalOf("192.0.2.1:1", { ...address, path: "/x" }), "INVALID_PATH");
    assert.equal(
      bed.server.refusalOf("192.0.2.1:1", { ...address, authority: "lb" }),
      "INVALID_AUTHORITY",
    );
    const [, far] = memoryTransportPair();
    void bed.server.serve(far);
    assert.equal(bed.server.refusalOf("192.0.2.1:1", address), "session-limit");
    void bed.server.drain(1000);
    assert.equal(bed.server.refusalOf("192.0.2.1:1", address), "draining");
  });

  test("refuse new sessions while the server is drained [GA-10]", async () => {
    const bed = await bedOf();
    const peer = await bed.client();
    await assertServes(peer, 0);
    const drained = bed.server.drain(1000);
    await (await bed.connect()).closedWith("INTERNAL_ERROR");
    peer.transport.close(0n, "");
    await drained;
  });
});

describe("a session", () => {
  test("whose tenant cannot be told is closed, and the fault is told", async () => {
    const hooks: readonly [fault: string, tenantOf: () => unknown][] = [
      [
        "no tenants",
        () => {
          throw new Error("no tenants");
        },
      ],
      ["tenantOf has to answer with a string", () => Promise.resolve("t1")],
      ["tenantOf has to answer with a string", () => Promise.reject(new Error("later"))],
      ["tenantOf has to answer with a string", () => 5],
    ];
    for (const [fault, tenantOf] of hooks) {
      const faults: unknown[] = [];
      const bed = await bedOf({
        tenantOf: tenantOf as () => string,
        onError: (error) => faults.push(error),
      });
      const peer = await bed.connect();
      await peer.closedWith("INTERNAL_ERROR");
      assert.deepEqual(
        faults.map((error) => (error as Error).message),
        [fault],
      );
      assert.deepEqual(bed.events, [
        { type: "refused", transport: "quic", client: "127.0.0.1", cause: "tenant-fault" },
      ]);
    }
  });

  test("whose clock fails is closed and forgotten, and the fault is told", async () => {
    const broken = (): never => {
      throw new Error("out of order");
    };
    const faults: unknown[] = [];
    const server = createRedirectServer({
      holder: { active: liveAt("r2") },
      authorization: "allow-all",
      clock: { now: broken, after: broken },
      onError: (error) => faults.push(error),
    });
    const [near, far] = memoryTransportPair();
    const close = await server.serve(far);
    assert.equal(close.code, sessionErrorCodes.INTERNAL_ERROR);
    assert.equal((await near.closed).code, sessionErrorCodes.INTERNAL_ERROR);
    assert.equal((faults[0] as Error).message, "out of order");
    assert.equal(server.status().sessions, 0);
  });

  test("whose request waited for the policy, and then meets a fault, is closed, and it is told", async () => {
    const admitted = Promise.withResolvers<boolean>();
    const faults: unknown[] = [];
    const bed = await bedOf({
      authorization: {
        name: "slow",
        authorizeSession: () => admitted.promise,
        authorize: () => true,
      },
      now() {
        throw new Error("no time");
      },
      onError: (error) => faults.push(error),
    });
    const peer = await bed.client();
    await carelessly(peer.open(subscribeBytes(0)));
    await settle();
    admitted.resolve(true);
    await peer.closedWith("INTERNAL_ERROR");
    await settle();
    assert.deepEqual(
      faults.map((error) => (error as Error).message),
      ["no time"],
    );
  });

  test("in which something unforeseen goes wrong is closed with INTERNAL_ERROR, and the fault is told", async () => {
    for (const grant of [true, Promise.resolve(true)]) {
      const faults: unknown[] = [];
      const bed = await bedOf({
        authorization: { name: "open", authorize: () => grant },
        onError: (error) => faults.push(error),
      });
      const peer = await bed.client();
      await assertServes(peer, 0);
      Object.defineProperty(bed.holder, "active", {
        get() {
          throw new Error("a mistake");
        },
      });
      await carelessly(peer.open(subscribeBytes(2)));
      const { reason } = await peer.closedWith("INTERNAL_ERROR");
      await settle();
      assert.equal(reason, "");
      assert.equal((faults[0] as Error).message, "a mistake");
    }
  });

  test("is not idle while a request of it waits [LB-REDIR-17]", async () => {
    const decided = Promise.withResolvers<boolean>();
    const bed = await bedOf({
      authorization: { name: "slow", authorize: () => decided.promise },
      limits: { idleTimeout: 1000 },
    });
    const peer = await bed.client();
    const answer = peer.refusal(subscribeBytes(0));
    await settle();
    bed.clock.advance(5000);
    decided.resolve(true);
    assert.equal((await answer).errorCode, requestErrorCodes.REDIRECT);
    bed.clock.advance(1000);
    await peer.closedWith("NO_ERROR");
  });
});

describe("a session under load", () => {
  test("follows snapshots that change all the time, each request by the one in force [LB-KEY-11]", async () => {
    const bed = await bedOf();
    const peers = await Promise.all(Array.from({ length: 5 }, () => bed.client()));
    for (let round = 0; round < 40; round++) {
      const rid = round % 2 === 0 ? "r1" : "r2";
      bed.holder.active = liveAt(rid, round + 2);
      await Promise.all(peers.map((peer) => assertServes(peer, 2 * round, rid)));
    }
    assert.equal(bed.server.status().sessions, 5);
  });
});
