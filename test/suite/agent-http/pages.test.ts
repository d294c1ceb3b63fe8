import assert from "node:assert/strict";
import { describe, test } from "#test";
import { signOperatorToken } from "../../../src/agent/action.ts";
import { AgentError } from "../../../src/agent/errors.ts";
import { ridText } from "../../../src/agent/http/words.ts";
import { safeText } from "../../../src/page/words.ts";
import { moved, noon, person, poolOf } from "../../support/agent-double.ts";
import { Browser, origin, postForm, signIn, world } from "./fixtures.ts";

describe("sessions", () => {
  test("begin with a token, in a cookie that scripts and other sites cannot use", async () => {
    const { app, alice } = await world();
    const token = await signOperatorToken(alice.key, noon);
    const response = await postForm(app, "/login", { token, next: "/history?before=7" });
    assert.deepEqual(
      [response.status, response.headers.get("location")],
      [303, "/history?before=7"],
    );
    assert.match(
      response.headers.get("set-cookie") ?? "",
      /^yardmaster=[0-9a-f]{64}; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  test("have a cookie for TLS alone where people reach the agent by https", async () => {
    const publicUrl = "https://agent.example";
    const { app, alice } = await world({ publicUrl });
    const token = await signOperatorToken(alice.key, noon);
    const response = await postForm(app, "/login", { token }, { origin: publicUrl });
    const cookie = response.headers.get("set-cookie") ?? "";
    assert.match(cookie, /^__Host-yardmaster=[0-9a-f]{64};.*; Secure/);
    assert.match(response.headers.get("strict-transport-security") ?? "", /max-age/);
  });

  test("lead on to pages of ours alone", async () => {
    const { app, alice } = await world();
    for (const next of [
      "//evil.example",
      "https://evil.example/",
      "/\\evil.example",
      "/\r\nx: y",
      "x",
    ]) {
      const token = await signOperatorToken(alice.key, noon);
      const response = await postForm(app, "/login", { token, next });
      assert.equal(response.headers.get("location"), "/", next);
    }
  });

  test("begin once with each token, never with one that is too old or a stranger's", async () => {
    const there = await world();
    const token = await signOperatorToken(there.alice.key, noon);
    assert.equal((await postForm(there.app, "/login", { token })).status, 303);
    const again = await postForm(there.app, "/login", { token });
    assert.equal(again.status, 401);
    assert.match(await again.text(), /used already/);
    const old = await signOperatorToken(there.alice.key, noon - 301_000);
    const strange = await signOperatorToken((await person("alice", ["routes"])).key, noon);
    for (const wrong of [old, strange, "", "a.b.c"]) {
      assert.equal((await postForm(there.app, "/login", { token: wrong })).status, 401);
    }
  });

  test("are not begun by following a link: a form has to be sent", async () => {
    const { app, alice } = await world();
    const token = await signOperatorToken(alice.key, noon);
    const response = await app.request(`${origin}/login?token=${token}`);
    assert.equal(response.headers.get("set-cookie"), null);
    assert.ok((await response.text()).includes(`name="token" value="${token}"`));
    assert.equal((await postForm(app, "/login", { token })).status, 303);
  });

  test("end after their time, by signing out, and with the operator's entry", async () => {
    let now = noon;
    const operators = new Map();
    const there = await world({ now: () => now, sessions: { lifetime: 3_600_000 }, operators });
    operators.set(there.alice.operator.kid, there.alice.operator);
    const first = await signIn(there, there.alice);
    now += 3_599_999;
    assert.equal((await first.get("/")).status, 200);
    now += 1;
    assert.equal((await first.get("/")).status, 401);
    now = noon;
    const second = await signIn(there, there.alice);
    const left = await second.post("/logout", { csrf: await second.csrf() });
    assert.match(left.headers.get("set-cookie") ?? "", /Max-Age=0/);
    assert.equal((await second.get("/")).status, 401);
    const third = await signIn(there, there.alice);
    operators.clear();
    assert.equal((await third.get("/")).status, 401);
  });

  test("are so many at most: the oldest of the same operator gives way, no other's does [LB-SEC-33]", async () => {
    const there = await world({ sessions: { perOperator: 2, total: 3 } });
    const browsers = [];
    for (let i = 0; i < 3; i++) browsers.push(await signIn(there, there.alice));
    const states = await Promise.all(
      browsers.map(async (browser) => (await browser.get("/")).status),
    );
    assert.deepEqual(states, [401, 200, 200]);
    const vera = await signIn(there, there.vera);
    const token = await signOperatorToken(there.paul.key, noon);
    assert.equal((await postForm(there.app, "/login", { token })).status, 503);
    assert.equal((await vera.get("/")).status, 200);
  });

  test("cannot be guessed, nor used with a wrong bearer token beside", async () => {
    const there = await world();
    const guess = new Browser(there.app, `yardmaster=${"0".repeat(64)}`);
    assert.equal((await guess.get("/")).status, 401);
    const { cookie } = await signIn(there, there.vera);
    const headers = { cookie, authorization: "Bearer x" };
    const response = await there.app.request(`${origin}/v1/status`, { headers });
    assert.equal(response.status, 401);
    const alone = await there.app.request(`${origin}/v1/status`, { headers: { cookie } });
    assert.equal(alone.status, 200);
  });
});

describe("forms", () => {
  const drain = { action: "drain", reason: "kernel update" };

  test("do what an operator asks for, in the operator's name [LB-SEC-6]", async () => {
    const there = await world();
    const browser = await signIn(there, there.paul);
    const csrf = await browser.csrf("/relay?rid=7232");
    const response = await browser.post("/relay?rid=7232", { ...drain, csrf });
    assert.deepEqual(
      [response.status, response.headers.get("location")],
      [303, "/relay?rid=7232&done=8"],
    );
    const [asked] = there.agent.asked;
    assert.deepEqual(asked?.action, {
      type: "drain",
      rid: "7232",
      newVersion: 8,
      reason: "kernel update",
    });
    assert.equal(asked.authority.kind === "session" && asked.authority.operator.name, "paul");
  });

  test("set weights and override health", async () => {
    const there = await world();
    const browser = await signIn(there, there.alice);
    const csrf = await browser.csrf("/relay?rid=7232");
    for (const fields of [
      { action: "weight", weight: "0", reason: "a" },
      { action: "health", health: "unhealthy", reason: "b" },
      { action: "undrain", reason: "c" },
    ]) {
      assert.equal((await browser.post("/relay?rid=7232", { ...fields, csrf })).status, 303);
    }
    assert.deepEqual(
      there.agent.asked.map(({ action }) => action),
      [
        { type: "weight", rid: "7232", weight: 0, reason: "a", newVersion: 8 },
        { type: "health", rid: "7232", health: "unhealthy", reason: "b", newVersion: 9 },
        { type: "undrain", rid: "7232", reason: "c", newVersion: 10 },
      ],
    );
  });

  test("are refused where another site sent them, or without the session's secret", async () => {
    const there = await world();
    const browser = await signIn(there, there.paul);
    const other = await signIn(there, there.paul);
    const csrf = await browser.csrf();
    const path = "/relay?rid=7232";
    const refused = [
      await browser.post(path, { ...drain, csrf }, { origin: "https://evil.example" }),
      await browser.post(path, { ...drain, csrf }, { origin: "null" }),
      await browser.post(path, { ...drain, csrf }, { origin: "http://agent.example.evil.example" }),
      await browser.post(path, drain),
      await browser.post(path, { ...drain, csrf: "0".repeat(64) }),
      await browser.post(path, { ...drain, csrf: await other.csrf() }),
    ];
    for (const response of refused) assert.equal(response.status, 403);
    const plain = await browser.post(path, { ...drain, csrf }, { "content-type": "text/plain" });
    assert.equal(plain.status, 415);
    const long = await browser.post(path, { ...drain, csrf, reason: "x".repeat(20_000) });
    assert.equal(long.status, 413);
    assert.deepEqual(there.agent.asked, []);
    const stolen = await postForm(
      there.app,
      "/login",
      {
        token: await signOperatorToken(there.paul.key, noon),
      },
      { origin: "https://evil.example" },
    );
    assert.equal(stolen.status, 403);
  });

  test("are not there for who may only look, nor where the pool needs signatures", async () => {
    const there = await world();
    const vera = await signIn(there, there.vera);
    assert.doesNotMatch(await (await vera.get("/relay?rid=7232")).text(), /name="action"/);
    const csrf = await vera.csrf();
    const refused = await vera.post("/relay?rid=7232", { ...drain, csrf });
    assert.equal(refused.status, 403);
    assert.match(await refused.text(), /FORBIDDEN/);
    assert.deepEqual(there.agent.asked, []);

    const strict = await world({ operatorSignatures: new Set(["pool", "rollback"] as const) });
    const page = await (await signIn(strict, strict.alice)).get("/relay?rid=7232");
    const text = await page.text();
    assert.doesNotMatch(text, /name="action"/);
    assert.match(text, /need your signature/);
  });

  test("are done for the next version, even where one came between", async () => {
    const there = await world();
    const browser = await signIn(there, there.paul);
    const csrf = await browser.csrf();
    there.agent.fault = moved(8);
    assert.equal((await browser.post("/relay?rid=7232", { ...drain, csrf })).status, 303);
    assert.equal(there.agent.asked.length, 2);
  });

  test("tell why something was not done", async () => {
    const there = await world();
    const browser = await signIn(there, there.paul);
    const csrf = await browser.csrf();
    const path = "/relay?rid=7232";
    there.agent.fault = new AgentError("NO_CHANGE", "it is drained already");
    const unchanged = await browser.post(path, { ...drain, csrf });
    assert.equal(unchanged.status, 409);
    assert.match(await unchanged.text(), /it is drained already \(NO_CHANGE\)/);
    for (const fields of [
      { action: "weight", weight: "17" },
      { action: "weight", weight: "1.5" },
      { action: "health", health: "fine" },
      { action: "explode" },
    ]) {
      assert.equal((await browser.post(path, { ...fields, csrf })).status, 400);
    }
    assert.equal((await browser.post("/relay?rid=ff", { ...drain, csrf })).status, 404);
  });
});

describe("what others wrote", () => {
  test("is shown and never becomes markup or changes how other text reads", async () => {
    const there = await world();
    const script = "<script>alert(1)</script>";
    const quotes = `"><img src=x onerror=alert(1)>`;
    there.agent.put(
      poolOf(
        [
          { rid: script, uri: "https://a.example/" },
          { rid: quotes, uri: "https://b.example/?q='&lt;b&gt;" },
          { rid: "r\u202e1", uri: "https://c.example/" },
          { rid: { hex: "ff00" } },
          { rid: "", uri: "https://d.example/" },
        ],
        8,
      ),
      {
        changes: [`relay ${script} added`],
        operator: { name: `al${quotes}ice`, kid: script, reason: `${script}\u202e`, signed: true },
        action: `${quotes}.x.y`,
      },
    );
    there.agent.alarms.push({ code: "POOL_FILE", since: noon, message: script });
    there.agent.refusals.push({ at: noon, type: script, code: "FORBIDDEN", reason: quotes });
    const browser = await signIn(there, there.alice);
    const paths = [
      "/",
      "/history",
      "/history/8",
      `/route?name=${encodeURIComponent(quotes)}`,
      "/route?name=example.2ecom-x",
      `/simulate?from=${encodeURIComponent(quotes)}&to=8&keys=1`,
      "/simulate?from=7&to=8&keys=100",
      "/relay?rid=72e280ae31",
      `/login?token=${encodeURIComponent(quotes)}`,
      `/${encodeURIComponent(script)}`,
    ];
    for (const path of paths) {
      const page = await (await browser.get(path)).text();
      assert.doesNotMatch(page, /<script|<img|\u202e/, path);
    }
  });

  test("RIDs are text where all of it can be seen, else bytes", () => {
    const utf8 = (text: string) => new TextEncoder().encode(text);
    assert.equal(ridText(utf8("ams-1")), "ams-1");
    assert.equal(ridText(utf8("Zürich")), "Zürich");
    assert.equal(ridText(utf8("a b")), "h'612062'");
    assert.equal(ridText(utf8("r\u202e1")), "h'72e280ae31'");
    assert.equal(ridText(utf8("h'6162'")), "h'68273631363227'");
    assert.equal(ridText(Uint8Array.of(0xff, 0)), "h'ff00'");
    assert.equal(ridText(utf8("x".repeat(300))), `${"x".repeat(39)}…`);
  });

  test("text keeps to one line and shows what cannot be seen", () => {
    assert.equal(safeText("a\nb\u202ec\u0000"), "a\\u{a}b\\u{202e}c\\u{0}");
    assert.equal(safeText("x".repeat(10), 4), "xxx…");
  });
});
