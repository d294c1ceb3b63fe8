import assert from "node:assert/strict";
import { Hono } from "hono";
import { describe, test } from "#test";
import { type MoqLbOptions, moqLb } from "../../../src/hono/moq-lb.ts";
import { ConfigurationError, type DecisionEvent } from "../../../src/moq-lb/mod.ts";
import { requestErrorCodes } from "../../../src/moqt/mod.ts";
import { answerIn, appOf, meetingSnapshot, post, problemOf, subscribe } from "./fixtures.ts";

const path = "/redirect/subscribe/example.2ecom-m1--video";

describe("moqLb()", () => {
  test("serves by itself and mounted, at the root or below", async () => {
    const parent = new Hono();
    parent.get("/", (c) => c.text("home"));
    parent.route("/", appOf());
    parent.route("/eu", appOf());
    for (const [app, at] of [
      [appOf(), path],
      [parent, path],
      [parent, `/eu${path}`],
    ] as const) {
      assert.equal((await app.request(at)).headers.get("location"), "https://r2.example/moq", at);
    }
    assert.equal(await (await parent.request("/")).text(), "home");
    await problemOf(await parent.request("/moqt/moqt-22"), 405, "METHOD_NOT_ALLOWED");
  });

  test("answers other paths 404, and leaves them to the app it is mounted in", async () => {
    await problemOf(await appOf().request("/elsewhere"), 404, "NOT_FOUND");
    await problemOf(await appOf().request("/moqt"), 404, "NOT_FOUND");
    const parent = new Hono();
    parent.route("/", appOf());
    parent.notFound((c) => c.text("ours", 404));
    assert.equal(await (await parent.request("/elsewhere")).text(), "ours");
  });

  test("gives hooks the context with the bindings of its runtime", async () => {
    const app = moqLb<{ Bindings: { TENANT: string } }>({
      holder: { active: meetingSnapshot() },
      authorization: { name: "tenant", authorize: ({ tenant }) => tenant === "blue" },
      tenantOf: (c) => c.env.TENANT,
      now: () => meetingSnapshot().signedAt,
    });
    assert.equal((await app.request(path, {}, { TENANT: "blue" })).status, 307);
    assert.equal((await app.request(path, {}, { TENANT: "red" })).status, 403);
  });

  test("turns an error that no rule foresees into a bare 500, and tells it to onError", async () => {
    const errors: unknown[] = [];
    const fault = new Error("s3cr3t-marker");
    const app = appOf({
      holder: {
        get active(): undefined {
          throw fault;
        },
      },
      onError(error) {
        errors.push(error);
        throw new Error("the hook fails too");
      },
    });
    const problem = await problemOf(await app.request(path), 500, "INTERNAL_ERROR");
    assert.ok(!JSON.stringify(problem).includes("s3cr3t"));
    assert.deepEqual(errors, [fault]);
  });

  test("takes a hook that cannot say who asks for a failed check: come back later, never 500", async () => {
    const faults: (() => unknown)[] = [
      () => {
        throw new RangeError("s3cr3t-marker");
      },
      () => 5,
      () => null,
      () => ({ address: "192.0.2.1" }),
      () => Promise.resolve("192.0.2.1"),
      () => Promise.reject(new Error("later")),
    ];
    for (const hook of ["clientOf", "tenantOf"] as const) {
      for (const answer of faults) {
        const errors: unknown[] = [];
        const events: DecisionEvent[] = [];
        const app = appOf({
          rateLimit: () => true,
          clientOf: () => "",
          [hook]: answer,
          onError: (error) => errors.push(error),
          onDecision: (event) => events.push(event),
        });
        const response = await app.request(path);
        assert.ok(Number(response.headers.get("retry-after")) >= 1);
        const problem = await problemOf(response, 503, "INTERNAL_ERROR");
        assert.ok(Number(problem.retryInterval) >= 1);
        assert.ok(!JSON.stringify(problem).includes("s3cr3t"));

        const posted = await answerIn(await post(app, subscribe));
        assert.equal(posted.errorCode, requestErrorCodes.INTERNAL_ERROR);
        assert.ok(posted.retryInterval >= 1n);

        const fault = answer === faults[0] ? "RangeError" : "TypeError";
        assert.deepEqual(
          events.map(({ outcome, cause, fault }) => [outcome, cause, fault]),
          Array(2).fill(["INTERNAL_ERROR", "requester-fault", fault]),
        );
        assert.deepEqual(
          errors.map((error) => (error as Error).name),
          [fault, fault],
        );
      }
    }
  });

  test("asks for no client where nothing limits clients", async () => {
    const app = appOf({
      clientOf() {
        throw new Error("not asked");
      },
    });
    assert.equal((await app.request(path)).status, 307);
  });

  test("stops the start where an option is missing or wrong, with one line that names it", () => {
    const good = { holder: { active: undefined }, authorization: "allow-all" } as const;
    const wrong: [string, object][] = [
      ["authorization", { authorization: undefined }],
      ["holder", { holder: undefined }],
      ["clientOf", { rateLimit: () => true }],
      ["clientOf", { clientOf: "ip" }],
      ["tenantOf", { tenantOf: "x" }],
      ["onError", { onError: 5 }],
      ["maximumBodySize", { maximumBodySize: 0 }],
      ["drafts", { drafts: [] }],
      ["drafts", { drafts: [17] }],
      ["drafts", { drafts: 22 }],
      ["drafts", { drafts: ["22"] }],
      ["drafts", { drafts: "moqt-22" }],
      ["instanceId", { instanceId: "" }],
      ["instanceId", { instanceId: 5 }],
      ["bodyTimeout", { bodyTimeout: 0 }],
      ["bodyTimeout", { bodyTimeout: "10s" }],
      ["maximumPending", { maximumPending: 0 }],
      ["logNames", { logNames: 1 }],
      ["ownServiceUris", { ownServiceUris: "https://lb.example/moq" }],
      ["ownServiceUris\\[0\\]", { ownServiceUris: ["nonsense"] }],
      ["sessions.handler", { sessions: {} }],
      ["sessions.path", { sessions: { handler: () => {}, path: "moqt" } }],
      ["cors", { cors: "https://player.example" }],
      ["cors", { cors: true }],
      ["cors.origin", { cors: { origin: "player.example" } }],
      ["cors.origin", { cors: { origin: "https://player.example/app" } }],
      ["cors.origin", { cors: { origin: "https://Player.example" } }],
      ["cors.origin", { cors: { origin: "https://player.example:443" } }],
      ["cors.origin", { cors: { origin: 5 } }],
      ["cors.origin\\[1\\]", { cors: { origin: ["https://player.example", "nonsense"] } }],
      ["cors.origin\\[0\\]", { cors: { origin: [null] } }],
      ["cors.allowMethods", { cors: { allowMethods: "POST" } }],
      ["cors.allowHeaders", { cors: { allowHeaders: "authorization" } }],
      ["cors.exposeHeaders", { cors: { exposeHeaders: [5] } }],
      ["cors.maxAge", { cors: { maxAge: "600" } }],
      ["cors.credentials", { cors: { credentials: "yes" } }],
    ];
    for (const [option, value] of wrong) {
      assert.throws(
        () => moqLb({ ...good, ...value } as unknown as MoqLbOptions),
        (error) =>
          error instanceof ConfigurationError &&
          new RegExp(`^${option} [^\n]+$`).test(error.message),
        option,
      );
    }
    assert.throws(() => moqLb(undefined as unknown as MoqLbOptions), ConfigurationError);
    moqLb(good);
    for (const origin of [
      "*",
      "https://player.example",
      ["http://localhost:5173", "capacitor://localhost", "null"],
      () => "https://player.example",
    ]) {
      moqLb({ ...good, cors: { origin, maxAge: 600, allowHeaders: ["authorization"] } });
    }
  });
});

describe("CORS", () => {
  const preflight = {
    method: "OPTIONS",
    headers: {
      origin: "https://player.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    },
  };

  test("is off unless asked for", async () => {
    const response = await appOf().request("/moqt/moqt-22", preflight);
    assert.equal(response.status, 405);
    const headers = { origin: "https://player.example" };
    const redirect = await appOf().request(path, { headers });
    assert.equal(redirect.headers.get("access-control-allow-origin"), null);
  });

  test("lets the origins that are named post messages with their tokens, and read the answers", async () => {
    const app = appOf({ cors: { origin: ["https://player.example"] } });
    const allowed = await app.request("/moqt/moqt-22", preflight);
    assert.equal(allowed.status, 204);
    assert.equal(allowed.headers.get("access-control-allow-origin"), "https://player.example");
    assert.match(allowed.headers.get("access-control-allow-methods") ?? "", /POST/);
    assert.match(allowed.headers.get("access-control-allow-headers") ?? "", /authorization/);

    const refused = await app.request("/moqt/moqt-22", {
      method: "POST",
      headers: { origin: "https://player.example" },
    });
    assert.equal(refused.headers.get("access-control-allow-origin"), "https://player.example");
    await problemOf(refused, 415, "UNSUPPORTED_MEDIA_TYPE");

    const stranger = await app.request(path, { headers: { origin: "https://evil.example" } });
    assert.equal(stranger.headers.get("access-control-allow-origin"), null);
    assert.equal(stranger.headers.get("location"), "https://r2.example/moq");
  });

  test("lets every origin in where `*` is among the origins", async () => {
    const app = appOf({ cors: { origin: ["https://player.example", "*"] } });
    const response = await app.request(path, { headers: { origin: "https://other.example" } });
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
  });

  test("keeps to the routes of requests", async () => {
    const app = appOf({ cors: {} });
    const headers = { origin: "https://player.example" };
    for (const other of ["/status", "/healthz"]) {
      const response = await app.request(other, { headers });
      assert.equal(response.headers.get("access-control-allow-origin"), null);
    }
  });
});
