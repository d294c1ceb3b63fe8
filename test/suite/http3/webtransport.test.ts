import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { toHex } from "../../../src/bytes.ts";
import { encodeClose } from "../../../src/http3/capsule.ts";
import {
  type Http3ClientConnection,
  type Http3ServerConnection,
  http3ErrorCodes,
  MAX_WEBTRANSPORT_CODE,
  type SessionDecision,
  type SessionOffer,
  type SessionRequest,
  type WebTransportSession,
} from "../../../src/http3/mod.ts";
import { toHttp3Code } from "../../../src/http3/webtransport-codes.ts";
import type { MemoryQuicOptions } from "../../support/quic-pair.ts";
import {
  clientAndRawServer,
  clientAndServer,
  closeName,
  concatBytes,
  fields,
  frame,
  headers,
  hex,
  isPending,
  present,
  RawPeer,
  readAll,
  serverAndRawClient,
  settled,
  streamPreamble,
  text,
  utf8,
} from "./support.ts";

/** SETTINGS as Chromium sends them: datagrams and draft 02. */
const browserControl = concatBytes(hex("00"), frame(0x04, "3301 ab603742 01"));
const connectLines = [
  [":method", "CONNECT"],
  [":protocol", "webtransport"],
  [":scheme", "https"],
  [":authority", "relay.example"],
  [":path", "/moq?a=1"],
  ["origin", "https://app.example"],
  ["sec-webtransport-http3-draft02", "1"],
  ["wt-available-protocols", '"moqt-22", "moqt-21"'],
] as const;
const connectHeaders = headers(...connectLines);
const accepted = headers(
  [":status", "200"],
  ["sec-webtransport-http3-draft", "draft02"],
  ["wt-protocol", '"moqt-22"'],
);
const request: SessionRequest = {
  authority: "relay.example",
  path: "/moq",
  protocols: ["moqt-22", "moqt-21"],
};
const firstOffered = (offer: SessionOffer): SessionDecision =>
  offer.protocols[0] === undefined ? {} : { protocol: offer.protocols[0] };
const policy = { webTransport: { accept: firstOffered } };

interface Sessions {
  readonly client: Http3ClientConnection;
  readonly server: Http3ServerConnection;
  readonly near: WebTransportSession;
  readonly far: WebTransportSession;
}

/** A session between two ends of ours: the client's is near, the server's is far. */
async function sessionPair(
  quic: MemoryQuicOptions = {},
  onError: (error: unknown) => void = () => {},
): Promise<Sessions> {
  const options = { ...policy, onError };
  const { client, server } = clientAndServer(options, { webTransport: "draft-02" }, quic);
  const near = await client.connect(request);
  return { client, server, near, far: await present(server.acceptSession()) };
}

/** A session of a server of ours with a client that speaks bytes. */
async function rawSession(quic: MemoryQuicOptions = {}) {
  const { server, peer } = serverAndRawClient(policy, quic);
  await peer.uni(browserControl);
  const connect = await peer.bidi(connectHeaders);
  const session = await present(server.acceptSession());
  assert.deepEqual(await connect.read(), accepted);
  return { server, peer, connect, session };
}

describe("establishing a session", () => {
  test("answers the request of a browser in draft-02 form, with the protocol that was chosen", async () => {
    const offers: SessionOffer[] = [];
    const accept = (offer: SessionOffer) => {
      offers.push(offer);
      return { protocol: "moqt-21" };
    };
    const { server, peer } = serverAndRawClient({ webTransport: { accept } });
    await peer.uni(browserControl);
    const connect = await peer.bidi(connectHeaders);
    assert.deepEqual(
      await connect.read(),
      headers(
        [":status", "200"],
        ["sec-webtransport-http3-draft", "draft02"],
        ["wt-protocol", '"moqt-21"'],
      ),
    );
    const session = await present(server.acceptSession());
    assert.equal(session.id, 0n);
    assert.equal(session.path, "/moq?a=1");
    assert.equal(session.authority, "relay.example");
    assert.equal(session.origin, "https://app.example");
    assert.equal(session.protocol, "moqt-21");
    assert.deepEqual(offers[0]?.protocols, ["moqt-22", "moqt-21"]);
    assert.equal(offers[0]?.origin, "https://app.example");
    assert.equal(offers[0]?.headers.length, 3);
  });

  test("announces every draft in the settings", async () => {
    const { peer } = serverAndRawClient(policy);
    const settings = toHex(await present((await peer.accept("uni")).read()));
    for (const setting of ["0801", "3301", "ab60374201", "c0000000c671706a01", "ac7cf00001"]) {
      assert.ok(settings.includes(setting), setting);
    }
  });

  test("waits for the settings of the client", async () => {
    const { server, peer } = serverAndRawClient(policy);
    const connect = await peer.bidi(connectHeaders);
    const answer = connect.read();
    assert.ok(await isPending(answer));
    await peer.uni(browserControl);
    assert.deepEqual(await answer, accepted);
    assert.equal((await present(server.acceptSession())).id, 0n);
  });

  test("is malformed where the client has no datagrams: H3_MESSAGE_ERROR", async () => {
    const { peer } = serverAndRawClient(policy);
    await peer.uni(concatBytes(hex("00"), frame(0x04, "ab603742 01")));
    const connect = await peer.bidi(connectHeaders);
    await assert.rejects(connect.read(), { applicationCode: http3ErrorCodes.H3_MESSAGE_ERROR });
  });

  test("speaks draft 15 and later to those who do", async () => {
    const { server, peer } = serverAndRawClient(policy);
    await peer.uni(concatBytes(hex("00"), frame(0x04, "3301 ac7cf000 01")));
    const lines = connectLines
      .filter(([name]) => name !== "sec-webtransport-http3-draft02")
      .map(([name, value]) => [name, name === ":protocol" ? "webtransport-h3" : value] as const);
    const connect = await peer.bidi(headers(...lines));
    assert.deepEqual(
      await connect.read(),
      headers([":status", "200"], ["wt-protocol", '"moqt-22"']),
    );
    assert.equal((await present(server.acceptSession())).protocol, "moqt-22");
    // Without flow control there is one session at a time (§5.1 of the draft).
    const second = await peer.bidi(headers(...lines));
    await assert.rejects(second.read(), { applicationCode: http3ErrorCodes.H3_REQUEST_REJECTED });
  });

  test("asks in the form that the server's settings call for", async () => {
    for (const [settings, protocol, draft02] of [
      ["0801 3301 ab603742 01", "webtransport", true],
      ["0801 3301 ab603742 01 ac7cf000 01", "webtransport-h3", false],
    ] as const) {
      const { client, peer } = clientAndRawServer({ webTransport: true });
      await peer.uni(concatBytes(hex("00"), frame(0x04, settings)));
      const connecting = client.connect({ ...request, origin: "https://app.example" });
      const connect = await peer.accept("bidi");
      const expected = [
        [":method", "CONNECT"],
        [":scheme", "https"],
        [":authority", "relay.example"],
        [":path", "/moq"],
        [":protocol", protocol],
        ["origin", "https://app.example"],
        ...(draft02 ? ([["sec-webtransport-http3-draft02", "1"]] as const) : []),
        ["wt-available-protocols", '"moqt-22", "moqt-21"'],
      ] as const;
      assert.deepEqual(await connect.read(), headers(...expected));
      await connect.write(headers([":status", "200"], ["wt-protocol", '"moqt-21"; x=1']));
      assert.equal((await connecting).protocol, "moqt-21");
    }
  });

  test("is refused with the status that the server chooses", async () => {
    const accept = (offer: SessionOffer): SessionDecision =>
      offer.path === "/moq"
        ? firstOffered(offer)
        : { status: 404, headers: fields(["x-reason", "path"]) };
    const { client, server } = clientAndServer(
      { webTransport: { accept } },
      { webTransport: true },
    );
    await assert.rejects(client.connect({ ...request, path: "/other" }), {
      code: "SESSION_REFUSED",
      status: 404,
      headers: fields(["x-reason", "path"]),
    });
    // The connection is as good as before.
    assert.equal((await client.connect(request)).protocol, "moqt-22");
    assert.equal((await present(server.acceptSession())).path, "/moq");
  });

  test("is refused with 500 where the policy fails or makes no sense", async () => {
    const bad: readonly (() => SessionDecision)[] = [
      () => {
        throw new TypeError("a fault of the application");
      },
      () => ({ protocol: "not offered" }),
      () => ({ status: 99 }),
      () => ({ headers: fields(["Upper", "x"]) }),
    ];
    for (const accept of bad) {
      const errors: unknown[] = [];
      const onError = (error: unknown) => errors.push(error);
      const { client } = clientAndServer(
        { webTransport: { accept }, onError },
        { webTransport: true },
      );
      await assert.rejects(client.connect(request), { code: "SESSION_REFUSED", status: 500 });
      assert.match(String(errors), /^(TypeError: a fault of the application|Http3CallError: .+)$/);
    }
  });

  test("is the only one that a fault of the policy costs, even where onError has one", async () => {
    let offers = 0;
    const { client, server } = clientAndServer(
      {
        webTransport: {
          accept(offer) {
            offers++;
            if (offers === 2) throw new TypeError("a fault of the application");
            return firstOffered(offer);
          },
        },
        onError() {
          throw new TypeError("another one");
        },
      },
      { webTransport: "draft-02" },
    );
    const near = await client.connect(request);
    await assert.rejects(client.connect(request), { code: "SESSION_REFUSED", status: 500 });
    const far = await present(server.acceptSession());
    await (await near.openUni()).write(utf8("still here"), true);
    assert.equal(text(await readAll(await present(far.accept()))), "still here");
    assert.equal((await client.connect(request)).protocol, "moqt-22");
  });

  test("goes on where its receiver of datagrams throws", async () => {
    const errors: unknown[] = [];
    const { near, far } = await sessionPair({}, (error) => errors.push(error));
    const seen: string[] = [];
    const receive = (bytes: Uint8Array) => {
      seen.push(text(bytes) ?? "");
      if (seen.length < 3) throw new TypeError(`a fault of the application: ${seen.length}`);
    };
    near.sendDatagram(utf8("early"));
    await settled();
    far.onDatagram = receive;
    near.sendDatagram(utf8("second"));
    near.sendDatagram(utf8("third"));
    await settled();
    assert.deepEqual(seen, ["early", "second", "third"]);
    assert.match(String(errors), /: 1,.*: 2$/);
    assert(await isPending(far.closed));
  });

  test("asks a policy that is an object with state of its own", async () => {
    class Policy {
      readonly known = ["moqt-21"];
      accept({ protocols }: SessionOffer): SessionDecision {
        const protocol = protocols.find((name) => this.known.includes(name));
        return protocol === undefined ? { status: 400 } : { protocol };
      }
    }
    const { client } = clientAndServer({ webTransport: new Policy() }, { webTransport: true });
    assert.equal((await client.connect(request)).protocol, "moqt-21");
  });

  test("may agree on no protocol, where none was offered or the offer is malformed", async () => {
    const { client, server } = clientAndServer(policy, { webTransport: true });
    assert.equal((await client.connect({ authority: "a", path: "/" })).protocol, undefined);
    assert.equal((await present(server.acceptSession())).protocol, undefined);

    const raw = serverAndRawClient(policy);
    await raw.peer.uni(browserControl);
    await raw.peer.bidi(
      headers(...connectLines.slice(0, -1), ["wt-available-protocols", "moqt-22"]),
    );
    assert.equal((await present(raw.server.acceptSession())).protocol, undefined);
  });

  test("is given up where the server chooses what was not offered: WT_ALPN_ERROR", async () => {
    const { client, peer } = clientAndRawServer({ webTransport: true });
    await peer.uni(concatBytes(hex("00"), frame(0x04, "0801 3301 ab603742 01")));
    const connecting = client.connect(request);
    const connect = await peer.accept("bidi");
    await connect.write(headers([":status", "200"], ["wt-protocol", '"moqt-17"']));
    await assert.rejects(connecting, { code: "WT_ALPN_ERROR" });
    assert.equal(await connect.stopped, http3ErrorCodes.WT_ALPN_ERROR);
  });

  test("is over on our side too where the server resets the request", async () => {
    const { client, peer } = clientAndRawServer({ webTransport: true });
    await peer.uni(concatBytes(hex("00"), frame(0x04, "0801 3301 ab603742 01")));
    const connecting = client.connect(request);
    const connect = await peer.accept("bidi");
    connect.reset(http3ErrorCodes.H3_REQUEST_REJECTED);
    await assert.rejects(connecting, { code: "STREAM_RESET", applicationCode: 0x10bn });
    await assert.rejects(readAll(connect), { applicationCode: 0x10cn });
    await client.shutdown();
  });

  test("needs a server that takes sessions, and extended CONNECT and datagrams", async () => {
    for (const settings of ["", "0801 3301", "0801 ab603742 01", "3301 ab603742 01"]) {
      const { client, peer } = clientAndRawServer({ webTransport: true });
      await peer.uni(concatBytes(hex("00"), frame(0x04, settings)));
      await assert.rejects(client.connect(request), { code: "NOT_NEGOTIATED" });
    }
    const { client } = clientAndServer(policy);
    await assert.rejects(client.connect(request), { code: "NOT_NEGOTIATED" });
  });

  test("of draft 15 and later is the only one on its connection", async () => {
    const { client } = clientAndServer(policy, { webTransport: true });
    const first = await client.connect(request);
    await assert.rejects(client.connect(request), { code: "NOT_NEGOTIATED" });
    first.close(0n, "");
    await settled();
    assert.equal((await client.connect(request)).protocol, "moqt-22");
  });

  test("is limited to a number of sessions on a connection: H3_REQUEST_REJECTED", async () => {
    const webTransport = { accept: firstOffered, maxSessions: 2 };
    const { server, peer } = serverAndRawClient({ webTransport });
    await peer.uni(browserControl);
    const first = await peer.bidi(connectHeaders);
    await peer.bidi(connectHeaders);
    const third = await peer.bidi(connectHeaders);
    await assert.rejects(third.read(), { applicationCode: http3ErrorCodes.H3_REQUEST_REJECTED });
    await (await present(server.acceptSession())).close(0n, "");
    await readAll(first);
    await peer.bidi(connectHeaders);
    await present(server.acceptSession());
    assert.equal((await present(server.acceptSession())).id, 12n);
  });

  test("of another protocol is answered 501, and a plain request is one as ever", async () => {
    const { client, server } = clientAndServer(policy, { webTransport: true });
    const head = { method: "CONNECT", scheme: "https", authority: "a", path: "/", headers: [] };
    const other = await client.request({ ...head, protocol: "websocket" });
    assert.equal((await other.response()).status, 501);
    await client.request({ ...head, method: "GET" });
    assert.equal((await present(server.accept())).method, "GET");
  });
});

describe("streams of a session", () => {
  test("of both kinds and both ends carry bytes and FIN", async () => {
    const { near, far } = await sessionPair();
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      const bidi = await from.openBidi();
      await bidi.write(utf8("ping"), true);
      const arrived = await present(to.accept());
      assert.equal(arrived.kind, "bidi");
      assert.equal(arrived.local, false);
      assert.equal(arrived.id, bidi.id);
      assert.equal(text(await readAll(arrived)), "ping");
      await arrived.write(utf8("pong"));
      await arrived.end();
      assert.equal(text(await readAll(bidi)), "pong");

      const uni = await from.openUni();
      await uni.write(utf8("one way"), true);
      const other = await present(to.accept());
      assert.equal(other.kind, "uni");
      assert.equal(text(await readAll(other)), "one way");
    }
  });

  test("begin with signal or type and the session on the wire", async () => {
    const { peer, session } = await rawSession();
    await peer.accept("uni");
    const uni = await session.openUni();
    await uni.end();
    assert.deepEqual(await readAll(await peer.accept("uni")), hex("4054 00"));
    const bidi = await session.openBidi();
    await bidi.write(utf8("a"));
    assert.deepEqual(await (await peer.accept("bidi")).read(), hex("4041 00 61"));
  });

  test("reach the peer when they are read before they are written", async () => {
    const { near, far } = await sessionPair();
    const ours = await near.openBidi();
    const reading = ours.read();
    const theirs = await present(far.accept());
    await ours.write(utf8("later"));
    assert.equal(text(await theirs.read()), "later");
    await theirs.write(utf8("first"), true);
    assert.equal(text(await reading), "first");
  });

  test("carry codes of 32 bits unchanged, both ways", async () => {
    const codes = [0n, 1n, 29n, 30n, 31n, 0x1234_5678n, MAX_WEBTRANSPORT_CODE];
    const { near, far } = await sessionPair();
    for (const code of codes) {
      const ours = await near.openBidi();
      await ours.write(utf8("x"));
      const theirs = await present(far.accept());
      await theirs.read();
      ours.reset(code);
      await assert.rejects(theirs.read(), { code: "STREAM_RESET", applicationCode: code });
      ours.stopSending(code);
      assert.equal(await theirs.stopped, code);
      await assert.rejects(theirs.write(utf8("x")), {
        code: "STREAM_STOPPED",
        applicationCode: code,
      });
    }
    const stream = await near.openUni();
    assert.throws(() => stream.reset(MAX_WEBTRANSPORT_CODE + 1n), RangeError);
  });

  test("tell a code of nobody's application as 0", async () => {
    const { peer, session } = await rawSession();
    for (const code of [http3ErrorCodes.H3_REQUEST_CANCELLED, 0x52e4_a40f_a8dbn + 30n]) {
      const stream = await peer.bidi(concatBytes(streamPreamble("bidi", 0n), utf8("x")));
      const arrived = await present(session.accept());
      await arrived.read();
      stream.reset(code);
      await assert.rejects(arrived.read(), { code: "STREAM_RESET", applicationCode: 0n });
    }
    const mapped = await peer.uni(concatBytes(streamPreamble("uni", 0n), utf8("x")));
    const arrived = await present(session.accept());
    await arrived.read();
    mapped.reset(toHttp3Code(5n));
    await assert.rejects(arrived.read(), { applicationCode: 5n });
  });

  test("arrive in any pieces, and bytes behind the session belong to the application", async () => {
    for (const segment of [1, 2, 3, 100]) {
      const { peer, session } = await rawSession({ segment: Math.max(segment, 60) });
      await peer.uni(concatBytes(streamPreamble("uni", 0n), utf8("payload")), true);
      assert.equal(text(await readAll(await present(session.accept()))), "payload");
      peer.quic.close(0n, "");
    }
  });

  test("wait for a reader that is slow", async () => {
    const { near, far } = await sessionPair({ streamWindow: 1000 });
    const stream = await near.openUni();
    const writing = stream.write(new Uint8Array(3000), true);
    const arrived = await present(far.accept());
    assert.ok(await isPending(writing));
    assert.equal((await readAll(arrived)).length, 3000);
    await writing;
  });

  test("name a session that can exist: H3_ID_ERROR", async () => {
    for (const id of [1n, 2n, 3n]) {
      const { peer } = await rawSession();
      await peer.uni(streamPreamble("uni", id));
      assert.equal(await closeName(peer.quic), "H3_ID_ERROR");
    }
  });

  test("that end before their session is known are ignored", async () => {
    const { peer, session } = await rawSession();
    await peer.uni(hex("4054"), true);
    const bidi = await peer.bidi(hex("4041"), true);
    await assert.rejects(bidi.read(), { code: "STREAM_RESET" });
    await peer.uni(concatBytes(streamPreamble("uni", 0n), utf8("x")));
    assert.equal(text(await (await present(session.accept())).read()), "x");
  });

  test("count against the peer's limit of streams", async () => {
    const { near, far } = await sessionPair({ uniStreams: 3 });
    const streams = [await near.openUni(), await near.openUni()];
    assert.equal(near.canOpen("uni"), false);
    assert.equal(near.canOpen("bidi"), true);
    const waiting = near.openUni();
    assert.ok(await isPending(waiting));
    await streams[0]?.end();
    await readAll(await present(far.accept()));
    assert.equal((await waiting).kind, "uni");
  });
});

describe("what arrives before its session", () => {
  test("waits for it: streams and datagrams", async () => {
    const { server, peer } = serverAndRawClient(policy);
    await peer.uni(browserControl);
    await peer.uni(concatBytes(streamPreamble("uni", 4n), utf8("early uni")), true);
    peer.quic.sendDatagram(hex("01 aabb"));
    await settled();
    await peer.bidi(headers([":method", "GET"], ...connectLines.slice(2, 5)), true);
    await peer.bidi(connectHeaders);
    const session = await present(server.acceptSession());
    assert.equal(session.id, 4n);
    assert.equal(text(await readAll(await present(session.accept()))), "early uni");
    const datagrams: Uint8Array[] = [];
    session.onDatagram = (bytes) => datagrams.push(bytes);
    assert.deepEqual(datagrams, [hex("aabb")]);
  });

  test("is limited: WT_BUFFERED_STREAM_REJECTED for the one that has waited longest", async () => {
    const { peer } = serverAndRawClient(policy);
    await peer.uni(browserControl);
    const streams = [];
    for (let i = 0; i < 34; i++) streams.push(await peer.uni(streamPreamble("uni", 400n)));
    await settled();
    assert.equal(await streams[0]?.stopped, http3ErrorCodes.WT_BUFFERED_STREAM_REJECTED);
    assert.equal(await streams[1]?.stopped, http3ErrorCodes.WT_BUFFERED_STREAM_REJECTED);
    assert.ok(await isPending((streams[2] as (typeof streams)[0]).stopped));
  });

  test("is turned away where the request is refused or is another", async () => {
    const accept = () => ({ status: 403 });
    const { peer } = serverAndRawClient({ webTransport: { accept } });
    await peer.uni(browserControl);
    const before = await peer.uni(streamPreamble("uni", 0n));
    const ordinary = await peer.uni(streamPreamble("uni", 4n));
    await settled();
    await readAll(await peer.bidi(connectHeaders, true));
    await peer.bidi(headers([":method", "GET"], ...connectLines.slice(2, 5)), true);
    assert.equal(await before.stopped, http3ErrorCodes.WT_BUFFERED_STREAM_REJECTED);
    assert.equal(await ordinary.stopped, http3ErrorCodes.WT_BUFFERED_STREAM_REJECTED);
    const after = await peer.bidi(streamPreamble("bidi", 0n));
    assert.equal(await after.stopped, http3ErrorCodes.WT_SESSION_GONE);
    await assert.rejects(after.read(), { applicationCode: http3ErrorCodes.WT_SESSION_GONE });
  });
});

describe("datagrams of a session", () => {
  test("reach their own session, both ways", async () => {
    const { client, server, near, far } = await sessionPair();
    const otherNear = await client.connect(request);
    const otherFar = await present(server.acceptSession());
    const seen: string[] = [];
    for (const [name, session] of Object.entries({ near, far, otherNear, otherFar })) {
      session.onDatagram = (bytes) => seen.push(`${name} ${toHex(bytes)}`);
    }
    assert.ok(near.sendDatagram(hex("01")));
    assert.ok(far.sendDatagram(hex("02")));
    assert.ok(otherNear.sendDatagram(hex("03")));
    assert.ok(otherFar.sendDatagram(hex("04")));
    await settled();
    assert.deepEqual(seen, ["far 01", "near 02", "otherFar 03", "otherNear 04"]);
  });

  test("begin with a quarter of the session's ID, which shortens them", async () => {
    const { peer, session } = await rawSession({ maxDatagramSize: 100 });
    assert.equal(session.maxDatagramSize, 99);
    const seen: Uint8Array[] = [];
    peer.quic.onDatagram = (bytes) => seen.push(bytes);
    assert.ok(session.sendDatagram(new Uint8Array(99)));
    assert.equal(session.sendDatagram(new Uint8Array(100)), false);
    await settled();
    assert.equal(seen[0]?.length, 100);
    assert.equal(seen[0]?.[0], 0);
  });

  test("may come as capsules too", async () => {
    const { connect, session } = await rawSession();
    const seen: Uint8Array[] = [];
    session.onDatagram = (bytes) => seen.push(bytes);
    await connect.write(frame(0, "00 02 abcd"));
    await settled();
    assert.deepEqual(seen, [hex("abcd")]);
  });

  test("without an ID end the connection: H3_DATAGRAM_ERROR", async () => {
    for (const bytes of ["", "40", "d000000000000000"]) {
      const { peer } = await rawSession();
      peer.quic.sendDatagram(hex(bytes));
      assert.equal(await closeName(peer.quic), "H3_DATAGRAM_ERROR", bytes);
    }
  });

  test("for a request that has none abort it: H3_DATAGRAM_ERROR", async () => {
    const { server, peer } = await rawSession();
    const get = await peer.bidi(headers([":method", "GET"], ...connectLines.slice(2, 5)));
    await present(server.accept());
    peer.quic.sendDatagram(hex("01 00"));
    await assert.rejects(get.read(), { applicationCode: http3ErrorCodes.H3_DATAGRAM_ERROR });
  });

  test("are dropped for sessions that ended, and beyond a few that nobody receives", async () => {
    const { peer, session } = await rawSession();
    for (let i = 0; i < 50; i++) peer.quic.sendDatagram(Uint8Array.of(0, i));
    await settled();
    const seen: Uint8Array[] = [];
    session.onDatagram = (bytes) => seen.push(bytes);
    assert.equal(seen.length, 32);
    session.close(0n, "");
    peer.quic.sendDatagram(hex("00 01"));
    await settled();
    assert.equal(seen.length, 32);
    assert.equal(session.sendDatagram(hex("01")), false);
    assert.equal(session.maxDatagramSize, 0);
  });
});

describe("the end of a session", () => {
  test("tells code and reason to the other end, and ends everything on both", async () => {
    const { near, far } = await sessionPair();
    const ours = await near.openBidi();
    await ours.write(utf8("x"));
    const theirs = await present(far.accept());
    const waiting = far.accept();
    const reading = assert.rejects(ours.read(), {
      code: "CONNECTION_CLOSED",
      applicationCode: 0xffff_ffffn,
    });
    near.close(MAX_WEBTRANSPORT_CODE, "gründlich");
    near.close(1n, "too late");
    await reading;
    const close = { app: true, code: MAX_WEBTRANSPORT_CODE, reason: "gründlich" };
    assert.deepEqual(await near.closed, { by: "local", ...close });
    assert.deepEqual(await far.closed, { by: "remote", ...close });
    assert.equal(await waiting, null);
    assert.equal(await near.accept(), null);
    for (const call of [theirs.read(), theirs.write(utf8("x")), near.openBidi(), far.openUni()]) {
      await assert.rejects(call, { code: "CONNECTION_CLOSED" });
    }
    assert.equal(near.canOpen("bidi"), false);
    assert.throws(() => near.close(-1n, ""), RangeError);
  });

  test("goes out as a capsule and FIN; when it is answered, streams end with WT_SESSION_GONE", async () => {
    const { peer, connect, session } = await rawSession();
    const theirs = await peer.bidi(concatBytes(streamPreamble("bidi", 0n), utf8("x")));
    await present(session.accept());
    const notAccepted = await peer.uni(streamPreamble("uni", 0n));
    await settled();
    session.close(9n, "bye");
    assert.deepEqual(await readAll(connect), frame(0, "6843 07 00000009 627965"));
    assert(await isPending(Promise.race([theirs.stopped, notAccepted.stopped])));
    await connect.end();
    assert.equal(await theirs.stopped, http3ErrorCodes.WT_SESSION_GONE);
    await assert.rejects(theirs.read(), { applicationCode: http3ErrorCodes.WT_SESSION_GONE });
    assert.equal(await notAccepted.stopped, http3ErrorCodes.WT_SESSION_GONE);
    const late = await peer.uni(streamPreamble("uni", 0n));
    assert.equal(await late.stopped, http3ErrorCodes.WT_SESSION_GONE);
  });

  test("ends the streams of a peer as well that does not answer it", async () => {
    const { peer, session } = await rawSession();
    const theirs = await peer.uni(streamPreamble("uni", 0n));
    await settled();
    session.close(9n, "bye");
    assert.equal(await theirs.stopped, http3ErrorCodes.WT_SESSION_GONE);
  });

  test("comes as a capsule, or as FIN alone with code 0, and is answered with FIN", async () => {
    for (const [bytes, code, reason] of [
      [frame(0, encodeClose(7n, "done")), 7n, "done"],
      [new Uint8Array(0), 0n, ""],
    ] as const) {
      const { connect, session } = await rawSession();
      await connect.write(bytes, true);
      assert.deepEqual(await session.closed, { by: "remote", app: true, code, reason });
      assert.deepEqual(await readAll(connect), new Uint8Array(0));
    }
  });

  test("stops no stream of the application, though its streams may arrive first", async () => {
    const { peer, connect, session } = await rawSession();
    const ours = await session.openUni();
    await ours.write(utf8("x"));
    const codes: bigint[] = [];
    void ours.stopped.then((code) => codes.push(code));
    let theirs = await present(peer.quic.accept());
    while (theirs.id !== ours.id) theirs = await present(peer.quic.accept());
    theirs.stopSending(http3ErrorCodes.WT_SESSION_GONE);
    await settled();
    await connect.write(frame(0, encodeClose(0n, "")), true);
    assert.deepEqual(await session.closed, { by: "remote", app: true, code: 0n, reason: "" });
    await settled();
    assert.deepEqual(codes, []);
  });

  test("is the last word: H3_MESSAGE_ERROR for what follows it", async () => {
    const { connect, session } = await rawSession();
    await connect.write(frame(0, concatBytes(encodeClose(7n, "done"), hex("00"))));
    assert.equal((await session.closed).code, 7n);
    await assert.rejects(readAll(connect), { applicationCode: http3ErrorCodes.H3_MESSAGE_ERROR });
  });

  test("comes abruptly by a reset, or by malformed capsules: the connection goes on", async () => {
    const { server, peer, connect, session } = await rawSession();
    connect.reset(http3ErrorCodes.H3_REQUEST_CANCELLED);
    assert.deepEqual(await session.closed, { by: "remote", app: false, code: 0x10cn, reason: "" });

    const second = await peer.bidi(connectHeaders);
    const broken = await present(server.acceptSession());
    await second.write(frame(0, "6843 05 00000000 ff"), true);
    const { by, app, code } = await broken.closed;
    assert.deepEqual({ by, app, code }, { by: "local", app: false, code: 0x10en });
    await assert.rejects(
      async () => {
        for (;;) await second.read();
      },
      { applicationCode: http3ErrorCodes.H3_MESSAGE_ERROR },
    );
    await peer.bidi(connectHeaders);
    assert.equal((await present(server.acceptSession())).id, 8n);
  });

  test("comes with the end of the connection", async () => {
    const { client, near, far } = await sessionPair();
    const stream = await near.openBidi();
    const reading = assert.rejects(stream.read(), { code: "CONNECTION_CLOSED" });
    client.close(0x100n, "away");
    assert.deepEqual(await near.closed, { by: "local", app: false, code: 0x100n, reason: "away" });
    assert.deepEqual(await far.closed, { by: "remote", app: false, code: 0x100n, reason: "away" });
    await reading;
    assert.equal(await far.accept(), null);
  });

  test("can be asked for: by a capsule for the session, by GOAWAY for all of them", async () => {
    const { near, far } = await sessionPair();
    near.drain();
    await far.draining;
    assert.ok(await isPending(near.draining));
    const stream = await near.openUni();
    await stream.write(utf8("goes on"));
    assert.equal(text(await (await present(far.accept())).read()), "goes on");

    const other = await sessionPair();
    await other.server.goaway();
    await other.near.draining;
    await assert.rejects(other.client.connect(request), { code: "H3_REQUEST_REJECTED" });
    assert.ok(await isPending(other.near.closed));
  });

  test("lets a server shut down, once the client has seen it", async () => {
    const { client, server, near, far } = await sessionPair();
    const done = server.shutdown();
    assert.ok(await isPending(done));
    far.close(3n, "shut down");
    assert.equal((await near.closed).code, 3n);
    await done;
    assert.equal((await client.closed).code, http3ErrorCodes.H3_NO_ERROR);
  });
});

describe("several sessions and requests", () => {
  test("share a connection and do not disturb each other", async () => {
    const { client, server } = clientAndServer(policy, { webTransport: "draft-02" });
    const get = { method: "GET", scheme: "https", authority: "a", path: "/x", headers: [] };
    const [one, sent, two] = await Promise.all([
      client.connect({ ...request, path: "/one" }),
      client.request(get, { end: true }),
      client.connect({ ...request, path: "/two" }),
    ]);
    const farOne = await present(server.acceptSession());
    const farTwo = await present(server.acceptSession());
    assert.deepEqual([farOne.path, farTwo.path], ["/one", "/two"]);
    const stream = await two.openUni();
    await stream.write(utf8("for two"), true);
    one.close(1n, "only me");
    await farOne.closed;
    assert.equal(text(await readAll(await present(farTwo.accept()))), "for two");
    const plain = await present(server.accept());
    await plain.respond(200);
    await plain.write(utf8("plain"), true);
    assert.equal(text(await readAll(sent)), "plain");
    assert.ok(await isPending(two.closed));
  });

  test("survive arbitrary bytes on the CONNECT stream of one of them", async () => {
    const chunks = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 12 }),
        fc.constantFrom(hex("6843"), hex("800078ae00"), encodeClose(1n, "x"), hex("0001ff")),
      ),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(chunks, fc.boolean(), async (parts, fin) => {
        const { server, peer, connect, session } = await rawSession({ segment: 60 });
        const other = await peer.bidi(connectHeaders);
        const untouched = await present(server.acceptSession());
        await other.read();
        await connect.write(frame(0, concatBytes(...parts)), fin);
        await settled();
        if (fin) assert.ok((await session.closed).code >= 0n);
        const stream = await untouched.openUni();
        await stream.write(utf8("alive"), true);
        for (;;) {
          const arrived = await new RawPeer(peer.quic).accept("uni");
          const bytes = await present(arrived.read());
          if (toHex(bytes).startsWith("405404")) break;
        }
      }),
      { numRuns: 100 },
    );
  });
});
