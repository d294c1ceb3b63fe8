/**
 * What every transport has to do, whatever carries it. An adapter's test file calls
 * {@link transportScenarios} with a way to make a connected pair; what the adapter says that it
 * cannot carry (`fidelity`, `maxDatagramSize`) is asserted as exactly that.
 *
 * @module
 */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../src/bytes.ts";
import { QuicClosed, StreamReset, StreamStopped } from "../../src/quic/errors.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";

export interface TransportPair {
  readonly client: Transport;
  readonly server: Transport;
  /** Frees what the pair needed beyond its two ends, which are closed already. */
  readonly dispose?: () => Promise<void>;
}

/** Bytes that an adapter and its carrier may hold for a reader that does not read. */
const mostHeld = 4 * 0x10_0000;

const empty = new Uint8Array(0);

/** Codes at the edges of what carriers can express; the registries of MOQT end at 0x12. */
const codes = [0n, 1n, 0x12n, 0x9dn, 0x11cn, 0xffff_ffffn, 0x1_0000_0000n];

/** What a carrier under a transport is known not to do, beyond what `fidelity` says. */
export type Gap =
  /** It does not tell whether the peer grants another stream. */
  | "grants"
  /** It learns of a stop no sooner than it writes. */
  | "idle-stop"
  /** A reset waits until a write that is held back has gone through. */
  | "prompt-reset"
  /** Bytes that were discarded unread go on using up the peer's credit. */
  | "discarded-room"
  /** What was sent before a close may be lost at the peer. */
  | "last-words";

/** Registers the scenarios under `name`, but those that need what the carrier does not do. */
export function transportScenarios(
  name: string,
  makePair: () => Promise<TransportPair>,
  gaps: readonly Gap[] = [],
): void {
  const scenario: Scenario = (title, body, needs) => {
    if (needs !== undefined && gaps.includes(needs)) return;
    test(title, async () => {
      const pair = await makePair();
      try {
        await body(pair);
      } finally {
        pair.client.close(0n, "");
        pair.server.close(0n, "");
        await Promise.all([pair.client.closed, pair.server.closed]);
        await pair.dispose?.();
      }
    });
  };
  describe(name, () => {
    streams(scenario);
    endings(scenario);
    pressure(scenario);
    closing(scenario);
    datagrams(scenario);
  });
}

type Scenario = (title: string, body: (pair: TransportPair) => Promise<void>, needs?: Gap) => void;

/** The pair as (opener, other) both ways round: servers open streams as clients do. */
function bothWays({ client, server }: TransportPair): [opener: Transport, other: Transport][] {
  return [
    [client, server],
    [server, client],
  ];
}

async function accepted(transport: Transport): Promise<TransportStream> {
  const stream = await transport.accept();
  assert(stream !== null, "the session ended before a stream came");
  return stream;
}

async function readAll(stream: TransportStream): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const part = await stream.read();
    if (part === null) return concatBytes(...parts);
    assert(part.length > 0, "a read gave no bytes");
    parts.push(part);
  }
}

/** Sends back what comes on the next `count` streams of `transport`, and then FIN. */
async function echo(transport: Transport, count: number): Promise<void> {
  const answers: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    const stream = await accepted(transport);
    answers.push(readAll(stream).then((bytes) => stream.write(bytes, true)));
  }
  await Promise.all(answers);
}

async function ask(transport: Transport, question: Uint8Array): Promise<Uint8Array> {
  const stream = await transport.openBidi();
  await stream.write(question, true);
  return await readAll(stream);
}

/** `length` bytes that differ from place to place, so that lost or swapped pieces show. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * 7) & 0xff;
  return bytes;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

const closedError = (error: unknown) => error instanceof QuicClosed;
const withCode = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

function streams(scenario: Scenario): void {
  scenario("answers a request on a stream of either side", async (pair) => {
    for (const [opener, other] of bothWays(pair)) {
      const served = echo(other, 1);
      assert.deepEqual(await ask(opener, utf8("SUBSCRIBE")), utf8("SUBSCRIBE"));
      await served;
    }
  });

  scenario("tells which side opened a stream and of which kind it is", async (pair) => {
    for (const [opener, other] of bothWays(pair)) {
      for (const kind of ["bidi", "uni"] as const) {
        const mine = await (kind === "bidi" ? opener.openBidi() : opener.openUni());
        await mine.write(utf8("x"), true);
        const theirs = await accepted(other);
        assert.deepEqual([mine.kind, mine.local], [kind, true]);
        assert.deepEqual([theirs.kind, theirs.local], [kind, false]);
        assert.equal(theirs.id, mine.id);
        assert.deepEqual(await readAll(theirs), utf8("x"));
        if (kind === "bidi") await theirs.end();
      }
    }
  });

  scenario("carries unidirectional streams both ways", async (pair) => {
    for (const [opener, other] of bothWays(pair)) {
      const stream = await opener.openUni();
      await stream.write(utf8("SETUP"));
      const peer = await accepted(other);
      assert.deepEqual(await peer.read(), utf8("SETUP"));
      await stream.write(utf8("GOAWAY"), true);
      assert.deepEqual(await readAll(peer), utf8("GOAWAY"));
      await assert.rejects(stream.read(), withCode("WRONG_DIRECTION"));
      await assert.rejects(peer.write(utf8("x")), withCode("WRONG_DIRECTION"));
    }
  });

  scenario("delivers FIN with the last bytes, after them, and without any", async (pair) => {
    const { client, server } = pair;
    const together = await client.openUni();
    await together.write(utf8("ab"), true);
    assert.deepEqual(await readAll(await accepted(server)), utf8("ab"));

    const apart = await client.openUni();
    await apart.write(utf8("ab"));
    await apart.end();
    await apart.end();
    const peer = await accepted(server);
    assert.deepEqual(await readAll(peer), utf8("ab"));
    assert.equal(await peer.read(), null);
    await assert.rejects(apart.write(utf8("c")), withCode("STREAM_ENDED"));

    const bare = await client.openUni();
    await bare.write(empty, true);
    assert.deepEqual(await readAll(await accepted(server)), empty);
  });

  scenario("returns at most as many bytes as a read asks for", async (pair) => {
    const stream = await pair.client.openUni();
    await stream.write(pattern(1000), true);
    const peer = await accepted(pair.server);
    const parts: Uint8Array[] = [];
    for (let part = await peer.read(300); part !== null; part = await peer.read(300)) {
      assert(part.length <= 300);
      parts.push(part);
    }
    assert.deepEqual(concatBytes(...parts), pattern(1000));
  });

  scenario("keeps a hundred streams apart that are open at once", async (pair) => {
    const { client, server } = pair;
    const served = echo(server, 100);
    const questions = Array.from({ length: 100 }, (_, i) => pattern(1 + i * 37));
    const answers = await Promise.all(questions.map((question) => ask(client, question)));
    assert.deepEqual(answers, questions);
    await served;
  });

  scenario("goes on opening streams long after the first grant is used up", async (pair) => {
    const { client, server } = pair;
    const served = echo(server, 500);
    const asked = async (lane: number) => {
      for (let i = lane; i < 500; i += 10) await ask(client, utf8(`request ${i}`));
    };
    await Promise.all(Array.from({ length: 10 }, (_, lane) => asked(lane)));
    await served;
  });

  scenario(
    "waits for the peer where it grants no more streams",
    async (pair) => {
      const { client, server } = pair;
      const served = echo(server, 1);
      await ask(client, utf8("the peer has spoken"));
      await served;
      const opened: TransportStream[] = [];
      while (client.canOpen("uni") && opened.length < 1000) {
        const stream = await client.openUni();
        await stream.write(utf8("x"), true);
        opened.push(stream);
      }
      assert(opened.length >= 10, "a peer grants a session several streams");
      if (client.canOpen("uni")) return;
      const next = client.openUni();
      // Nothing but the peer's reading can grant the next one.
      for (let i = 0; i < opened.length; i++) await readAll(await accepted(server));
      await (await next).write(utf8("y"), true);
      assert.deepEqual(await readAll(await accepted(server)), utf8("y"));
    },
    "grants",
  );
}

function endings(scenario: Scenario): void {
  scenario("tells a reset from a FIN, with its code", async (pair) => {
    for (const [opener, other] of bothWays(pair)) {
      const { reset, largestResetCode } = opener.fidelity;
      for (const code of codes) {
        const stream = await opener.openUni();
        await stream.write(utf8("part"));
        const peer = await accepted(other);
        assert.deepEqual(await peer.read(), utf8("part"));
        stream.reset(code);
        await assert.rejects(stream.write(utf8("x")), withCode("STREAM_ABANDONED"));
        if (!reset) {
          assert.equal(await peer.read(), null);
          continue;
        }
        await assert.rejects(peer.read(), (error) => {
          assert(error instanceof StreamReset);
          assert.equal(error.applicationCode, smaller(code, largestResetCode));
          return true;
        });
        await assert.rejects(peer.read(), withCode("STREAM_RESET"));
      }
    }
  });

  scenario("carries the code of a stop to the writer", async (pair) => {
    for (const [opener, other] of bothWays(pair)) {
      for (const code of codes) {
        const stream = await opener.openUni();
        await stream.write(utf8("part"));
        const peer = await accepted(other);
        peer.stopSending(code);
        await assert.rejects(peer.read(), withCode("STREAM_ABANDONED"));
        const seen = smaller(code, other.fidelity.largestStopCode);
        await assert.rejects(writeUntilRefused(stream), (error) => {
          assert(error instanceof StreamStopped);
          assert.equal(error.applicationCode, seen);
          return true;
        });
        assert.equal(await stream.stopped, seen);
      }
    }
  });

  scenario(
    "ends a read that waits when the peer resets, and a write when it stops",
    async (pair) => {
      const { client, server } = pair;
      const stream = await client.openBidi();
      await stream.write(utf8("x"));
      const peer = await accepted(server);
      assert.deepEqual(await peer.read(), utf8("x"));
      const reading = peer.read();
      stream.reset(5n);
      if (client.fidelity.reset) await assert.rejects(reading, withCode("STREAM_RESET"));
      else assert.equal(await reading, null);

      const writing = writeUntilRefused(peer);
      stream.stopSending(7n);
      await assert.rejects(writing, withCode("STREAM_STOPPED"));
    },
  );

  scenario(
    "tells a writer of a stop that is not writing",
    async ({ client, server }) => {
      const stream = await client.openBidi();
      await stream.write(utf8("ask"), false);
      const peer = await accepted(server);
      peer.stopSending(3n);
      assert.equal(await stream.stopped, smaller(3n, server.fidelity.largestStopCode));
      await assert.rejects(stream.write(utf8("more")), withCode("STREAM_STOPPED"));
    },
    "idle-stop",
  );

  scenario("ends the two directions of a stream each on its own", async ({ client, server }) => {
    const stream = await client.openBidi();
    await stream.write(utf8("ask"));
    const peer = await accepted(server);
    assert.deepEqual(await peer.read(), utf8("ask"));
    peer.stopSending(3n);
    await peer.write(utf8("answer"), true);
    assert.deepEqual(await readAll(stream), utf8("answer"));

    const second = await client.openBidi();
    await second.write(utf8("ask"), true);
    const secondPeer = await accepted(server);
    assert.deepEqual(await readAll(secondPeer), utf8("ask"));
    second.stopSending(4n);
    await assert.rejects(writeUntilRefused(secondPeer), withCode("STREAM_STOPPED"));
  });

  scenario("does not disturb other streams by a reset or a stop", async (pair) => {
    const { client, server } = pair;
    const bystander = await client.openBidi();
    await bystander.write(utf8("one "));
    const bystanderPeer = await accepted(server);
    for (let i = 0; i < 20; i++) {
      const stream = await client.openBidi();
      await stream.write(utf8("x"));
      const peer = await accepted(server);
      if (i % 2 === 0) stream.reset(1n);
      else peer.stopSending(1n);
      peer.reset(2n);
      stream.stopSending(2n);
    }
    await bystander.write(utf8("two"), true);
    assert.deepEqual(await readAll(bystanderPeer), utf8("one two"));
    await bystanderPeer.write(utf8("three"), true);
    assert.deepEqual(await readAll(bystander), utf8("three"));
  });

  scenario("ignores a reset or a stop that comes after the end", async (pair) => {
    const { client, server } = pair;
    const stream = await client.openBidi();
    await stream.write(utf8("ask"), true);
    stream.reset(9n);
    const peer = await accepted(server);
    assert.deepEqual(await readAll(peer), utf8("ask"));
    peer.stopSending(9n);
    await peer.write(utf8("answer"), true);
    assert.deepEqual(await readAll(stream), utf8("answer"));
  });
}

/** Writes until the stream refuses; rejects with what it refused with. */
async function writeUntilRefused(stream: TransportStream): Promise<never> {
  const chunk = pattern(0x4000);
  for (;;) await stream.write(chunk);
}

function pressure(scenario: Scenario): void {
  scenario("carries a megabyte each way at once, unharmed", async ({ client, server }) => {
    const megabyte = pattern(0x10_0000);
    const send = async (from: Transport) => {
      const stream = await from.openUni();
      await stream.write(megabyte, true);
    };
    const [, , atServer, atClient] = await Promise.all([
      send(client),
      send(server),
      accepted(server).then(readAll),
      accepted(client).then(readAll),
    ]);
    assert.deepEqual(atServer, megabyte);
    assert.deepEqual(atClient, megabyte);
  });

  scenario("holds a sender back while nobody reads, and lets it go on later", async (pair) => {
    const { client, server } = pair;
    const total = 2 * mostHeld;
    const chunk = pattern(0x1_0000);
    let taken = 0;
    const stream = await client.openUni();
    const sending = (async () => {
      while (taken < total) {
        await stream.write(chunk);
        taken += chunk.length;
      }
      await stream.end();
    })();
    const peer = await accepted(server);
    // Round trips on other streams pass the time in which an unbounded sender would finish.
    const served = echo(server, 50);
    for (let i = 0; i < 50; i++) await ask(client, utf8("still there?"));
    await served;
    assert(taken <= mostHeld, `${taken} bytes were taken from a sender that nobody reads`);
    let read = 0;
    for (let part = await peer.read(); part !== null; part = await peer.read()) {
      read += part.length;
    }
    await sending;
    assert.equal(read, total);
  });

  scenario(
    "lets a writer that is held back reset its stream",
    async ({ client, server }) => {
      const stream = await client.openUni();
      const writing = writeUntilRefused(stream);
      const refused = assert.rejects(writing, withCode("STREAM_ABANDONED"));
      const peer = await accepted(server);
      const served = echo(server, 10);
      for (let i = 0; i < 10; i++) await ask(client, utf8("still there?"));
      await served;
      stream.reset(6n);
      await refused;
      if (client.fidelity.reset) await assert.rejects(readAll(peer), withCode("STREAM_RESET"));
      else await readAll(peer);
    },
    "prompt-reset",
  );

  scenario(
    "tells of a reset whatever lies unread before it, where it tells at all",
    async ({ client, server }) => {
      const stream = await client.openUni();
      const refused = assert.rejects(writeUntilRefused(stream), withCode("STREAM_ABANDONED"));
      const peer = await accepted(server);
      const served = echo(server, 10);
      for (let i = 0; i < 10; i++) await ask(client, utf8("still there?"));
      await served;
      const { wasReset } = peer;
      stream.reset(6n);
      await refused;
      if (wasReset === undefined || !client.fidelity.reset) return;
      assert.equal(await wasReset, 6n);
      await assert.rejects(readAll(peer), withCode("STREAM_RESET"));
      assert.equal(await peer.wasReset, 6n);
    },
    "prompt-reset",
  );

  scenario("lets a reader stop a writer that is held back", async ({ client, server }) => {
    const stream = await client.openUni();
    const refused = assert.rejects(writeUntilRefused(stream), withCode("STREAM_STOPPED"));
    const peer = await accepted(server);
    peer.stopSending(8n);
    await refused;
    assert.equal(await stream.stopped, smaller(8n, server.fidelity.largestStopCode));
    const served = echo(server, 1);
    assert.deepEqual(await ask(client, utf8("and on")), utf8("and on"));
    await served;
  });

  scenario(
    "does not lose room by streams that were given up half way",
    async (pair) => {
      const { client, server } = pair;
      // Far more than any window in all; what is discarded has to count as read.
      for (let i = 0; i < 100; i++) {
        const stream = await client.openUni();
        const refused = assert.rejects(writeUntilRefused(stream));
        const peer = await accepted(server);
        await peer.read();
        if (i % 2 === 0) stream.reset(1n);
        else peer.stopSending(1n);
        await refused;
        if (i % 2 === 0) await readAll(peer).catch(() => undefined);
      }
      const served = echo(server, 1);
      assert.deepEqual(await ask(client, pattern(0x8_0000)), pattern(0x8_0000));
      await served;
    },
    "discarded-room",
  );
}

function closing(scenario: Scenario): void {
  scenario("carries the code and the reason of a close both ways", async (pair) => {
    await closesWith(pair.client, pair.server, 0x10n, "going away – überfällig");
  });

  scenario("carries a close of the server as well", async (pair) => {
    await closesWith(pair.server, pair.client, 0x3n, "");
  });

  scenario("carries large close codes as far as it says", async (pair) => {
    await closesWith(pair.client, pair.server, 0x1_0000_0000n, "large");
  });

  scenario(
    "takes a reason that is too long by its first 1,024 bytes",
    async ({ client, server }) => {
      client.close(1n, "ü".repeat(1000));
      const { reason } = await server.closed;
      assert(reason.length <= 512 && "ü".repeat(512).startsWith(reason));
    },
  );

  scenario("ends everything that waits when the peer closes", async ({ client, server }) => {
    await endsEverything(client, server, () => server.close(2n, "done"));
  });

  scenario("ends everything that waits when this side closes", async ({ client, server }) => {
    await endsEverything(client, server, () => client.close(2n, "done"));
  });

  scenario(
    "lets what was written and finished before a close be read",
    async (pair) => {
      const { client, server } = pair;
      const stream = await client.openUni();
      await stream.write(utf8("last words"), true);
      const peer = await accepted(server);
      client.close(0n, "");
      assert.deepEqual(await readAll(peer), utf8("last words"));
      assert.equal((await server.closed).by, "remote");
    },
    "last-words",
  );

  scenario("keeps the first of two closes", async ({ client, server }) => {
    client.close(1n, "first");
    client.close(2n, "second");
    assert.equal((await client.closed).code, 1n);
    assert.equal((await server.closed).code, 1n);
  });
}

async function closesWith(from: Transport, to: Transport, code: bigint, reason: string) {
  const seen = smaller(code, from.fidelity.largestCloseCode);
  from.close(code, reason);
  assert.deepEqual(await to.closed, {
    by: "remote",
    app: true,
    code: seen,
    reason: from.fidelity.closeReason ? reason : "",
  });
  assert.deepEqual(await from.closed, { by: "local", app: true, code: seen, reason });
}

/** With a read, a write, and an accept pending at `here`, `close` is called. */
async function endsEverything(here: Transport, there: Transport, close: () => void) {
  const reader = await here.openBidi();
  await reader.write(utf8("x"));
  const writer = await here.openUni();
  // At its close a WebTransport session resets and stops its streams, which may look otherwise.
  const refusal = there.fidelity.largestStopCode > 0n ? closedError : () => true;
  const refused = assert.rejects(writeUntilRefused(writer), refusal);
  await accepted(there);
  await accepted(there);
  const read = readToTheClose(reader, there.fidelity.reset);
  const accepting = here.accept();
  const served = echo(there, 5);
  for (let i = 0; i < 5; i++) await ask(here, utf8("still there?"));
  await served;
  close();
  await Promise.all([refused, read]);
  assert.equal(await accepting, null);
  assert.equal(await here.accept(), null);
  assert.equal(here.canOpen("bidi"), false);
  assert.equal(here.canOpen("uni"), false);
  assert.equal(here.sendDatagram(utf8("x")), false);
  await assert.rejects(here.openBidi(), closedError);
  await assert.rejects(here.openUni(), closedError);
  await assert.rejects(reader.write(utf8("y")), refusal);
  await there.closed;
  assert.equal(await there.accept(), null);
}

/** Where the other end cannot reset streams, a read may see a FIN just before the close. */
async function readToTheClose(stream: TransportStream, resets: boolean): Promise<void> {
  const read = stream.read();
  if (resets) return await assert.rejects(read, closedError);
  const last = await read.catch((error) => (closedError(error) ? null : error));
  assert.equal(last, null);
}

function datagrams(scenario: Scenario): void {
  scenario("carries datagrams up to the size it names, or none", async (pair) => {
    const served = echo(pair.server, 1);
    await ask(pair.client, utf8("the peer has spoken"));
    await served;
    for (const [from, to] of bothWays(pair)) {
      const size = from.maxDatagramSize;
      assert.equal(from.sendDatagram(pattern(size + 1)), false);
      if (size === 0) continue;
      assert(size >= 1000);
      const arrived = new Promise<Uint8Array>((resolve) => {
        to.onDatagram = resolve;
      });
      // On a quiet connection in one machine nothing but a bug drops a datagram.
      assert.equal(from.sendDatagram(pattern(size)), true);
      assert.deepEqual(new Uint8Array(await arrived), pattern(size));
    }
  });
}
