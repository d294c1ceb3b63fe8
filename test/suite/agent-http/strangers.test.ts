import assert from "node:assert/strict";
import { describe, test } from "#test";
import { signOperatorToken } from "../../../src/agent/action.ts";
import { instanceToken } from "../../../src/report/mod.ts";
import { generateSigningKey } from "../../../src/snapshot/mod.ts";
import { noon, person } from "../../support/agent-double.ts";
import { origin, postForm, problemOf, secrets, world } from "./fixtures.ts";

/** Everything that there is, and some of what there is not. */
const paths = [
  "/",
  "/history",
  "/history/7",
  "/history/999",
  "/route?name=example.2ecom-m1",
  "/simulate?from=6&to=7",
  "/relay?rid=6d61727368616c6c696e672d796172642d37",
  "/relay?rid=00",
  "/login",
  "/login?token=x",
  "/logout",
  "/healthz",
  "/metrics",
  "/style.css",
  "/icon.svg",
  "/v1/snapshot",
  "/v1/snapshot?after=1&wait=0",
  "/v1/reports",
  "/v1/actions",
  "/v1/status",
  "/v1/history",
  "/v1/history/7",
  "/v1/diff?from=6&to=7",
  "/v1/route?name=example.2ecom-m1",
  "/v1/refusals",
  "/v1/nothing",
  "/nothing",
  "/relay/../v1/status",
  "/%2e%2e/v1/status",
];
const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];

/** Head and body of a response as one text, without what the stranger said. */
async function wholeOf(response: Response, path = "\n"): Promise<string> {
  const head = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  return [response.status, ...head, await response.text()].join("\n").replaceAll(path, "");
}

describe("strangers", () => {
  test("learn nothing about relays on any path by any method [LB-SEC-11]", async () => {
    const { app } = await world();
    for (const path of paths) {
      for (const method of methods) {
        const whole = await wholeOf(await app.request(origin + path, { method }), path);
        for (const secret of secrets) assert.ok(!whole.includes(secret), `${method} ${path}`);
        // Nor which versions there are.
        assert.ok(!/\bv7\b|version 7/.test(whole), `${method} ${path}`);
      }
    }
  });

  test("learn nothing where the agent fails either [LB-SEC-11]", async () => {
    const { app, agent } = await world();
    for (const path of paths) {
      agent.fault = new Error("marshalling-yard-7 at https://relays.secret.example/moq");
      const whole = await wholeOf(await app.request(origin + path), path);
      for (const secret of secrets) assert.ok(!whole.includes(secret), path);
    }
  });

  test("see the sign-in page in place of every page, be there one or not", async () => {
    const { app } = await world();
    for (const path of ["/", "/history/7", "/history/999", "/nothing", "/relay?rid=00"]) {
      const response = await app.request(origin + path);
      assert.equal(response.status, 401, path);
      assert.match(await response.text(), /name="token"/);
    }
  });

  test("get one answer from the whole interface [LB-SEC-11]", async () => {
    const { app } = await world();
    const answers = new Set<string>();
    for (const path of paths) {
      if (!path.startsWith("/v1/") || /reports|actions/.test(path)) continue;
      answers.add(await wholeOf(await app.request(origin + path)));
    }
    assert.equal(answers.size, 1);
    await problemOf(await app.request(`${origin}/v1/status`), 401, "UNAUTHENTICATED");
  });

  test("with tokens of strange keys, of other types or too old stay strangers [LB-CONF-18]", async () => {
    const { app, alice, edgeKey } = await world();
    const mallory = await person("alice", ["routes"]);
    const strangeKey = await generateSigningKey();
    const tokens = [
      "",
      "x",
      "a.b.c",
      await signOperatorToken(mallory.key, noon),
      await signOperatorToken(alice.key, noon - 301_000),
      await signOperatorToken(alice.key, noon + 120_000),
      await instanceToken("edge-1", strangeKey, noon),
      await instanceToken("edge-2", edgeKey, noon),
      await instanceToken("edge-1", edgeKey, noon - 3_600_000),
    ];
    for (const [i, token] of tokens.entries()) {
      for (const path of ["/v1/status", "/v1/snapshot", "/metrics"]) {
        const headers = { authorization: `Bearer ${token}` };
        const response = await app.request(origin + path, { headers });
        assert.equal(response.status, 401, `token ${i}, ${path}`);
        assert.equal(response.headers.get("www-authenticate"), "Bearer");
      }
    }
  });

  test("cannot post forms of operators", async () => {
    const { app, agent } = await world();
    const fields = { action: "drain", reason: "x", csrf: "0".repeat(64) };
    for (const path of ["/relay?rid=7232", "/logout"]) {
      assert.equal((await postForm(app, path, fields)).status, 401);
    }
    assert.deepEqual(agent.asked, []);
  });

  test("are told whether the agent is well, and no more", async () => {
    const { app, agent } = await world({ maximumAge: 60_000 });
    const well = await app.request(`${origin}/healthz`);
    assert.deepEqual([well.status, await well.json()], [200, { status: "ok" }]);
    agent.role = "waiting";
    await problemOf(await app.request(`${origin}/healthz`), 503, "NOT_PUBLISHING");
    agent.holder = { agentId: "agent-2", epoch: 3 };
    assert.equal((await app.request(`${origin}/healthz`)).status, 200);
    agent.alarms = [{ code: "STORE_FAILED", since: noon, message: "the store failed: ECONN" }];
    const gone = await problemOf(await app.request(`${origin}/healthz`), 503, "STORE_FAILED");
    assert.equal(gone.detail, "The store does not answer.");
    agent.alarms = [];
    agent.role = "stopped";
    await problemOf(await app.request(`${origin}/healthz`), 503, "NOT_PUBLISHING");
    agent.role = "publishing";
    agent.current = { ...agent.current!, signedAt: noon - 60_001 };
    await problemOf(await app.request(`${origin}/healthz`), 503, "STALE_CONFIGURATION");
  });

  test("get pages that no script, frame or other site can use", async () => {
    const { app } = await world();
    for (const path of paths) {
      const { headers } = await app.request(origin + path);
      const policy = headers.get("content-security-policy") ?? "";
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|script-src/);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("referrer-policy"), "same-origin");
    }
  });
});
