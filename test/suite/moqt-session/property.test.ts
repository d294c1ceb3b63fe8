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
import { allDrafts, Driven, emptySetup, smallest } from "./support.ts";

const anyDraft: fc.Arbitrary<Draft> = fc.constantFrom(...allDrafts);
const none = new Uint8Array(0);

describe("a core", () => {
  /** Something that a peer does to one of a few streams. */
  type Deed =
    | { readonly type: "open"; readonly kind: "bidi" | "uni" }
    | { readonly type: "data"; readonly stream: number; readonly bytes: Uint8Array; fin: boolean }
    | { readonly type: "reset" | "stop"; readonly stream: number }
    | { readonly type: "datagram"; readonly bytes: Uint8Array }
    | { readonly type: "wait"; readonly milliseconds: number }
    | { readonly type: "answer"; readonly grant: boolean };

  function anyDeed(draft: Draft): fc.Arbitrary<Deed> {
    const stream = fc.nat({ max: 7 });
    const message = anyMessage(draft).map((sent) => encodeControlMessage(sent, draft));
    const bytes = fc.oneof(
      { weight: 3, arbitrary: message },
      {
        weight: 1,
        arbitrary: fc.tuple(message, fc.nat()).map(([whole, end]) => whole.slice(0, end)),
      },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }) },
      { weight: 1, arbitrary: fc.constantFrom(emptySetup, utf8("\x05\x04"), utf8("\x14\x02\x00")) },
    );
    return fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({
          type: fc.constant("open" as const),
          kind: fc.constantFrom("bidi" as const, "uni" as const),
        }),
      },
      {
        weight: 8,
        arbitrary: fc.record({
          type: fc.constant("data" as const),
          stream,
          bytes,
          fin: fc.boolean(),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ type: fc.constantFrom("reset" as const, "stop" as const), stream }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("datagram" as const),
          bytes: fc.uint8Array({ maxLength: 12 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("wait" as const),
          milliseconds: fc.nat({ max: 200 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ type: fc.constant("answer" as const), grant: fc.boolean() }),
      },
    );
  }

  function happen(driven: Driven, deed: Deed): void {
    switch (deed.type) {
      case "open":
        driven.open(deed.kind);
        break;
      case "data":
        driven.feed(deed.stream, deed.bytes, deed.fin);
        break;
      case "reset":
      case "stop":
        driven[deed.type](deed.stream);
        break;
      case "datagram":
        driven.take(driven.core.datagram(deed.bytes, driven.now));
        break;
      case "wait":
        driven.wait(deed.milliseconds);
        break;
      case "answer": {
        const request = driven.eventsOf("request").at(-1)?.request;
        if (request === undefined) break;
        const message: RequestReply = deed.grant
          ? { type: "REQUEST_OK", parameters: [], trackProperties: none }
          : { type: "REQUEST_ERROR", errorCode: 0n, retryInterval: 0n, errorReason: "" };
        try {
          driven.take(driven.core.send(request, message, driven.now));
        } catch (error) {
          assert.ok(error instanceof SessionUseError);
        }
      }
    }
  }

  test("never throws on what a peer does, holds little, and closes with a registered code", () => {
    const limits = { bufferedBytes: 300, messageBytes: 2000, messageTime: 100, unreadStreams: 3 };
    fc.assert(
      fc.property(
        anyDraft.chain((draft) =>
          fc.tuple(
            fc.constant(draft),
            fc.constantFrom("client" as const, "server" as const),
            fc.boolean(),
            fc.array(anyDeed(draft), { maxLength: 40, size: "max" }),
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
      { numRuns: 600 },
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
  const replies: ((count: number) => RequestReply)[] = [
    () => ({ type: "REQUEST_OK", parameters: [], trackProperties: none }),
    () => ({ type: "REQUEST_ERROR", errorCode: 0n, retryInterval: 0n, errorReason: "" }),
    (count) => ({
      type: "SUBSCRIBE_OK",
      trackAlias: BigInt(count),
      parameters: [],
      trackProperties: none,
    }),
    () => ({
      type: "FETCH_OK",
      endOfTrack: true,
      endLocation: { group: 0n, object: 0n },
      parameters: [],
      trackProperties: none,
    }),
    () => ({ type: "PUBLISH_DONE", statusCode: 0n, streamCount: 0n, errorReason: "" }),
    () => ({ type: "PUBLISH_STATE_NOTIFY", parameters: [] }),
    () => ({ type: "NAMESPACE", trackNamespaceSuffix: [utf8("a")] }),
    () => ({ type: "PUBLISH_SKIPPED", trackNamespaceSuffix: [utf8("a")], trackName: none }),
  ];

  /** Does something with a core that its application might; misuse has to change nothing. */
  function command(
    { core, events }: End,
    choose: Choose,
    draft: Draft,
    count: number,
  ): readonly Action[] {
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
      () => core.send(some, (replies[choose(replies.length)] as (typeof replies)[0])(count), 0),
      () => core.send(some, (replies[choose(4)] as (typeof replies)[0])(count), 0, true),
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
