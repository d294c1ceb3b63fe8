import assert from "node:assert/strict";
import { Hono } from "hono";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import type { AuthorizationRequest } from "../../../src/moq-lb/mod.ts";
import {
  draftName,
  encodeControlMessage,
  type MessageParameter,
  type RequestErrorName,
  requestErrorCodes,
  type Token,
} from "../../../src/moqt/mod.ts";
import { allDrafts, hex } from "../moqt/support.ts";
import { vector } from "../moqt/vectors.ts";
import { activate, fields, request, requestTypes, snapshotOf } from "../routing/fixtures.ts";
import {
  answerIn,
  appOf,
  endless,
  post,
  postStream,
  problemOf,
  stalled,
  subscribe,
} from "./fixtures.ts";

describe("POST /moqt/:draft", () => {
  test("answers a request with the REQUEST_ERROR that a session would get, in every draft [RD-01]", async () => {
    for (const draft of allDrafts) {
      const answer = await answerIn(await post(appOf(), subscribe, { draft: draftName(draft) }));
      assert.deepEqual(answer, {
        type: "REQUEST_ERROR",
        errorCode: 0x34n,
        retryInterval: 0n,
        errorReason: "",
        redirect: {
          connectUri: "https://r2.example/moq",
          trackNamespace: fields("example.com", "m1"),
          trackName: utf8("video"),
        },
      });
    }
  });

  test("answers rejections with 200 too: HTTP worked", async () => {
    const answer = await answerIn(await post(appOf(), hex(vector("ts"))));
    assert.equal(answer.errorCode, requestErrorCodes.DOES_NOT_EXIST);
  });

  test("answers each request that is rejected with one REQUEST_ERROR and nothing after it [LB-REJECT-1]", async () => {
    const refusing = { name: "nobody", authorize: () => false };
    const apps: [Hono, RequestErrorName][] = [
      [appOf({}, activate(snapshotOf([]))), "DOES_NOT_EXIST"],
      [appOf({ authorization: refusing }), "UNAUTHORIZED"],
      [appOf({ holder: { active: undefined } }), "INTERNAL_ERROR"],
      [appOf({ rateLimit: () => false, clientOf: () => "" }), "EXCESSIVE_LOAD"],
    ];
    for (const [app, code] of apps) {
      for (const type of requestTypes) {
        const asked = encodeControlMessage(request(type, fields("example.com", "m1")), 22);
        // `answerIn` takes exactly one message.
        const answer = await answerIn(await post(app, asked));
        const offered = type === "PUBLISH" || type === "PUBLISH_NAMESPACE";
        const expected = code === "DOES_NOT_EXIST" && offered ? "UNINTERESTED" : code;
        assert.equal(answer.errorCode, requestErrorCodes[expected], type);
        assert.equal(answer.redirect, undefined);
      }
    }
  });

  test("reads the body by the rules of the draft in the path [RQ-19]", async () => {
    const fetch20 = hex(vector("fetch20"));
    await answerIn(await post(appOf(), fetch20, { draft: "moqt-20" }));
    const wrong = await post(appOf(), fetch20, { draft: "moqt-18" });
    await problemOf(wrong, 400, "PROTOCOL_VIOLATION");
  });

  test("names the session error where a session would be closed, with the place [RQ-01]", async () => {
    const faults: [string, string][] = [
      ["rid-odd", "INVALID_REQUEST_ID"],
      ["ns-emptyfield", "PROTOCOL_VIOLATION"],
      ["ns-short", "PROTOCOL_VIOLATION"],
      ["prefix-4097", "PROTOCOL_VIOLATION"],
      ["sub-trailing", "PROTOCOL_VIOLATION"],
      ["param-unknown", "PROTOCOL_VIOLATION"],
      ["type-unknown", "PROTOCOL_VIOLATION"],
      ["ga", "PROTOCOL_VIOLATION"],
      ["setup-right", "PROTOCOL_VIOLATION"],
      ["rd-sub", "PROTOCOL_VIOLATION"],
      ["auth-reg", "AUTH_TOKEN_CACHE_OVERFLOW"],
    ];
    for (const [id, code] of faults) {
      await problemOf(await post(appOf(), hex(vector(id))), 400, code);
    }
    const { offset } = await problemOf(
      await post(appOf(), hex("03000a0001006c697665017600")),
      400,
      "PROTOCOL_VIOLATION",
    );
    assert.equal(typeof offset, "number");
  });

  test("takes exactly one message: nothing, a part and two are refused", async () => {
    const double = new Uint8Array([...subscribe, ...subscribe]);
    for (const body of [new Uint8Array(), subscribe.slice(0, -1), double]) {
      await problemOf(await post(appOf(), body), 400, "PROTOCOL_VIOLATION");
    }
  });

  test("names in a namespace what MOQT allows [NS-02] [NS-06] [NS-09]", async () => {
    for (const id of ["ns-32", "ftn-4096", "ns-nonutf8"]) {
      const answer = await answerIn(await post(appOf(), hex(vector(id))));
      assert.equal(answer.errorCode, requestErrorCodes.DOES_NOT_EXIST, id);
    }
  });
});

describe("what POST /moqt/:draft refuses", () => {
  test("drafts that it does not speak: 404", async () => {
    for (const draft of ["moqt-17", "moqt-23", "moqt-022", "MOQT-22", "22", "h3", "moqt-22%20"]) {
      await problemOf(await post(appOf(), subscribe, { draft }), 404, "UNKNOWN_DRAFT");
    }
    const only22 = appOf({ drafts: [22] });
    await problemOf(await post(only22, subscribe, { draft: "moqt-21" }), 404, "UNKNOWN_DRAFT");
    await answerIn(await post(only22, subscribe));
  });

  test("other media types: 415, and which it takes", async () => {
    for (const type of ["text/plain", "application/octet-streams", "application/json", ""]) {
      const response = await post(appOf(), subscribe, { headers: { "content-type": type } });
      assert.equal(response.headers.get("accept"), "application/octet-stream");
      await problemOf(response, 415, "UNSUPPORTED_MEDIA_TYPE");
    }
    const untyped = await appOf().request("/moqt/moqt-22", {
      method: "POST",
      body: subscribe as Uint8Array<ArrayBuffer>,
    });
    await problemOf(untyped, 415, "UNSUPPORTED_MEDIA_TYPE");
    const parameters = [";", "; charset=binary", " ;x=y", "\t;x=y", " \t ; x=y", "\t"];
    for (const type of [
      "Application/Octet-Stream",
      ...parameters.map((parameter) => `application/octet-stream${parameter}`),
    ]) {
      await answerIn(await post(appOf(), subscribe, { headers: { "content-type": type } }));
    }
  });

  test("bodies in a content coding: 415, and that it takes none", async () => {
    for (const coding of ["gzip", "br", "identity, gzip", "x-unknown", "identity;q=1"]) {
      const response = await post(appOf(), subscribe, { headers: { "content-encoding": coding } });
      assert.equal(response.headers.get("accept-encoding"), "identity");
      await problemOf(response, 415, "UNSUPPORTED_CONTENT_ENCODING");
    }
    for (const coding of ["identity", "Identity", ""]) {
      await answerIn(await post(appOf(), subscribe, { headers: { "content-encoding": coding } }));
    }
  });

  test("other methods: 405, and which it takes", async () => {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"]) {
      const response = await appOf().request("/moqt/moqt-22", { method });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get("allow"), "POST");
      assert.equal(response.headers.get("content-type"), "application/problem+json");
    }
  });

  test("bodies over the limit by their declared length, before any of it is read: 413 [LB-SEC-26]", async () => {
    const { body, chunks } = endless();
    const response = await postStream(appOf(), body, { "content-length": "65547" });
    await problemOf(response, 413, "CONTENT_TOO_LARGE");
    assert.equal(chunks(), 0);
  });

  test("bodies over the limit that declare no length, at the chunk that exceeds it: 413 [LB-SEC-26]", async () => {
    const { body, chunks } = endless();
    const response = await postStream(appOf({ maximumBodySize: 4096 }), body);
    await problemOf(response, 413, "CONTENT_TOO_LARGE");
    // Runtimes may read a chunk ahead.
    assert.ok(chunks() <= 6, `${chunks()} chunks`);
  });

  test("lengths that are no number: 413", async () => {
    for (const length of ["x", "1e9", "-"]) {
      const response = await post(appOf(), subscribe, { headers: { "content-length": length } });
      assert.equal(response.status, 413, length);
    }
  });

  test("bodies that break off: 400", async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(subscribe.slice(0, 5));
      },
      pull(controller) {
        controller.error(new Error("connection reset"));
      },
    });
    const response = await postStream(appOf(), body);
    await problemOf(response, 400, "INCOMPLETE_BODY");
  });

  test("bodies that end before their declared length: 400", async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(subscribe);
        controller.close();
      },
    });
    const declared = { "content-length": String(subscribe.length + 1) };
    await problemOf(await postStream(appOf(), body, declared), 400, "INCOMPLETE_BODY");
  });

  test("bodies that another reader has taken hold of: 400", async () => {
    const { body } = stalled(subscribe);
    const request = new Request("http://lb.example/moqt/moqt-22", {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body,
      duplex: "half",
    } as RequestInit);
    request.body?.getReader();
    await problemOf(await appOf().fetch(request), 400, "INCOMPLETE_BODY");
  });

  test("bodies that do not arrive in time: 408, and the rest is not waited for [LB-SEC-33]", async () => {
    const app = appOf({ bodyTimeout: 5 });
    const endless = stalled(subscribe);
    const response = await postStream(app, endless.body);
    assert.equal(response.headers.get("connection"), "close");
    await problemOf(response, 408, "REQUEST_TIMEOUT");
    assert.ok(endless.cancelled);
    // The declared length is never reached.
    const short = stalled(subscribe).body;
    const declared = { "content-length": String(subscribe.length) };
    await problemOf(await postStream(app, short, declared), 408, "REQUEST_TIMEOUT");
    // A body that trickles in gains no time by it.
    const trickle = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        controller.enqueue(new Uint8Array(1));
      },
    });
    await problemOf(await postStream(app, trickle), 408, "REQUEST_TIMEOUT");
  });

  test("more bodies at a time than it reads: 503 with a time to come back, unread [LB-SEC-33] [LB-REJECT-8]", async () => {
    const app = appOf({ maximumPending: 2, retryAfter: 2001, random: () => 0.5 });
    const slow = [stalled(subscribe), stalled(subscribe)];
    const waiting = slow.map(({ body }) => postStream(app, body));
    const { body, chunks } = endless();
    const response = await postStream(app, body);
    assert.equal(response.headers.get("retry-after"), "3");
    const problem = await problemOf(response, 503, "EXCESSIVE_LOAD");
    assert.equal(problem.retryInterval, 2002);
    assert.equal(chunks(), 0);
    // What needs no body goes on, and a body that has arrived makes room.
    assert.equal((await app.request("/redirect/subscribe/example.2ecom-m1--v")).status, 307);
    slow[0]?.finish();
    assert.ok((await answerIn(await (waiting[0] as Promise<Response>))).redirect);
    const next = postStream(app, stalled(subscribe).body, { "content-length": "70000" });
    await problemOf(await next, 413, "CONTENT_TOO_LARGE");
    assert.ok((await answerIn(await post(app, subscribe))).redirect);
    slow[1]?.finish();
    assert.ok((await answerIn(await (waiting[1] as Promise<Response>))).redirect);
  });

  test("the largest control message fits, in any length of its type", async () => {
    // 65,535 bytes of body; a type in nine bytes. What it holds is nonsense, not too large.
    const largest = new Uint8Array(9 + 2 + 65_535);
    largest.set([0xff, 0, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff]);
    await problemOf(await post(appOf(), largest), 400, "PROTOCOL_VIOLATION");
    const larger = new Uint8Array(largest.length + 1);
    await problemOf(await post(appOf(), larger), 413, "CONTENT_TOO_LARGE");
  });
});

describe("bodies", () => {
  test("in pieces are put together", async () => {
    const pieces = [...subscribe].map((byte) => new Uint8Array([byte]));
    pieces.push(new Uint8Array());
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    const response = await postStream(appOf(), body);
    assert.equal((await answerIn(response)).errorCode, requestErrorCodes.REDIRECT);
  });

  test("of more than a kibibyte are put together too", async () => {
    const long = encodeControlMessage(
      request("SUBSCRIBE", [utf8("example.com"), new Uint8Array(3000).fill(97)], utf8("v")),
      22,
    );
    const answer = await answerIn(await post(appOf(), long));
    assert.equal(answer.redirect?.trackNamespace[1]?.length, 3000);
  });

  test("that another middleware has read are still there", async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.arrayBuffer();
      await next();
    });
    app.route("/", appOf());
    assert.ok((await answerIn(await post(app, subscribe))).redirect);
  });
});

describe("who asks", () => {
  const parameters = (...tokens: Token[]): MessageParameter[] =>
    tokens.map((token) => ({ type: "AUTHORIZATION_TOKEN", token }));

  async function questionOf(
    body: Uint8Array,
    headers: Record<string, string> = {},
  ): Promise<AuthorizationRequest> {
    const seen: AuthorizationRequest[] = [];
    const app = appOf({
      authorization: { name: "spy", authorize: (question) => seen.push(question) > 0 },
      tenantOf: (c) => c.req.header("x-tenant"),
    });
    await answerIn(await post(app, body, { headers }));
    assert.equal(seen.length, 1);
    return seen[0] as AuthorizationRequest;
  }

  test("is told to the policy by bearer token, MOQT tokens, authority and tenant", async () => {
    const asked = {
      ...request("TRACK_STATUS", fields("a"), utf8("t")),
      parameters: parameters(
        { aliasType: "USE_VALUE", tokenType: 0n, tokenValue: utf8("one") },
        { aliasType: "USE_VALUE", tokenType: 9n, tokenValue: utf8("two") },
      ),
    };
    const question = await questionOf(encodeControlMessage(asked, 22), {
      authorization: "Bearer abc.def-_~+/==",
      "x-tenant": "blue",
    });
    assert.equal(question.operation, "track-status");
    assert.equal(question.bearerToken, "abc.def-_~+/==");
    assert.deepEqual(
      question.tokens.map(({ tokenType, tokenValue }) => [tokenType, tokenValue]),
      [
        [0n, utf8("one")],
        [9n, utf8("two")],
      ],
    );
    assert.equal(question.authority, "localhost");
    assert.equal(question.tenant, "blue");
  });

  test("has no bearer token where the field is something else", async () => {
    for (const authorization of ["Basic abc", "Bearer", "Bearer a b", "Bearer a,b", "bearerabc"]) {
      assert.equal((await questionOf(subscribe, { authorization })).bearerToken, undefined);
    }
    assert.equal((await questionOf(subscribe)).bearerToken, undefined);
    assert.equal((await questionOf(subscribe, { authorization: "bEaReR x" })).bearerToken, "x");
  });

  test("cannot refer to a token by alias: there is no session [RQ-14]", async () => {
    const withToken = (token: Token) =>
      encodeControlMessage(
        { ...request("SUBSCRIBE", fields("a"), utf8("t")), parameters: parameters(token) },
        22,
      );
    for (const aliasType of ["USE_ALIAS", "DELETE"] as const) {
      const response = await post(appOf(), withToken({ aliasType, alias: 0n }));
      await problemOf(response, 400, "UNKNOWN_AUTH_TOKEN_ALIAS");
    }
    const value = { tokenType: 0n, tokenValue: utf8("s3cr3t-marker") };
    const response = await post(appOf(), withToken({ aliasType: "REGISTER", alias: 0n, ...value }));
    const problem = await problemOf(response, 400, "AUTH_TOKEN_CACHE_OVERFLOW");
    assert.ok(!JSON.stringify(problem).includes("s3cr3t"));
  });

  test("is limited by what clientOf says [LB-REJECT-8]", async () => {
    const app = appOf({
      rateLimit: (client) => client !== "noisy",
      clientOf: (c) => c.req.header("x-client") ?? "",
    });
    const codes = await Promise.all(
      ["noisy", "calm"].map(
        async (client) =>
          (await answerIn(await post(app, subscribe, { headers: { "x-client": client } })))
            .errorCode,
      ),
    );
    assert.deepEqual(codes, [requestErrorCodes.EXCESSIVE_LOAD, requestErrorCodes.REDIRECT]);
  });
});
