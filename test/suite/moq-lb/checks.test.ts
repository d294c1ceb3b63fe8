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
  test("an unauthorized request learns neither routes nor state, whatever its type [LB-S38] [LB-SEC-11] [LB-SEC-20] [LB-REJECT-7]", async () => {
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
  test("request N+1 of a client gets EXCESSIVE_LOAD with a retry, other clients go on [LB-REJECT-8]", async () => {
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

  test("a tenant over its quota gets EXCESSIVE_LOAD whatever its clients are, other tenants go on [LB-SEC-12]", async () => {
    const perTenant = tokenBucket({ ratePerSecond: 1, burst: 2 });
    const redirector = redirectorOf(vectorSnapshot(), {
      rateLimit: (_client, at, tenant = "") => perTenant(tenant, at),
    });
    const from = (tenant: string, client: string) =>
      answerTo(redirector, asked, 22, { tenant, client });
    assert.ok((await from("blue", "a")).redirect);
    assert.ok((await from("blue", "b")).redirect);
    assertRejects(await from("blue", "c"), "EXCESSIVE_LOAD", "retry");
    assert.ok((await from("red", "a")).redirect);
  });

  test("the hook is asked with client, time and tenant, and may answer later", async () => {
    const calls: [string, number, string | undefined][] = [];
    const rateLimit: RateLimit = async (...asked) => calls.push(asked as (typeof calls)[0]) < 2;
    const redirector = redirectorOf(vectorSnapshot(), { rateLimit });
    const requester = { client: "a", tenant: "blue" };
    assert.ok((await answerTo(redirector, asked, 22, requester)).redirect);
    assertRejects(await answerTo(redirector, asked), "EXCESSIVE_LOAD", "retry");
    assert.deepEqual(calls, [
      ["a", now, "blue"],
      ["", now, undefined],
    ]);
  });

  test("who asks may be found out for each request; failing to is a failed check", async () => {
    let found = 0;
    const seen: (string | undefined)[] = [];
    const redirector = redirectorOf(vectorSnapshot(), {
      maximumPending: 1,
      authorization: policy((question) => {
        seen.push(question.tenant);
        return Promise.resolve(true);
      }),
    });
    const requester = () => ({ tenant: `t${++found}` });
    const first = redirector.decide(asked, 22, requester);
    // Turned away for want of room: nobody is asked who it was.
    assert.equal((await rejectionOf(redirector, asked, requester)).cause, "pending-limit");
    assert.equal((await first).kind, "redirect");
    assert.deepEqual([found, seen], [1, ["t1"]]);

    const failing = () => {
      throw Object.assign(new Error("no peer"), { code: "ENOTCONN" });
    };
    const { code, cause, fault } = await rejectionOf(redirector, asked, failing);
    assert.deepEqual([code, cause, fault], ["INTERNAL_ERROR", "requester-fault", "ENOTCONN"]);
    assertRejects(await answerTo(redirector, asked, 22, failing), "INTERNAL_ERROR", "retry");
  });

  test("what is turned away unread is told when to come back [LB-SEC-33]", () => {
    const redirector = redirectorOf(vectorSnapshot(), { retryAfter: 400, random: () => 0 });
    const { code, cause, retryInterval } = redirector.overload();
    assert.deepEqual([code, cause, retryInterval], ["EXCESSIVE_LOAD", "pending-limit", 201n]);
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
      ["holder", { holder: {} }],
      ["holder", { holder: "h" }],
      ["rateLimit", { rateLimit: 5 }],
      ["onDecision", { onDecision: {} }],
      ["now", { now: 5 }],
      ["random", { random: "x" }],
      ["maximumPending", { maximumPending: 0 }],
      ["retryAfter", { retryAfter: 0.5 }],
      ["logNames", { logNames: "off" }],
      ["ownServiceUris", { ownServiceUris: "https://lb.example/moq" }],
      ["ownServiceUris", { ownServiceUris: { 0: "https://lb.example/moq", length: 1 } }],
      ["ownServiceUris\\[1\\]", { ownServiceUris: ["https://lb.example/moq", "nonsense"] }],
      ["ownServiceUris\\[0\\]", { ownServiceUris: ["ftp://lb.example/"] }],
      ["ownServiceUris\\[0\\]", { ownServiceUris: [5] }],
    ];
    for (const [option, value] of wrong) {
      assert.throws(
        () => createRedirector({ ...good, ...value } as unknown as RedirectorOptions),
        (error) =>
          error instanceof ConfigurationError &&
          new RegExp(`^${option} [^\n]+$`).test(error.message),
        option,
      );
    }
    for (const options of [undefined, null, 5]) {
      const create = () => createRedirector(options as unknown as RedirectorOptions);
      assert.throws(create, ConfigurationError);
    }
  });
});
