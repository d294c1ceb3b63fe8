import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import {
  encodeControlMessage,
  type MessageParameter,
  type RequestError,
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
  resetCode,
  smallest,
  vector,
  withEveryCut,
} from "./support.ts";

const noRoute: RequestError = {
  type: "REQUEST_ERROR",
  errorCode: 0x10n,
  retryInterval: 0n,
  errorReason: "",
};
const noRouteSent = "050003100000 fin";
const ok = { type: "REQUEST_OK", parameters: [], trackProperties: new Uint8Array(0) } as const;

describe("a request of the peer", () => {
  test("is told with its message, however its bytes are cut", () => {
    for (const draft of allDrafts) {
      for (const type of requestTypes) {
        const bytes = requestBytes(type, 0n, draft);
        withEveryCut(bytes.length, (cut) => {
          const driven = readyServer({ draft });
          const request = driven.request(bytes, false, cut);
          assert.deepEqual(driven.last("request"), {
            type: "request",
            request,
            message: { ...smallest[type](draft), requestId: 0n },
            tokens: [],
          });
          assert.equal(driven.core.nextTimeout, undefined);
        });
      }
    }
  });

  test("with the wrong parity closes the session [RQ-01]", () => {
    for (const draft of allDrafts) {
      const bytes = hex(vector("rid-odd"));
      withEveryCut(bytes.length, (cut) => {
        const driven = readyServer({ draft });
        driven.request(bytes, false, cut);
        assert.equal(driven.closed, "INVALID_REQUEST_ID");
        assert.equal(driven.eventsOf("request").length, 0);
      });
      const client = readyClient({ draft });
      client.request(requestBytes("PUBLISH", 0n, draft));
      assert.equal(client.closed, "INVALID_REQUEST_ID");
      const served = readyClient({ draft });
      served.request(requestBytes("PUBLISH", 1n, draft));
      assert.equal(served.closed, undefined);
    }
  });

  test("may overtake earlier ones; none counts twice [RQ-03]", () => {
    for (const draft of allDrafts) {
      withEveryCut(hex(vector("rid-4")).length, (cut) => {
        const driven = readyServer({ draft });
        driven.request(vector("rid-4"), false, cut);
        for (const id of [0n, 2n]) driven.request(requestBytes("SUBSCRIBE", id, draft));
        assert.deepEqual(
          driven.eventsOf("request").map(({ message }) => message.requestId),
          [4n, 0n, 2n],
        );
        driven.request(vector("rid-4"), false, cut);
        assert.equal(driven.closed, "INVALID_REQUEST_ID");
      });
    }
  });

  test("that is answered and forgotten does not free its Request ID [RQ-03]", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE", 0n));
    driven.take(driven.core.refuse(request, noRoute, 0));
    driven.request(requestBytes("FETCH", 0n));
    assert.equal(driven.closed, "INVALID_REQUEST_ID");
  });

  test("with an unknown parameter closes the session [RQ-04]", () => {
    for (const draft of allDrafts) {
      withEveryCut(hex(vector("param-unknown")).length, (cut) => {
        const driven = readyServer({ draft });
        driven.request(vector("param-unknown"), false, cut);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      });
    }
  });

  test("with a parameter out of place closes the session [RQ-05]", () => {
    for (const draft of allDrafts) {
      withEveryCut(hex(vector("param-scope")).length, (cut) => {
        const driven = readyServer({ draft });
        driven.request(vector("param-scope"), false, cut);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      });
    }
  });

  test("of an unknown type closes the session with its first byte [RQ-07]", () => {
    for (const draft of allDrafts) {
      withEveryCut(hex(vector("type-unknown")).length, (cut) => {
        const driven = readyServer({ draft });
        driven.request(vector("type-unknown"), false, cut);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      });
      const driven = readyServer({ draft });
      driven.request("3f");
      assert.equal(driven.closed, "PROTOCOL_VIOLATION");
    }
  });

  test("that is no request closes the session as soon as that shows [RQ-07]", () => {
    for (const type of ["af00", "10", "07", "05", "02", "04", "0b", "18", "08", "0e", "0f"]) {
      const driven = readyServer();
      driven.request(type);
      assert.equal(driven.closed, "PROTOCOL_VIOLATION", type);
    }
  });

  test("that FIN cuts off closes the session", () => {
    const bytes = requestBytes("SUBSCRIBE", 0n);
    for (let length = 0; length < bytes.length; length++) {
      const driven = readyServer();
      driven.request(bytes.subarray(0, length), true);
      assert.equal(driven.closed, "PROTOCOL_VIOLATION");
    }
  });

  test("is read by the rules of the negotiated draft [RQ-19]", () => {
    const early = readyServer({ draft: 18 });
    early.request(vector("fetch20"));
    assert.equal(early.closed, "PROTOCOL_VIOLATION");
    const late = readyServer({ draft: 20 });
    late.request(vector("fetch20"));
    assert.equal(late.closed, undefined);
  });

  test("is judged by the application alone where prefixes overlap [RQ-17]", () => {
    for (const draft of allDrafts) {
      const driven = readyServer({ draft });
      for (const id of ["ov1", "ov2"]) driven.request(vector(id));
      assert.deepEqual(
        driven.eventsOf("request").map(({ message }) => message.type),
        ["SUBSCRIBE_NAMESPACE", "SUBSCRIBE_NAMESPACE"],
      );
      for (const { request } of driven.eventsOf("request")) {
        driven.take(driven.core.refuse(request, noRoute, 0));
        assert.equal(driven.sent(request), noRouteSent);
      }
    }
  });
});

describe("refusing a request", () => {
  test("sends REQUEST_ERROR and FIN, and keeps nothing of it [LB-REDIR-16]", () => {
    for (const draft of allDrafts) {
      for (const type of requestTypes) {
        const driven = readyServer({ draft });
        const request = driven.request(requestBytes(type, 0n, draft));
        driven.take(driven.core.refuse(request, noRoute, 0));
        assert.equal(driven.sent(request), noRouteSent);
        assert.equal(driven.core.openRequests, 0);
        assert.equal(driven.core.bufferedBytes, 0);
        assert.equal(driven.core.nextTimeout, undefined);
      }
    }
  });

  test("also with bytes that were encoded before", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE", 0n), true);
    driven.take(driven.core.refuse(request, hex(vector("rd-sub")), 0));
    assert.equal(driven.sent(request), `${vector("rd-sub")} fin`);
    assert.equal(driven.core.openRequests, 0);
  });

  test("goes on after FIN, which cancels nothing [RQ-09]", () => {
    for (const draft of allDrafts) {
      for (const type of requestTypes) {
        if (type === "PUBLISH") continue;
        const bytes = requestBytes(type, 0n, draft);
        withEveryCut(bytes.length, (cut) => {
          const driven = readyServer({ draft });
          const request = driven.request(bytes, true, cut);
          assert.deepEqual(
            driven.events.slice(1).map((event) => event.type),
            ["request", "requestFinished"],
          );
          assert.equal(driven.last("requestFinished").over, false);
          driven.take(driven.core.refuse(request, noRoute, 0));
          assert.equal(driven.sent(request), noRouteSent);
          assert.deepEqual(driven.cuts(request), []);
        });
      }
    }
  });

  test("tolerates what still comes on the stream [LB-S7]", () => {
    const update = encodeControlMessage(
      { type: "REQUEST_UPDATE", requestId: 2n, parameters: [] },
      22,
    );
    const late: ((driven: Driven, request: number) => void)[] = [
      (driven, request) => driven.feed(request, update),
      (driven, request) => driven.feed(request, update.subarray(0, 2), true),
      (driven, request) => driven.feed(request, "ffffffffffff"),
      (driven, request) => driven.finish(request),
      (driven, request) => driven.reset(request),
      (driven, request) => driven.stop(request),
    ];
    for (const happen of late) {
      const driven = readyServer();
      const request = driven.request(requestBytes("PUBLISH", 0n));
      driven.take(driven.core.refuse(request, noRoute, 0));
      const before = driven.actions.length;
      happen(driven, request);
      assert.equal(driven.actions.length, before);
      assert.equal(driven.core.openRequests, 0);
    }
  });

  test("drops an update that came with the request [LB-S7]", () => {
    const driven = readyServer();
    const update = hex("0200020200");
    const request = driven.request(concatBytes(requestBytes("PUBLISH", 0n), update));
    assert.equal(driven.last("requestMessage").message.type, "REQUEST_UPDATE");
    driven.take(driven.core.refuse(request, noRoute, 0));
    assert.equal(driven.core.openRequests, 0);
    assert.equal(driven.closed, undefined);
  });

  test("does nothing where the request has ended meanwhile [RQ-10]", () => {
    for (const end of ["reset", "stop"] as const) {
      for (const draft of allDrafts) {
        const driven = readyServer({ draft });
        const request = driven.request(requestBytes("SUBSCRIBE", 0n, draft));
        driven[end](request, 5n);
        const cancelled = driven.last("requestCancelled");
        assert.equal(cancelled.cause, end === "reset" ? "RESET" : "STOP_SENDING");
        assert.equal(cancelled.code, 5n);
        assert.equal(driven.core.openRequests, 0);
        assert.deepEqual(driven.core.refuse(request, noRoute, 0), []);
        assert.equal(driven.sent(request), "");
        assert.deepEqual(
          driven.cuts(request),
          end === "reset" ? ["reset 1"] : ["reset 5", "stop 5"],
        );
        driven.request(requestBytes("SUBSCRIBE", 2n, draft));
        assert.equal(driven.closed, undefined);
      }
    }
  });

  test("of which not all bytes came is not needed [RQ-10]", () => {
    const bytes = requestBytes("SUBSCRIBE", 0n);
    for (let length = 0; length < bytes.length; length++) {
      const driven = readyServer();
      const request = driven.request(bytes.subarray(0, length));
      driven.reset(request);
      assert.equal(driven.core.bufferedBytes, 0);
      assert.equal(driven.core.nextTimeout, undefined);
      driven.request(requestBytes("SUBSCRIBE", 0n));
      assert.equal(driven.eventsOf("request").length, 1);
    }
  });

  test("happens once", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE_NAMESPACE", 0n));
    driven.take(driven.core.send(request, ok, 0));
    assertMisuse("OUT_OF_PLACE", () => driven.core.refuse(request, noRoute, 0));
  });

  test("cannot name a REDIRECT that the draft or the request does not have [RD-02] [RD-03]", () => {
    const redirect = {
      connectUri: "moqt://r/",
      trackNamespace: fields("live"),
      trackName: hex(""),
    };
    const error = { ...noRoute, errorCode: 0x34n, redirect };
    const early = readyServer({ draft: 18 });
    for (const [index, type] of (["PUBLISH", "SUBSCRIBE_TRACKS"] as const).entries()) {
      const request = early.request(requestBytes(type, BigInt(2 * index), 18));
      assertMisuse("OUT_OF_PLACE", () => early.core.refuse(request, error, 0));
    }
    const named = { ...error, redirect: { ...redirect, trackName: hex("76") } };
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE_NAMESPACE", 0n));
    assertMisuse("OUT_OF_PLACE", () => driven.core.refuse(request, named, 0));
    driven.take(driven.core.refuse(request, error, 0));
    assert.match(driven.sent(request), /fin$/);
    const client = readyClient();
    const publish = client.request(requestBytes("PUBLISH", 1n));
    assertMisuse("OUT_OF_PLACE", () => client.core.refuse(publish, error, 0));
  });
});

describe("a request of ours", () => {
  test("opens a stream with a Request ID of our parity, two more each time", () => {
    for (const draft of allDrafts) {
      for (const role of ["client", "server"] as const) {
        const driven = new Driven({ draft, role });
        const first = role === "client" ? 0n : 1n;
        requestTypes.forEach((type, index) => {
          const requestId = first + 2n * BigInt(index);
          const {
            request,
            requestId: given,
            actions,
          } = driven.core.request(smallest[type](draft), 0);
          assert.equal(given, requestId);
          assert.deepEqual(actions, [
            { type: "open", stream: request, kind: "bidi" },
            {
              type: "send",
              stream: request,
              bytes: requestBytes(type, requestId, draft),
              fin: false,
            },
          ]);
        });
      }
    }
  });

  test("is told its answer, and what it answers", () => {
    for (const draft of allDrafts) {
      for (const type of requestTypes) {
        const bytes = encodeControlMessage(noRoute, draft);
        withEveryCut(bytes.length, (cut) => {
          const driven = readyClient({ draft });
          const request = driven.ask(smallest[type](draft));
          driven.feed(request, bytes, true, cut);
          assert.deepEqual(driven.events.slice(1), [
            {
              type: "requestMessage",
              request,
              message: noRoute,
              answers: type,
              tokens: [],
            },
            { type: "requestFinished", request, over: true },
          ]);
          assert.match(driven.sent(request), / fin$/);
          assert.equal(driven.core.openRequests, 0);
        });
      }
    }
  });

  test("may be refused with a code that nobody knows [RQ-12]", () => {
    const driven = readyClient();
    const request = driven.ask(smallest.SUBSCRIBE(22));
    driven.feed(request, vector("err-unknown"), true);
    assert.equal(driven.closed, undefined);
    const { message } = driven.last("requestMessage");
    assert.equal(message.type === "REQUEST_ERROR" && message.errorCode, 0x7777n);
  });

  test("fails where the peer ends before it has answered", () => {
    for (const type of requestTypes) {
      const driven = readyClient();
      const request = driven.ask(smallest[type](22));
      driven.finish(request);
      assert.deepEqual(driven.last("requestCancelled"), {
        type: "requestCancelled",
        request,
        cause: "FIN",
      });
      assert.deepEqual(driven.cuts(request), ["reset 1"]);
      assert.equal(driven.closed, undefined);
    }
  });

  test("fails where the transport has no stream for it", () => {
    const driven = readyClient();
    const request = driven.ask(smallest.SUBSCRIBE(22));
    driven.take(driven.core.streamOpenFailed(request, 0));
    assert.equal(driven.last("requestCancelled").cause, "NOT_OPENED");
    assert.equal(driven.core.openRequests, 0);
  });

  test("can be cancelled at any time", () => {
    const driven = readyClient();
    const request = driven.ask(smallest.SUBSCRIBE(22));
    driven.take(driven.core.finish(request, 0));
    driven.take(driven.core.cancel(request, "EXPIRED_AUTH_TOKEN", 0));
    assert.deepEqual(driven.cuts(request), ["stop 7"]);
    assert.deepEqual(driven.core.cancel(request, "CANCELLED", 0), []);
    assert.deepEqual(driven.eventsOf("requestCancelled"), []);
    const other = driven.ask(smallest.SUBSCRIBE(22));
    driven.take(driven.core.cancel(other, "CANCELLED", 0));
    assert.deepEqual(driven.cuts(other), ["reset 1", "stop 1"]);
  });

  test("cannot be made once the session is closed", () => {
    const driven = readyClient();
    driven.take(driven.core.close("NO_ERROR", "", 0));
    assertMisuse("SESSION_CLOSED", () => driven.ask(smallest.SUBSCRIBE(22)));
  });

  test("that is refused with a Track Name it cannot have closes the session [RD-02]", () => {
    for (const draft of allDrafts) {
      const driven = readyClient({ draft });
      const request = driven.ask(smallest.PUBLISH_NAMESPACE(draft));
      driven.feed(request, vector("rd-ns-bad"));
      assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      const other = readyClient({ draft });
      other.feed(other.ask(smallest.PUBLISH_NAMESPACE(draft)), vector("rd-ns"));
      assert.equal(other.closed, undefined);
    }
  });

  test("of draft 18 that REDIRECT cannot answer closes the session if it does [RD-03]", () => {
    for (const type of ["PUBLISH", "SUBSCRIBE_TRACKS"] as const) {
      const driven = readyClient({ draft: 18 });
      driven.feed(driven.ask(smallest[type](18)), vector("rd-ns"));
      assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      const later = readyClient({ draft: 19 });
      later.feed(later.ask(smallest[type](19)), vector("rd-ns"));
      assert.equal(later.closed, undefined);
    }
  });

  test("of a server that is refused with a Connect URI closes the session", () => {
    const driven = readyServer();
    driven.feed(driven.ask(smallest.SUBSCRIBE(22)), vector("rd-sub"));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });
});

describe("limits on requests", () => {
  test("are answered with EXCESSIVE_LOAD and a time to wait [LB-SEC-28]", () => {
    const random = [0, 0.999];
    const driven = readyServer({
      limits: { requests: 1, overloadRetry: 1000 },
      random: () => random.shift() ?? 0,
    });
    const first = driven.request(requestBytes("SUBSCRIBE", 0n));
    const refused = driven.request(requestBytes("SUBSCRIBE", 2n));
    const again = driven.request(requestBytes("SUBSCRIBE", 4n));
    assert.equal(driven.eventsOf("request").length, 1);
    assert.match(driven.sent(refused), /^05[0-9a-f]{4}0983e9.* fin$/);
    assert.match(driven.sent(again), /^05[0-9a-f]{4}0985dd.* fin$/);
    driven.take(driven.core.refuse(first, noRoute, 0));
    driven.request(requestBytes("SUBSCRIBE", 6n));
    assert.equal(driven.eventsOf("request").length, 2);
    driven.request(requestBytes("SUBSCRIBE", 2n));
    assert.equal(driven.closed, "INVALID_REQUEST_ID");
  });

  test("on the length of a message refuse its request only, by a message [LB-SEC-28]", () => {
    const bytes = requestBytes("SUBSCRIBE", 0n);
    const code = resetCode("EXCESSIVE_LOAD");
    const random = [0, 0.999];
    const driven = readyServer({
      limits: { messageBytes: bytes.length - 1, overloadRetry: 1000 },
      random: () => random.shift() ?? 0,
    });
    for (const [cutOff, retry] of [
      [3, "83e9"],
      [bytes.length, "85dd"],
    ] as const) {
      const request = driven.request(bytes.subarray(0, cutOff));
      assert.match(driven.sent(request), new RegExp(`^05[0-9a-f]{4}09${retry}.* fin$`));
      assert.deepEqual(driven.cuts(request), [`stop ${code}`]);
    }
    assert.equal(driven.closed, undefined);
    const exact = readyServer({ limits: { messageBytes: bytes.length } });
    exact.request(bytes);
    assert.equal(exact.eventsOf("request").length, 1);
    const later = exact.request(requestBytes("SUBSCRIBE", 2n));
    exact.feed(later, "0200ff");
    assert.equal(exact.last("requestCancelled").cause, "LIMIT");
    assert.match(exact.sent(later), /^05[0-9a-f]{4}09.* fin$/);
    assert.deepEqual(exact.cuts(later), [`stop ${code}`]);
    const granted = exact.request(requestBytes("SUBSCRIBE_NAMESPACE", 4n));
    exact.take(exact.core.send(granted, ok, 0));
    exact.feed(granted, "0200ff");
    assert.deepEqual(exact.cuts(granted), [`reset ${code}`, `stop ${code}`]);
  });

  test("on the length of a message close the session for the control stream", () => {
    const driven = new Driven({ limits: { messageBytes: 20 } });
    driven.setup("af000014");
    assert.equal(driven.closed, "INTERNAL_ERROR");
  });

  test("on incomplete messages refuse the request that exceeds them", () => {
    const exact = readyServer({ limits: { bufferedBytes: 5 } });
    assert.deepEqual(exact.cuts(exact.request("03000a0001")), []);
    const driven = readyServer({ limits: { bufferedBytes: 10 } });
    const first = driven.request("03000a0001");
    const second = driven.request("03000a00014c");
    assert.deepEqual(driven.cuts(first), []);
    assert.match(driven.sent(second), /^05[0-9a-f]{4}09.* fin$/);
    assert.equal(driven.cuts(second).length, 1);
    assert.equal(driven.core.bufferedBytes, 5);
    driven.feed(first, requestBytes("SUBSCRIBE", 0n).subarray(5));
    assert.equal(driven.core.bufferedBytes, 0);
    assert.equal(driven.eventsOf("request").length, 1);
    driven.feed(first, "0200ff0000000000000000");
    assert.equal(driven.last("requestCancelled").cause, "LIMIT");
  });

  test("on incomplete streams refuse the one that exceeds them", () => {
    const driven = readyServer({ limits: { unreadStreams: 1 } });
    const first = driven.request("03");
    const second = driven.open("bidi");
    const uni = driven.open("uni");
    assert.match(driven.sent(second), /^05[0-9a-f]{4}09.* fin$/);
    assert.equal(driven.cuts(second).length, 1);
    assert.equal(driven.cuts(uni).length, 1);
    driven.feed(first, requestBytes("SUBSCRIBE", 0n).subarray(1));
    driven.request(requestBytes("SUBSCRIBE", 2n));
    assert.equal(driven.eventsOf("request").length, 2);
  });

  test("on the time of a message close the session", () => {
    const open: ((driven: Driven) => void)[] = [
      (driven) => driven.open("bidi"),
      (driven) => driven.request("03000a"),
      (driven) => driven.feed(driven.request(requestBytes("SUBSCRIBE", 0n)), "0200"),
      (driven) => driven.feed(0, "1000"),
    ];
    for (const begin of open) {
      const driven = readyServer({ limits: { messageTime: 100 } });
      begin(driven);
      assert.equal(driven.core.nextTimeout, 100);
      driven.wait(99);
      assert.equal(driven.closed, undefined);
      driven.wait(1);
      assert.equal(driven.closed, "CONTROL_MESSAGE_TIMEOUT");
    }
  });

  test("on the time of a message start with SETUP for what has waited for it", () => {
    const driven = new Driven({ limits: { messageTime: 100, setupTime: 1000 } });
    driven.request("03000a");
    driven.wait(500);
    assert.equal(driven.core.nextTimeout, 1000);
    driven.setup();
    assert.equal(driven.core.nextTimeout, 600);
    driven.wait(100);
    assert.equal(driven.closed, "CONTROL_MESSAGE_TIMEOUT");
  });

  test("on the time of a message start with each message", () => {
    const driven = readyServer({ limits: { messageTime: 100 } });
    const request = driven.request(requestBytes("SUBSCRIBE", 0n));
    assert.equal(driven.core.nextTimeout, undefined);
    driven.wait(60).feed(request, "0200");
    driven.wait(60).feed(request, "0202000200");
    assert.equal(driven.core.nextTimeout, 220);
    driven.feed(request, "020400");
    assert.equal(driven.core.nextTimeout, undefined);
    assert.equal(driven.eventsOf("requestMessage").length, 2);
  });

  test("on the time of a data stream's header close the session with its own code", () => {
    const driven = readyServer({ limits: { messageTime: 100 } });
    driven.feed(driven.open("uni"), "14");
    driven.wait(100);
    assert.equal(driven.closed, "DATA_STREAM_TIMEOUT");
  });

  test("leave the buffer of a stream that dribbles linear in its bytes", () => {
    const parameters: MessageParameter[] = [
      {
        type: "AUTHORIZATION_TOKEN",
        token: { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: new Uint8Array(60_000) },
      },
    ];
    const bytes = requestBytes("SUBSCRIBE", 0n, 22, { parameters });
    const driven = readyServer();
    const request = driven.open("bidi");
    for (let index = 0; index < bytes.length; index++) {
      driven.take(driven.core.streamData(request, bytes.subarray(index, index + 1), false, 0));
    }
    assert.equal(driven.last("request").tokens[0]?.tokenValue.length, 60_000);
  });
});

describe("activity", () => {
  test("is when the peer was last heard of, or something was last sent", () => {
    const driven = readyClient();
    driven.now = 50;
    const request = driven.ask(smallest.SUBSCRIBE(22));
    assert.equal(driven.core.lastActivity, 50);
    driven.now = 60;
    driven.reset(request);
    assert.equal(driven.core.lastActivity, 60);
    driven.wait(40);
    assert.equal(driven.core.lastActivity, 60);
    const theirs = driven.request(requestBytes("PUBLISH", 1n));
    driven.wait(50);
    driven.take(driven.core.refuse(theirs, noRoute, driven.now));
    assert.equal(driven.core.lastActivity, 150);
  });
});
