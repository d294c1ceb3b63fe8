/** What the quiche back-end has beyond the common interface: a watchdog, and Retry. */

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { describe, test } from "#test";
import type { QuicEvent, QuicServer, QuicStream } from "../../src/quic/mod.ts";
import { lossyPath } from "./lossy-path.ts";
import {
  accept,
  acceptStream,
  type Backends,
  bytesOf,
  connect,
  echo,
  listen,
  pattern,
  readAll,
  text,
  until,
  within,
  withPair,
  withServer,
} from "./pair.ts";
// Where no configuration has loaded it before all tests: on Deno, where each file has its Worker.
import "./worker-that-can-hang.ts";

/** Streams whose FINs follow their bytes. */
const FINISHED = 3000;
const ascending = (a: number, b: number) => a - b;
const expectedLengths = Array.from({ length: FINISHED }, (_, i) => 1 + (i % 1500)).sort(ascending);

export function quicheScenarios(backends: Backends): void {
  describe("the watchdog of the quiche Worker", () => {
    for (const how of ["loop for ever", "hang in native code", "fail"]) {
      test(`replaces a Worker that is told to ${how}, on the same port`, async () => {
        const events: QuicEvent[] = [];
        const server = await listen(backends, {
          watchdogTimeout: 400,
          onEvent: (event) => events.push(event),
        });
        try {
          const before = await connect(backends, server);
          const accepted = await accept(server);
          const stream = await accepted.openBidi();
          await cast(how, server);

          const close = await within(accepted.closed);
          assert.deepEqual(
            { by: close.by, app: close.app, code: close.code },
            { by: "local", app: false, code: 1n },
          );
          await assert.rejects(stream.write(bytesOf("x")), { code: "CONNECTION_CLOSED" });
          const event = events.find(({ type }) => type === "worker-replaced");
          assert.ok(event?.type === "worker-replaced");
          assert.equal(event.cause, how === "fail" ? "failed" : "silent");
          assert.equal(event.connections, 1);

          const after = await within(connect(backends, server));
          void accept(server).then(echo);
          assert.equal(await echoed(after), "served again");

          // In another Worker, or none, the peer need not wait for its idle timeout: the new one
          // answers for the old. In the same Worker it has gone down with it.
          before.openUni().then(
            (late) => late.write(bytesOf("late")).catch(() => {}),
            () => {},
          );
          const by = backends.client === "quiche" ? "local" : "remote";
          assert.equal((await within(before.closed)).by, by);
          after.close(0n, "");
        } finally {
          await server.close();
        }
      });
    }

    test("lets a Worker that was slow stop by itself before the next one begins", async () => {
      const channel = new BroadcastChannel("lives of the quiche Workers");
      try {
        await withServer(backends, { watchdogTimeout: 400 }, async (server) => {
          const client = await connect(backends, server);
          const accepted = await accept(server);
          const lives: string[] = [];
          channel.onmessage = ({ data }) => lives.push(data);
          await cast("be slow", server);
          await within(accepted.closed);
          (await within(connect(backends, server))).close(0n, "");
          assert.deepEqual(lives, ["stops", "begins"]);
          client.close(0n, "");
        });
      } finally {
        channel.close();
      }
    });

    test("leaves a Worker alone that is idle or busy", async () => {
      const events: QuicEvent[] = [];
      const options = { watchdogTimeout: 200, onEvent: (event: QuicEvent) => events.push(event) };
      await withServer(backends, options, async (server) => {
        const client = await connect(backends, server);
        const accepted = await accept(server);
        const stalled = performance.now() + 600;
        while (performance.now() < stalled); // The main thread itself hangs for a while.
        await new Promise((resolve) => setTimeout(resolve, 400));
        void echo(accepted);
        assert.equal(await echoed(client), "served again");
        client.close(0n, "");
      });
      assert.deepEqual(events, []);
    });
  });

  describe("Retry of the quiche back-end", () => {
    test("asks every client for proof of its address where it always does", async () => {
      const events: QuicEvent[] = [];
      const onEvent = (event: QuicEvent) => events.push(event);
      await withServer(backends, { retry: "always", onEvent }, async (server) => {
        const client = await connect(backends, server);
        void accept(server).then(echo);
        assert.equal(await echoed(client), "served again");
        client.close(0n, "");
        await until(() => events.some(({ type }) => type === "retried"));
      });
    });

    test("asks once half of a cap is used up, by default", async () => {
      let retried = 0;
      const onEvent = (event: QuicEvent) => {
        if (event.type === "retried") retried += event.count;
      };
      await withServer(backends, { maxConnections: 4, onEvent }, async (server) => {
        for (let i = 0; i < 2; i++) await connect(backends, server);
        assert.equal(retried, 0);
        await connect(backends, server);
        await until(() => retried === 1);
      });
    });

    test("drops handshakes over the rate, and takes them again later", async () => {
      const causes = new Set<string>();
      const onEvent = (event: QuicEvent) => {
        if (event.type === "refused") causes.add(event.cause);
      };
      const options = { maxHandshakesPerSecond: 2, retry: "never", onEvent } as const;
      await withServer(backends, options, async (server) => {
        const clients = await Promise.all([1, 2, 3].map(() => within(connect(backends, server))));
        assert.equal(clients.length, 3);
        assert.ok(causes.has("handshake-rate"));
      });
    });
  });

  describe("a close of the quiche back-end", () => {
    for (const [name, isClosed] of [
      ["a connection closes", false],
      ["its server closes", true],
    ] as const) {
      test(`that is lost when ${name} is said again, also to a peer that is idle`, () =>
        withServer(backends, {}, async (server) => {
          const path = await lossyPath(server.address.port);
          try {
            const client = await connect(backends, server, { port: path.port });
            const accepted = await accept(server);
            // What belongs to the handshake is over.
            await new Promise((resolve) => setTimeout(resolve, 200));
            path.lose(1);
            if (isClosed) await server.close();
            else accepted.close(7n, "");
            const { by, code } = await within(client.closed, 3_000);
            assert.deepEqual({ by, code }, { by: "remote", code: isClosed ? 0n : 7n });
          } finally {
            await path.close();
          }
        }));
    }

    test("that is lost twice is said again in answer to late packets", () =>
      withServer(backends, {}, async (server) => {
        const path = await lossyPath(server.address.port);
        const client = await connect(backends, server, { port: path.port });
        const accepted = await accept(server);
        await new Promise((resolve) => setTimeout(resolve, 200));
        path.lose(2);
        accepted.close(7n, "");
        const late = setInterval(() => client.sendDatagram(bytesOf("late")), 5);
        try {
          assert.equal((await within(client.closed, 3_000)).code, 7n);
        } finally {
          clearInterval(late);
          await path.close();
        }
      }));
  });

  describe("a FIN of the quiche back-end that follows its bytes later", () => {
    test("arrives, though it is lost, where the bytes are confirmed late", () =>
      withServer(backends, {}, async (server) => {
        const path = await lossyPath(server.address.port);
        const client = await connect(backends, server, { port: path.port });
        const accepted = await accept(server);
        try {
          // What belongs to the handshake is over.
          await new Promise((resolve) => setTimeout(resolve, 200));
          const ours = await Promise.all(Array.from({ length: 20 }, () => accepted.openUni()));
          path.hold(true);
          await Promise.all(ours.map((stream) => stream.write(bytesOf("all of it"))));
          const theirs: QuicStream[] = [];
          for (const _ of ours) theirs.push(await acceptStream(client));
          for (const stream of theirs) assert.equal(text(await stream.read()), "all of it");
          path.lose(Number.POSITIVE_INFINITY);
          await Promise.all(ours.map((stream) => stream.end()));
          await new Promise((resolve) => setTimeout(resolve, 300));
          path.lose(0);
          path.hold(false);
          for (const stream of theirs) assert.equal(await within(stream.read()), null);
        } finally {
          client.close(0n, "");
          await path.close();
        }
      }));

    test("arrives on each of thousands of streams, while the connection is never at rest", () =>
      withPair(backends, async ({ client, accepted }) => {
        const reading = (async () => {
          const ends: Promise<Uint8Array>[] = [];
          for (let i = 0; i < FINISHED; i++) ends.push(readAll(await acceptStream(client)));
          return await Promise.all(ends);
        })();
        let next = 0;
        const work = async () => {
          while (next < FINISHED) {
            const length = 1 + (next++ % 1500);
            const stream = await accepted.openUni();
            await stream.write(pattern(length));
            // From the turn of the bytes to after their confirmation.
            await new Promise((resolve) => setTimeout(resolve, length % 5));
            await stream.end();
          }
        };
        await Promise.all(Array.from({ length: 80 }, work));
        const lengths = (await within(reading)).map(({ length }) => length);
        assert.deepEqual(lengths.toSorted(ascending), expectedLengths);
      }));
  });

  describe("the bounds of the quiche back-end", () => {
    test("streams that nobody accepts stop coming", () =>
      withServer(backends, { maxUniStreams: 1000 }, async (server) => {
        const client = await connect(backends, server);
        const accepted = await accept(server);
        let finished = 0;
        void (async () => {
          for (;;) {
            const stream = await client.openUni();
            await stream.write(bytesOf("unseen"), true);
            finished++;
          }
        })().catch(() => {});
        await until(() => finished >= 1000);
        await new Promise((resolve) => setTimeout(resolve, 200));
        assert.ok(finished <= 1500, `${finished} streams`);
        for (let i = 0; i < 2000; i++) {
          assert.equal(text(await within(readAll(await acceptStream(accepted)))), "unseen");
        }
        client.close(0n, "");
      }));
  });
}

/** Sends the server's Worker a datagram that it obeys. */
async function cast(spell: string, server: QuicServer): Promise<void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => {
    socket.send(spell, server.address.port, "127.0.0.1", () => socket.close(() => resolve()));
  });
}

async function echoed(client: Awaited<ReturnType<typeof connect>>): Promise<string | null> {
  const stream = await client.openBidi();
  await stream.write(bytesOf("served again"), true);
  return text(await within(readAll(stream)));
}
