import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../../src/bytes.ts";
import { acceptQmux, qmuxSubprotocols, selectQmux } from "../../../src/transport/qmux.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { frames, generous, parameters, type RawPeer, rawClient } from "../../support/raw-qmux.ts";

const newest = "qmux-02.moqt-22";

function rawSession(subprotocol = newest, limits = {}): [RawPeer, Transport] {
  const [peer, socket] = rawClient(subprotocol);
  return [peer, acceptQmux(socket, { subprotocol, ...limits })];
}

/** Sends `records` to a server and tells how it ended, and with which code its WebSocket. */
async function outcome(records: readonly unknown[], subprotocol = newest) {
  const [peer, server] = rawSession(subprotocol);
  for (const record of records) peer.socket.sendRaw(record);
  const { by, app, code } = await server.closed;
  while (peer.socket.closedWith === undefined) await Promise.resolve();
  assert.equal(peer.goodbye?.code, code, "the peer is told the code");
  assert.equal(peer.goodbye?.app, false);
  assert.deepEqual([by, app], ["local", false]);
  return { code, websocket: peer.socket.closedWith.code };
}

describe("a QMux peer that breaks the rules is closed with a code", () => {
  test("text frames", async () => {
    assert.deepEqual(await outcome(["hello"]), { code: 0x0an, websocket: 1003 });
    assert.deepEqual(await outcome([generous, "hello"]), { code: 0x0an, websocket: 1003 });
  });

  test("a record over 16,382 bytes, whatever is in it", async () => {
    const big = new Uint8Array(16_383);
    assert.deepEqual(await outcome([generous, big]), { code: 0x0an, websocket: 1009 });
  });

  test("frames that are unknown, cut off, or of another draft", async () => {
    const encoding = { code: 0x07n, websocket: 1002 };
    assert.deepEqual(await outcome([generous, frames.unknown()]), encoding);
    const whole = frames.stream(0, utf8("SUBSCRIBE"));
    for (let length = 1; length < whole.length; length++) {
      assert.deepEqual(await outcome([generous, whole.subarray(0, length)]), encoding);
    }
    assert.deepEqual(await outcome([generous, frames.resetAt(0, 1, 2, 3)]), encoding);
    const at = concatBytes(frames.stream(0, utf8("x")), frames.resetAt(0, 1, 1, 0));
    assert.deepEqual(await outcome([generous, at], "qmux-01.moqt-18"), {
      code: 0x0an,
      websocket: 1002,
    });
  });

  test("parameters that are missing, late, repeated, or not allowed", async () => {
    const violation = { code: 0x0an, websocket: 1002 };
    assert.deepEqual(await outcome([frames.stream(0, utf8("x"))]), violation);
    assert.deepEqual(await outcome([generous, generous]), violation);
    const refused = { code: 0x08n, websocket: 1002 };
    const bad: [bigint | number, bigint | number][][] = [
      [
        [0x04, 1],
        [0x04, 1],
      ],
      [[0x03, 1200]],
      [[0x0571_c594_29cd_0845n, 16_381]],
      [[0x3d4f_9c2a_8b1e_6075n, 0]],
      [[0x1d, 0]],
    ];
    for (const values of bad) assert.deepEqual(await outcome([parameters(values)]), refused);
  });

  test("streams that the peer may not send on or has no right to open", async () => {
    const state = { code: 0x05n, websocket: 1002 };
    for (const id of [1, 3, 5]) {
      assert.deepEqual(await outcome([generous, frames.stream(id, utf8("x"))]), state);
      assert.deepEqual(await outcome([generous, frames.reset(id, 0, 0)]), state);
    }
    const limit = { code: 0x04n, websocket: 1002 };
    for (const id of [400, 402, 2 ** 40]) {
      assert.deepEqual(await outcome([generous, frames.stream(id, utf8("x"))]), limit);
      assert.deepEqual(await outcome([generous, frames.reset(id, 0, 0)]), limit);
    }
  });

  test("more bytes than the window of a stream takes", async () => {
    const record = frames.stream(2, new Uint8Array(16_000));
    const records = Array.from({ length: 17 }, () => record);
    // The library closes for this, with a code of its own.
    assert.deepEqual(await outcome([generous, ...records]), { code: 1002n, websocket: 1000 });
  });

  test("pings whose numbers do not rise, and answers to none", async () => {
    const violation = { code: 0x0an, websocket: 1002 };
    assert.deepEqual(await outcome([generous, frames.ping(1), frames.ping(1)]), violation);
    assert.deepEqual(await outcome([generous, frames.pong(0)]), violation);
  });

  test("a peer that keeps asking and never takes an answer", async () => {
    const [peer, server] = rawSession();
    peer.send(generous);
    peer.socket.pause();
    const flood = (async () => {
      for (let i = 0, open = true; open; i += 1000) {
        void server.closed.then(() => {
          open = false;
        });
        const pings = Array.from({ length: 1000 }, (_, n) => frames.ping(i + n + 1));
        peer.send(...pings);
        for (let turn = 0; turn < 50; turn++) await Promise.resolve();
        assert(i < 2_000_000, "nothing stopped the peer");
      }
    })();
    await flood;
    const { by, app, code, reason } = await server.closed;
    assert.deepEqual([by, app, code], ["local", false, 0x0an]);
    assert.match(reason, /does not read/);
  });
});

describe("a QMux session that ends without a goodbye", () => {
  test("is idle where the peer falls silent", async () => {
    const [peer, server] = rawSession(newest, { idleTimeout: 60 });
    peer.send(generous);
    const { by, app } = await server.closed;
    assert.deepEqual([by, app], ["idle", false]);
  });

  test("is closed where the peer never starts", async () => {
    const [peer, server] = rawSession(newest, { handshakeTimeout: 20 });
    const { by, app, code } = await server.closed;
    assert.deepEqual([by, app, code], ["local", false, 0x0an]);
    assert.equal(await server.accept(), null);
    assert.equal(peer.goodbye?.code, 0x0an);
  });

  test("tells the code of the WebSocket where that is all there was", async () => {
    const [peer, server] = rawSession();
    peer.send(generous);
    peer.socket.close(1001, "going away");
    assert.deepEqual(await server.closed, {
      by: "remote",
      app: false,
      code: 1001n,
      reason: "going away",
    });
  });

  test("tells the transport error that the peer closed with", async () => {
    const [peer, server] = rawSession();
    peer.send(generous, frames.connectionClose(0x03n, "flow control"));
    assert.deepEqual(await server.closed, {
      by: "remote",
      app: false,
      code: 0x03n,
      reason: "flow control",
    });
  });

  test("is refused where another subprotocol was negotiated", async () => {
    const [, socket] = rawClient("graphql-ws");
    const server = acceptQmux(socket, { subprotocol: "graphql-ws.x" });
    socket.close(1000, "");
    assert.equal((await server.closed).app, false);
  });
});

describe("a QMux peer of another make", () => {
  test("may put many frames in one record, and streams in any order", async () => {
    const [peer, server] = rawSession();
    peer.send(
      generous,
      frames.stream(8, utf8("third"), { fin: true }),
      new Uint8Array([0, 0]),
      frames.stream(0, utf8("fir")),
      frames.reset(4, 9, 0),
      frames.stream(0, utf8("st"), { offset: 3, fin: true }),
      frames.stream(2, utf8("uni"), { fin: true }),
    );
    const seen: [bigint, string][] = [];
    for (let i = 0; i < 3; i++) {
      const stream = await server.accept();
      assert(stream !== null);
      let text = "";
      for (let part = await stream.read(); part !== null; part = await stream.read()) {
        text += new TextDecoder().decode(part);
      }
      seen.push([stream.id, text]);
    }
    assert.deepEqual(seen, [
      [8n, "third"],
      [0n, "first"],
      [2n, "uni"],
    ]);
    peer.send(frames.applicationClose(0n, ""));
    assert.equal((await server.closed).app, true);
    assert.equal(await server.accept(), null);
  });

  test("has its codes told exactly, beyond 32 bits too", async () => {
    const [peer, server] = rawSession();
    const code = 2n ** 60n + 7n;
    peer.send(
      generous,
      frames.stream(0, utf8("x")),
      frames.stop(0, code),
      frames.reset(0, code, 1),
    );
    const stream = await server.accept();
    assert(stream !== null);
    assert.equal(await stream.stopped, code);
    await assert.rejects(
      stream.read().then(() => stream.read()),
      { code: "STREAM_RESET", applicationCode: code },
    );
    peer.send(frames.applicationClose(code, "bye"));
    assert.equal((await server.closed).code, code);
  });

  test("is sent no more than it granted, and more once it grants more", async () => {
    const [peer, server] = rawSession();
    peer.send(
      parameters([
        [0x04, 1000],
        [0x07, 600],
        [0x09, 1],
      ]),
    );
    const stream = await server.openUni();
    assert.equal(server.canOpen("uni"), false);
    assert.equal(server.canOpen("bidi"), false);
    const sent = () => peer.records.reduce((sum, record) => sum + payload(record), 0);
    const writing = stream.write(new Uint8Array(2000), true);
    peer.send(frames.maxStreamData(3, 5000));
    while (sent() < 1000) await Promise.resolve();
    peer.send(frames.maxData(1500));
    while (sent() < 1500) await Promise.resolve();
    stream.reset(7n);
    await assert.rejects(writing, { code: "STREAM_ABANDONED" });
    assert.equal(sent(), 1500);
    peer.send(frames.applicationClose(0n, ""));
    await server.closed;
  });
});

function payload(record: Uint8Array): number {
  // The library sends one STREAM frame to a record: type, id, offset, length, payload.
  if ((record[0] as number) >> 1 !== 0x07) return 0;
  let offset = 1;
  for (let field = 0; field < 3; field++) offset += 1 << ((record[offset] as number) >> 6);
  return record.length - offset;
}

describe("arbitrary bytes as QMux", () => {
  test("end the session or change nothing, without a word on the console", async () => {
    const said = await withSilentConsole(async () => {
      const record = fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc
          .uint8Array({ maxLength: 40 })
          .map((bytes) => concatBytes(frames.stream(0, bytes), bytes)),
        mutated(concatBytes(frames.stream(0, utf8("SUBSCRIBE")), frames.reset(0, 1, 9))),
        mutated(concatBytes(frames.ping(1), frames.stop(0, 1), frames.datagram(utf8("x")))),
        mutated(generous),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.boolean(),
          fc.array(record, { maxLength: 4 }),
          async (start, records) => {
            const [peer, server] = rawSession();
            if (start) peer.send(generous);
            for (const bytes of records) peer.send(bytes);
            peer.socket.close(1000, "");
            const { code } = await server.closed;
            assert(code >= 0n);
            assert.equal(await server.accept(), null);
          },
        ),
        { numRuns: 300 },
      );
    });
    assert.deepEqual(said, []);
  });
});

/** `bytes` with one bit flipped, or cut off. */
function mutated(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  return fc.tuple(fc.nat(bytes.length * 8 - 1), fc.boolean()).map(([bit, cut]) => {
    if (cut) return bytes.slice(0, bit >> 3);
    const flipped = bytes.slice();
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    return flipped;
  });
}

/** What `body` writes to the console, which is a fault of a library that faces untrusted peers. */
async function withSilentConsole(body: () => Promise<void>): Promise<unknown[]> {
  const said: unknown[] = [];
  const { error, warn } = globalThis.console;
  const note = (...words: unknown[]) => {
    said.push(words);
  };
  Object.assign(globalThis.console, { error: note, warn: note });
  try {
    await body();
  } finally {
    Object.assign(globalThis.console, { error, warn });
  }
  return said;
}

describe("the subprotocol of QMux", () => {
  test("names the QMux draft and the MOQT draft, newest of both first", () => {
    assert.deepEqual(qmuxSubprotocols(["moqt-22", "moqt-18"]), [
      "qmux-02.moqt-22",
      "qmux-01.moqt-22",
      "qmux-02.moqt-18",
      "qmux-01.moqt-18",
    ]);
  });

  test("is chosen by the server's preference among those offered", () => {
    const ours = ["moqt-22", "moqt-20"];
    assert.equal(selectQmux("qmux-01.moqt-20, qmux-01.moqt-22", ours), "qmux-01.moqt-22");
    assert.equal(selectQmux("qmux-02.moqt-20,qmux-01.moqt-20", ours), "qmux-02.moqt-20");
  });

  test("is none where the offer has none that names a MOQT draft of ours", () => {
    const ours = ["moqt-22"];
    for (const offer of [
      null,
      "",
      "qmux-02",
      "webtransport",
      "qmux-00.moqt-22",
      "qmux-02.moqt-17",
    ]) {
      assert.equal(selectQmux(offer, ours), undefined);
    }
  });
});
