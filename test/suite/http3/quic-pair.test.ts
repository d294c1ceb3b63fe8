import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type { QuicStream } from "../../../src/quic/connection.ts";
import { memoryQuicPair } from "../../support/quic-pair.ts";

const text = (bytes: Uint8Array | null) =>
  bytes === null ? null : new TextDecoder().decode(bytes);

async function accepted(stream: Promise<QuicStream | null>): Promise<QuicStream> {
  const found = await stream;
  assert.ok(found);
  return found;
}

/** Whether `promise` is still pending after everything that can happen now has happened. */
async function pending(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let i = 0; i < 20; i++) await Promise.resolve();
  return !settled;
}

describe("the in-memory QUIC pair", () => {
  test("numbers streams by initiator and kind, and shows one at its first frame", async () => {
    const [client, server] = memoryQuicPair();
    const streams = [
      await client.openBidi(),
      await client.openBidi(),
      await client.openUni(),
      await server.openBidi(),
      await server.openUni(),
    ];
    assert.deepEqual(
      streams.map((stream) => stream.id),
      [0n, 4n, 2n, 1n, 3n],
    );
    const first = server.accept();
    assert.ok(await pending(first));
    await (streams[1] as QuicStream).write(utf8("x"));
    assert.equal((await accepted(first)).id, 4n);
    (streams[0] as QuicStream).stopSending(1n);
    assert.equal((await accepted(server.accept())).id, 0n);
  });

  test("carries bytes both ways and tells FIN by null", async () => {
    const [client, server] = memoryQuicPair();
    const ours = await client.openBidi();
    await ours.write(utf8("ping"), true);
    const theirs = await accepted(server.accept());
    assert.equal(text(await theirs.read(3)), "pin");
    assert.equal(text(await theirs.read()), "g");
    assert.equal(await theirs.read(), null);
    await theirs.write(utf8("pong"));
    await theirs.end();
    assert.equal(text(await ours.read()), "pong");
    assert.equal(await ours.read(), null);
    await assert.rejects(ours.write(utf8("more")), { code: "STREAM_ENDED" });
  });

  test("tells a reset from a FIN, unless the stack behind it cannot", async () => {
    for (const resetOut of [true, false]) {
      const [client, server] = memoryQuicPair({ capabilities: { resetOut } });
      const ours = await client.openUni();
      await ours.write(utf8("half"));
      const theirs = await accepted(server.accept());
      assert.equal(text(await theirs.read()), "half");
      ours.reset(77n);
      if (resetOut) {
        await assert.rejects(theirs.read(), { code: "STREAM_RESET", applicationCode: 77n });
      } else assert.equal(await theirs.read(), null);
      await assert.rejects(ours.write(utf8("more")), { code: "STREAM_ABANDONED" });
    }
  });

  test("tells the writer that the reader stopped, also one that waits", async () => {
    const [client, server] = memoryQuicPair({ streamWindow: 4 });
    const ours = await client.openBidi();
    const write = ours.write(utf8("too much for the window"));
    const theirs = await accepted(server.accept());
    theirs.stopSending(9n);
    await assert.rejects(write, { code: "STREAM_STOPPED", applicationCode: 9n });
    assert.equal(await ours.stopped, 9n);
    await assert.rejects(theirs.read(), { code: "STREAM_ABANDONED" });
  });

  test("lets a writer wait until the reader reads", async () => {
    const [client, server] = memoryQuicPair({ streamWindow: 4, segment: 3 });
    const ours = await client.openUni();
    const write = ours.write(utf8("abcdefgh"), true);
    const theirs = await accepted(server.accept());
    assert.ok(await pending(write));
    let seen = "";
    for (let bytes = await theirs.read(); bytes !== null; bytes = await theirs.read()) {
      assert.ok(bytes.length <= 3);
      seen += text(bytes);
    }
    await write;
    assert.equal(seen, "abcdefgh");
  });

  test("grants a stream only when one of its kind has ended both ways", async () => {
    const [client, server] = memoryQuicPair({ bidiStreams: 1 });
    const ours = await client.openBidi();
    assert.equal(client.canOpen("bidi"), false);
    assert.equal(client.canOpen("uni"), true);
    const next = client.openBidi();
    await ours.end();
    const theirs = await accepted(server.accept());
    assert.equal(await theirs.read(), null);
    assert.ok(await pending(next));
    theirs.reset(1n);
    assert.equal((await next).id, 4n);
  });

  test("carries datagrams up to their limit", async () => {
    const [client, server] = memoryQuicPair({ maxDatagramSize: 4 });
    const seen: (string | null)[] = [];
    server.onDatagram = (bytes) => seen.push(text(bytes));
    assert.equal(client.sendDatagram(utf8("four")), true);
    assert.equal(client.sendDatagram(utf8("fives")), false);
    await Promise.resolve();
    assert.deepEqual(seen, ["four"]);
  });

  test("ends everything when one end closes, but keeps what has arrived readable", async () => {
    const [client, server] = memoryQuicPair({ uniStreams: 1 });
    const ours = await client.openUni();
    await ours.write(utf8("last words"));
    const theirs = await accepted(server.accept());
    const refused = assert.rejects(client.openUni(), { code: "CONNECTION_CLOSED" });
    const accepting = server.accept();
    client.close(5n, "bye");
    assert.equal(text(await theirs.read()), "last words");
    await assert.rejects(theirs.read(), { code: "CONNECTION_CLOSED", applicationCode: 5n });
    await assert.rejects(ours.write(utf8("x")), { code: "CONNECTION_CLOSED" });
    await refused;
    await assert.rejects(server.openBidi(), { code: "CONNECTION_CLOSED" });
    assert.equal(await accepting, null);
    assert.equal(await server.accept(), null);
    assert.deepEqual(await client.closed, { by: "local", app: true, code: 5n, reason: "bye" });
    assert.deepEqual(await server.closed, { by: "remote", app: true, code: 5n, reason: "bye" });
  });

  test("can expire on both ends", async () => {
    const [client, server] = memoryQuicPair();
    client.expire();
    assert.equal((await client.closed).by, "idle");
    assert.equal((await server.closed).by, "idle");
  });
});
