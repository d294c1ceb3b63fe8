import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import {
  Http3ConnectionError,
  http3ErrorName,
  type WebTransportPolicy,
} from "../../../src/http3/mod.ts";
import {
  clientAndRawServer,
  clientAndServer,
  closeName,
  concatBytes,
  frame,
  getLines,
  headers,
  hex,
  plainControl,
  present,
  readAll,
  serverAndRawClient,
  settled,
} from "./support.ts";

const request = headers(...getLines);
const response = headers([":status", "200"]);
const groupControl = new Map([[0xf7n, 17]]);
const anySession: WebTransportPolicy = { accept: () => ({}) };

/** What a client sends on a control stream, and the code that a server closes with. */
const controlFromClient: readonly (readonly [what: string, bytes: Uint8Array, code: string])[] = [
  ["DATA before SETTINGS", hex("00 0000"), "H3_MISSING_SETTINGS"],
  ["a reserved frame before SETTINGS", hex("00 2100"), "H3_MISSING_SETTINGS"],
  ["GOAWAY before SETTINGS", hex("00 070100"), "H3_MISSING_SETTINGS"],
  ["an extension before SETTINGS", hex("00 40f700"), "H3_MISSING_SETTINGS"],
  ["SETTINGS twice", hex("00 0400 0400"), "H3_FRAME_UNEXPECTED"],
  ["DATA", hex("00 0400 0000"), "H3_FRAME_UNEXPECTED"],
  ["HEADERS", hex("00 0400 01020000"), "H3_FRAME_UNEXPECTED"],
  ["PUSH_PROMISE", hex("00 0400 050100"), "H3_FRAME_UNEXPECTED"],
  ["PRIORITY of HTTP/2", hex("00 0400 0200"), "H3_FRAME_UNEXPECTED"],
  ["PING of HTTP/2", hex("00 0400 0600"), "H3_FRAME_UNEXPECTED"],
  ["WINDOW_UPDATE of HTTP/2", hex("00 0400 0800"), "H3_FRAME_UNEXPECTED"],
  ["CONTINUATION of HTTP/2", hex("00 0400 0900"), "H3_FRAME_UNEXPECTED"],
  ["a setting twice", hex("00 0404 06010601"), "H3_SETTINGS_ERROR"],
  ["a setting of HTTP/2", hex("00 0402 0201"), "H3_SETTINGS_ERROR"],
  ["SETTINGS that ends inside a setting", hex("00 0401 06"), "H3_FRAME_ERROR"],
  ["SETTINGS over 16 KiB", hex("00 04 80004001"), "H3_EXCESSIVE_LOAD"],
  ["GOAWAY with more than an ID", hex("00 0400 07020000"), "H3_FRAME_ERROR"],
  ["GOAWAY without an ID", hex("00 0400 0700"), "H3_FRAME_ERROR"],
  ["GOAWAY with half an ID", hex("00 0400 070140"), "H3_FRAME_ERROR"],
  ["GOAWAY that is longer than any ID", hex("00 0400 0709000000000000000000"), "H3_FRAME_ERROR"],
  ["GOAWAY that goes up", hex("00 0400 070108 07010c"), "H3_ID_ERROR"],
  ["MAX_PUSH_ID that goes down", hex("00 0400 0d0105 0d0104"), "H3_ID_ERROR"],
  ["MAX_PUSH_ID with more than an ID", hex("00 0400 0d020505"), "H3_FRAME_ERROR"],
  ["CANCEL_PUSH", hex("00 0400 030100"), "H3_ID_ERROR"],
  ["CANCEL_PUSH without an ID", hex("00 0400 0300"), "H3_FRAME_ERROR"],
  ["a frame of 2^53 bytes", hex("00 0400 21 c020000000000000"), "H3_EXCESSIVE_LOAD"],
];

describe("control streams", () => {
  for (const [what, bytes, code] of controlFromClient) {
    test(`end the connection on ${what}: ${code}`, async () => {
      const { server, peer } = serverAndRawClient({ controlFrames: groupControl });
      await peer.uni(bytes);
      assert.equal(await closeName(peer.quic), code);
      assert.equal((await server.closed).by, "local");
    });
  }

  test("end the connection when they end: H3_CLOSED_CRITICAL_STREAM", async () => {
    for (const bytes of ["00", "00 0400", "02", "03", "02 20", "03 40"]) {
      const { peer } = serverAndRawClient();
      await peer.uni(hex(bytes), true);
      assert.equal(await closeName(peer.quic), "H3_CLOSED_CRITICAL_STREAM", bytes);
    }
  });

  test("end the connection when they are reset: H3_CLOSED_CRITICAL_STREAM", async () => {
    for (const bytes of ["00 0400", "02", "03"]) {
      const { peer } = serverAndRawClient();
      const stream = await peer.uni(hex(bytes));
      await settled();
      stream.reset(0x100n);
      assert.equal(await closeName(peer.quic), "H3_CLOSED_CRITICAL_STREAM", bytes);
    }
  });

  test("end the connection when the peer stops ours: H3_CLOSED_CRITICAL_STREAM", async () => {
    const { peer } = serverAndRawClient();
    const control = await peer.accept("uni");
    control.stopSending(0x100n);
    assert.equal(await closeName(peer.quic), "H3_CLOSED_CRITICAL_STREAM");
  });

  test("end the connection when they end inside a frame: H3_FRAME_ERROR", async () => {
    const { peer } = serverAndRawClient();
    await peer.uni(hex("00 0400 0701"), true);
    assert.equal(await closeName(peer.quic), "H3_FRAME_ERROR");
  });

  test("come once each: H3_STREAM_CREATION_ERROR", async () => {
    for (const bytes of ["00 0400", "02", "03"]) {
      const { peer } = serverAndRawClient();
      await peer.uni(hex(bytes));
      await peer.uni(hex(bytes));
      assert.equal(await closeName(peer.quic), "H3_STREAM_CREATION_ERROR", bytes);
    }
  });

  test("ignore reserved and unknown frames whole, in any pieces [D09]", async () => {
    const { server, peer } = serverAndRawClient({}, { segment: 1 });
    const unknown = concatBytes(frame(0x21, "0400"), frame(0x40f7, "070100"), frame(0xbadd, ""));
    await peer.uni(concatBytes(plainControl, unknown, frame(0x07, "04")));
    await settled();
    assert.equal(server.receivedGoaway, 4n);
  });

  test("carry QPACK instructions that a peer without dynamic table refuses", async () => {
    for (const [bytes, code] of [
      ["02 3fbd01", "QPACK_ENCODER_STREAM_ERROR"],
      ["03 84", "QPACK_DECODER_STREAM_ERROR"],
    ] as const) {
      const { peer } = serverAndRawClient();
      await peer.uni(hex(bytes));
      assert.equal(await closeName(peer.quic), code);
    }
  });

  test("start with SETTINGS, of which one is reserved", async () => {
    const random = () => 3 / 2 ** 32;
    const settings = new Map([[0xf0c2n, 5n]]);
    const { peer } = serverAndRawClient({ random, settings });
    const control = await peer.accept("uni");
    // Size of field sections 16,384; the further setting; 0x21 + 3 * 0x1f.
    assert.deepEqual(
      await control.read(),
      concatBytes(hex("00"), frame(0x04, "06 80004000 8000f0c2 05 407e 00")),
    );
  });

  test("say nothing before the client, where the settings depend on it", async () => {
    const settings = (client: ReadonlyMap<bigint, bigint>) =>
      new Map(client.get(0xf0c1n) === 1n ? [[0xf0c2n, 3n]] : []) as Map<bigint, bigint>;
    for (const [sent, policy] of [
      ["0405 8000f0c1 01", 3n],
      ["0400", undefined],
    ] as const) {
      const { peer } = serverAndRawClient({ settings });
      await settled();
      await peer.uni(concatBytes(hex("00"), hex(sent)));
      const control = await peer.accept("uni");
      const bytes = toHex(await present(control.read()));
      assert.equal(bytes.includes("8000f0c203"), policy !== undefined);
    }
  });
});

describe("what only a server must not send", () => {
  const fromServer: readonly (readonly [what: string, bytes: Uint8Array, code: string])[] = [
    ["MAX_PUSH_ID", hex("00 0400 0d0100"), "H3_FRAME_UNEXPECTED"],
    ["CANCEL_PUSH", hex("00 0400 030100"), "H3_ID_ERROR"],
    ["GOAWAY that names no request", hex("00 0400 070102"), "H3_ID_ERROR"],
    ["GOAWAY that goes up", hex("00 0400 070108 07010c"), "H3_ID_ERROR"],
    ["a push stream", hex("01 00"), "H3_ID_ERROR"],
    ["WT_ENABLED above 1", hex("00 0405 ac7cf000 02"), "H3_SETTINGS_ERROR"],
  ];
  for (const [what, bytes, code] of fromServer) {
    test(`${what}: ${code}`, async () => {
      const { client, peer } = clientAndRawServer();
      // Without a request, GOAWAY alone would end the connection.
      await client.request({ method: "CONNECT", authority: "a:1", headers: [] });
      await peer.uni(bytes);
      assert.equal(await closeName(peer.quic), code);
    });
  }

  test("a request stream: H3_STREAM_CREATION_ERROR", async () => {
    const { peer } = clientAndRawServer();
    await peer.bidi(request);
    assert.equal(await closeName(peer.quic), "H3_STREAM_CREATION_ERROR");
    const other = clientAndRawServer({ webTransport: true });
    await other.peer.bidi(request);
    assert.equal(await closeName(other.peer.quic), "H3_STREAM_CREATION_ERROR");
  });

  test("PUSH_PROMISE: H3_ID_ERROR", async () => {
    const { client, peer } = clientAndRawServer();
    await peer.uni(plainControl);
    const head = { method: "GET", scheme: "https", authority: "a", path: "/", headers: [] };
    const sent = await client.request(head, { end: true });
    await (await peer.accept("bidi")).write(concatBytes(frame(0x05, "000000"), response));
    await assert.rejects(sent.response(), { code: "H3_ID_ERROR" });
    assert.equal(await closeName(peer.quic), "H3_ID_ERROR");
  });

  test("no response, or DATA or SETTINGS before it", async () => {
    for (const [bytes, code] of [
      [hex(""), "H3_MESSAGE_ERROR"],
      [frame(0x00, "01"), "H3_FRAME_UNEXPECTED"],
      [frame(0x04), "H3_FRAME_UNEXPECTED"],
      [headers([":status", "103"]), "H3_MESSAGE_ERROR"],
      [headers(["x", "y"]), "H3_MESSAGE_ERROR"],
    ] as const) {
      const { client, peer } = clientAndRawServer();
      await peer.uni(plainControl);
      const head = { method: "GET", scheme: "https", authority: "a", path: "/", headers: [] };
      const sent = await client.request(head);
      const stream = await peer.accept("bidi");
      await stream.write(bytes, true);
      await assert.rejects(sent.response(), { code });
      if (code === "H3_MESSAGE_ERROR")
        await assert.rejects(readAll(stream), { applicationCode: 0x10en });
      else assert.equal(await closeName(peer.quic), code);
    }
  });
});

describe("request streams", () => {
  const fromClient: readonly (readonly [what: string, bytes: Uint8Array, code: string])[] = [
    ["DATA before HEADERS", frame(0x00, "01"), "H3_FRAME_UNEXPECTED"],
    ["SETTINGS", frame(0x04), "H3_FRAME_UNEXPECTED"],
    ["GOAWAY", frame(0x07, "00"), "H3_FRAME_UNEXPECTED"],
    ["MAX_PUSH_ID", frame(0x0d, "00"), "H3_FRAME_UNEXPECTED"],
    ["CANCEL_PUSH", frame(0x03, "00"), "H3_FRAME_UNEXPECTED"],
    ["PUSH_PROMISE", frame(0x05, "000000"), "H3_FRAME_UNEXPECTED"],
    ["PING of HTTP/2", frame(0x06), "H3_FRAME_UNEXPECTED"],
    ["an extension frame for control streams", frame(0xf7, "00"), "H3_FRAME_UNEXPECTED"],
    [
      "WT_STREAM that is not at the start",
      concatBytes(frame(0x21), hex("404100")),
      "H3_FRAME_ERROR",
    ],
    ["a dynamic reference", frame(0x01, "03811011"), "QPACK_DECOMPRESSION_FAILED"],
    ["HEADERS that are cut off", frame(0x01, "00"), "QPACK_DECOMPRESSION_FAILED"],
    ["half a frame", hex("0102 00"), "H3_FRAME_ERROR"],
    ["half a frame head", hex("01"), "H3_FRAME_ERROR"],
  ];
  for (const [what, bytes, code] of fromClient) {
    test(`end the connection on ${what}: ${code}`, async () => {
      const { peer } = serverAndRawClient({
        controlFrames: groupControl,
        webTransport: anySession,
      });
      await peer.bidi(bytes, true);
      assert.equal(await closeName(peer.quic), code);
    });
  }

  const behindHead: readonly (readonly [what: string, bytes: Uint8Array, code: string])[] = [
    ["DATA behind trailers", concatBytes(headers(["t", "1"]), frame(0)), "H3_FRAME_UNEXPECTED"],
    [
      "HEADERS behind trailers",
      concatBytes(headers(["t", "1"]), headers(["t", "1"])),
      "H3_FRAME_UNEXPECTED",
    ],
    ["SETTINGS in a body", concatBytes(frame(0, "01"), frame(4)), "H3_FRAME_UNEXPECTED"],
    ["half of DATA", hex("0003 01"), "H3_FRAME_ERROR"],
  ];
  for (const [what, bytes, code] of behindHead) {
    test(`end the connection on ${what}: ${code}`, async () => {
      const { server, peer } = serverAndRawClient();
      await peer.bidi(concatBytes(request, bytes), true);
      await assert.rejects(readAll(await present(server.accept())), { code });
      assert.equal(await closeName(peer.quic), code);
    });
  }

  test("end the connection on trailers in a tunnel: H3_FRAME_UNEXPECTED", async () => {
    const { server, peer } = serverAndRawClient();
    const connect = headers([":method", "CONNECT"], [":authority", "a:1"]);
    await peer.bidi(concatBytes(connect, headers(["t", "1"])));
    const tunnel = await present(server.accept());
    await assert.rejects(tunnel.read(), { code: "H3_FRAME_UNEXPECTED" });
  });

  test("are reset alone where the request is malformed: H3_MESSAGE_ERROR", async () => {
    const { server, peer } = serverAndRawClient();
    for (const bytes of [
      headers([":method", "GET"]),
      headers(...getLines, ["Upper", "x"]),
      headers(...getLines, [":protocol", "x"]),
      headers([":method", "CONNECT"], ...getLines.slice(1), [":protocol", "websocket"]),
    ]) {
      const stream = await peer.bidi(bytes);
      await assert.rejects(stream.read(), { code: "STREAM_RESET", applicationCode: 0x10en });
      assert.equal(await stream.stopped, 0x10en);
    }
    await peer.bidi(request);
    assert.equal((await present(server.accept())).id, 16n);
  });

  test("are reset alone where they end before a request: H3_REQUEST_INCOMPLETE", async () => {
    const { peer } = serverAndRawClient();
    for (const bytes of [frame(0x21), frame(0x40, "0102")]) {
      const stream = await peer.bidi(bytes, true);
      await assert.rejects(stream.read(), { code: "STREAM_RESET", applicationCode: 0x10dn });
    }
  });

  test("ignore reserved and unknown frames everywhere, and WT_STREAM without WebTransport", async () => {
    const { server, peer } = serverAndRawClient({}, { segment: 2 });
    const grease = concatBytes(frame(0x21, "01"), frame(0xbadd), frame(0x41, "0102"));
    const body = concatBytes(frame(0, "01"), grease, frame(0, "02"));
    await peer.bidi(concatBytes(grease, request, grease, body, headers(["t", "1"]), grease), true);
    const arrived = await present(server.accept());
    assert.deepEqual(await readAll(arrived), hex("0102"));
    assert.equal(arrived.trailers?.length, 1);
  });

  test("that are reset before the request is whole are given up on our side too", async () => {
    const { server, peer } = serverAndRawClient({ webTransport: anySession }, { bidiStreams: 1 });
    for (const bytes of [hex("40"), hex("4041"), hex("01"), request.subarray(0, 4)]) {
      const stream = await peer.bidi(bytes);
      await settled();
      stream.reset(0x10cn);
      await assert.rejects(stream.read(), { code: "STREAM_RESET", applicationCode: 0x10dn });
    }
    // Each of them has left the room that it took.
    await peer.bidi(request);
    assert.equal((await present(server.accept())).id, 16n);
  });

  test("may be reset at any point without hurting others", async () => {
    const whole = concatBytes(request, frame(0, "0102"), headers(["t", "1"]));
    const { server, peer } = serverAndRawClient();
    const serving = (async () => {
      for (let next = await server.accept(); next !== null; next = await server.accept()) {
        readAll(next).catch((error) => assert.equal(error.code, "STREAM_RESET"));
      }
    })();
    for (let length = 1; length <= whole.length; length++) {
      const stream = await peer.bidi(whole.subarray(0, length));
      await settled();
      stream.reset(0x10cn);
      stream.stopSending(0x10cn);
    }
    await settled();
    peer.quic.close(0x100n, "");
    await serving;
    assert.equal((await server.closed).by, "remote");
  });
});

describe("unidirectional streams", () => {
  test("of unknown and reserved types are stopped and otherwise ignored", async () => {
    const { server, peer } = serverAndRawClient();
    for (const bytes of ["21 0102", "54 00", "7fff", "c000000000000a0a"]) {
      const stream = await peer.uni(hex(bytes));
      assert.equal(await stream.stopped, 0x103n);
    }
    await peer.bidi(request);
    assert.equal((await present(server.accept())).method, "GET");
  });

  test("may end before their type is known", async () => {
    const { server, peer } = serverAndRawClient();
    await peer.uni(hex(""), true);
    await peer.uni(hex("40"), true);
    (await peer.uni(hex("40"))).reset(0n);
    await peer.bidi(request);
    assert.equal((await present(server.accept())).method, "GET");
  });

  test("of a client must not push: H3_STREAM_CREATION_ERROR", async () => {
    const { peer } = serverAndRawClient();
    await peer.uni(hex("0100"));
    assert.equal(await closeName(peer.quic), "H3_STREAM_CREATION_ERROR");
  });
});

describe("extensions", () => {
  test("send and receive frames on control streams, and see each other's settings", async () => {
    const received: (readonly [bigint, Uint8Array])[] = [];
    const { client, server } = clientAndServer(
      { settings: new Map([[0xf0c2n, 2n ** 40n]]) },
      {
        settings: new Map([[0xf0c1n, 1n]]),
        controlFrames: groupControl,
        onControlFrame: (type, payload) => received.push([type, payload]),
      },
    );
    assert.equal((await server.peerSettings)?.get(0xf0c1n), 1n);
    assert.equal((await client.peerSettings)?.get(0xf0c2n), 2n ** 40n);
    assert.equal(client.receivedSettings?.has(0xf0c1n), false);
    const payload = hex("0000038b 0000003c 01 2c");
    await Promise.all([
      server.sendControlFrame(0xf7n, payload),
      server.sendControlFrame(0xbaddn, hex("00")),
      server.sendControlFrame(0xf7n, hex("01")),
    ]);
    await settled();
    assert.deepEqual(received, [
      [0xf7n, payload],
      [0xf7n, hex("01")],
    ]);
  });

  test("end the connection with the code that they throw", async () => {
    const { peer } = serverAndRawClient({
      controlFrames: groupControl,
      onControlFrame: () => {
        throw new Http3ConnectionError("H3_FRAME_UNEXPECTED", "not from a client");
      },
    });
    await peer.uni(concatBytes(plainControl, frame(0xf7, "00")));
    assert.equal(await closeName(peer.quic), "H3_FRAME_UNEXPECTED");
    assert.equal((await peer.quic.closed).reason, "not from a client");

    const other = serverAndRawClient({
      onSettings: (settings) => {
        if ((settings.get(0xf0c1n) ?? 0n) > 1n) {
          throw new Http3ConnectionError("H3_SETTINGS_ERROR", "SHARED_CONNECTION is 0 or 1");
        }
      },
    });
    await other.peer.uni(hex("00 0405 8000f0c1 02"));
    assert.equal(await closeName(other.peer.quic), "H3_SETTINGS_ERROR");
  });

  test("are a frame error where they are longer than they can be", async () => {
    const { peer } = serverAndRawClient({ controlFrames: groupControl });
    await peer.uni(concatBytes(plainControl, frame(0xf7, new Uint8Array(18))));
    assert.equal(await closeName(peer.quic), "H3_FRAME_ERROR");
  });

  test("that throw something else end the connection with H3_INTERNAL_ERROR", async () => {
    const errors: unknown[] = [];
    const { peer } = serverAndRawClient({
      controlFrames: groupControl,
      onControlFrame: () => {
        throw new TypeError("a secret of the application");
      },
      onError: (error) => errors.push(error),
    });
    await peer.uni(concatBytes(plainControl, frame(0xf7, "00")));
    assert.equal(await closeName(peer.quic), "H3_INTERNAL_ERROR");
    assert.doesNotMatch((await peer.quic.closed).reason, /secret/);
    assert.match(String(errors), /secret/);
  });
});

describe("settings about datagrams", () => {
  test("must be true of the connection: H3_SETTINGS_ERROR", async () => {
    const { peer } = serverAndRawClient({ webTransport: anySession }, { maxDatagramSize: 0 });
    await peer.uni(hex("00 0402 3301"));
    assert.equal(await closeName(peer.quic), "H3_SETTINGS_ERROR");
  });
});

describe("arbitrary peers", () => {
  test("cost their own connection at most, with a registered code", async () => {
    const meaningful = fc.constantFrom(
      request,
      plainControl,
      hex("02"),
      hex("03"),
      hex("404100"),
      hex("405400"),
      frame(0, "0102"),
      frame(7, "00"),
      headers(["t", "1"]),
      headers([":method", "CONNECT"], ...getLines.slice(1), [":protocol", "webtransport"]),
    );
    const bytes = fc
      .array(fc.oneof(meaningful, fc.uint8Array({ maxLength: 12 })), { maxLength: 4 })
      .map((parts) => concatBytes(...parts));
    const streams = fc.array(
      fc.record({ uni: fc.boolean(), bytes, fin: fc.boolean(), reset: fc.boolean() }),
      { maxLength: 6 },
    );
    const segment = fc.integer({ min: 1, max: 20 });
    await fc.assert(
      fc.asyncProperty(
        streams,
        fc.uint8Array({ maxLength: 6 }),
        segment,
        async (all, dgram, cut) => {
          const { server, peer } = serverAndRawClient(
            { webTransport: anySession },
            { segment: cut },
          );
          const serving = (async () => {
            for (let next = await server.accept(); next !== null; next = await server.accept()) {
              const arrived = next;
              readAll(arrived).catch((error) => assert.ok(error.code));
              arrived.respond(200, [], true).catch((error) => assert.ok(error.code));
            }
          })();
          peer.quic.sendDatagram(dgram);
          for (const { uni, bytes, fin, reset } of all) {
            const opened = uni ? peer.uni(bytes, fin) : peer.bidi(bytes, fin);
            const stream = await opened.catch((error) => {
              assert.match(error.code, /^(CONNECTION_CLOSED|STREAM_STOPPED)$/);
            });
            if (reset) stream?.reset(1n);
          }
          await settled();
          peer.quic.close(0x100n, "");
          const { by, code } = await server.closed;
          if (by === "local") assert.match(http3ErrorName(code) ?? "", /^(H3|QPACK)_(?!INTERNAL)/);
          await serving;
        },
      ),
      { numRuns: 150 },
    );
  });

  test("cost a client its connection at most, with a registered code", async () => {
    const bytes = fc
      .array(
        fc.oneof(
          fc.constantFrom(response, headers([":status", "103"]), frame(0, "01"), frame(5, "00")),
          fc.uint8Array({ maxLength: 12 }),
        ),
        { maxLength: 4 },
      )
      .map((parts) => concatBytes(...parts));
    const segment = fc.integer({ min: 1, max: 20 });
    await fc.assert(
      fc.asyncProperty(bytes, segment, async (answer, cut) => {
        const { client, peer } = clientAndRawServer({}, { segment: cut });
        await peer.uni(plainControl);
        const head = { method: "GET", scheme: "https", authority: "a", path: "/", headers: [] };
        const sent = await client.request(head, { end: true });
        const stream = await peer.accept("bidi");
        const reading = readAll(sent).catch((error) => assert.ok(error.code));
        await stream.write(answer, true).catch((error) => assert.ok(error.code));
        await reading;
        peer.quic.close(0x100n, "");
        const { by, code } = await client.closed;
        if (by === "local") assert.match(http3ErrorName(code) ?? "", /^(H3|QPACK)_(?!INTERNAL)/);
      }),
      { numRuns: 150 },
    );
  });
});
