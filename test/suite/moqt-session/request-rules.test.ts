import assert from "node:assert/strict";
import { describe, test } from "#test";
import {
  type ControlMessage,
  type Draft,
  encodeControlMessage,
  type MessageType,
  type RequestContext,
  type RequestReply,
  type RequestType,
  requestTypes,
} from "../../../src/moqt/mod.ts";
import {
  allDrafts,
  assertMisuse,
  Driven,
  fields,
  hex,
  readyClient,
  readyServer,
  requestBytes,
  smallest,
} from "./support.ts";

const none = new Uint8Array(0);
const origin = { group: 0n, object: 0n };

/** The smallest message of each type that may follow a request. */
const messages = {
  REQUEST_OK: { type: "REQUEST_OK", parameters: [], trackProperties: none },
  REQUEST_ERROR: { type: "REQUEST_ERROR", errorCode: 0n, retryInterval: 0n, errorReason: "" },
  SUBSCRIBE_OK: { type: "SUBSCRIBE_OK", trackAlias: 7n, parameters: [], trackProperties: none },
  FETCH_OK: {
    type: "FETCH_OK",
    endOfTrack: false,
    endLocation: origin,
    parameters: [],
    trackProperties: none,
  },
  PUBLISH_DONE: { type: "PUBLISH_DONE", statusCode: 2n, streamCount: 0n, errorReason: "" },
  PUBLISH_STATE_NOTIFY: { type: "PUBLISH_STATE_NOTIFY", parameters: [] },
  NAMESPACE: { type: "NAMESPACE", trackNamespaceSuffix: fields("a") },
  NAMESPACE_DONE: { type: "NAMESPACE_DONE", trackNamespaceSuffix: fields("a") },
  PUBLISH_SKIPPED: {
    type: "PUBLISH_SKIPPED",
    trackNamespaceSuffix: fields("a"),
    trackName: none,
  },
  GOAWAY: { type: "GOAWAY", newSessionUri: "", timeout: 0n },
  REQUEST_UPDATE: { type: "REQUEST_UPDATE", requestId: 0n, parameters: [] },
} as const satisfies { readonly [Type in MessageType]?: ControlMessage };

type Following = keyof typeof messages;
const following = Object.keys(messages) as Following[];

/** What grants each request. */
const grants: Readonly<Record<RequestType, "SUBSCRIBE_OK" | "FETCH_OK" | "REQUEST_OK">> = {
  SUBSCRIBE: "SUBSCRIBE_OK",
  PUBLISH: "REQUEST_OK",
  FETCH: "FETCH_OK",
  TRACK_STATUS: "REQUEST_OK",
  PUBLISH_NAMESPACE: "REQUEST_OK",
  SUBSCRIBE_NAMESPACE: "REQUEST_OK",
  SUBSCRIBE_TRACKS: "REQUEST_OK",
};

/** What may follow a granted request, by who sends it. NAMESPACE goes before NAMESPACE_DONE. */
const mayFollow: Readonly<Record<RequestType, { requester: Following[]; responder: Following[] }>> =
  {
    SUBSCRIBE: {
      requester: ["REQUEST_UPDATE", "GOAWAY"],
      responder: ["PUBLISH_STATE_NOTIFY", "PUBLISH_DONE", "GOAWAY"],
    },
    PUBLISH: {
      requester: ["REQUEST_UPDATE", "PUBLISH_STATE_NOTIFY", "PUBLISH_DONE", "GOAWAY"],
      responder: ["REQUEST_UPDATE", "GOAWAY"],
    },
    FETCH: { requester: ["REQUEST_UPDATE", "GOAWAY"], responder: ["GOAWAY"] },
    TRACK_STATUS: { requester: [], responder: [] },
    PUBLISH_NAMESPACE: { requester: ["REQUEST_UPDATE", "GOAWAY"], responder: ["GOAWAY"] },
    SUBSCRIBE_NAMESPACE: {
      requester: ["REQUEST_UPDATE", "GOAWAY"],
      responder: ["NAMESPACE", "GOAWAY"],
    },
    SUBSCRIBE_TRACKS: {
      requester: ["REQUEST_UPDATE", "GOAWAY"],
      responder: ["PUBLISH_SKIPPED", "GOAWAY"],
    },
  };

/** Bytes of a message of a type, as the end `from` would send it. */
function bytesOf(type: Following, draft: Draft, from: "client" | "server" = "client"): Uint8Array {
  const requestId = from === "client" ? 100n : 101n;
  const message = type === "REQUEST_UPDATE" ? { ...messages[type], requestId } : messages[type];
  return encodeControlMessage(message, draft);
}

/** A server with a request of its client, granted. */
function granted(type: RequestType, draft: Draft = 22): { driven: Driven; request: number } {
  const driven = readyServer({ draft });
  const request = driven.request(requestBytes(type, 0n, draft));
  driven.take(driven.core.send(request, messages[grants[type]], 0));
  return { driven, request };
}

/** A client with a request of its own. */
function asked(type: RequestType, draft: Draft = 22): { driven: Driven; request: number } {
  const driven = readyClient({ draft });
  return { driven, request: driven.ask(smallest[type](draft)) };
}

function exists(type: Following, draft: Draft): boolean {
  return type !== "PUBLISH_STATE_NOTIFY" || draft >= 20;
}

describe("the stream of a request", () => {
  test("carries after the request what its type allows, and nothing else", () => {
    for (const draft of allDrafts) {
      for (const request of requestTypes) {
        // Its answer is its end.
        if (request === "TRACK_STATUS") continue;
        for (const type of following) {
          const { driven, request: stream } = granted(request, draft);
          const allowed: boolean =
            mayFollow[request].requester.includes(type) && exists(type, draft);
          const bytes = exists(type, draft) ? bytesOf(type, draft) : hex("22000100");
          driven.feed(stream, bytes);
          assert.equal(
            driven.closed,
            allowed ? undefined : "PROTOCOL_VIOLATION",
            `${type} after ${request} in draft ${draft}`,
          );
        }
      }
    }
  });

  test("carries after the answer what its type allows, and nothing else", () => {
    for (const draft of allDrafts) {
      for (const request of requestTypes) {
        for (const type of following) {
          const { driven, request: stream } = asked(request, draft);
          driven.feed(stream, bytesOf(grants[request], draft));
          const allowed: boolean =
            mayFollow[request].responder.includes(type) && exists(type, draft);
          const bytes = exists(type, draft) ? bytesOf(type, draft, "server") : hex("22000100");
          driven.feed(stream, bytes);
          assert.equal(
            driven.closed,
            allowed ? undefined : "PROTOCOL_VIOLATION",
            `${type} answers ${request} in draft ${draft}`,
          );
        }
      }
    }
  });

  test("begins with the answer on the other side; GOAWAY may come before it but for prefixes", () => {
    for (const draft of allDrafts) {
      for (const request of requestTypes) {
        for (const type of following) {
          if (!exists(type, draft)) continue;
          const { driven, request: stream } = asked(request, draft);
          driven.feed(stream, bytesOf(type, draft, "server"));
          const goaway =
            type === "GOAWAY" &&
            !["TRACK_STATUS", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"].includes(request);
          const allowed = type === grants[request] || type === "REQUEST_ERROR" || goaway;
          assert.equal(
            driven.closed,
            allowed ? undefined : "PROTOCOL_VIOLATION",
            `${type} first on ${request} in draft ${draft}`,
          );
        }
      }
    }
  });

  test("carries nothing after its last message", () => {
    const last: [RequestType, Following[]][] = [
      ["SUBSCRIBE", ["REQUEST_ERROR"]],
      ["SUBSCRIBE", ["SUBSCRIBE_OK", "PUBLISH_DONE"]],
      ["TRACK_STATUS", ["REQUEST_OK"]],
      ["SUBSCRIBE_NAMESPACE", ["REQUEST_ERROR"]],
    ];
    for (const [request, types] of last) {
      for (const type of following) {
        const { driven, request: stream } = asked(request);
        for (const sent of types) driven.feed(stream, bytesOf(sent, 22));
        assert.equal(driven.closed, undefined);
        driven.feed(stream, bytesOf(type, 22, "server"));
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      }
    }
    const driven = readyServer();
    const publish = driven.request(requestBytes("PUBLISH", 0n));
    driven.feed(publish, bytesOf("PUBLISH_DONE", 22));
    assert.equal(driven.closed, undefined);
    driven.feed(publish, bytesOf("GOAWAY", 22));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("is held to the same rules when we send", () => {
    const replies = following.filter((type) => type !== "GOAWAY" && type !== "REQUEST_UPDATE");
    for (const request of requestTypes) {
      for (const type of replies) {
        const message: RequestReply = messages[type];
        const ours = asked(request);
        const mayAsk = mayFollow[request].requester.includes(type);
        const send = () => ours.driven.core.send(ours.request, message, 0);
        if (mayAsk) ours.driven.take(send());
        else assertMisuse("OUT_OF_PLACE", send);

        const theirs = readyServer();
        const stream = theirs.request(requestBytes(request, 0n));
        const answer = () => theirs.core.send(stream, message, 0);
        if (type === grants[request] || type === "REQUEST_ERROR") theirs.take(answer());
        else assertMisuse("OUT_OF_PLACE", answer);
      }
    }
  });
});

describe("an update", () => {
  test("is told, and answered in order", () => {
    for (const draft of allDrafts) {
      const { driven, request } = granted("SUBSCRIBE", draft);
      for (const id of [2n, 4n]) {
        driven.say(request, { type: "REQUEST_UPDATE", requestId: id, parameters: [] });
      }
      assert.deepEqual(
        driven.eventsOf("requestMessage").map(({ message }) => message),
        [2n, 4n].map((requestId) => ({ type: "REQUEST_UPDATE", requestId, parameters: [] })),
      );
      const before = driven.sent(request).length;
      for (const _ of [2n, 4n]) driven.take(driven.core.send(request, messages.REQUEST_OK, 0));
      assert.equal(driven.sent(request).slice(before), "0700010007000100");
      assertMisuse("OUT_OF_PLACE", () => driven.core.send(request, messages.REQUEST_OK, 0));
    }
  });

  test("uses up a Request ID [RQ-01] [RQ-03]", () => {
    for (const [requestId, code] of [
      [0n, "INVALID_REQUEST_ID"],
      [3n, "INVALID_REQUEST_ID"],
      [2n, undefined],
    ] as const) {
      const { driven, request } = granted("SUBSCRIBE");
      driven.say(request, { type: "REQUEST_UPDATE", requestId, parameters: [] });
      assert.equal(driven.closed, code);
    }
    const { driven, request } = asked("SUBSCRIBE");
    const update = driven.core.update(request, [], 0);
    assert.equal(update?.requestId, 2n);
    assert.equal(driven.core.request(smallest.FETCH(22), 0).requestId, 4n);
  });

  test("may change a PUBLISH of the other end too, with an ID of its sender", () => {
    const { driven, request } = granted("PUBLISH");
    const update = driven.core.update(request, [], 0);
    assert.equal(update?.requestId, 1n);
    driven.say(request, messages.REQUEST_OK, { answers: "REQUEST_UPDATE" });
    assert.equal(driven.last("requestMessage").answers, "REQUEST_UPDATE");
    const other = granted("SUBSCRIBE");
    assertMisuse("OUT_OF_PLACE", () => other.driven.core.update(other.request, [], 0));
  });

  test("carries only what the request it changes allows [RQ-05]", () => {
    const forward = hex("02000402011001");
    const { driven, request } = granted("SUBSCRIBE");
    driven.feed(request, forward);
    assert.equal(driven.closed, undefined);
    const namespace = granted("PUBLISH_NAMESPACE");
    namespace.driven.feed(namespace.request, forward);
    assert.equal(namespace.driven.closed, "PROTOCOL_VIOLATION");
  });

  test("over our limit closes the session", () => {
    for (const draft of [19, 20, 21, 22] as const) {
      const driven = readyServer({
        draft,
        setupOptions: [{ type: "MAX_REQUEST_UPDATES", value: 2n }],
      });
      const request = driven.request(requestBytes("SUBSCRIBE", 0n, draft));
      driven.take(driven.core.send(request, messages.SUBSCRIBE_OK, 0));
      const update = (requestId: bigint) =>
        driven.say(request, { type: "REQUEST_UPDATE", requestId, parameters: [] });
      update(2n);
      update(4n);
      driven.take(driven.core.send(request, messages.REQUEST_OK, 0));
      update(6n);
      assert.equal(driven.closed, undefined);
      update(8n);
      assert.equal(driven.closed, "TOO_MANY_REQUEST_UPDATES");
    }
  });

  test("is not sent beside an unanswered one before the peer has said how many may be", () => {
    for (const draft of allDrafts) {
      const driven = new Driven({ role: "client", draft });
      const request = driven.ask(smallest.SUBSCRIBE(draft));
      driven.core.update(request, [], 0);
      const another = () => driven.core.update(request, [], 0);
      // Draft 18 has no such limit.
      if (draft === 18) another();
      else assertMisuse("UPDATE_LIMIT", another);
      driven.setup("af000000");
      another();
    }
  });

  test("over the limit of the peer is not sent", () => {
    const driven = readyClient({}, "af0000020802");
    const request = driven.ask(smallest.SUBSCRIBE(22));
    driven.core.update(request, [], 0);
    driven.core.update(request, [], 0);
    assertMisuse("UPDATE_LIMIT", () => driven.core.update(request, [], 0));
    driven.say(request, messages.SUBSCRIBE_OK);
    assertMisuse("UPDATE_LIMIT", () => driven.core.update(request, [], 0));
    driven.say(request, messages.REQUEST_OK);
    assert.ok(driven.core.update(request, [], 0));
  });

  test("has no limit where the peer names none", () => {
    const { driven, request } = asked("SUBSCRIBE");
    for (let count = 0; count < 100; count++) assert.ok(driven.core.update(request, [], 0));
    assert.equal(driven.core.update(99, [], 0), undefined);
  });

  test("that is refused may stand for the ones after it", () => {
    const { driven, request } = asked("PUBLISH_NAMESPACE");
    for (let count = 0; count < 3; count++) driven.core.update(request, [], 0);
    driven.say(request, messages.REQUEST_OK).say(request, messages.REQUEST_ERROR);
    driven.finish(request);
    assert.equal(driven.last("requestFinished").over, true);
  });

  test("that is never answered makes its request fail", () => {
    const { driven, request } = asked("PUBLISH_NAMESPACE");
    driven.core.update(request, [], 0);
    driven.say(request, messages.REQUEST_OK).finish(request);
    assert.equal(driven.last("requestCancelled").cause, "FIN");
  });
});

describe("FIN", () => {
  test("of whoever ends a request ends it on both sides", () => {
    const complete: [RequestType, Following[]][] = [
      ["SUBSCRIBE", ["SUBSCRIBE_OK", "PUBLISH_DONE"]],
      ["FETCH", ["FETCH_OK"]],
      ["TRACK_STATUS", ["REQUEST_OK"]],
      ["PUBLISH_NAMESPACE", ["REQUEST_OK"]],
      ["SUBSCRIBE_NAMESPACE", ["REQUEST_OK", "NAMESPACE"]],
      ["SUBSCRIBE_TRACKS", ["REQUEST_OK"]],
    ];
    for (const draft of allDrafts) {
      for (const [type, answers] of complete) {
        const { driven, request } = asked(type, draft);
        for (const answer of answers) driven.feed(request, bytesOf(answer, draft));
        driven.finish(request);
        assert.deepEqual(driven.last("requestFinished"), {
          type: "requestFinished",
          request,
          over: true,
        });
        assert.match(driven.sent(request), / fin$/);
        assert.equal(driven.core.openRequests, 0);
      }
    }
  });

  test("before PUBLISH_DONE makes a subscription fail", () => {
    const { driven, request } = asked("SUBSCRIBE");
    driven.say(request, messages.SUBSCRIBE_OK).finish(request);
    assert.equal(driven.last("requestCancelled").cause, "FIN");
    for (const finishesFirst of [false, true]) {
      const publisher = readyServer();
      const publish = publisher.request(requestBytes("PUBLISH", 0n));
      if (finishesFirst) publisher.finish(publish);
      assert.deepEqual(publisher.eventsOf("requestCancelled"), []);
      publisher.take(publisher.core.send(publish, messages.REQUEST_OK, 0));
      if (!finishesFirst) publisher.finish(publish);
      assert.equal(publisher.last("requestCancelled").cause, "FIN");
      assert.deepEqual(publisher.cuts(publish), ["reset 1"]);
      assert.equal(publisher.core.openRequests, 0);
    }
  });

  test("right after a PUBLISH leaves it its refusal", () => {
    const publisher = readyServer();
    const publish = publisher.request(requestBytes("PUBLISH", 0n));
    publisher.finish(publish);
    publisher.take(publisher.core.refuse(publish, messages.REQUEST_ERROR, 0));
    assert.match(publisher.sent(publish), /^05.* fin$/);
    assert.deepEqual(publisher.cuts(publish), []);
    assert.equal(publisher.core.openRequests, 0);
  });

  test("of a subscriber ends nothing", () => {
    const { driven, request } = granted("SUBSCRIBE");
    driven.finish(request);
    assert.equal(driven.last("requestFinished").over, false);
    driven.take(driven.core.send(request, messages.PUBLISH_DONE, 0));
    assert.match(driven.sent(request), / fin$/);
    assert.equal(driven.core.openRequests, 0);

    const ours = asked("PUBLISH");
    ours.driven.say(ours.request, messages.REQUEST_OK).finish(ours.request);
    assert.equal(ours.driven.last("requestFinished").over, false);
    ours.driven.take(ours.driven.core.send(ours.request, messages.PUBLISH_DONE, 0));
    assert.match(ours.driven.sent(ours.request), / fin$/);
    assert.equal(ours.driven.core.openRequests, 0);
  });

  test("is not undone by a reset that comes after it", () => {
    const { driven, request } = granted("SUBSCRIBE");
    driven.finish(request).reset(request);
    assert.deepEqual(driven.eventsOf("requestCancelled"), []);
    assert.equal(driven.core.openRequests, 1);
    const ours = asked("SUBSCRIBE");
    ours.driven.take(ours.driven.core.finish(ours.request, 0));
    ours.driven.stop(ours.request);
    assert.deepEqual(ours.driven.eventsOf("requestCancelled"), []);
    assert.equal(ours.driven.core.openRequests, 1);
  });

  test("of a publisher waits for the answer that is owed to its PUBLISH", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("PUBLISH", 0n));
    driven.feed(request, bytesOf("PUBLISH_DONE", 22), true);
    assert.equal(driven.last("requestFinished").over, false);
    driven.take(driven.core.send(request, messages.REQUEST_OK, 0));
    assert.equal(driven.sent(request), "07000100 fin");
    assert.equal(driven.core.openRequests, 0);
  });

  test("of ours goes with the message that is the last, and where we say so", () => {
    const fetch = granted("PUBLISH_NAMESPACE");
    fetch.driven.take(fetch.driven.core.finish(fetch.request, 0));
    assert.equal(fetch.driven.sent(fetch.request), "07000100 fin");
    assert.equal(fetch.driven.core.openRequests, 0);

    const driven = readyServer();
    const request = driven.request(requestBytes("FETCH", 0n));
    driven.take(driven.core.send(request, messages.FETCH_OK, 0, true));
    assert.match(driven.sent(request), / fin$/);
    assert.equal(driven.core.openRequests, 0);

    const status = readyServer();
    const asking = status.request(requestBytes("TRACK_STATUS", 0n), true);
    status.take(status.core.send(asking, messages.REQUEST_OK, 0));
    assert.equal(status.sent(asking), "07000100 fin");
    assert.equal(status.core.openRequests, 0);
  });

  test("of ours cannot go before what we owe", () => {
    const { driven, request } = granted("SUBSCRIBE");
    assertMisuse("OUT_OF_PLACE", () => driven.core.finish(request, 0));
    const unanswered = driven.request(requestBytes("SUBSCRIBE", 2n));
    assertMisuse("OUT_OF_PLACE", () => driven.core.finish(unanswered, 0));
    assertMisuse("OUT_OF_PLACE", () =>
      driven.core.send(unanswered, messages.SUBSCRIBE_OK, 0, true),
    );
    driven.take(driven.core.send(unanswered, messages.SUBSCRIBE_OK, 0));
    const publish = asked("PUBLISH");
    assertMisuse("OUT_OF_PLACE", () => publish.driven.core.finish(publish.request, 0));
    const updated = granted("FETCH");
    updated.driven.feed(updated.request, "0200020200");
    assertMisuse("OUT_OF_PLACE", () => updated.driven.core.finish(updated.request, 0));
  });

  test("of a requester withdraws namespace requests in draft 18 only", () => {
    const types = ["PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS"] as const;
    for (const type of types) {
      const { driven, request } = granted(type, 18);
      driven.finish(request);
      assert.deepEqual(driven.last("requestCancelled"), {
        type: "requestCancelled",
        request,
        cause: "FIN",
      });
      assert.equal(driven.sent(request), "07000100 fin");
      assert.equal(driven.eventsOf("requestFinished").length, 0);
      assert.equal(driven.core.openRequests, 0);

      const early = readyServer({ draft: 18 });
      const stream = early.request(requestBytes(type, 0n, 18), true);
      assert.equal(early.last("requestFinished").over, false);
      early.take(early.core.send(stream, messages.REQUEST_OK, 0));
      assert.equal(early.sent(stream), "07000100 fin");
      assert.equal(early.core.openRequests, 0);

      const later = granted(type, 19);
      later.driven.finish(later.request);
      assert.equal(later.driven.last("requestFinished").over, false);
      assert.equal(later.driven.core.openRequests, 1);
    }
    const fetch = granted("FETCH", 18);
    fetch.driven.finish(fetch.request);
    assert.equal(fetch.driven.core.openRequests, 1);
  });
});

describe("a subscription's Track Alias", () => {
  const other = { trackName: fields("w")[0] as Uint8Array };

  test("stands for one track at a time", () => {
    const { driven, request } = asked("SUBSCRIBE");
    driven.say(request, messages.SUBSCRIBE_OK);
    const same = driven.ask(smallest.SUBSCRIBE(22));
    driven.say(same, messages.SUBSCRIBE_OK);
    assert.equal(driven.closed, undefined, "two subscriptions to one track");
    const second = driven.ask({ type: "SUBSCRIBE", ...namesOf("w") });
    driven.say(second, messages.SUBSCRIBE_OK);
    assert.equal(driven.closed, "DUPLICATE_TRACK_ALIAS");
  });

  test("is free again once the subscriptions to its track have ended", () => {
    const { driven, request } = asked("SUBSCRIBE");
    driven.say(request, messages.SUBSCRIBE_OK);
    driven.feed(request, bytesOf("PUBLISH_DONE", 22), true);
    const second = driven.ask({ type: "SUBSCRIBE", ...namesOf("w") });
    driven.say(second, messages.SUBSCRIBE_OK);
    assert.equal(driven.closed, undefined);
  });

  test("of a PUBLISH is checked when it comes, and when it is accepted", () => {
    const first = granted("PUBLISH");
    first.driven.request(requestBytes("PUBLISH", 2n, 22, other));
    assert.equal(first.driven.closed, "DUPLICATE_TRACK_ALIAS");

    const pending = readyServer();
    const requests = [0n, 2n].map((id) =>
      pending.request(requestBytes("PUBLISH", id, 22, id === 0n ? {} : other)),
    );
    assert.equal(pending.closed, undefined, "neither is established");
    for (const request of requests) {
      pending.take(pending.core.send(request, messages.REQUEST_OK, 0));
    }
    assert.equal(pending.closed, "DUPLICATE_TRACK_ALIAS");

    const refused = readyServer();
    const stream = refused.request(requestBytes("PUBLISH", 0n));
    refused.take(refused.core.refuse(stream, messages.REQUEST_ERROR, 0));
    refused.request(requestBytes("PUBLISH", 2n, 22, other));
    assert.equal(refused.closed, undefined);
  });

  test("of a PUBLISH that was accepted, updated and ended is free again", () => {
    const { driven, request } = granted("PUBLISH");
    driven.feed(request, "0200020200");
    driven.take(driven.core.send(request, messages.REQUEST_OK, 0));
    driven.feed(request, bytesOf("PUBLISH_DONE", 22), true);
    assert.equal(driven.last("requestFinished").over, true);
    driven.request(requestBytes("PUBLISH", 4n, 22, other));
    assert.equal(driven.closed, undefined);
  });

  function namesOf(name: string) {
    return {
      trackNamespace: fields("live"),
      trackName: fields(name)[0] as Uint8Array,
      parameters: [],
    };
  }
});

describe("NAMESPACE_DONE", () => {
  const named = (type: "NAMESPACE" | "NAMESPACE_DONE", ...suffix: string[]): ControlMessage => ({
    type,
    trackNamespaceSuffix: fields(...suffix),
  });
  const prefixOf = (...prefix: string[]) =>
    [{ type: "TRACK_NAMESPACE_PREFIX", trackNamespacePrefix: fields(...prefix) }] as const;
  const answersUpdate: RequestContext = { answers: "REQUEST_UPDATE" };

  test("comes after its NAMESPACE, and once", () => {
    const { driven, request } = asked("SUBSCRIBE_NAMESPACE");
    driven.say(request, messages.REQUEST_OK);
    driven.say(request, named("NAMESPACE", "a")).say(request, named("NAMESPACE_DONE", "a"));
    driven.say(request, named("NAMESPACE", "a")).say(request, named("NAMESPACE_DONE", "a"));
    assert.equal(driven.closed, undefined);
    driven.say(request, named("NAMESPACE_DONE", "a"));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("counts from the prefix that the last granted update has set", () => {
    const { driven, request } = asked("SUBSCRIBE_NAMESPACE");
    driven.say(request, messages.REQUEST_OK).say(request, named("NAMESPACE", "a", "b"));
    driven.core.update(request, [], 0);
    driven.core.update(request, prefixOf("live", "a"), 0);
    driven.say(request, messages.REQUEST_OK, answersUpdate);
    driven.say(request, named("NAMESPACE", "c"));
    driven.say(request, messages.REQUEST_OK, answersUpdate);
    driven.say(request, named("NAMESPACE_DONE", "b"));
    assert.equal(driven.closed, undefined);
    driven.say(request, named("NAMESPACE_DONE", "c"));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("counts from the former prefix where an update is refused", () => {
    const { driven, request } = asked("SUBSCRIBE_NAMESPACE");
    driven.say(request, messages.REQUEST_OK).say(request, named("NAMESPACE", "a"));
    driven.core.update(request, prefixOf("other"), 0);
    driven.say(request, messages.REQUEST_ERROR, answersUpdate);
    driven.say(request, named("NAMESPACE_DONE", "a"));
    assert.equal(driven.closed, undefined);
  });

  test("and NAMESPACE make a whole namespace with the prefix", () => {
    const driven = readyClient();
    const trackNamespacePrefix = Array.from({ length: 31 }, () => hex("61"));
    const request = driven.ask({
      type: "SUBSCRIBE_NAMESPACE",
      trackNamespacePrefix,
      parameters: [],
    });
    driven.say(request, messages.REQUEST_OK).say(request, named("NAMESPACE", "a"));
    assert.equal(driven.closed, undefined);
    driven.say(request, named("NAMESPACE", "a", "b"));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("is not waited for by more namespaces than we take", () => {
    const driven = readyClient({ limits: { namespaces: 2 } });
    const request = driven.ask(smallest.SUBSCRIBE_NAMESPACE(22));
    driven.say(request, messages.REQUEST_OK);
    for (const suffix of ["a", "b", "a"]) driven.say(request, named("NAMESPACE", suffix));
    assert.deepEqual(driven.eventsOf("requestCancelled"), []);
    driven.feed(request, encodeControlMessage(named("NAMESPACE", "c"), 22), true);
    assert.equal(driven.last("requestCancelled").cause, "LIMIT");
    assert.deepEqual(driven.eventsOf("requestFinished"), []);
    assert.deepEqual(driven.cuts(request), ["reset 9", "stop 9"]);
  });
});
