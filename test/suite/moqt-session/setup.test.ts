import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "#test";
import { concatBytes, toHex, utf8 } from "../../../src/bytes.ts";
import {
  encodeControlMessage,
  greaseSetupOption,
  isGrease,
  SessionCore,
  type SetupOption,
} from "../../../src/moqt/mod.ts";
import {
  allDrafts,
  assertMisuse,
  type Cut,
  cutAt,
  Driven,
  emptySetup,
  hex,
  readyServer,
  requestBytes,
  resetCode,
  smallest,
  vector,
  whole,
  withEveryCut,
} from "./support.ts";

function setupOf(...options: SetupOption[]): Uint8Array {
  return encodeControlMessage({ type: "SETUP", options }, 22);
}

describe("SETUP", () => {
  test("is the first thing on our control stream, without waiting for the peer's", () => {
    for (const draft of allDrafts) {
      const setupOptions = [{ type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 1024n }] as const;
      const driven = new Driven({ draft, setupOptions });
      assert.deepEqual(driven.actions[0], { type: "open", stream: -1, kind: "uni" });
      assert.equal(driven.sent(-1), "af000003048400");
      assert.equal(driven.actions.length, 2);
    }
  });

  test("of the peer is told once, with what it means for us", () => {
    const options: SetupOption[] = [
      { type: "PATH", value: "/moq?x=1" },
      { type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 500n },
      { type: "AUTHORITY", value: "lb:4443" },
      { type: "MAX_FILTER_RANGES", value: 9n },
      { type: "MOQT_IMPLEMENTATION", value: "peer" },
      { type: "MAX_REQUEST_UPDATES", value: 3n },
    ];
    const bytes = setupOf(...options);
    withEveryCut(bytes.length, (cut) => {
      const driven = new Driven();
      driven.setup(bytes, cut);
      assert.deepEqual(driven.eventsOf("setup"), [
        {
          type: "setup",
          setup: {
            options,
            path: "/moq?x=1",
            authority: "lb:4443",
            implementation: "peer",
            tokens: [],
            maxAuthTokenCacheSize: 500n,
            maxFilterRanges: 9n,
            maxRequestUpdates: 3n,
          },
        },
      ]);
      assert.equal(driven.core.nextTimeout, undefined);
    });
  });

  test("without an option means its default, 0", () => {
    const { setup } = readyServer().last("setup");
    assert.deepEqual(setup, {
      options: [],
      tokens: [],
      maxAuthTokenCacheSize: 0n,
      maxFilterRanges: 0n,
      maxRequestUpdates: 0n,
    });
  });

  test("may have unknown options, and the same one twice [SU-01]", () => {
    for (const draft of allDrafts) {
      for (const bytes of [vector("setup-unknown"), "af000007809d0200ff7f07"]) {
        const driven = new Driven({ draft });
        driven.setup(bytes);
        assert.equal(driven.closed, undefined);
        assert.equal(driven.eventsOf("setup").length, 1);
        const request = driven.request(requestBytes("SUBSCRIBE", 0n, draft));
        assert.equal(driven.last("request").request, request);
      }
    }
  });

  test("may be encoded with a longer type than needed", () => {
    const driven = new Driven();
    driven.setup("c02f000000");
    assert.equal(driven.eventsOf("setup").length, 1);
  });

  test("that says a path or an authority over WebTransport closes the session [SU-03]", () => {
    for (const draft of allDrafts) {
      for (const [id, code] of [
        ["setup-path", "INVALID_PATH"],
        ["setup-auth", "INVALID_AUTHORITY"],
      ] as const) {
        withEveryCut(hex(vector(id)).length, (cut) => {
          const driven = new Driven({ draft, transport: "webtransport" });
          driven.setup(vector(id), cut);
          assert.equal(driven.closed, code);
          assert.equal(driven.eventsOf("setup").length, 0);
        });
        const server = new Driven({ draft });
        server.setup(vector(id));
        assert.equal(server.closed, undefined, "raw QUIC");
        const client = new Driven({ draft, role: "client" });
        client.setup(vector(id));
        assert.equal(client.closed, code, "from a server");
      }
    }
  });

  test("has the path with its query, and the authority, on raw QUIC [SU-04]", () => {
    const driven = new Driven();
    driven.setup(vector("setup-pathq"));
    const { setup } = driven.last("setup");
    assert.equal(setup.path, "/moq?x=1");
    assert.equal(setup.authority, "lb:4443");
  });

  test("is judged by the application before anything of the peer counts [SU-05]", () => {
    for (const draft of allDrafts) {
      const driven = new Driven({
        draft,
        judgeSetup: ({ path }) =>
          path === "/nope" ? { code: "INVALID_PATH", reason: "no service there" } : undefined,
      });
      driven.request(requestBytes("SUBSCRIBE", 0n, draft));
      driven.setup(setupOf({ type: "PATH", value: "/nope" }));
      assert.equal(driven.closed, "INVALID_PATH");
      assert.deepEqual(driven.events, []);
    }
  });

  test("with a path or authority that is no part of a URI closes the session", () => {
    for (const value of ["nope", "/a b", "/%4", "/%zz", "/a#b", "/\u{1f600}", "?a?b#", "/[a]"]) {
      const driven = new Driven();
      driven.setup(setupOf({ type: "PATH", value }));
      assert.equal(driven.closed, "MALFORMED_PATH", value);
    }
    for (const value of ["", ":443", "a b", "host:http", "[::1", "[x]", "a/b", "u@", "a@b@c"]) {
      const driven = new Driven();
      driven.setup(setupOf({ type: "AUTHORITY", value }));
      assert.equal(driven.closed, "MALFORMED_AUTHORITY", value);
    }
  });

  test("may have any path and authority that RFC 3986 allows", () => {
    for (const value of ["", "/", "//", "/a/b;c=d/e%2F~", "?q", "/a?b=/c?d", "/@:!$&'()*+,;="]) {
      const driven = new Driven();
      driven.setup(setupOf({ type: "PATH", value }));
      assert.equal(driven.closed, undefined, value);
      assert.equal(driven.last("setup").setup.path, value);
    }
    for (const value of [
      "a",
      "a:",
      "a.b:443",
      "u:p@h:1",
      "[::1]:4443",
      "[v1.x:y]",
      "%61",
      "192.0.2.1",
    ]) {
      const driven = new Driven();
      driven.setup(setupOf({ type: "AUTHORITY", value }));
      assert.equal(driven.closed, undefined, value);
    }
  });

  test("with a path that is not UTF-8 closes the session", () => {
    const driven = new Driven();
    driven.setup("af0000030101ff");
    assert.equal(driven.closed, "MALFORMED_PATH");
  });

  test("of ours cannot say what its role and transport forbid", () => {
    const path = { type: "PATH", value: "/x" } as const;
    const authority = { type: "AUTHORITY", value: "h" } as const;
    for (const setupOptions of [[path], [authority]]) {
      const options = { draft: 22, setupOptions } as const;
      assertMisuse("INVALID_OPTIONS", () => new Driven({ ...options, role: "server" }));
      assertMisuse(
        "INVALID_OPTIONS",
        () => new Driven({ ...options, role: "client", transport: "webtransport" }),
      );
      assert.ok(new Driven({ ...options, role: "client" }));
    }
  });

  test("of ours can carry limits only that make sense", () => {
    const core = { role: "server", draft: 22, transport: "quic" } as const;
    for (const limits of [{ requests: -1 }, { setupTime: Number.NaN }, { messageBytes: 65_547 }]) {
      assertMisuse("INVALID_OPTIONS", () => new SessionCore({ ...core, limits }));
    }
  });
});

describe("a Setup Option of ours that means nothing", () => {
  test("has a reserved type, and is ignored by the peer [SU-01]", () => {
    fc.assert(
      fc.property(
        fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
        (numbers) => {
          const option = greaseSetupOption(() => numbers.next().value as number);
          assert.ok(option.type === "UNKNOWN" && isGrease(option.optionType));
          const driven = new Driven();
          driven.setup(setupOf(option, { type: "MAX_REQUEST_UPDATES", value: 3n }));
          assert.equal(driven.last("setup").setup.maxRequestUpdates, 3n);
        },
      ),
    );
  });
});

describe("requests and data before SETUP", () => {
  const subscribe = requestBytes("SUBSCRIBE", 0n);

  test("wait until it is there, in the order of their streams [SU-07]", () => {
    for (const draft of allDrafts) {
      const bytes = requestBytes("SUBSCRIBE", 0n, draft);
      withEveryCut(bytes.length, (cut) => {
        const driven = new Driven({ draft });
        const first = driven.request(bytes, false, cut);
        const second = driven.request(requestBytes("FETCH", 2n, draft), true);
        const data = driven.open("uni");
        driven.feed(data, "05 04", true);
        assert.equal(driven.events.length, 0);
        assert.ok(driven.core.bufferedBytes > 0);
        driven.setup();
        assert.deepEqual(
          driven.events.map((event) => [event.type, "request" in event && event.request]),
          [
            ["setup", false],
            ["request", first],
            ["request", second],
            ["requestFinished", second],
            ["dataStream", false],
          ],
        );
        assert.equal(driven.closed, undefined);
        assert.equal(driven.core.bufferedBytes, 0);
      });
    }
  });

  test("may come in pieces around it [SU-07]", () => {
    for (let index = 0; index <= subscribe.length; index++) {
      const driven = new Driven();
      const [head, tail] = cutAt(index)(subscribe) as [Uint8Array, Uint8Array];
      const request = driven.request(head);
      driven.setup();
      assert.equal(driven.eventsOf("request").length, index === subscribe.length ? 1 : 0);
      driven.feed(request, tail);
      assert.equal(driven.eventsOf("request").length, 1);
    }
  });

  test("are refused where they exceed the buffer, and the session lives [SU-07]", () => {
    const driven = new Driven({ limits: { bufferedBytes: 40 } });
    const kept = driven.request(subscribe);
    const data = driven.open("uni");
    driven.feed(data, concatBytes(hex("1000000000"), new Uint8Array(30)));
    const refused = driven.request(concatBytes(subscribe, subscribe, subscribe));
    const code = resetCode("EXCESSIVE_LOAD");
    assert.deepEqual(driven.cuts(data), [`stop ${code}`]);
    assert.match(driven.sent(refused), /^05[0-9a-f]{4}09.* fin$/);
    assert.deepEqual(driven.cuts(refused), [`stop ${code}`]);
    assert.ok(driven.core.bufferedBytes <= 40);
    driven.setup();
    assert.equal(driven.last("request").request, kept);
    assert.equal(driven.closed, undefined);
  });

  test("are refused where there are too many streams, but for the control stream [SU-07]", () => {
    const driven = new Driven({ limits: { unreadStreams: 2 } });
    const requests = [0n, 2n, 4n].map((id) => driven.request(requestBytes("SUBSCRIBE", id)));
    const code = resetCode("EXCESSIVE_LOAD");
    const third = requests[2] as number;
    assert.match(driven.sent(third), /^05[0-9a-f]{4}09.* fin$/);
    assert.deepEqual(driven.cuts(third), [`stop ${code}`]);
    const data = driven.open("uni");
    driven.feed(data, "05");
    assert.deepEqual(driven.cuts(data), [`stop ${code}`]);
    driven.setup();
    assert.equal(driven.closed, undefined);
    assert.deepEqual(
      driven.eventsOf("request").map(({ request }) => request),
      requests.slice(0, 2),
    );
  });

  test("that are reset or stopped before it never count [SU-07] [RQ-10]", () => {
    const driven = new Driven();
    const reset = driven.request(subscribe);
    const stopped = driven.request(subscribe);
    driven.reset(reset).stop(stopped);
    assert.deepEqual(driven.cuts(reset), ["reset 1"]);
    assert.deepEqual(driven.cuts(stopped), ["reset 1", "stop 1"]);
    const third = driven.request(subscribe);
    driven.setup();
    assert.equal(driven.eventsOf("request").length, 1);
    assert.equal(driven.last("request").request, third);
  });

  test("drop datagrams, which may be lost", () => {
    const driven = new Driven();
    driven.take(driven.core.datagram(hex("000205018068690a"), 0));
    driven.setup();
    assert.deepEqual(driven.eventsOf("datagram"), []);
  });
});

describe("the control stream of the peer", () => {
  const every: readonly Cut[] = [whole, cutAt(1), cutAt(2), cutAt(3)];

  test("is the only one [SU-08]", () => {
    for (const draft of allDrafts) {
      for (const cut of every) {
        const driven = readyServer({ draft });
        driven.setup(emptySetup, cut);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      }
    }
  });

  test("has one SETUP [SU-08]", () => {
    for (const draft of allDrafts) {
      const bytes = concatBytes(emptySetup, emptySetup);
      withEveryCut(bytes.length, (cut) => {
        const driven = new Driven({ draft });
        driven.setup(bytes, cut);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      });
    }
  });

  test("carries no requests", () => {
    const driven = new Driven();
    const control = driven.setup();
    driven.feed(control, "03");
    assert.equal(driven.closed, "PROTOCOL_VIOLATION");
  });

  test("lives as long as the session [SU-09]", () => {
    for (const draft of allDrafts) {
      for (const end of ["finish", "reset"] as const) {
        const driven = new Driven({ draft });
        const control = driven.setup();
        driven[end](control);
        assert.equal(driven.closed, "PROTOCOL_VIOLATION");
      }
      const early = new Driven({ draft });
      early.feed(early.open("uni"), emptySetup, true);
      assert.equal(early.closed, "PROTOCOL_VIOLATION");
      const ours = readyServer({ draft });
      ours.stop(-1);
      assert.equal(ours.closed, "PROTOCOL_VIOLATION");
    }
  });

  test("that never comes closes the session when its time is over", () => {
    const driven = new Driven({ limits: { setupTime: 5000 } });
    assert.equal(driven.core.nextTimeout, 5000);
    driven.feed(driven.open("uni"), "af00");
    driven.wait(4999);
    assert.equal(driven.closed, undefined);
    driven.wait(1);
    assert.equal(driven.closed, "CONTROL_MESSAGE_TIMEOUT");
    assert.equal(driven.core.nextTimeout, undefined);
  });

  test("cannot be started twice, nor used before the start", () => {
    const driven = new Driven();
    assertMisuse("OUT_OF_PLACE", () => driven.core.start(0));
    const core = new SessionCore({ role: "client", draft: 22, transport: "quic" });
    assertMisuse("OUT_OF_PLACE", () => core.goaway({}, 0));
    assertMisuse("OUT_OF_PLACE", () => core.request(smallest.SUBSCRIBE(22), 0));
  });

  test("that the transport cannot open ends the session", () => {
    const driven = new Driven();
    driven.take(driven.core.streamOpenFailed(-1, 0));
    assert.equal(driven.closed, "INTERNAL_ERROR");
  });
});

describe("a token in SETUP", () => {
  const secret = utf8("secret");
  const register = (alias: bigint): SetupOption => ({
    type: "AUTHORIZATION_TOKEN",
    token: { aliasType: "REGISTER", alias, tokenType: 0n, tokenValue: secret },
  });

  test("counts by value where its alias has no room [RQ-14]", () => {
    const driven = new Driven();
    driven.setup(setupOf(register(1n), register(2n)));
    assert.equal(driven.closed, undefined);
    assert.deepEqual(
      driven.last("setup").setup.tokens.map(({ tokenValue }) => toHex(tokenValue)),
      [toHex(secret), toHex(secret)],
    );
  });

  test("registers one alias once [RQ-15]", () => {
    const driven = new Driven({
      setupOptions: [{ type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 22n }],
    });
    driven.setup(setupOf(register(1n), register(1n)));
    assert.equal(driven.closed, "DUPLICATE_AUTH_TOKEN_ALIAS");
  });
});
