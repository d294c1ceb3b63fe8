/**
 * Hostile clients of a whole server, over real sockets: whatever they do costs bounded memory, ends
 * with the right code, and is not noticed on other sessions. The server is a process of its own.
 */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { concatBytes } from "../../src/bytes.ts";
import { requestErrorCodes, sessionErrorName } from "../../src/moqt/mod.ts";
import { QuicClosed } from "../../src/quic/errors.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { bytesOf, emptySetup, RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import { ServerProcess } from "../support/server-process.ts";

/** Milliseconds that a client may take to say what it has begun. */
const patience = 500;

const limits = {
  setupTimeout: patience,
  messageTimeout: patience,
  maximumSessionsPerClient: 1000,
};

/** Coarse on purpose: a heap grows by tens of megabytes before it is collected. */
const mostGrowth = 150 * 0x10_0000;

const slow = 60_000;

let server: ServerProcess;
/** A client that does no harm; it is served all the time. */
let bystander: RawPeer;
let requests = 0n;
let memoryBefore: number;

const transports = [
  ["raw QUIC", () => server.connectQuic()],
  ["QMux", () => server.connectQmux()],
] as const;

beforeAll(async () => {
  server = await ServerProcess.start("redirect", limits);
});

afterAll(() => server.stop());

for (const [name, dial] of transports) {
  describe(`hostile clients over ${name}`, () => {
    beforeEach(async () => {
      bystander = new RawPeer(await dial());
      requests = 0n;
      await bystander.setup();
      await expectServed();
      memoryBefore = (await server.state()).memory;
    }, slow);

    afterEach(async () => {
      await expectServed();
      const { memory } = await server.state();
      expect(memory - memoryBefore).toBeLessThan(mostGrowth);
      bystander.transport.close(0n, "");
      await expectSessions(0);
    }, slow);

    suite(dial);
  });
}

/** Asserts that the bystander is redirected. */
async function expectServed(): Promise<void> {
  const bytes = subscribe(requests);
  requests += 2n;
  const { errorCode } = await bystander.refusal(bytes);
  expect(errorCode).toBe(requestErrorCodes.REDIRECT);
}

function subscribe(requestId = 0n): Uint8Array {
  return requestBytes("SUBSCRIBE", "example.2ecom-m1--video", { requestId });
}

/** Waits until the server has `count` sessions. */
async function expectSessions(count: number): Promise<void> {
  while ((await server.state()).sessions !== count) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Connects in waves that the receive buffer of a UDP socket has room for. */
async function connectMany(connect: () => Promise<RawPeer>, count: number): Promise<RawPeer[]> {
  const all: RawPeer[] = [];
  while (all.length < count) {
    const wave = Array.from({ length: Math.min(50, count - all.length) }, connect);
    all.push(...(await Promise.all(wave)));
  }
  return all;
}

/** Numbers that look random and are the same each time. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function noise(random: () => number, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(random() * 256));
}

/** Does what a peer may break off at any time. */
async function whileOpen(attack: Promise<unknown>): Promise<void> {
  await attack.catch((error) => {
    if (!(error instanceof QuicClosed)) throw error;
  });
}

function suite(dial: () => Promise<Transport>): void {
  test(
    "that send garbage are closed with a registered code [LB-SEC-26]",
    async () => {
      const random = generator(1);
      for (let round = 0; round < 60; round++) {
        const peer = new RawPeer(await dial());
        // Every second one begins as it should.
        if (round % 2 === 0) await whileOpen(peer.setup());
        for (let stream = 0; stream < 4; stream++) {
          const bytes = noise(random, 1 + Math.floor(random() * 400));
          await whileOpen(stream % 2 === 0 ? peer.open(bytes, true) : peer.uni(bytes));
          peer.transport.sendDatagram(noise(random, 100));
        }
        const { by, app, code } = await peer.transport.closed;
        expect([by, app]).toEqual(["remote", true]);
        expect(sessionErrorName(code)).toBeDefined();
        if (round % 20 === 0) await expectServed();
      }
    },
    slow,
  );

  test(
    "that open streams without end are held to the limits [LB-SEC-28]",
    async () => {
      const peer = new RawPeer(await dial());
      await peer.setup();
      let opened = 0;
      // Each begins a message and does not go on; the peer's credit, or its patience, ends it.
      const attack = async () => {
        for (; opened < 5000; opened++) await peer.open("03");
      };
      const attacking = whileOpen(attack());
      await expectServed();
      await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
      await attacking;
      expect(opened).toBeLessThan(5000);
    },
    slow,
  );

  test(
    "that say nothing are closed when their time is up",
    async () => {
      const silent = await connectMany(async () => new RawPeer(await dial()), 50);
      await expectServed();
      for (const peer of silent) await peer.closedWith("CONTROL_MESSAGE_TIMEOUT");
    },
    slow,
  );

  test(
    "that do not read their answers cost no more than their credit [LB-SEC-30]",
    async () => {
      const peer = new RawPeer(await dial());
      await peer.setup();
      let asked = 0;
      const attack = async () => {
        for (; asked < 20_000; asked++) await peer.open(subscribe(2n * BigInt(asked)), true);
      };
      const attacking = whileOpen(attack());
      // Round trips of the bystander pass the time in which all would be asked otherwise.
      for (let i = 0; i < 50; i++) await expectServed();
      expect(asked).toBeLessThan(20_000);
      peer.transport.close(0n, "");
      await attacking;
    },
    slow,
  );

  test(
    "that leave at any byte leave nothing behind",
    async () => {
      const script = concatBytes(bytesOf(emptySetup), subscribe());
      const setupLength = bytesOf(emptySetup).length;
      for (let cut = 0; cut <= script.length; cut++) {
        const peer = new RawPeer(await dial());
        await peer.uni(script.subarray(0, Math.min(cut, setupLength)));
        if (cut > setupLength) await peer.open(script.subarray(setupLength, cut));
        peer.transport.close(0n, "");
      }
      await expectSessions(1);
    },
    slow,
  );

  test(
    "or not, five hundred at once are all served",
    async () => {
      const connect = async () => {
        const peer = new RawPeer(await dial());
        await peer.setup();
        return peer;
      };
      const crowd = await connectMany(connect, 500);
      const answers = await Promise.all(crowd.map((peer) => peer.refusal(subscribe())));
      for (const { errorCode } of answers) expect(errorCode).toBe(requestErrorCodes.REDIRECT);
      expect((await server.state()).sessions).toBe(501);
      // In waves as well: a close that is lost would be missed until the idle timeout.
      while (crowd.length > 0) {
        for (const { transport } of crowd.splice(0, 50)) transport.close(0n, "");
        await expectSessions(crowd.length + 1);
      }
    },
    slow,
  );
}

test(
  "packets that are no QUIC, and first packets that lead nowhere, hurt nobody",
  async () => {
    bystander = new RawPeer(await server.connectQuic());
    requests = 0n;
    await bystander.setup();
    const random = generator(2);
    const socket = createSocket("udp4");
    for (let burst = 0; burst < 50; burst++) {
      for (let packet = 0; packet < 40; packet++) {
        const bytes = noise(random, 1200);
        // A long header of version 1 with connection IDs of 8 bytes: an Initial, by its looks.
        if (packet % 2 === 0) bytes.set([0xc3, 0, 0, 0, 1, 8]);
        socket.send(bytes, server.address.port, "127.0.0.1");
      }
      await expectServed();
    }
    socket.close();
    bystander.transport.close(0n, "");
    await expectSessions(0);
  },
  slow,
);
