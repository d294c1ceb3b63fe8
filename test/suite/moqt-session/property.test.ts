import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, utf8 } from "../../../src/bytes.ts";
import {
  type Action,
  type Draft,
  encodeControlMessage,
  MoqtEncodingError,
  type RequestReply,
  requestTypes,
  SessionCore,
  SessionUseError,
  sessionErrorName,
} from "../../../src/moqt/mod.ts";
import { anyMessage } from "../moqt/arbitrary.ts";
import { type Choose, type End, Link } from "./link.ts";
import { allDrafts, Driven, emptySetup, hex, requestBytes, smallest } from "./support.ts";

const anyDraft: fc.Arbitrary<Draft> = fc.constantFrom(...allDrafts);
const none = new Uint8Array(0);

/** The smallest message of each type that may follow a request. */
function replies(draft: Draft, trackAlias = 7n): RequestReply[] {
  const rest = { parameters: [], trackProperties: none };
  const suffix = { trackNamespaceSuffix: [utf8("a")] };
  const notify: RequestReply = { type: "PUBLISH_STATE_NOTIFY", parameters: [] };
  return [
    { type: "REQUEST_OK", ...rest },
    { type: "REQUEST_ERROR", errorCode: 0n, retryInterval: 0n, errorReason: "" },
    { type: "SUBSCRIBE_OK", trackAlias, ...rest },
    { type: "FETCH_OK", endOfTrack: true, endLocation: { group: 0n, object: 0n }, ...rest },
    { type: "PUBLISH_DONE", statusCode: 0n, streamCount: 0n, errorReason: "" },
    { type: "NAMESPACE", ...suffix },
    { type: "PUBLISH_SKIPPED", ...suffix, trackName: none },
    ...(draft >= 20 ? [notify] : []),
  ];
}

describe("a core", () => {
  /** Something that happens to a core. A stream is one of those that are there by then. */
  type Deed =
    | { readonly type: "open"; readonly kind: "bidi" | "uni" }
    | { readonly type: "request"; readonly bytes: Uint8Array; readonly fin: boolean }
    | { readonly type: "data"; readonly stream: number; readonly bytes: Uint8Array; fin: boolean }
    | { readonly type: "reset" | "stop"; readonly stream: number }
    | { readonly type: "datagram"; readonly bytes: Uint8Array }
    | { readonly type: "wait"; readonly milliseconds: number }
    | { readonly type: "answer"; readonly stream: number; readonly reply: RequestReply }
    | { readonly type: "grant"; readonly index: number; readonly then: Uint8Array };

  type Role = "client" | "server";

  function anyDeed(draft: Draft, role: Role): fc.Arbitrary<Deed> {
    const only = <Type extends string>(type: Type) => fc.constant(type);
    const stream = fc.nat({ max: 30 });
    const parity = role === "client" ? 1n : 0n;
    const requestId = fc.bigInt({ min: 0n, max: 500n }).map((index) => 2n * index + parity);
    const message = anyMessage(draft).map((sent) => encodeControlMessage(sent, draft));
    const request = fc
      .tuple(fc.constantFrom(...requestTypes), requestId)
      .map(([type, id]) => requestBytes(type, id, draft));
    const update = requestId.map((id) =>
      encodeControlMessage({ type: "REQUEST_UPDATE", requestId: id, parameters: [] }, draft),
    );
    const reply = fc.constantFrom(...replies(draft));
    const garbage = fc.oneof(
      reply.map((sent) => encodeControlMessage(sent, draft)),
      message,
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom(emptySetup, hex("0504"), hex("140200"), hex("af"), hex("0200")),
    );
    const rarely = fc.nat(9).map((number) => number === 0);
    const index = fc.nat({ max: requestTypes.length - 1 });
    const then = fc.oneof({ weight: 5, arbitrary: fc.constant(none) }, update, garbage);
    const deeds: [number, fc.Arbitrary<Deed>][] = [
      [1, fc.record({ type: only("open"), kind: fc.constantFrom("bidi", "uni") })],
      [12, fc.record({ type: only("request"), bytes: request, fin: rarely })],
      [2, fc.record({ type: only("data"), stream, bytes: update, fin: rarely })],
      [1, fc.record({ type: only("data"), stream, bytes: garbage, fin: rarely })],
      [4, fc.record({ type: fc.constantFrom("reset", "stop"), stream })],
      [1, fc.record({ type: only("datagram"), bytes: fc.constant(hex("08020501")) })],
      [1, fc.record({ type: only("wait"), milliseconds: fc.nat({ max: 40 }) })],
      [8, fc.record({ type: only("answer"), stream, reply })],
      [4, fc.record({ type: only("grant"), index, then })],
    ];
    return fc.oneof(...deeds.map(([weight, arbitrary]) => ({ weight, arbitrary })));
  }

  function happen(driven: Driven, deed: Deed): void {
    // Whatever the peer has opened, its control stream left out.
    const pick = (index: number) => 1 + (index % Math.max(1, driven.opened - 1));
    switch (deed.type) {
      case "open":
        driven.open(deed.kind);
        break;
      case "request":
        driven.request(deed.bytes, deed.fin);
        break;
      case "data":
        driven.feed(pick(deed.stream), deed.bytes, deed.fin);
        break;
      case "reset":
      case "stop":
        driven[deed.type](pick(deed.stream));
        break;
      case "datagram":
        driven.take(driven.core.datagram(deed.bytes, driven.now));
        break;
      case "wait":
        driven.wait(deed.milliseconds);
        break;
      case "answer":
        try {
          driven.take(driven.core.send(pick(deed.stream), deed.reply, driven.now));
        } catch (error) {
          assert.ok(error instanceof SessionUseError);
        }
        break;
      case "grant": {
        // Our requests are on the streams after our control stream.
        const type = requestTypes[deed.index] ?? "SUBSCRIBE";
        const wanted = type === "SUBSCRIBE" || type === "FETCH" ? `${type}_OK` : "REQUEST_OK";
        const granting = replies(driven.draft).find((reply) => reply.type === wanted);
        assert.ok(granting);
        const bytes = encodeControlMessage(granting, driven.draft);
        driven.feed(-2 - deed.index, concatBytes(bytes, deed.then));
      }
    }
  }

  test("never throws on what a peer does, holds little, and closes with a registered code", () => {
    const limits = { bufferedBytes: 300, messageBytes: 2000, messageTime: 100, unreadStreams: 3 };
    fc.assert(
      fc.property(
        fc
          .tuple(anyDraft, fc.constantFrom<Role>("client", "server"))
          .chain(([draft, role]) =>
            fc.tuple(
              fc.constant(draft),
              fc.constant(role),
              fc.boolean(),
              fc.array(anyDeed(draft, role), { maxLength: 40, size: "max" }),
            ),
          ),
        ([draft, role, begins, deeds]) => {
          const driven = new Driven({ draft, role, limits });
          if (begins) driven.setup();
          for (const request of requestTypes) {
            try {
              driven.ask(smallest[request](draft));
            } catch (error) {
              assert.ok(error instanceof SessionUseError);
            }
          }
          for (const deed of deeds) {
            happen(driven, deed);
            assert.ok(driven.core.bufferedBytes <= limits.bufferedBytes + limits.messageBytes);
            const timeout = driven.core.nextTimeout;
            assert.ok(timeout === undefined || Number.isFinite(timeout));
          }
          const close = driven.actions.find(({ type }) => type === "close");
          if (close?.type !== "close") return;
          assert.ok(sessionErrorName(close.code, draft), `code ${close.code}`);
          assert.equal(driven.core.bufferedBytes, 0);
          assert.equal(driven.core.openRequests, 0);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("says the same however bytes are cut", () => {
    fc.assert(
      fc.property(
        anyDraft.chain((draft) =>
          fc.tuple(
            fc.constant(draft),
            fc.array(
              anyMessage(draft).map((sent) => encodeControlMessage(sent, draft)),
              { minLength: 1, maxLength: 4 },
            ),
          ),
        ),
        fc.constantFrom("bidi" as const, "uni" as const),
        fc.boolean(),
        fc.array(fc.nat({ max: 50 }), { maxLength: 12 }),
        ([draft, messages], kind, fin, lengths) => {
          const bytes = concatBytes(...messages);
          const cut = (all: Uint8Array) => {
            const pieces: Uint8Array[] = [];
            let offset = 0;
            for (const length of [...lengths, all.length]) {
              pieces.push(all.slice(offset, offset + length));
              offset += length;
            }
            return pieces;
          };
          const [at_once, in_pieces] = [(all: Uint8Array) => [all], cut].map((how) => {
            const driven = new Driven({ draft });
            driven.setup();
            driven.feed(driven.open(kind), bytes, fin, how);
            // A data stream is handed over as far as it has come.
            const events = driven.events.filter(({ type }) => type !== "dataStream");
            return { events, closed: driven.closed, left: driven.core.bufferedBytes };
          });
          assert.deepEqual(in_pieces, at_once);
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe("two cores", () => {
  /** Does something with a core that its application might; misuse has to change nothing. */
  function command(
    { core, events }: End,
    choose: Choose,
    draft: Draft,
    count: number,
  ): readonly Action[] {
    const all = replies(draft, BigInt(count));
    const reply = (below: number) => all[choose(below)] as RequestReply;
    const requests = events.flatMap((event) => ("request" in event ? [event.request] : []));
    const some = requests[choose(Math.max(1, requests.length))] ?? 0;
    const code = "CANCELLED";
    const commands: (() => readonly Action[])[] = [
      () => {
        const type = requestTypes[choose(requestTypes.length)] ?? "SUBSCRIBE";
        const message = smallest[type](draft);
        const alias = BigInt(count);
        return core.request(
          "trackAlias" in message ? { ...message, trackAlias: alias } : message,
          0,
        ).actions;
      },
      () => core.send(some, reply(all.length), 0),
      () => core.send(some, reply(4), 0, true),
      () => core.update(some, [], 0)?.actions ?? [],
      () => core.finish(some, 0),
      () => (choose(4) === 0 ? core.cancel(some, code, 0) : []),
      () => core.requestGoaway(some, {}, 0),
      () => (choose(20) === 0 ? core.goaway({}, 0) : []),
    ];
    try {
      return (commands[choose(commands.length)] as () => readonly Action[])();
    } catch (error) {
      assert.ok(error instanceof SessionUseError || error instanceof MoqtEncodingError);
      return [];
    }
  }

  test("agree in the end, whatever the network does", () => {
    fc.assert(
      fc.property(
        anyDraft,
        fc.infiniteStream(fc.nat({ max: 1000 })),
        fc.nat({ max: 150 }),
        (draft, numbers, steps) => {
          const choose: Choose = (below) => (numbers.next().value as number) % below;
          const setupOptions =
            draft === 18 ? [] : [{ type: "MAX_REQUEST_UPDATES", value: 2n } as const];
          const core = (role: "client" | "server") =>
            new SessionCore({ role, draft, transport: "quic", setupOptions });
          const link = new Link(core("client"), core("server"));
          for (const [index, end] of link.ends.entries()) link.take(index, end.core.start(0));
          for (let step = 0; step < steps; step++) {
            const index = choose(2);
            const end = link.ends[index] as End;
            if (choose(2) === 0) link.take(index, command(end, choose, draft, step));
            else link.deliver(choose);
          }
          settle(link, choose);
          for (const { closes } of link.ends) assert.deepEqual(closes, []);
          const [client, server] = link.ends;
          assert.equal(client.core.openRequests, server.core.openRequests);
          assert.equal(client.core.bufferedBytes + server.core.bufferedBytes, 0);
          for (const { core } of link.ends) assert.equal(core.nextTimeout, undefined);
        },
      ),
      { numRuns: 400 },
    );
  });

  /** Delivers all there is, and refuses every request and update that is not answered. */
  function settle(link: Link, choose: Choose): void {
    for (let isBusy = true; isBusy; ) {
      while (link.deliver(choose));
      isBusy = false;
      for (const [index, { core, events }] of link.ends.entries()) {
        for (const event of events.splice(0)) {
          const isUpdate =
            event.type === "requestMessage" && event.message.type === "REQUEST_UPDATE";
          if (event.type !== "request" && !isUpdate) continue;
          try {
            const refusal = { errorCode: 0n, retryInterval: 0n, errorReason: "" };
            link.take(index, core.send(event.request, { type: "REQUEST_ERROR", ...refusal }, 0));
            isBusy = true;
          } catch (error) {
            assert.ok(error instanceof SessionUseError);
          }
        }
      }
    }
  }
});
