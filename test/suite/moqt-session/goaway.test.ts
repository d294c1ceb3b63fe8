import assert from "node:assert/strict";
import { describe, test } from "#test";
import { concatBytes } from "../../../src/bytes.ts";
import {
  allDrafts,
  assertMisuse,
  Driven,
  emptySetup,
  hex,
  readyClient,
  readyServer,
  requestBytes,
  smallest,
  vector,
  withEveryCut,
} from "./support.ts";

const ok = { type: "REQUEST_OK", parameters: [], trackProperties: new Uint8Array(0) } as const;
const laterDrafts = allDrafts.filter((draft) => draft > 18);
/** The first uni stream that a test opens. */
const control = 0;

describe("GOAWAY of the peer on its control stream", () => {
  test("is told, and no request may be made any more", () => {
    for (const draft of allDrafts) {
      const bytes = hex("10000d0a6d6f71743a2f2f72322f9388");
      withEveryCut(bytes.length, (cut) => {
        const driven = readyClient({ draft });
        driven.feed(control, bytes, false, cut);
        assert.deepEqual(driven.last("goaway"), {
          type: "goaway",
          newSessionUri: "moqt://r2/",
          timeout: 5000n,
        });
        assertMisuse("GOING_AWAY", () => driven.ask(smallest.SUBSCRIBE(draft)));
      });
    }
  });

  test("leaves requests as they are", () => {
    const driven = readyClient();
    const request = driven.ask(smallest.SUBSCRIBE_NAMESPACE(22));
    driven.feed(control, vector("ga"));
    driven.say(request, ok);
    assert.equal(driven.last("requestMessage").request, request);
    assert.ok(driven.core.update(request, [], 0));
    assert.equal(driven.core.openRequests, 1);
  });

  test("without a timeout sets no deadline [GA-05]", () => {
    for (const draft of allDrafts) {
      const driven = readyClient({ draft });
      driven.feed(control, vector("ga-t0"));
      assert.equal(driven.last("goaway").timeout, 0n);
      assert.equal(driven.core.nextTimeout, undefined);
      driven.wait(1_000_000);
      assert.equal(driven.closed, undefined);
    }
  });

  test("with a URI closes the session where it comes from a client [GA-01]", () => {
    for (const draft of allDrafts) {
      const bytes = hex(vector("ga-client-uri"));
      withEveryCut(bytes.length, (cut) => {
        const driven = readyServer({ draft });
        driven.feed(control, bytes, false, cut);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
        assert.deepEqual(driven.eventsOf("goaway"), []);
      });
      const client = readyClient({ draft });
      client.feed(control, bytes);
      assert.equal(client.closed, undefined);
    }
  });

  test("closes the session when it comes again [GA-02]", () => {
    for (const draft of allDrafts) {
      const twice = concatBytes(hex(vector("ga")), hex(vector("ga")));
      withEveryCut(twice.length, (cut) => {
        const driven = readyServer({ draft });
        driven.feed(control, twice, false, cut);
        assert.equal(driven.eventsOf("goaway").length, 1);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      });
    }
  });

  test("opens no stream: it breaks a rule on a bidirectional one, and is no GOAWAY on the other [GA-09]", () => {
    for (const draft of allDrafts) {
      const bidi = readyServer({ draft });
      bidi.request(vector("ga"));
      assert.equal(bidi.closed, "PROTOCOL_VIOLATION");
      // Elsewhere its type is that of a SUBGROUP_HEADER, so that no GOAWAY is seen at all.
      const uni = new Driven({ draft, limits: { setupTime: 10 } });
      uni.feed(uni.open("uni"), vector("ga"));
      uni.wait(10);
      assert.deepEqual(uni.events, []);
      assert.equal(uni.closed, "CONTROL_MESSAGE_TIMEOUT");
    }
  });

  test("may come with SETUP in one piece", () => {
    const driven = new Driven({ role: "client" });
    driven.setup(concatBytes(emptySetup, hex(vector("ga"))));
    assert.deepEqual(
      driven.events.map(({ type }) => type),
      ["setup", "goaway"],
    );
  });

  test("of draft 18 has a Request ID of ours, or none", () => {
    const driven = readyClient({ draft: 18 });
    driven.feed(control, "100003000004");
    assert.equal(driven.last("goaway").requestId, 4n);
    const odd = readyClient({ draft: 18 });
    odd.feed(control, "100003000005");
    assert.equal(odd.closed, "INVALID_REQUEST_ID");
    const server = readyServer({ draft: 18 });
    server.feed(control, "100003000005");
    assert.equal(server.last("goaway").requestId, 5n);
    const later = readyClient({ draft: 19 });
    later.feed(control, "100003000004");
    assert.equal(later.closed, "PROTOCOL_VIOLATION");
  });
});

describe("GOAWAY of ours on the control stream", () => {
  test("goes out once, by default to the same URI and without a timeout", () => {
    for (const draft of laterDrafts) {
      const driven = readyServer({ draft });
      driven.take(driven.core.goaway({}, 0));
      assert.equal(driven.sent(-1), `af000000${vector("ga")}`);
      assertMisuse("OUT_OF_PLACE", () => driven.core.goaway({}, 0));
      driven.wait(1_000_000);
      assert.equal(driven.closed, undefined);
    }
    const named = readyServer();
    named.take(named.core.goaway({ newSessionUri: "moqt://r2/", timeout: 5000 }, 0));
    assert.equal(named.sent(-1), "af00000010000d0a6d6f71743a2f2f72322f9388");
    const client = readyClient();
    assertMisuse("OUT_OF_PLACE", () => client.core.goaway({ newSessionUri: "moqt://r2/" }, 0));
    for (const timeout of [-1, 0.5, Number.NaN, 2 ** 60]) {
      assertMisuse("OUT_OF_PLACE", () => client.core.goaway({ timeout }, 0));
    }
    client.take(client.core.goaway({}, 0));
  });

  test("of draft 18 names the first request that was not seen", () => {
    const none = readyServer({ draft: 18 });
    none.take(none.core.goaway({}, 0));
    assert.equal(none.sent(-1), "af000000100003000000");
    const driven = readyServer({ draft: 18 });
    for (const id of [0n, 6n]) driven.request(requestBytes("SUBSCRIBE", id, 18));
    driven.take(driven.core.goaway({}, 0));
    assert.equal(driven.sent(-1), "af000000100003000008");
    const client = readyClient({ draft: 18 });
    client.take(client.core.goaway({}, 0));
    assert.equal(client.sent(-1), "af000000100003000001");
  });

  test("refuses requests that come afterwards with GOING_AWAY", () => {
    for (const draft of allDrafts) {
      const driven = readyServer({ draft });
      const before = driven.request(requestBytes("SUBSCRIBE", 0n, draft));
      driven.take(driven.core.goaway({}, 0));
      const after = driven.request(requestBytes("SUBSCRIBE", 2n, draft));
      assert.match(driven.sent(after), /^05[0-9a-f]{4}0600.* fin$/);
      assert.equal(driven.eventsOf("request").length, 1);
      assert.equal(driven.core.openRequests, 1);
      assert.equal(driven.sent(before), "");
      assert.ok(driven.ask(smallest.SUBSCRIBE(draft)));
    }
  });

  test("closes the session at its timeout where requests are open", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE", 0n));
    driven.take(driven.core.goaway({ timeout: 100 }, 0));
    assert.equal(driven.core.nextTimeout, 100);
    driven.wait(99);
    assert.equal(driven.closed, undefined);
    driven.wait(1);
    assert.equal(driven.closed, "GOAWAY_TIMEOUT");
    const idle = readyServer();
    idle.request(requestBytes("SUBSCRIBE", 0n));
    idle.take(idle.core.goaway({ timeout: 100 }, 0));
    idle.reset(request);
    idle.wait(100);
    assert.equal(idle.closed, "NO_ERROR");
  });
});

describe("GOAWAY on a request stream", () => {
  test("is told for that request alone", () => {
    for (const draft of allDrafts) {
      const bytes = hex("10000d0a6d6f71743a2f2f72322f9388");
      withEveryCut(bytes.length, (cut) => {
        const driven = readyClient({ draft });
        const request = driven.ask(smallest.FETCH(draft));
        driven.feed(request, bytes, false, cut);
        assert.deepEqual(driven.last("requestGoaway"), {
          type: "requestGoaway",
          request,
          newSessionUri: "moqt://r2/",
          timeout: 5000n,
        });
        assert.deepEqual(driven.eventsOf("goaway"), []);
        assert.ok(driven.ask(smallest.FETCH(draft)));
      });
    }
  });

  test("closes the session when it comes again [GA-02]", () => {
    const driven = readyClient();
    const request = driven.ask(smallest.FETCH(22));
    driven.feed(request, vector("ga")).feed(request, vector("ga"));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("with a URI closes the session where it comes from a client [GA-01]", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE", 0n));
    driven.feed(request, vector("ga-client-uri"));
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("has no Request ID in draft 18 either", () => {
    const driven = readyClient({ draft: 18 });
    driven.feed(driven.ask(smallest.FETCH(18)), "100003000004");
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("of ours goes once, and resets the request at its timeout", () => {
    for (const draft of allDrafts) {
      const driven = readyServer({ draft });
      const request = driven.request(requestBytes("PUBLISH_NAMESPACE", 0n, draft));
      driven.take(driven.core.send(request, ok, 0));
      const details = { newSessionUri: "moqt://r2/", timeout: 5000 };
      driven.take(driven.core.requestGoaway(request, details, 0));
      assert.equal(driven.sent(request), "0700010010000d0a6d6f71743a2f2f72322f9388");
      assertMisuse("OUT_OF_PLACE", () => driven.core.requestGoaway(request, {}, 0));
      assert.equal(driven.core.nextTimeout, 5000);
      driven.wait(5000);
      assert.deepEqual(driven.cuts(request), ["reset 4", "stop 4"]);
      assert.equal(driven.last("requestCancelled").cause, "GOAWAY_TIMEOUT");
      assert.equal(driven.closed, undefined);
      assert.equal(driven.core.nextTimeout, undefined);
    }
  });

  test("of ours is over with its request", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE", 0n));
    driven.take(driven.core.requestGoaway(request, { timeout: 100 }, 0));
    driven.reset(request);
    assert.equal(driven.core.nextTimeout, undefined);
    assert.deepEqual(driven.core.requestGoaway(request, {}, 0), []);
  });

  test("of ours cannot come before the answer to a prefix request, nor name a URI to a server", () => {
    const driven = readyServer();
    const request = driven.request(requestBytes("SUBSCRIBE_TRACKS", 0n));
    assertMisuse("OUT_OF_PLACE", () => driven.core.requestGoaway(request, {}, 0));
    const client = readyClient();
    const own = client.ask(smallest.SUBSCRIBE(22));
    const details = { newSessionUri: "moqt://r2/" };
    assertMisuse("OUT_OF_PLACE", () => client.core.requestGoaway(own, details, 0));
    client.take(client.core.requestGoaway(own, {}, 0));
  });
});
