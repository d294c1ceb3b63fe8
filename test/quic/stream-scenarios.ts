/** What streams and datagrams do, whichever stacks carry them. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import type { QuicConnection } from "../../src/quic/mod.ts";
import {
  acceptStream,
  type Backends,
  bytesOf,
  collectGarbage,
  echo,
  pattern,
  readAll,
  sameBytes,
  text,
  until,
  within,
  withPair,
} from "./pair.ts";

const MEGABYTE = 1024 * 1024;

export function streamScenarios(backends: Backends): void {
  describe(`streams from ${backends.client} to ${backends.server}`, () => {
    test("a bidirectional stream carries bytes both ways and ends with FIN on each", () =>
      withPair(backends, async ({ client, accepted }) => {
        const ours = await client.openBidi();
        await ours.write(bytesOf("to the server"), true);
        const theirs = await acceptStream(accepted);
        assert.equal(theirs.kind, "bidi");
        assert.equal(theirs.local, false);
        assert.equal(theirs.id, ours.id);
        assert.equal(text(await readAll(theirs)), "to the server");
        assert.equal(await theirs.read(), null);
        await theirs.write(bytesOf("and "));
        await theirs.write(bytesOf("back"));
        await theirs.end();
        assert.equal(text(await readAll(ours)), "and back");
      }));

    test("unidirectional streams go either way and no other", () =>
      withPair(backends, async ({ client, accepted }) => {
        for (const [from, to] of [
          [client, accepted],
          [accepted, client],
        ] as const) {
          const out = await from.openUni();
          await out.write(bytesOf("one way"), true);
          const into = await acceptStream(to);
          assert.equal(into.kind, "uni");
          assert.equal(text(await readAll(into)), "one way");
          await assert.rejects(into.write(bytesOf("x")), { code: "WRONG_DIRECTION" });
          await assert.rejects(out.read(), { code: "WRONG_DIRECTION" });
          await assert.rejects(out.write(bytesOf("x")), { code: "STREAM_ENDED" });
        }
      }));

    test("a stream that is put aside stays open, whatever is collected", () =>
      withPair(backends, async ({ client, accepted }) => {
        const ours = await client.openBidi();
        await ours.write(bytesOf("hold this"));
        await (async () => {
          assert.equal(text(await (await acceptStream(accepted)).read()), "hold this");
          await (await accepted.openUni()).write(bytesOf("and that"));
        })();
        const theirs = await acceptStream(client);
        assert.equal(text(await theirs.read()), "and that");
        let ended = false;
        for (const read of [ours.read(), theirs.read(), ours.stopped]) {
          const end = () => {
            ended = true;
          };
          read.then(end, end);
        }
        await collectGarbage();
        await ours.write(bytesOf("still there?"));
        assert.equal(ended, false);
      }));

    test("a FIN that follows its bytes later, or has none, arrives", () =>
      withPair(backends, async ({ client, accepted }) => {
        for (let round = 0; round < 30; round++) {
          const ours = await client.openUni();
          if (round % 3 > 0) await ours.write(pattern(round + 1));
          const finished = (async () => {
            // From the same turn to after the bytes were acknowledged.
            if (round % 3 > 1) await new Promise((resolve) => setTimeout(resolve, round / 3));
            await ours.end();
          })();
          const got = await within(readAll(await acceptStreamAfter(accepted, finished)));
          assert.equal(got.length, round % 3 > 0 ? round + 1 : 0);
        }
      }));

    test("a thousand streams, many at once, each get their own bytes back", () =>
      withPair(backends, async ({ client, accepted }) => {
        void echo(accepted);
        let next = 0;
        const work = async () => {
          while (next < 1000) {
            const number = next++;
            const stream = await client.openBidi();
            await stream.write(pattern(50 + number, number), true);
            sameBytes(await readAll(stream), pattern(50 + number, number));
          }
        };
        await within(Promise.all(Array.from({ length: 50 }, work)), 20_000);
      }));

    test("ten megabytes arrive unchanged, and read() returns no more than asked for", () =>
      withPair(backends, async ({ client, accepted }) => {
        const sent = pattern(10 * MEGABYTE);
        const ours = await client.openUni();
        const writing = ours.write(sent, true);
        const theirs = await acceptStream(accepted);
        let offset = 0;
        for (let max = 1; ; max = Math.min(max * 2, 100_000)) {
          const chunk = await within(theirs.read(max));
          if (chunk === null) break;
          assert.ok(chunk.length >= 1 && chunk.length <= max);
          sameBytes(chunk, sent.subarray(offset, offset + chunk.length));
          offset += chunk.length;
        }
        assert.equal(offset, sent.length);
        await writing;
      }));

    test("a peer that does not read stops the sender after a bounded number of bytes", () =>
      withPair(backends, async ({ client, accepted }) => {
        const ours = await client.openUni();
        const piece = new Uint8Array(16 * 1024);
        let accepting = 0;
        let failed = false;
        void (async () => {
          for (let i = 0; i < 1024; i++) {
            await ours.write(piece);
            accepting += piece.length;
          }
          await ours.end();
        })().catch(() => {
          failed = true;
        });
        const theirs = await acceptStream(accepted);
        await standstill(() => accepting);
        assert.ok(accepting >= 64 * 1024, `only ${accepting} bytes`);
        assert.ok(accepting < 6 * MEGABYTE, `${accepting} bytes were accepted`);
        let read = 0;
        for (let chunk = await theirs.read(); chunk; chunk = await within(theirs.read())) {
          read += chunk.length;
        }
        assert.equal(read, 1024 * piece.length);
        assert.equal(failed, false);
      }));

    test("streams that nobody reads leave room for others", () =>
      withPair(backends, async ({ client, accepted }) => {
        const stuck = await Promise.all(Array.from({ length: 40 }, () => client.openUni()));
        for (const stream of stuck) stream.write(new Uint8Array(15 * 1024)).catch(() => {});
        for (const _ of stuck) await acceptStream(accepted);
        void echo(accepted);
        const stream = await client.openBidi();
        await stream.write(pattern(1000), true);
        sameBytes(await within(readAll(stream)), pattern(1000));
      }));

    test("opening waits for the peer to grant a stream", () =>
      withPair(
        backends,
        async ({ client, accepted }) => {
          const first = await client.openBidi();
          const second = await client.openBidi();
          await Promise.all([first, second].map((stream) => stream.write(bytesOf("x"), true)));
          let opened = false;
          const third = client.openBidi().then((stream) => {
            opened = true;
            return stream;
          });
          assert.equal(client.canOpen("bidi"), false);
          for (let i = 0; i < 2; i++) {
            const theirs = await acceptStream(accepted);
            await readAll(theirs);
            assert.equal(opened, false);
            if (i === 1) await theirs.end();
          }
          for (const stream of [first, second]) stream.read().catch(() => {});
          const stream = await within(third);
          await stream.write(bytesOf("third"), true);
          assert.equal(text(await readAll(await acceptStream(accepted))), "third");
        },
        { listen: { maxBidiStreams: 2 } },
      ));

    test("a reset is told from FIN, with its code", () =>
      withPair(backends, async ({ client, accepted }) => {
        for (const [from, to] of [
          [client, accepted],
          [accepted, client],
        ] as const) {
          if (!from.capabilities.resetOut) continue;
          for (const code of [0n, 1n, 0x52e4a40fa8dbn]) {
            const out = await from.openUni();
            await out.write(bytesOf("begun"));
            const into = await acceptStream(to);
            assert.equal(text(await into.read()), "begun");
            out.reset(code);
            await assert.rejects(within(into.read()), {
              code: "STREAM_RESET",
              applicationCode: code,
            });
            await assert.rejects(out.write(bytesOf("x")), { code: "STREAM_ABANDONED" });
          }
        }
      }));

    test("a reset of a stream that carried nothing arrives", () =>
      withPair(backends, async ({ client, accepted }) => {
        if (!client.capabilities.resetOut) return;
        const out = await client.openBidi();
        out.reset(9n);
        const into = await within(acceptStream(accepted));
        await assert.rejects(within(into.read()), { code: "STREAM_RESET", applicationCode: 9n });
      }));

    test("a stop reaches the sender with its code", () =>
      withPair(backends, async ({ client, accepted }) => {
        for (const [from, to] of [
          [client, accepted],
          [accepted, client],
        ] as const) {
          const out = await from.openUni();
          await out.write(bytesOf("begun"));
          const into = await acceptStream(to);
          await into.read();
          into.stopSending(77n);
          await assert.rejects(into.read(), { code: "STREAM_ABANDONED" });
          const code = to.capabilities.stopCodeOut ? 77n : 0n;
          await assert.rejects(within(writeOn(out)), {
            code: "STREAM_STOPPED",
            applicationCode: code,
          });
          assert.equal(await within(out.stopped), code);
        }
      }));

    test("each end mode gives its stream back to the sender's credit", () =>
      withPair(
        backends,
        async ({ client, accepted }) => {
          void finishEach(accepted);
          for (let round = 0; round < 60; round++) {
            const stream = await within(client.openBidi());
            const mode = round % 4;
            await stream.write(bytesOf(String(mode)), mode === 0);
            if (mode === 0) await readAll(stream);
            if (mode === 1) stream.reset(1n);
            if (mode === 2) await stream.end();
            if (mode === 3) await stream.end().catch(() => {});
            if (mode !== 0) stream.stopSending(2n);
          }
        },
        { listen: { maxBidiStreams: 4 } },
      ));

    test("datagrams go both ways, and one that is too long is refused", () =>
      withPair(backends, async ({ client, accepted }) => {
        for (const [from, to] of [
          [client, accepted],
          [accepted, client],
        ] as const) {
          assert.ok(from.maxDatagramSize >= 1100, `${from.maxDatagramSize} bytes`);
          const got: Uint8Array[] = [];
          to.onDatagram = (bytes) => got.push(bytes);
          const sent = pattern(1100);
          await resend(
            () => from.sendDatagram(sent),
            () => got.length > 0,
          );
          sameBytes(got[0] as Uint8Array, sent);
          assert.equal(from.sendDatagram(new Uint8Array(from.maxDatagramSize + 1)), false);
        }
      }));

    test("datagrams that nobody takes cost bounded memory, and streams go on", () =>
      withPair(backends, async ({ client, accepted }) => {
        void echo(accepted);
        let refused = 0;
        for (let i = 0; i < 5000; i++) if (!client.sendDatagram(pattern(1000))) refused++;
        assert.ok(refused > 0);
        const stream = await client.openBidi();
        await stream.write(bytesOf("still here"), true);
        assert.equal(text(await within(readAll(stream))), "still here");
      }));
  });
}

/** The next stream, opened or finished meanwhile. */
async function acceptStreamAfter(connection: QuicConnection, action: Promise<void>) {
  const [stream] = await Promise.all([within(acceptStream(connection)), action]);
  return stream;
}

/** Waits until a number has not changed for a while. */
async function standstill(read: () => number): Promise<void> {
  let last = -1;
  let since = Date.now();
  await until(() => {
    if (read() !== last) {
      last = read();
      since = Date.now();
    }
    return Date.now() - since > 400;
  });
}

/** Writes until the stream refuses. */
async function writeOn(stream: { write(bytes: Uint8Array): Promise<void> }): Promise<void> {
  for (;;) {
    await stream.write(bytesOf("more"));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Ends each stream of a peer by what its first byte asks for. */
async function finishEach(connection: QuicConnection): Promise<void> {
  for (let stream = await connection.accept(); stream; stream = await connection.accept()) {
    const own = stream;
    (async () => {
      const mode = text(await own.read());
      if (mode === "3") own.stopSending(3n);
      await own.end();
      if (mode !== "3") await readAll(own);
    })().catch(() => own.end().catch(() => {}));
  }
}

/** Datagrams may be lost: sends until one has arrived. */
async function resend(send: () => unknown, arrived: () => boolean): Promise<void> {
  for (let i = 0; i < 100 && !arrived(); i++) {
    send();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(arrived(), "no datagram arrived");
}
