/** Tracks of a client on their way to a relay. */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type Draft,
  decodeObjectDatagram,
  drafts,
  type MessageParameter,
  type RequestErrorName,
  requestErrorName,
  type SubgroupHeader,
  SubgroupReader,
} from "../../../src/moqt/mod.ts";
import { StreamReset } from "../../../src/quic/errors.ts";
import type {
  IncomingDataStream,
  IncomingRequest,
  MoqtSession,
  RequestNews,
} from "../../../src/session/mod.ts";
import { settle } from "../../support/settle.ts";
import { Internet } from "./internet.ts";
import { grant, ScriptedService } from "./scripted.ts";
import { namespace, text, track } from "./tracks.ts";

const uri = "moqt://relay.example/moq";
const game = track("live/sports/game-7", "audio");
const nothing = new Uint8Array(0);

/** A client, and a relay that looks at what it gets. */
async function published({
  draft = 22,
  answer = grant,
}: {
  draft?: Draft;
  answer?: (request: IncomingRequest) => void;
} = {}) {
  const net = new Internet();
  const news: RequestNews[] = [];
  const service = new ScriptedService((request) => {
    request.onMessage = (message) => news.push(message);
    answer(request);
  });
  net.listen(uri, service.serve);
  const { client } = net.client(uri, { draft });
  const publication = await client.publish(game);
  const session = service.sessions[0];
  const request = service.requests[0];
  assert.ok(session && request);
  return { net, client, service, publication, session, request, news };
}

/** The objects of a stream as text, and how it ended. */
async function read({ header, headerLength, stream }: IncomingDataStream) {
  const reader = new SubgroupReader(header as SubgroupHeader);
  const objects: string[] = [];
  let toSkip = headerLength;
  try {
    for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
      for (const { objectId, payload } of reader.push(bytes.subarray(toSkip))) {
        objects.push(`${objectId} ${text(payload)}`);
      }
      toSkip = 0;
    }
    return { objects, end: "FIN" };
  } catch (error) {
    if (!(error instanceof StreamReset)) throw error;
    return { objects, end: error.applicationCode };
  }
}

const update = (
  session: MoqtSession,
  request: IncomingRequest,
  ...parameters: MessageParameter[]
) =>
  request.update(parameters).then((answer) => {
    assert.equal(session.isOver, false);
    return answer;
  });

describe("a published track", () => {
  for (const draft of drafts) {
    test(`sends groups as streams, and PUBLISH_DONE last, in draft ${draft}`, async () => {
      const { client, publication, service, request, news } = await published({ draft });
      const { message } = request;
      assert.ok(message.type === "PUBLISH");
      const group = publication.openGroup({ publisherPriority: 3 });
      await group.write(utf8("a"));
      await group.write(utf8("b"));
      await group.end();
      const later = publication.openGroup({ groupId: 9n });
      await later.write({ payload: utf8("c"), objectId: 4n });
      await publication.end();
      await publication.ended;
      await settle();

      assert.equal(service.streams.length, 2);
      const [first, second] = service.streams.map(({ header }) => header);
      assert.deepEqual(first, {
        type: "SUBGROUP",
        trackAlias: message.trackAlias,
        groupId: 0n,
        subgroupId: 0n,
        publisherPriority: 3,
        hasProperties: false,
        endOfGroup: true,
        firstObject: true,
      });
      assert.equal((second as SubgroupHeader).groupId, 9n);
      assert.deepEqual(await Promise.all(service.streams.map(read)), [
        { objects: ["0 a", "1 b"], end: "FIN" },
        { objects: ["4 c"], end: "FIN" },
      ]);
      assert.deepEqual(news, [
        { type: "PUBLISH_DONE", statusCode: 2n, streamCount: 2n, errorReason: "" },
      ]);
      await client.close();
    });
  }

  test("keeps the order of what is written, whether or not anybody waits", async () => {
    const { client, publication, service } = await published();
    const group = publication.openGroup();
    for (const word of ["a", "b", "c", "d"]) void group.write(utf8(word));
    await group.end();
    await settle();
    assert.deepEqual((await read(service.streams[0] as IncomingDataStream)).objects, [
      "0 a",
      "1 b",
      "2 c",
      "3 d",
    ]);
    await client.close();
  });

  test("pauses and goes on as its subscriber says; what is left out shows", async () => {
    const { client, publication, service, session, request } = await published();
    const group = publication.openGroup();
    await group.write(utf8("a"));
    const paused = await update(session, request, { type: "FORWARD", value: 0 });
    assert.equal(paused.type, "REQUEST_OK");
    assert.deepEqual(paused.type === "REQUEST_OK" && paused.parameters, [
      { type: "LARGEST_OBJECT", location: { group: 0n, object: 0n } },
    ]);
    assert.equal(publication.isWanted, false);
    await group.write(utf8("b"));
    await publication.openGroup().write(utf8("c"));
    await update(session, request, { type: "FORWARD", value: 1 });
    await publication.wanted();
    const next = publication.openGroup();
    await next.write(utf8("d"));
    await next.end();
    await settle();
    assert.deepEqual(await Promise.all(service.streams.map(read)), [
      { objects: ["0 a"], end: 1n },
      { objects: ["0 d"], end: "FIN" },
    ]);
    await client.close();
  });

  test("begins paused where the answer says so, in drafts 18 and 19", async () => {
    for (const draft of [18, 19] as const) {
      const { client, publication } = await published({
        draft,
        answer: (request) =>
          request.send({
            type: "REQUEST_OK",
            parameters: [{ type: "FORWARD", value: 0 }],
            trackProperties: nothing,
          }),
      });
      assert.equal(publication.isWanted, false);
      await client.close();
    }
  });

  test("sends nothing beyond the filter of its subscriber", async () => {
    const { client, publication, service, session, request } = await published();
    const end = { kind: "RANGE", start: { group: 1n, object: 0n }, endGroup: 1n } as const;
    await update(session, request, { type: "LOCATION_FILTER", filter: end });
    for (const word of ["a", "b", "c"]) {
      const group = publication.openGroup();
      await group.write(utf8(word));
      await group.end();
    }
    await settle();
    assert.deepEqual(await Promise.all(service.streams.map(read)), [
      { objects: ["0 b"], end: "FIN" },
    ]);
    await client.close();
  });

  test("ends where its relay wants it no more, and takes back what is on its way", async () => {
    const { client, publication, service, request } = await published();
    const group = publication.openGroup();
    await group.write(utf8("a"));
    request.cancel();
    await publication.ended;
    await settle();
    assert.equal((await read(service.streams[0] as IncomingDataStream)).end, 1n);
    await assert.rejects(group.write(utf8("b")), { code: "CLOSED" });
    await assert.rejects(publication.wanted(), { code: "CLOSED" });
    await client.publish(game);
    await client.close();
  });

  test("goes on where one of its streams is stopped", async () => {
    const { client, publication, service } = await published();
    const group = publication.openGroup();
    await group.write(utf8("a"));
    await settle();
    service.streams[0]?.stream.stopSending(1n);
    await settle();
    await group.write(utf8("b"));
    await group.end();
    const next = publication.openGroup();
    await next.write(utf8("c"));
    await next.end();
    await settle();
    assert.deepEqual((await read(service.streams[1] as IncomingDataStream)).objects, ["0 c"]);
    await client.close();
  });

  test("waits for a subscriber that does not read", async () => {
    const { client, publication, service } = await published();
    const group = publication.openGroup();
    let written = 0;
    const writing = (async () => {
      for (let i = 0; i < 200; i++) {
        await group.write(new Uint8Array(1000));
        written++;
      }
      await group.end();
    })();
    await settle();
    assert.ok(written > 0 && written < 70, `${written} objects were taken`);
    assert.equal((await read(service.streams[0] as IncomingDataStream)).objects.length, 200);
    await writing;
    await client.close();
  });

  test("takes a group back that it gives up", async () => {
    const { client, publication, service } = await published();
    const group = publication.openGroup();
    await group.write(utf8("a"));
    group.abort();
    await settle();
    assert.equal((await read(service.streams[0] as IncomingDataStream)).end, 1n);
    await client.close();
  });

  test("sends datagrams", async () => {
    const { client, publication, service } = await published();
    publication.sendDatagram({ groupId: 4n, objectId: 2n, payload: utf8("hi") });
    await settle();
    const [datagram] = service.datagrams.map(decodeObjectDatagram);
    assert.deepEqual(
      [datagram?.groupId, datagram?.objectId, text(datagram?.payload ?? nothing)],
      [4n, 2n, "hi"],
    );
    assert.deepEqual(publication.largest, { group: 4n, object: 2n });
    await client.close();
  });
});

describe("a relay that asks the client", () => {
  const ask = async (session: MoqtSession, ...[message]: Parameters<MoqtSession["request"]>) => {
    const request = session.request(message);
    const answer = await request.answer;
    return { request, answer };
  };
  const nameOf = (answer: { readonly type: string; readonly errorCode?: bigint }) =>
    answer.errorCode === undefined ? answer.type : requestErrorName(answer.errorCode);

  test("gets the tracks that are there, from where it wants", async () => {
    const { client, service, session } = await published();
    const local = client.track(track("live/sports/game-7", "video"));
    const first = local.openGroup();
    await first.write(utf8("nobody sees it"));
    const { answer } = await ask(session, {
      type: "SUBSCRIBE",
      ...track("live/sports/game-7", "video"),
      parameters: [{ type: "LOCATION_FILTER", filter: { kind: "RELATIVE", groupsBack: 0n } }],
    });
    assert.ok(answer.type === "SUBSCRIBE_OK");
    assert.deepEqual(answer.parameters, [
      { type: "LARGEST_OBJECT", location: { group: 0n, object: 0n } },
    ]);
    await first.write(utf8("too old"));
    const next = local.openGroup();
    await next.write(utf8("new"));
    await next.end();
    await settle();
    assert.equal(service.streams.length, 1);
    const stream = service.streams[0] as IncomingDataStream;
    assert.equal((stream.header as SubgroupHeader).trackAlias, answer.trackAlias);
    assert.deepEqual((await read(stream)).objects, ["0 new"]);
    await client.close();
  });

  test("for anything else is refused with a registered code", async () => {
    const { client, session } = await published();
    const other = track("live/sports/game-7", "other");
    const expected: [Parameters<MoqtSession["request"]>[0], RequestErrorName][] = [
      [{ type: "SUBSCRIBE", ...other, parameters: [] }, "DOES_NOT_EXIST"],
      [{ type: "TRACK_STATUS", ...other, parameters: [] }, "DOES_NOT_EXIST"],
      [{ type: "FETCH", ...game, parameters: [] }, "NOT_SUPPORTED"],
      [
        { type: "PUBLISH", ...other, trackAlias: 1n, parameters: [], trackProperties: nothing },
        "UNINTERESTED",
      ],
      [
        { type: "PUBLISH_NAMESPACE", trackNamespace: namespace("live"), parameters: [] },
        "UNINTERESTED",
      ],
      [
        { type: "SUBSCRIBE_NAMESPACE", trackNamespacePrefix: namespace("live"), parameters: [] },
        "NOT_SUPPORTED",
      ],
      [
        { type: "SUBSCRIBE_TRACKS", trackNamespacePrefix: namespace("live"), parameters: [] },
        "NOT_SUPPORTED",
      ],
    ];
    for (const [message, code] of expected) {
      const { answer } = await ask(session, message);
      assert.equal(nameOf(answer), code, message.type);
    }
    await client.close();
  });

  test("learns how far a track is", async () => {
    const { client, publication, session } = await published();
    await publication.openGroup().write(utf8("a"));
    const { answer } = await ask(session, { type: "TRACK_STATUS", ...game, parameters: [] });
    assert.deepEqual(answer.type === "REQUEST_OK" && answer.parameters, [
      { type: "LARGEST_OBJECT", location: { group: 0n, object: 0n } },
    ]);
    await client.close();
  });

  test("with ranges is refused: the client never said that it can filter by them", async () => {
    const { client, session } = await published();
    const filter = { kind: "RANGES", setId: 0, ranges: [{ start: 0n, end: 1n }] } as const;
    const { answer } = await ask(session, {
      type: "SUBSCRIBE",
      ...game,
      parameters: [{ type: "OBJECTID_FILTER", filter }],
    });
    assert.equal(nameOf(answer), "INVALID_FILTER");
    await client.close();
  });

  test("tells of namespaces by PUBLISH_NAMESPACE too, as relays do until draft 21", async () => {
    const { client, session } = await published({ draft: 20 });
    const changes = (await client.subscribeNamespace({ prefix: namespace("live") }))[
      Symbol.asyncIterator
    ]();
    const trackNamespace = namespace("live/sports");
    const { request, answer } = await ask(session, {
      type: "PUBLISH_NAMESPACE",
      trackNamespace,
      parameters: [],
    });
    assert.equal(answer.type, "REQUEST_OK");
    assert.deepEqual((await changes.next()).value, { type: "NAMESPACE", trackNamespace });
    request.cancel();
    assert.deepEqual((await changes.next()).value, { type: "NAMESPACE_DONE", trackNamespace });
    await client.close();
  });
});
