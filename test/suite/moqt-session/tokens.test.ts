import assert from "node:assert/strict";
import { describe, test } from "#test";
import { toHex, utf8 } from "../../../src/bytes.ts";
import type { MessageParameter, RequestError, Token } from "../../../src/moqt/mod.ts";
import { hasRepeatedToken, TokenCache } from "../../../src/moqt/session/token-cache.ts";
import { assertCloses } from "../moqt/support.ts";
import {
  allDrafts,
  assertMisuse,
  type Driven,
  hex,
  readyClient,
  readyServer,
  requestBytes,
  smallest,
  vector,
  withEveryCut,
} from "./support.ts";

const secret = { tokenType: 0n, tokenValue: utf8("secret") };
const other = { tokenType: 0n, tokenValue: utf8("other") };
const refusal: RequestError = {
  type: "REQUEST_ERROR",
  errorCode: 0x10n,
  retryInterval: 0n,
  errorReason: "",
};

/** A server that keeps `bytes` of tokens. */
function serverWithCache(bytes: bigint, draft: 18 | 19 | 20 | 21 | 22 = 22): Driven {
  return readyServer({
    draft,
    setupOptions: [{ type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: bytes }],
  });
}

function parametersOf(...tokens: Token[]): MessageParameter[] {
  return tokens.map((token) => ({ type: "AUTHORIZATION_TOKEN", token }));
}

/** A request of the peer with these tokens. */
function ask(driven: Driven, requestId: bigint, ...tokens: Token[]): number {
  const parameters = parametersOf(...tokens);
  return driven.request(
    requestBytes("SUBSCRIBE_NAMESPACE", requestId, driven.draft, { parameters }),
  );
}

function valuesOf(driven: Driven): string[] {
  return driven.last("request").tokens.map(({ tokenValue }) => toHex(tokenValue));
}

const register = (alias: bigint, token = secret): Token => ({
  aliasType: "REGISTER",
  alias,
  ...token,
});
const use = (alias: bigint): Token => ({ aliasType: "USE_ALIAS", alias });
const remove = (alias: bigint): Token => ({ aliasType: "DELETE", alias });
const value = (token = secret): Token => ({ aliasType: "USE_VALUE", ...token });

describe("a token of a request", () => {
  test("is told by value, whether it came so or by its alias", () => {
    for (const draft of allDrafts) {
      const driven = serverWithCache(1000n, draft);
      ask(driven, 0n, register(5n), value(other));
      assert.deepEqual(valuesOf(driven), [toHex(utf8("secret")), toHex(utf8("other"))]);
      ask(driven, 2n, use(5n));
      assert.deepEqual(valuesOf(driven), [toHex(utf8("secret"))]);
      ask(driven, 4n, remove(5n));
      assert.deepEqual(valuesOf(driven), []);
    }
  });

  test("that registers an alias without room closes the session [RQ-14]", () => {
    for (const draft of allDrafts) {
      const bytes = hex(vector("auth-reg"));
      withEveryCut(bytes.length, (cut) => {
        const driven = readyServer({ draft });
        driven.request(bytes, false, cut);
        assert.equal(driven.closed, "AUTH_TOKEN_CACHE_OVERFLOW");
      });
      // 16 bytes for the token, and 12 for its value.
      const exact = serverWithCache(28n, draft);
      exact.request(vector("auth-reg"));
      assert.equal(exact.closed, undefined);
      const short = serverWithCache(27n, draft);
      short.request(vector("auth-reg"));
      assert.equal(short.closed, "AUTH_TOKEN_CACHE_OVERFLOW");
    }
  });

  test("is registered although its request is refused [RQ-14] [LB-S40]", () => {
    for (const draft of allDrafts) {
      const driven = serverWithCache(100n, draft);
      const request = driven.request(vector("auth-reg"));
      driven.take(driven.core.refuse(request, refusal, 0));
      ask(driven, 2n, use(0n));
      assert.deepEqual(valuesOf(driven), [toHex(utf8("secret-token"))]);
    }
  });

  test("is registered although the core refuses its request [LB-S40]", () => {
    const driven = readyServer({
      limits: { requests: 0 },
      setupOptions: [{ type: "MAX_AUTH_TOKEN_CACHE_SIZE", value: 100n }],
    });
    ask(driven, 0n, register(1n));
    ask(driven, 2n, register(1n));
    assert.equal(driven.closed, "DUPLICATE_AUTH_TOKEN_ALIAS");
  });

  test("that registers a live alias closes the session [RQ-15]", () => {
    for (const draft of allDrafts) {
      const driven = serverWithCache(1000n, draft);
      driven.request(vector("auth-reg"));
      ask(driven, 2n, register(0n, other));
      assert.equal(driven.closed, "DUPLICATE_AUTH_TOKEN_ALIAS");
    }
  });

  test("by an alias that nobody registered closes the session", () => {
    for (const token of [use(5n), remove(5n)]) {
      const driven = serverWithCache(1000n);
      ask(driven, 0n, token);
      assert.equal(driven.closed, "UNKNOWN_AUTH_TOKEN_ALIAS");
    }
  });

  test("that is the same twice, after aliases, is refused, and the session lives", () => {
    for (const tokens of [
      [value(), value()],
      [register(1n), use(1n)],
      [register(1n), value(other), value()],
    ]) {
      const driven = serverWithCache(1000n);
      const request = ask(driven, 0n, ...tokens);
      assert.match(driven.sent(request), /^05[0-9a-f]{4}0400.* fin$/);
      assert.deepEqual(driven.eventsOf("request"), []);
      assert.equal(driven.closed, undefined);
    }
    const driven = serverWithCache(1000n);
    ask(driven, 0n, value(), value({ ...secret, tokenType: 1n }), value(other));
    assert.equal(driven.eventsOf("request").length, 1);
  });

  test("of an update is told too, and may not be there twice", () => {
    const driven = serverWithCache(1000n);
    const request = ask(driven, 0n, register(1n));
    const update = (requestId: bigint, ...tokens: Token[]) =>
      driven.say(request, {
        type: "REQUEST_UPDATE",
        requestId,
        parameters: parametersOf(...tokens),
      });
    update(2n, use(1n));
    assert.deepEqual(driven.last("requestMessage").tokens, [secret]);
    update(4n, use(1n), value());
    assert.equal(driven.closed, "MALFORMED_AUTH_TOKEN");
  });
});

describe("a token of ours", () => {
  const subscribe = (...tokens: Token[]) => ({
    ...smallest.SUBSCRIBE_NAMESPACE(22),
    parameters: parametersOf(...tokens),
  });

  test("is registered only where the peer has room", () => {
    const early = readyClient();
    assertMisuse("TOKEN_CACHE", () => early.ask(subscribe(register(1n))));
    early.ask(subscribe(value()));
    const driven = readyClient({}, "af0000020416");
    driven.ask(subscribe(register(1n)));
    driven.ask(subscribe(use(1n)));
    assertMisuse("TOKEN_CACHE", () => driven.ask(subscribe(register(2n))));
    assertMisuse("TOKEN_CACHE", () => driven.ask(subscribe(use(2n))));
    driven.ask(subscribe(remove(1n)));
    driven.ask(subscribe(register(2n)));
  });

  test("that does not go out registers nothing, and uses no Request ID", () => {
    const driven = readyClient({}, "af0000020440");
    assertMisuse("TOKEN_CACHE", () => driven.ask(subscribe(register(1n), use(9n))));
    const first = driven.core.request(subscribe(register(1n)), 0);
    assert.equal(first.requestId, 0n);
  });

  test("of SETUP is known by its alias as far as the peer has room", () => {
    const driven = readyClient(
      {
        setupOptions: [
          { type: "AUTHORIZATION_TOKEN", token: register(1n) },
          { type: "AUTHORIZATION_TOKEN", token: register(2n) },
        ],
      },
      "af0000020416",
    );
    driven.ask(subscribe(use(1n)));
    assertMisuse("TOKEN_CACHE", () => driven.ask(subscribe(use(2n))));
  });
});

describe("TokenCache", () => {
  test("counts 16 bytes more than the value for each token, until it is deleted", () => {
    const cache = new TokenCache(100n);
    cache.resolve(register(1n));
    assert.equal(cache.bytes, 22);
    cache.resolve(register(2n, other));
    assert.equal(cache.bytes, 43);
    cache.resolve(remove(1n));
    assert.equal(cache.bytes, 21);
    cache.resolve(use(2n));
    cache.resolve(value());
    assert.equal(cache.bytes, 21);
  });

  test("keeps a copy of the value, not the message that it came in", () => {
    const message = new Uint8Array(60_000);
    const cache = new TokenCache(100n);
    cache.resolve(register(1n, { tokenType: 0n, tokenValue: message.subarray(5, 9) }));
    const kept = cache.resolve(use(1n));
    assert.equal(kept?.tokenValue.buffer.byteLength, 4);
  });

  test("tells no secret when it refuses", () => {
    const cache = new TokenCache(10n);
    assert.throws(() => cache.resolve(register(1n)), { message: /^((?!secret).)*$/ });
    assertCloses("AUTH_TOKEN_CACHE_OVERFLOW", () => cache.resolve(register(1n)));
  });

  test("finds a repeated token among thousands", () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({
      tokenType: 0n,
      tokenValue: Uint8Array.of(index >> 8, index & 0xff),
    }));
    assert.equal(hasRepeatedToken(many), false);
    assert.equal(hasRepeatedToken([...many, many[77] as (typeof many)[0]]), true);
  });
});
