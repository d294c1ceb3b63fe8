import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../../../src/bytes.ts";
import { Aliases } from "../../../../../src/moq-lb/proxy/aliases.ts";
import { createDataPlane } from "../../../../../src/moq-lb/proxy/data/data-plane.ts";
import type { MappingContext } from "../../../../../src/moq-lb/proxy/mapping-context.ts";
import { ClientSubscription } from "../../../../../src/moq-lb/proxy/moving/client-subscription.ts";
import { defaultProxyLimits } from "../../../../../src/moq-lb/proxy/proxy-options.ts";
import type { Backend } from "../../../../../src/moq-lb/proxy/relays/backend.ts";
import {
  type Draft,
  draftName,
  encodeDataStreamHeader,
  type MessageParameter,
  publishDoneCodes,
  type RequestErrorName,
  requestErrorCodes,
  type SubgroupHeader,
  type Subscribe,
  streamResetCodes,
} from "../../../../../src/moqt/mod.ts";
import { StreamReset, StreamStopped } from "../../../../../src/quic/errors.ts";
import {
  type IncomingDataStream,
  type IncomingRequest,
  MoqtSession,
  type OutgoingRequest,
  type RequestGoaway,
  type RequestNews,
} from "../../../../../src/session/mod.ts";
import type { TransportStream } from "../../../../../src/transport/transport.ts";
import { ManualClock } from "../../../../support/manual-clock.ts";
import { settle } from "../../../../support/settle.ts";
import { memoryTransportPair } from "../../../../support/transport-pair.ts";

const key = [utf8("live"), utf8("game")];
const none = new Uint8Array(0);

const refusalOf = (code: RequestErrorName) =>
  ({
    type: "REQUEST_ERROR",
    errorCode: requestErrorCodes[code],
    retryInterval: 0n,
    errorReason: "",
  }) as const;

/** A relay as a script: it answers nothing by itself. */
class ScriptedRelay {
  readonly backend: Backend;
  readonly requests: IncomingRequest[] = [];
  readonly updates: Extract<RequestNews, { readonly type: "REQUEST_UPDATE" }>[] = [];
  isOver = false;
  #alias = 40n;
  readonly #server: MoqtSession;
  readonly #near: MoqtSession;

  constructor(rid: string, bed: Bed) {
    const [near, far] = memoryTransportPair({ protocol: draftName(bed.draft) });
    const { clock } = bed;
    this.#server = new MoqtSession(far, {
      role: "server",
      clock,
      onRequest: (request) => {
        this.requests.push(request);
        request.onMessage = (news) => {
          if (news.type === "REQUEST_UPDATE") this.updates.push(news);
        };
      },
    });
    this.#near = new MoqtSession(near, {
      role: "client",
      clock,
      onDataStream: (stream) => bed.data.onDataStream(this.#near, stream),
      onDatagram: (datagram, bytes) => bed.data.onDatagram(this.#near, datagram, bytes),
    });
    void this.#near.closed.then(() => {
      this.isOver = true;
      bed.data.forget(this.#near);
    });
    void this.#server.run();
    void this.#near.run();
    const opened = this.#near.setup.then(() => this.#near);
    const relay = this;
    this.backend = {
      rid,
      uri: `moqt://${rid}.example/moq`,
      get isOver() {
        return relay.isOver;
      },
      isLeaving: false,
      goawayDeadline: undefined,
      session: this.#near,
      opened,
      use: () => () => {},
      close: () => {},
    } as unknown as Backend;
  }

  /** The SUBSCRIBE that came last. */
  get last(): IncomingRequest {
    const request = this.requests.at(-1);
    assert.ok(request, "the relay got no SUBSCRIBE");
    return request;
  }

  get asked(): Subscribe {
    return this.last.message as Subscribe;
  }

  grant(alias = this.#alias++, parameters: MessageParameter[] = []): bigint {
    this.last.send({
      type: "SUBSCRIBE_OK",
      trackAlias: alias,
      parameters,
      trackProperties: none,
    });
    return alias;
  }

  refuse(code: RequestErrorName): void {
    this.last.refuse(refusalOf(code));
  }

  /** Opens the stream of a group. */
  async group(alias: bigint, groupId: number): Promise<TransportStream> {
    const stream = await this.#server.openDataStream();
    const header: SubgroupHeader = {
      type: "SUBGROUP",
      trackAlias: alias,
      groupId: BigInt(groupId),
      subgroupId: 0n,
      publisherPriority: 1,
      hasProperties: false,
      endOfGroup: false,
      firstObject: true,
    };
    await stream.write(encodeDataStreamHeader(header));
    return stream;
  }

  /** Sends a whole group. */
  async send(alias: bigint, groupId: number, text: string): Promise<void> {
    const stream = await this.group(alias, groupId);
    await stream.write(utf8(text), true);
  }

  done(code: keyof typeof publishDoneCodes, streamCount: bigint): void {
    const statusCode = publishDoneCodes[code];
    this.last.send({ type: "PUBLISH_DONE", statusCode, streamCount, errorReason: "" });
  }

  fail(): void {
    this.#server.close("INTERNAL_ERROR", "the relay failed");
  }
}

/** A group as the client gets it. */
interface Received {
  readonly group: number;
  text: string;
  /** How its stream ended: FIN, or a reset code. */
  end?: "FIN" | bigint;
}

class Bed {
  readonly draft: Draft;
  readonly clock = new ManualClock();
  readonly client: MoqtSession;
  readonly server: MoqtSession;
  readonly data: ReturnType<typeof createDataPlane>;
  readonly received: Received[] = [];
  readonly news: RequestNews[] = [];
  readonly goaways: RequestGoaway[] = [];
  /** What the subscription has told of GOAWAYs of its relay. */
  readonly relayGoaways: RequestGoaway[] = [];
  readonly relays: Record<"r1" | "r2", ScriptedRelay>;
  /** The tokens that relays were shown, message by message. */
  readonly shown: string[][] = [];
  request!: OutgoingRequest;
  subscription!: ClientSubscription;
  #incoming = Promise.withResolvers<IncomingRequest>();
  readonly #aliases = new Aliases();

  /** @param uniStreams how many the client grants at a time, the control stream included */
  constructor(draft: Draft = 22, uniStreams = 100) {
    this.draft = draft;
    const [near, far] = memoryTransportPair({ protocol: draftName(draft), uniStreams });
    const { clock } = this;
    this.client = new MoqtSession(near, {
      role: "client",
      clock,
      onDataStream: (stream) => void this.#read(stream),
    });
    this.server = new MoqtSession(far, {
      role: "server",
      clock,
      onRequest: (request) => this.#incoming.resolve(request),
    });
    this.data = createDataPlane({ clientSession: this.server, clock, limits: defaultProxyLimits });
    this.relays = { r1: new ScriptedRelay("r1", this), r2: new ScriptedRelay("r2", this) };
    void this.server.run();
    void this.client.run();
  }

  /** A client's SUBSCRIBE, at r1. */
  static async subscribed(
    parameters: MessageParameter[] = [],
    draft?: Draft,
    uniStreams?: number,
  ): Promise<Bed> {
    const bed = new Bed(draft, uniStreams);
    await settle();
    bed.request = await bed.subscribe("video", bed.relays.r1, parameters);
    bed.request.onMessage = (news) => bed.news.push(news);
    bed.request.onGoaway = (goaway) => bed.goaways.push(goaway);
    return bed;
  }

  /** A SUBSCRIBE of the client that goes to `relay`. */
  async subscribe(
    name: string,
    relay: ScriptedRelay,
    parameters: MessageParameter[] = [],
  ): Promise<OutgoingRequest> {
    this.#incoming = Promise.withResolvers();
    const trackName = utf8(name);
    const request = this.client.request({
      type: "SUBSCRIBE",
      trackNamespace: key,
      trackName,
      parameters,
    });
    const incoming = await this.#incoming.promise;
    this.subscription = new ClientSubscription(this.#context(), incoming, key, relay.backend);
    await settle();
    return request;
  }

  /** The same, granted by r1 under its alias 40. */
  static async granted(
    parameters: MessageParameter[] = [],
    draft?: Draft,
    uniStreams?: number,
  ): Promise<Bed> {
    const bed = await Bed.subscribed(parameters, draft, uniStreams);
    bed.relays.r1.grant();
    await settle();
    return bed;
  }

  /** Groups and texts, in the order of their arrival. */
  get groups(): string[] {
    return this.received.map(({ group, text, end }) => `${group}: ${text} ${end ?? "open"}`);
  }

  async pass(milliseconds: number): Promise<void> {
    await settle();
    this.clock.advance(milliseconds);
    await settle();
  }

  #context(): MappingContext {
    return {
      client: this.server,
      clock: this.clock,
      random: () => 0.5,
      limits: defaultProxyLimits,
      data: this.data,
      aliases: this.#aliases,
      parametersFor: (_backend, _request, parameters, tokens) => {
        this.shown.push(tokens.map(({ tokenValue }) => new TextDecoder().decode(tokenValue)));
        return parameters.filter(({ type }) => type !== "AUTHORIZATION_TOKEN");
      },
      judgeUpdate: () => undefined,
      refusal: refusalOf,
      refusalBy: (_backend, error) => error,
      failureOf: () => refusalOf("INTERNAL_ERROR"),
      onRelayGoaway: (_mapping, goaway) => this.relayGoaways.push(goaway),
    } as MappingContext;
  }

  async #read({ header, headerLength, stream }: IncomingDataStream): Promise<void> {
    if (header.type !== "SUBGROUP") return;
    const received: Received = { group: Number(header.groupId), text: "" };
    this.received.push(received);
    let skip = headerLength;
    try {
      for (let part = await stream.read(); part !== null; part = await stream.read()) {
        received.text += new TextDecoder().decode(part.subarray(skip));
        skip = Math.max(0, skip - part.length);
      }
      received.end = "FIN";
    } catch (error) {
      assert.ok(error instanceof StreamReset, String(error));
      received.end = error.applicationCode;
    }
  }
}

const later = 1_000_000;

/** What the client was told of the end: status codes and Stream Counts. */
const dones = (bed: Bed) =>
  bed.news.map((news) => news.type === "PUBLISH_DONE" && [news.statusCode, news.streamCount]);

describe("a subscription that moves", () => {
  for (const draft of [18, 20, 22] as const) {
    test(`gets each group once, from one relay or the other, in draft ${draft} [LB-PMOVE-3] [LB-PMOVE-4] [LB-PMOVE-6] [LB-PMOVE-10]`, async () => {
      const bed = await Bed.granted([{ type: "SUBSCRIBER_PRIORITY", value: 9 }], draft);
      const { r1, r2 } = bed.relays;
      await r1.send(40n, 7, "seven");
      await settle();
      const moved = bed.subscription.reissue(r2.backend, later);
      await settle();
      const { trackNamespace, trackName, parameters } = r2.asked;
      assert.deepEqual([trackNamespace, trackName], [key, utf8("video")]);
      assert.deepEqual(parameters, [
        { type: "SUBSCRIBER_PRIORITY", value: 9 },
        {
          type: "LOCATION_FILTER",
          filter: { kind: "START", start: { group: 8n, object: 0n } },
        },
      ]);
      const alias = r2.grant();
      assert.equal(await moved, "moved");
      await r2.send(alias, 8, "eight");
      await bed.pass(1000);
      assert.deepEqual(bed.groups, ["7: seven FIN", "8: eight FIN"]);
      assert.deepEqual([bed.news, bed.goaways], [[], []]);
      assert.equal(bed.subscription.backend, r2.backend);
    });
  }

  test("gets groups below the first of the new relay from the old one alone [LB-PMOVE-7] [LB-PMOVE-8]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const seven = await r1.group(40n, 7);
    await seven.write(utf8("se"));
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    // Held until the new relay answers, then dropped.
    await r1.send(40n, 8, "eight of the old");
    await settle();
    assert.deepEqual(bed.groups, ["7: se open"]);
    const alias = r2.grant();
    await moved;
    await r2.send(alias, 7, "seven of the new");
    await r2.send(alias, 8, "eight");
    await seven.write(utf8("ven"), true);
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["7: seven FIN", "8: eight FIN"]);
  });

  test("is cancelled at the old relay once that has delivered its last group, which overlaps with the new one [LB-PMOVE-9] [LB-PMOVE-23]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const seven = await r1.group(40n, 7);
    await seven.write(utf8("se"));
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await bed.pass(500);
    assert.equal(r1.last.isOver, false);
    const alias = r2.grant();
    await moved;
    await bed.pass(500);
    assert.equal(r1.last.isOver, false);
    await r2.send(alias, 8, "eight");
    await bed.pass(500);
    assert.equal(r1.last.isOver, false);
    await seven.write(utf8("ven"), true);
    await bed.pass(500);
    assert.equal(r1.last.isOver, true);
    const end = await r1.last.ended;
    assert.equal(end.how === "cancelled" && end.code, streamResetCodes.CANCELLED);
    assert.deepEqual(bed.groups, ["7: seven FIN", "8: eight FIN"]);
  });

  test("gets what comes late of groups that the old relay has begun, until the new one begins [LB-PMOVE-7] [LB-PMOVE-9]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    await r1.send(40n, 7, "one subgroup");
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    const alias = r2.grant();
    await moved;
    await bed.pass(5000);
    await r1.send(40n, 7, "another one");
    await settle();
    await r2.send(alias, 8, "eight");
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["7: one subgroup FIN", "7: another one FIN", "8: eight FIN"]);
    assert.equal(r1.last.isOver, true);
  });

  test("goes on at the old relay where the new one does not answer in time [LB-DISPL-4]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    await r1.send(40n, 1, "one");
    await bed.pass(defaultProxyLimits.connectTimeout);
    assert.equal(await moved, "unreachable");
    await settle();
    assert.deepEqual(bed.groups, ["1: one FIN"]);
    assert.equal(r2.last.isOver, true);
  });

  test("does not wait for an old relay beyond the deadline [LB-DISPL-6]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const seven = await r1.group(40n, 7);
    await seven.write(utf8("se"));
    await settle();
    const moved = bed.subscription.reissue(r2.backend, 5000);
    await settle();
    const alias = r2.grant();
    await moved;
    await bed.pass(4999);
    assert.equal(r1.last.isOver, false);
    await bed.pass(1);
    assert.equal(r1.last.isOver, true);
    await r2.send(alias, 8, "eight");
    await settle();
    assert.equal(bed.received[0]?.end, streamResetCodes.CANCELLED);
    assert.equal(bed.groups[1], "8: eight FIN");
  });

  test("keeps its relay where the new one refuses, and what it held goes on [LB-PMOVE-11]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    await r1.send(40n, 7, "seven");
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    await r1.send(40n, 8, "eight");
    r2.refuse("UNAUTHORIZED");
    assert.equal(await moved, "refused");
    await settle();
    assert.deepEqual(bed.groups, ["7: seven FIN", "8: eight FIN"]);
    assert.equal(bed.subscription.backend, r1.backend);
    bed.subscription.ask(3000);
    await settle();
    assert.deepEqual(
      bed.goaways.map(({ newSessionUri, timeout }) => [newSessionUri, timeout]),
      [["", 3000n]],
    );
    assert.equal(bed.subscription.wasAsked, true);
  });

  test("keeps its relay where the new one is lost before it answers", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    await r1.send(40n, 1, "one");
    r2.fail();
    assert.equal(await moved, "unreachable");
    await settle();
    assert.deepEqual(bed.groups, ["1: one FIN"]);
  });

  test("asks for the same again where nothing was forwarded [LB-PMOVE-5] [LB-S91]", async () => {
    const asked: MessageParameter[] = [
      { type: "LOCATION_FILTER", filter: { kind: "NEXT_OBJECT" } },
    ];
    for (const parameters of [[], asked]) {
      const bed = await Bed.granted(parameters);
      void bed.subscription.reissue(bed.relays.r2.backend, later);
      await settle();
      assert.deepEqual(bed.relays.r2.asked.parameters, parameters);
    }
  });

  test("loses no group that the old relay has begun before anything was forwarded", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    await r1.send(40n, 5, "five");
    await settle();
    assert.deepEqual(bed.groups, []);
    const alias = r2.grant();
    await moved;
    await r2.send(alias, 5, "the end of five");
    await r2.send(alias, 6, "six");
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["5: five FIN", "6: six FIN"]);
  });

  test("loses no group that the new relay takes for past, although it comes late from the old one", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    const alias = r2.grant(50n, [{ type: "LARGEST_OBJECT", location: { group: 5n, object: 0n } }]);
    await moved;
    await r1.send(40n, 5, "five");
    await r2.send(alias, 6, "six");
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["5: five FIN", "6: six FIN"]);
  });

  test("gets a group once that an earlier relay still has on its way when it moves again [LB-PMOVE-8]", async () => {
    const bed = await Bed.granted([], 22, 2);
    const { r1, r2 } = bed.relays;
    // The client grants no stream, so that nothing can be forwarded.
    const only = await bed.server.openDataStream();
    await r1.send(40n, 5, "five");
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    r2.grant();
    await moved;
    const back = bed.subscription.reissue(r1.backend, later);
    await settle();
    const alias = r1.grant();
    await back;
    await r1.send(alias, 5, "five again");
    await r1.send(alias, 6, "six");
    only.reset(streamResetCodes.CANCELLED);
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["5: five FIN", "6: six FIN"]);
  });

  test("begins after the largest group, not after the one that came last [LB-S93]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    await r1.send(40n, 9, "nine");
    await r1.send(40n, 4, "four, late");
    await settle();
    void bed.subscription.reissue(r2.backend, later);
    await settle();
    const start = { group: 10n, object: 0n };
    assert.deepEqual(r2.asked.parameters, [
      { type: "LOCATION_FILTER", filter: { kind: "START", start } },
    ]);
  });

  const range: MessageParameter = {
    type: "LOCATION_FILTER",
    filter: { kind: "RANGE", start: { group: 5n, object: 0n }, endGroup: 7n },
  };
  test("stays where it is for what is missing of its range [LB-S92]", async () => {
    const bed = await Bed.granted([range]);
    const { r1, r2 } = bed.relays;
    await r1.send(40n, 7, "seven");
    await settle();
    assert.equal(await bed.subscription.reissue(r2.backend, 8000), "complete");
    await bed.pass(1000);
    for (const group of [5, 6]) await r1.send(40n, group, "late");
    r1.done("SUBSCRIPTION_ENDED", 3n);
    await bed.pass(1000);
    assert.equal(r2.requests.length, 0);
    assert.deepEqual(bed.groups, ["7: seven FIN", "5: late FIN", "6: late FIN"]);
    assert.deepEqual(dones(bed), [[publishDoneCodes.SUBSCRIPTION_ENDED, 3n]]);
    assert.equal(bed.subscription.isOver, true);
  });

  test("is over with its range at the deadline, or when its relay is lost [LB-S92] [LB-DISPL-6]", async () => {
    for (const isLost of [false, true]) {
      const bed = await Bed.granted([range]);
      const { r1, r2 } = bed.relays;
      await r1.send(40n, 7, "seven");
      await settle();
      if (isLost) r1.fail();
      await settle();
      assert.equal(await bed.subscription.reissue(r2.backend, 8000), "complete");
      if (!isLost) {
        assert.deepEqual(dones(bed), []);
        bed.subscription.end();
      }
      await settle();
      assert.deepEqual(dones(bed), [[publishDoneCodes.SUBSCRIPTION_ENDED, 1n]]);
    }
  });

  test("counts the streams of both relays as the client got them [LB-S52]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    for (const group of [5, 6, 7]) await r1.send(40n, group, `${group}`);
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    const alias = r2.grant();
    await moved;
    for (const group of [7, 8, 9]) await r2.send(alias, group, `${group}`);
    await bed.pass(1000);
    r2.done("TRACK_ENDED", 3n);
    await bed.pass(3000);
    assert.deepEqual(dones(bed), [[publishDoneCodes.TRACK_ENDED, 5n]]);
  });

  test("does not end with the subscription at its old relay", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    await r1.send(40n, 7, "seven");
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    r1.done("GOING_AWAY", 1n);
    await settle();
    const alias = r2.grant();
    assert.equal(await moved, "moved");
    await r2.send(alias, 8, "eight");
    await bed.pass(1000);
    assert.deepEqual([bed.groups, bed.news], [["7: seven FIN", "8: eight FIN"], []]);
  });

  test("ends with the track where that has ended while no relay took over", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    r1.done("TRACK_ENDED", 0n);
    await settle();
    r2.refuse("DOES_NOT_EXIST");
    assert.equal(await moved, "complete");
    await bed.pass(1000);
    assert.equal(bed.news[0]?.type, "PUBLISH_DONE");
  });

  test("takes with it what the client has changed since, and asks again what is unanswered [LB-S94]", async () => {
    const bed = await Bed.granted([{ type: "SUBSCRIBER_PRIORITY", value: 9 }]);
    const { r1, r2 } = bed.relays;
    void bed.request.update([{ type: "SUBSCRIBER_PRIORITY", value: 3 }]);
    await settle();
    r1.last.send({ type: "REQUEST_OK", parameters: [], trackProperties: none });
    await settle();
    const answer = bed.request.update([{ type: "FORWARD", value: 0 }]);
    await settle();
    assert.equal(r1.updates.length, 2);
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    assert.deepEqual(r2.asked.parameters, [{ type: "SUBSCRIBER_PRIORITY", value: 3 }]);
    r2.grant();
    await moved;
    await settle();
    assert.deepEqual(
      r2.updates.map(({ parameters }) => parameters),
      [[{ type: "FORWARD", value: 0 }]],
    );
    r2.last.send({ type: "REQUEST_OK", parameters: [], trackProperties: none });
    assert.equal((await answer).type, "REQUEST_OK");
  });

  test("that nobody has granted yet has the first SUBSCRIBE_OK sent on [LB-S95]", async () => {
    const bed = await Bed.subscribed();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    r2.grant();
    assert.equal(await moved, "moved");
    assert.equal((await bed.request.answer).type, "SUBSCRIBE_OK");
    await settle();
    assert.equal(r1.last.isOver, true);
  });

  test("that the client gives up is given up everywhere [LB-PMAP-7]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    bed.request.cancel(0x77n);
    assert.equal(await Promise.race([moved, settle().then(() => "waits")]), "complete");
    for (const { last } of [r1, r2]) {
      const end = await last.ended;
      assert.equal(end.how === "cancelled" && end.code, 0x77n);
    }
    assert.equal(bed.subscription.isOver, true);
  });
});

describe("a subscription that has moved", () => {
  test("keeps its alias, which another track of the old relay does not get [LB-PMAP-9] [LB-PMAP-13] [PX-02]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    await r2.send(r2.grant(), 1, "one");
    await moved;
    await bed.pass(1000);
    const other = await bed.subscribe("other", r1);
    r1.grant(40n);
    const [first, second] = [await bed.request.answer, await other.answer];
    assert.ok(first.type === "SUBSCRIBE_OK" && second.type === "SUBSCRIBE_OK");
    assert.notEqual(first.trackAlias, second.trackAlias);
  });

  test("at the relay where it was, under the alias that it had, gets what was held for it [LB-S71] [LB-S89]", async () => {
    const bed = await Bed.granted();
    const { r1 } = bed.relays;
    await r1.send(40n, 3, "three");
    await settle();
    const moved = bed.subscription.reissue(r1.backend, later);
    await settle();
    await r1.send(40n, 4, "four");
    await settle();
    assert.deepEqual(bed.groups, ["3: three FIN"]);
    r1.grant(40n);
    assert.equal(await moved, "moved");
    await r1.send(40n, 5, "five");
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["3: three FIN", "4: four FIN", "5: five FIN"]);
  });

  test("at the relay where it was gets no group twice where that sends all of it again [LB-PMOVE-8] [LB-S89]", async () => {
    const bed = await Bed.granted();
    const { r1 } = bed.relays;
    await r1.send(40n, 3, "three");
    await settle();
    const moved = bed.subscription.reissue(r1.backend, later);
    await settle();
    await r1.send(40n, 4, "four");
    await settle();
    r1.requests[0]?.send({
      type: "PUBLISH_DONE",
      statusCode: publishDoneCodes.GOING_AWAY,
      streamCount: 2n,
      errorReason: "",
    });
    await settle();
    r1.grant(40n);
    assert.equal(await moved, "moved");
    for (const [group, text] of [
      [4, "four"],
      [5, "five"],
    ] as const) {
      await r1.send(40n, group, text);
    }
    await bed.pass(1000);
    assert.deepEqual(bed.groups, ["3: three FIN", "4: four FIN", "5: five FIN"]);
  });

  test("hears what the new relay says right behind its SUBSCRIBE_OK [LB-PDATA-6] [LB-PMAP-14]", async () => {
    for (const turns of [0, 1, 2, 3, 5, 50]) {
      const bed = await Bed.granted();
      const { r2 } = bed.relays;
      const moved = bed.subscription.reissue(r2.backend, later);
      await settle();
      r2.grant();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      r2.done("TRACK_ENDED", 0n);
      assert.equal(await moved, "moved");
      await bed.pass(3000);
      assert.deepEqual(dones(bed), [[publishDoneCodes.TRACK_ENDED, 0n]], `${turns} turns`);
    }
  });

  test("is reset, or moved on, where the new relay wants that at once [LB-PDATA-17] [LB-PGOAWAY-6]", async () => {
    for (const turns of [0, 1, 2, 3, 5, 50]) {
      for (const wants of ["reset", "goaway"] as const) {
        const bed = await Bed.granted();
        const { r2 } = bed.relays;
        const moved = bed.subscription.reissue(r2.backend, later);
        await settle();
        const { last } = r2;
        r2.grant();
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        if (wants === "reset") last.cancel(0x55n);
        else last.goaway({ timeout: 500 });
        await settle();
        if (wants === "reset") {
          // A reset may overtake the SUBSCRIBE_OK: then the new relay has not taken it.
          const outcome = await moved;
          const end = bed.subscription.isOver ? await bed.request.ended : undefined;
          const code = end?.how === "cancelled" ? end.code : undefined;
          assert.deepEqual(
            [outcome, code],
            outcome === "moved" ? ["moved", 0x55n] : ["unreachable", undefined],
          );
        } else {
          assert.equal(await moved, "moved");
          assert.deepEqual(
            bed.relayGoaways.map(({ timeout }) => timeout),
            [500n],
          );
        }
      }
    }
  });

  test("shows the new relay the token that the client has shown last [LB-S94]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    const token: MessageParameter = {
      type: "AUTHORIZATION_TOKEN",
      token: { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8("new") },
    };
    void bed.request.update([token]);
    await settle();
    r1.last.send({ type: "REQUEST_OK", parameters: [], trackProperties: none });
    await settle();
    void bed.subscription.reissue(r2.backend, later);
    await settle();
    assert.deepEqual(bed.shown.at(-1), ["new"]);
  });
});

describe("a subscription that its client is asked to make elsewhere", () => {
  test("and does not ends with PUBLISH_DONE when its time is up [LB-DISPL-14] [LB-PMOVE-24] [LB-S52]", async () => {
    const bed = await Bed.granted();
    const { r1 } = bed.relays;
    await r1.send(40n, 7, "seven");
    await settle();
    bed.subscription.ask(3000);
    await bed.pass(2999);
    assert.deepEqual(bed.news, []);
    await bed.pass(1);
    assert.deepEqual(dones(bed), [[publishDoneCodes.GOING_AWAY, 1n]]);
    assert.equal(r1.last.isOver, true);
  });
});

describe("a pending subscription", () => {
  test("that the relay which it leaves refuses is for the other one to answer [LB-PGOAWAY-5]", async () => {
    const bed = await Bed.subscribed();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    r1.refuse("GOING_AWAY");
    await settle();
    r2.grant();
    assert.equal(await moved, "moved");
    assert.equal((await bed.request.answer).type, "SUBSCRIBE_OK");
  });

  test("that both relays refuse gets the answer of the first [LB-PMOVE-11]", async () => {
    const bed = await Bed.subscribed();
    const { r1, r2 } = bed.relays;
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    r1.refuse("DOES_NOT_EXIST");
    await settle();
    r2.refuse("UNAUTHORIZED");
    assert.equal(await moved, "complete");
    const answer = await bed.request.answer;
    assert.equal(
      answer.type === "REQUEST_ERROR" && answer.errorCode,
      requestErrorCodes.DOES_NOT_EXIST,
    );
  });
});

describe("a subscription whose relay is lost", () => {
  test("goes on with the next group, without waiting for the new relay [LB-DISPL-11] [LB-DISPL-12] [LB-S96]", async () => {
    const bed = await Bed.granted();
    const { r1, r2 } = bed.relays;
    await r1.send(40n, 6, "six");
    const seven = await r1.group(40n, 7);
    await seven.write(utf8("se"));
    await settle();
    r1.fail();
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    assert.deepEqual(bed.groups, ["6: six FIN", `7: se ${streamResetCodes.SESSION_CLOSED}`]);
    const alias = r2.grant();
    assert.equal(await moved, "moved");
    await r2.send(alias, 7, "seven");
    await r2.send(alias, 8, "eight");
    await bed.pass(1000);
    assert.equal(bed.groups.at(-1), "8: eight FIN");
    assert.equal(bed.groups.length, 3);
  });

  test("before it has answered is made at the new relay as it was [LB-PMOVE-5]", async () => {
    const bed = await Bed.subscribed();
    const { r1, r2 } = bed.relays;
    r1.fail();
    await settle();
    const moved = bed.subscription.reissue(r2.backend, later);
    await settle();
    assert.deepEqual(r2.asked.parameters, []);
    r2.grant();
    assert.equal(await moved, "moved");
    assert.equal((await bed.request.answer).type, "SUBSCRIBE_OK");
  });
});

describe("a subscription that has to end", () => {
  test("and is established ends with PUBLISH_DONE, after its streams [LB-DISPL-14] [LB-S52]", async () => {
    const bed = await Bed.granted();
    const { r1 } = bed.relays;
    await r1.send(40n, 6, "six");
    const seven = await r1.group(40n, 7);
    await seven.write(utf8("se"));
    await settle();
    bed.subscription.end();
    await settle();
    assert.deepEqual(bed.groups, ["6: six FIN", `7: se ${streamResetCodes.GOING_AWAY}`]);
    assert.deepEqual(dones(bed), [[publishDoneCodes.GOING_AWAY, 2n]]);
    await assert.rejects(seven.write(utf8("ven")), StreamStopped);
    assert.equal(r1.last.isOver, true);
  });

  test("and is pending is refused with GOING_AWAY [LB-DISPL-15]", async () => {
    const bed = await Bed.subscribed();
    bed.subscription.end();
    const answer = await bed.request.answer;
    assert.equal(answer.type === "REQUEST_ERROR" && answer.errorCode, requestErrorCodes.GOING_AWAY);
    await settle();
    assert.equal(bed.relays.r1.last.isOver, true);
    assert.equal(bed.subscription.isOver, true);
  });
});

describe("a subscription", () => {
  test("whose relay goes away is for the mover to take care of, and its client hears nothing [LB-PDATA-8]", async () => {
    const bed = await Bed.granted();
    bed.relays.r1.last.goaway({ newSessionUri: "moqt://evil.example/", timeout: 2000 });
    await settle();
    assert.deepEqual(
      bed.relayGoaways.map(({ timeout }) => timeout),
      [2000n],
    );
    assert.deepEqual([bed.goaways, bed.news], [[], []]);
    bed.relays.r1.done("GOING_AWAY", 0n);
    await bed.pass(3000);
    assert.equal(bed.relayGoaways.length, 2);
    assert.deepEqual(bed.news, []);
  });

  test("that its relay resets is reset with the same code [LB-PDATA-17]", async () => {
    const bed = await Bed.granted();
    bed.relays.r1.last.cancel(0x4321n);
    const end = await bed.request.ended;
    assert.equal(end.how === "cancelled" && end.code, 0x4321n);
  });

  test("that its relay refuses is refused with the same words [LB-PDATA-1] [RT-11]", async () => {
    const bed = await Bed.subscribed();
    bed.relays.r1.last.refuse({
      type: "REQUEST_ERROR",
      errorCode: 0x7777n,
      retryInterval: 5n,
      errorReason: "not today",
    });
    const answer = await bed.request.answer;
    assert.deepEqual(answer, {
      type: "REQUEST_ERROR",
      errorCode: 0x7777n,
      retryInterval: 5n,
      errorReason: "not today",
    });
  });
});
