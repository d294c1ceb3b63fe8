import assert from "node:assert/strict";
import { describe, test } from "#test";
import { utf8 } from "../../../src/bytes.ts";
import {
  type AuthorizationPolicy,
  type AuthorizationRequest,
  allowAll,
  ConfigurationError,
  createRedirector,
  type RateLimit,
  type RedirectorOptions,
  tokenBucket,
} from "../../../src/moq-lb/mod.ts";
import {
  activate,
  fields,
  now,
  pinned,
  request,
  requestTypes,
  snapshotOf,
} from "../routing/fixtures.ts";
import { answerTo, assertRejects, redirectorOf, rejectionOf, vectorSnapshot } from "./fixtures.ts";

const asked = request("SUBSCRIBE", fields("live"), utf8("v"));

function policy(authorize: AuthorizationPolicy["authorize"]): AuthorizationPolicy {
  return { name: "test", authorize };
}

/** What somebody without types may hand in as a hook. */
function untyped<Hook>(hook: () => unknown): Hook {
  return hook as Hook;
}

describe("order of checks", () => {
  test("an unauthorized request learns neither routes nor state, whatever its type [LB-S38] [LB-SEC-1] [LB-SEC-11] [LB-SEC-20] [LB-REJECT-7]", async () => {
    const states = [vectorSnapshot(), undefined, activate(snapshotOf([pinned("r1")]))];
    for (const active of states) {
      const redirector = redirectorOf(active, { authorization: policy(() => false) });
      for (const type of requestTypes) {
        for (const namespace of [fields("live"), fields("nowhere"), fields(".")]) {
          const answer = await answerTo(redirector, request(type, namespace));
          assertRejects(answer, "UNAUTHORIZED", "final");
        }
      }
    }
  });

  test("limits come before authorization", async () => {
    let questions = 0;
    const redirector = redirectorOf(vectorSnapshot(), {
      rateLimit: () => false,
      authorization: policy(() => {
        questions++;
        return true;
      }),
    });
    assertRejects(await answerTo(redirector, asked), "EXCESSIVE_LOAD", "retry");
    assert.equal(questions, 0);
  });
});

describe("authorization", () => {
  test("sees operation, name, tokens, authority and tenant of each request", async () => {
    const seen: AuthorizationRequest[] = [];
    const redirector = redirectorOf(vectorSnapshot(), {
      authorization: policy((question) => seen.push(question) > 0),
    });
    const tokens = [{ tokenType: 0n, tokenValue: utf8("t") }];
    const requester = { bearerToken: "b", tokens, authority: "lb.example", tenant: "a" };
    await redirector.decide(asked, 22, requester);
    await redirector.decide(request("SUBSCRIBE_TRACKS", fields("live")), 22);
    assert.deepEqual(seen, [
      {
        operation: "subscribe",
        trackNamespace: fields("live"),
        trackName: utf8("v"),
        ...requester,
      },
      {
        operation: "subscribe-tracks",
        trackNamespace: fields("live"),
        trackName: undefined,
        bearerToken: undefined,
        tokens: [],
        authority: undefined,
        tenant: undefined,
      },
    ]);
  });

  test("grants by true alone, at once or later, short or long", async () => {
    for (const answer of [true, { granted: true }, Promise.resolve(true)]) {
      const redirector = redirectorOf(vectorSnapshot(), { authorization: policy(() => answer) });
      assert.ok((await answerTo(redirector, asked)).redirect);
    }
    for (const answer of [false, { granted: false }, 1, "true", {}, { granted: "yes" }]) {
      for (const given of [answer, Promise.resolve(answer)]) {
        const redirector = redirectorOf(vectorSnapshot(), {
          authorization: policy(untyped(() => given)),
        });
        assertRejects(await answerTo(redirector, asked), "UNAUTHORIZED", "final");
      }
    }
  });

  test("fails closed where the policy throws, rejects or answers nothing: INTERNAL_ERROR with a retry", async () => {
    const faults: (() => unknown)[] = [
      () => {
        throw new TypeError("the token is hunter2");
      },
      () => Promise.reject(Object.assign(new Error("hunter2"), { code: "ERR_KEYS" })),
      () => Promise.reject("hunter2"),
      () => undefined,
      () => Promise.resolve(null),
    ];
    const found = [];
    for (const fault of faults) {
      const redirector = redirectorOf(vectorSnapshot(), { authorization: policy(untyped(fault)) });
      assertRejects(await answerTo(redirector, asked), "INTERNAL_ERROR", "retry");
      const rejection = await rejectionOf(redirector, asked);
      assert.equal(rejection.cause, "authorization-fault");
      found.push(rejection.fault);
    }
    assert.deepEqual(found, ["TypeError", "ERR_KEYS", "unknown", "TypeError", "TypeError"]);
  });

  test("waits for promises of other makers, as remote calls between Workers return them", async () => {
    // biome-ignore lint/suspicious/noThenProperty: a promise of another maker is what is tested
    const thenable = { then: (resolve: (granted: boolean) => void) => resolve(true) };
    const redirector = redirectorOf(vectorSnapshot(), {
      authorization: policy(untyped(() => thenable)),
    });
    assert.ok((await answerTo(redirector, asked)).redirect);
  });

  test("has to be chosen: no policy, no start; everybody only by name", () => {
    const holder = { active: undefined };
    for (const authorization of [undefined, null, {}, "allow", { name: "x" }]) {
      const options = { holder, authorization } as unknown as RedirectorOptions;
      assert.throws(
        () => createRedirector(options),
        (error) =>
          error instanceof ConfigurationError &&
          error.code === "INVALID_CONFIGURATION" &&
          /^authorization [^\n]+$/.test(error.message),
      );
    }
    createRedirector({ holder, authorization: "allow-all" });
    createRedirector({ holder, authorization: allowAll() });
  });
});

describe("limits", () => {
  test("request N+1 of a client gets EXCESSIVE_LOAD with a retry, other clients go on [LB-REJECT-8] [LB-SEC-12]", async () => {
    const redirector = redirectorOf(vectorSnapshot(), {
      rateLimit: tokenBucket({ ratePerSecond: 1, burst: 3 }),
    });
    for (let i = 0; i < 3; i++) {
      assert.ok((await answerTo(redirector, asked, 22, { client: "a" })).redirect);
    }
    const over = await answerTo(redirector, asked, 22, { client: "a" });
    assertRejects(over, "EXCESSIVE_LOAD", "retry");
    assert.ok((await answerTo(redirector, asked, 22, { client: "b" })).redirect);
  });

  test("the hook is asked with the client and the time, and may answer later", async () => {
    const calls: [string, number][] = [];
    const rateLimit: RateLimit = async (client, at) => calls.push([client, at]) < 2;
    const redirector = redirectorOf(vectorSnapshot(), { rateLimit });
    assert.ok((await answerTo(redirector, asked, 22, { client: "a" })).redirect);
    assertRejects(await answerTo(redirector, asked), "EXCESSIVE_LOAD", "retry");
    assert.deepEqual(calls, [
      ["a", now],
      ["", now],
    ]);
  });

  test("a hook that fails admits nobody: INTERNAL_ERROR with a retry", async () => {
    for (const rateLimit of [
      () => {
        throw new RangeError("no");
      },
      () => Promise.reject(new RangeError("no")),
    ]) {
      const redirector = redirectorOf(vectorSnapshot(), { rateLimit });
      assertRejects(await answerTo(redirector, asked), "INTERNAL_ERROR", "retry");
      const { cause, fault } = await rejectionOf(redirector, asked);
      assert.deepEqual([cause, fault], ["rate-limit-fault", "RangeError"]);
    }
  });

  test("only so many requests wait for hooks at a time, and one that is answered makes room [LB-SEC-33]", async () => {
    const waiting: ((granted: boolean) => void)[] = [];
    const redirector = redirectorOf(vectorSnapshot(), {
      maximumPending: 2,
      authorization: policy(() => new Promise((resolve) => waiting.push(resolve))),
    });
    const first = answerTo(redirector, asked);
    const second = answerTo(redirector, asked);
    assertRejects(await answerTo(redirector, asked), "EXCESSIVE_LOAD", "retry");
    assert.equal(waiting.length, 2);
    waiting[0]?.(true);
    assert.ok((await first).redirect);
    const third = answerTo(redirector, asked);
    for (const grant of waiting) grant(true);
    assert.ok((await second).redirect);
    assert.ok((await third).redirect);
  });

  test("options of the wrong kind stop the start with one line that names them", () => {
    const good = { holder: { active: undefined }, authorization: "allow-all" } as const;
    const wrong: [string, object][] = [
      ["holder", { holder: undefined }],
      ["rateLimit", { rateLimit: 5 }],
      ["onDecision", { onDecision: {} }],
      ["now", { now: 5 }],
      ["random", { random: "x" }],
      ["maximumPending", { maximumPending: 0 }],
      ["retryAfter", { retryAfter: 0.5 }],
    ];
    for (const [option, value] of wrong) {
      assert.throws(
        () => createRedirector({ ...good, ...value } as unknown as RedirectorOptions),
        (error) =>
          error instanceof ConfigurationError &&
          new RegExp(`^${option} [^\n]+$`).test(error.message),
      );
    }
  });
});
