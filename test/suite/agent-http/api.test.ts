import assert from "node:assert/strict";
import { describe, test } from "#test";
import { signAction, signOperatorToken } from "../../../src/agent/action.ts";
import { AgentError, type AgentErrorCode } from "../../../src/agent/errors.ts";
import { simulate } from "../../../src/agent/simulate.ts";
import { instanceToken, ReportError, type ReportErrorCode } from "../../../src/report/mod.ts";
import { SnapshotError } from "../../../src/snapshot/mod.ts";
import { manyInstances, moved, noon, type Person } from "../../support/agent-double.ts";
import { origin, problemOf, type World, world } from "./fixtures.ts";

/** Waits until `holds`; a test that waits in vain runs into its time limit. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 1));
}

async function act(
  { app }: World,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return app.request(`${origin}/v1/actions`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });
}

function drain(who: Person, newVersion = 8): Promise<string> {
  return signAction({ type: "drain", rid: "7232", newVersion, reason: "planned" }, who.key, noon);
}

describe("POST /v1/actions", () => {
  test("does what an operator signed, and tells what was published [LB-ROT-5]", async () => {
    const there = await world();
    const action = await drain(there.paul);
    const response = await act(there, { action });
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), {
      version: 8,
      digest: "8".padStart(64, "0"),
      kid: "agent-key",
      signedAt: noon,
      cause: "drain",
      since: 8,
    });
    assert.deepEqual(there.agent.asked, [
      {
        action: { type: "drain", rid: "7232", newVersion: 8, reason: "planned" },
        authority: { kind: "signed", jws: action },
      },
    ]);
  });

  test("hands a pool on with the action that was signed for it", async () => {
    const there = await world();
    const digest = "ab".repeat(32);
    const publish = { type: "publish", digest, newVersion: 8, reason: "more" } as const;
    const action = await signAction(publish, there.alice.key, noon);
    const pool = { relays: [], routes: [] };
    assert.equal((await act(there, { action, pool })).status, 200);
    assert.deepEqual(there.agent.asked[0]?.pool, pool);
    await problemOf(await act(there, { action }), 400, "INVALID_ACTION");
  });

  test("takes no action of a stranger, altered or too old [LB-SEC-5] [LB-SEC-7]", async () => {
    const there = await world();
    const good = await drain(there.paul);
    const [head, , signature] = good.split(".");
    const [, otherClaims] = (await drain(there.paul, 9)).split(".");
    const stranger = await world();
    const old = await signAction(
      { type: "drain", rid: "7232", newVersion: 8, reason: "" },
      there.paul.key,
      noon - 3_600_000,
    );
    await problemOf(
      await act(there, { action: await drain(stranger.paul) }),
      401,
      "UNAUTHENTICATED",
    );
    const altered = `${head}.${otherClaims}.${signature}`;
    await problemOf(await act(there, { action: altered }), 401, "BAD_SIGNATURE");
    await problemOf(await act(there, { action: old }), 401, "EXPIRED");
    // A token to look is none to act.
    const token = await signOperatorToken(there.alice.key, noon);
    assert.equal((await act(there, { action: token })).status, 401);
    assert.deepEqual(there.agent.asked, []);
  });

  test("refuses bodies that are no action", async () => {
    const there = await world();
    for (const body of ["", "x", "null", "[]", "{}", '{"action":1}']) {
      await problemOf(await act(there, body), 400, "INVALID_ACTION");
    }
  });

  test("reads large pools for operators alone [LB-SEC-33]", async () => {
    const there = await world({ maximumPoolSize: 200_000 });
    const body = JSON.stringify({ action: await drain(there.paul), pool: "x".repeat(70_000) });
    await problemOf(await act(there, body), 413, "CONTENT_TOO_LARGE");
    const authorization = `Bearer ${await signOperatorToken(there.paul.key, noon)}`;
    assert.equal((await act(there, body, { authorization })).status, 200);
    const larger = JSON.stringify({ action: "", pool: "x".repeat(200_000) });
    await problemOf(await act(there, larger, { authorization }), 413, "CONTENT_TOO_LARGE");
  });

  test("answers every refusal of the agent with its code", async () => {
    const statuses: Record<AgentErrorCode, number> = {
      NOT_PUBLISHING: 503,
      VERSION_MOVED: 409,
      UNAUTHENTICATED: 401,
      BAD_SIGNATURE: 401,
      EXPIRED: 401,
      FORBIDDEN: 403,
      SIGNATURE_REQUIRED: 403,
      UNKNOWN_VERSION: 404,
      UNKNOWN_RELAY: 404,
      DIGEST_MISMATCH: 422,
      NO_CHANGE: 409,
      INVALID_ACTION: 400,
      STORE_FAILED: 503,
      INVALID_CONFIGURATION: 500,
    };
    const there = await world();
    for (const [code, status] of Object.entries(statuses)) {
      there.agent.fault = new AgentError(code as AgentErrorCode, `because of ${code}`);
      const response = await act(there, { action: await drain(there.paul) });
      const { detail } = await problemOf(response, status, code);
      assert.equal(detail, `because of ${code}`);
      if (status === 503) assert.equal(response.headers.get("retry-after"), "5");
    }
  });

  test("tells which version is current where the action is for another [LB-SEC-7]", async () => {
    const there = await world();
    there.agent.fault = moved(12);
    const refused = await act(there, { action: await drain(there.paul) });
    assert.equal((await problemOf(refused, 409, "VERSION_MOVED")).currentVersion, 12);
  });

  test("lists every problem of a pool that is invalid [LB-CONF-16]", async () => {
    const there = await world();
    const problems = [
      { path: "relays[0].rid", requirement: "LB-CONF-6", message: "missing" },
      { path: "routes", requirement: "LB-CONF-5", message: "missing" },
    ];
    there.agent.fault = new SnapshotError("INVALID_SNAPSHOT", "invalid", { problems });
    const refused = await act(there, { action: await drain(there.paul) });
    assert.deepEqual((await problemOf(refused, 422, "INVALID_SNAPSHOT")).problems, problems);
  });

  test("tells nothing of errors that nobody foresaw", async () => {
    const there = await world();
    there.agent.fault = new TypeError("undefined is not a relay at r2");
    const refused = await act(there, { action: await drain(there.paul) });
    const { detail } = await problemOf(refused, 500, "INTERNAL_ERROR");
    assert.doesNotMatch(`${detail}`, /r2/);
  });
});

describe("POST /v1/reports", () => {
  const report = ({ app }: World, body: string) =>
    app.request(`${origin}/v1/reports`, { method: "POST", body });

  test("answers the signed receipt [LB-CONF-18] [LB-CONF-24]", async () => {
    const there = await world();
    const response = await report(there, "a.signed.report");
    assert.deepEqual(
      [response.status, response.headers.get("content-type"), await response.text()],
      [200, "application/jwt", "the.signed.receipt"],
    );
    assert.deepEqual(there.collector.accepted, ["a.signed.report"]);
  });

  test("is bounded in size, before anybody looks at it [LB-SEC-26]", async () => {
    const there = await world();
    await problemOf(await report(there, "x".repeat(16 * 1024 + 1)), 413, "CONTENT_TOO_LARGE");
    assert.deepEqual(there.collector.accepted, []);
  });

  test("has places for instances that strangers who send slowly cannot take [LB-SEC-33]", async () => {
    const there = await world();
    const token = await instanceToken("edge-1", there.edgeKey, noon);
    const authorization = `Bearer ${token}`;
    const ends: (() => void)[] = [];
    const slowly = (headers: Record<string, string> = {}) => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => void ends.push(() => controller.close()),
      });
      const init = { method: "POST", body, headers, duplex: "half" };
      return Promise.resolve(there.app.request(`${origin}/v1/reports`, init as RequestInit));
    };
    // 32 strangers wait, the others are turned away, and the instance has its report taken.
    const strangers = Array.from({ length: 600 }, () => slowly());
    let away = 0;
    for (const stranger of strangers) {
      void stranger.then(({ status }) => {
        away += Number(status === 503);
      });
    }
    await until(() => away === 568);
    const init = { method: "POST", body: "a.signed.report", headers: { authorization } };
    assert.equal((await there.app.request(`${origin}/v1/reports`, init)).status, 200);
    // Nor can one instance, or whoever copied its token, take more than a few.
    const own = Array.from({ length: 8 }, () => slowly({ authorization }));
    let turned = new Response();
    await until(async () => {
      turned = await there.app.request(`${origin}/v1/reports`, init);
      return turned.status !== 200;
    });
    await problemOf(turned, 503, "TOO_MANY_REQUESTS");
    for (const end of ends) end();
    const statuses = (await Promise.all([...strangers, ...own])).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 40);
    assert.equal((await there.app.request(`${origin}/v1/reports`, init)).status, 200);
  });

  test("answers each refusal with its code, and strangers alike", async () => {
    const statuses: Partial<Record<ReportErrorCode, [number, string]>> = {
      MALFORMED_REPORT: [400, "MALFORMED_REPORT"],
      REPORT_TOO_LARGE: [413, "REPORT_TOO_LARGE"],
      UNKNOWN_INSTANCE: [401, "UNAUTHENTICATED"],
      BAD_SIGNATURE: [401, "UNAUTHENTICATED"],
      CLOCK_APART: [403, "CLOCK_APART"],
      REPLAYED: [403, "REPLAYED"],
      TOO_MANY_REPORTS: [429, "TOO_MANY_REPORTS"],
    };
    const there = await world();
    for (const [code, [status, told]] of Object.entries(statuses)) {
      there.collector.fault = new ReportError(code as ReportErrorCode, "refused");
      const response = await report(there, "x");
      if (status === 429) assert.equal(response.headers.get("retry-after"), "5");
      await problemOf(response, status, told);
    }
  });
});

describe("what operators read", () => {
  test("status: version, relays, shares of keys, instances [LB-CONF-25]", async () => {
    const there = await world();
    there.collector.views = manyInstances(9, 7).slice(6, 8);
    const response = await there.get("/v1/status");
    const { current, relays, instances, measured } = (await response.json()) as {
      current: Record<string, unknown>;
      relays: Record<string, unknown>[];
      instances: Record<string, unknown>[];
      measured: Record<string, unknown>;
    };
    assert.deepEqual([current.version, current.ageSeconds, current.since], [7, 12, 7]);
    assert.deepEqual(measured, { keys: 10_000, since: 7 });
    assert.deepEqual(
      relays.map(({ name, weights, expectedShare }) => [name, weights, expectedShare]),
      [
        ["marshalling-yard-7", [1], 0.5],
        ["r2", [1], 0.5],
      ],
    );
    const total = relays.reduce((sum, { share }) => sum + (share as number), 0);
    assert.ok(Math.abs(total - 1) < 1e-9);
    assert.deepEqual(
      instances.map(({ id, state, version, behind }) => [id, state, version, behind]),
      [
        ["edge-007", "current", 7, 0],
        ["edge-008", "behind", 5, 2],
      ],
    );
  });

  test("status without shares at once, while they are measured", async () => {
    let finish = () => {};
    const measured = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const there = await world({
      simulate: async (...all) => {
        await measured;
        return simulate(...all);
      },
    });
    const early = await there.get("/v1/status?shares=none");
    const status = (await early.json()) as { measured: unknown; relays: { share: unknown }[] };
    assert.deepEqual([status.measured, status.relays[0]?.share], [null, null]);
    finish();
    const late = (await (await there.get("/v1/status")).json()) as { measured: unknown };
    assert.deepEqual(late.measured, { keys: 10_000, since: 7 });
  });

  test("history by pages, one version with its snapshot, differences", async () => {
    const there = await world();
    const read = async (path: string) => (await (await there.get(path)).json()) as never;
    const { entries } = (await read("/v1/history?limit=1")) as { entries: { version: number }[] };
    assert.deepEqual(
      entries.map(({ version }) => version),
      [7],
    );
    const older = (await read("/v1/history?before=7")) as { entries: { version: number }[] };
    assert.deepEqual(
      older.entries.map(({ version }) => version),
      [6],
    );
    const one = (await read("/v1/history/6")) as {
      entry: { version: number };
      snapshot: { relays: unknown[] };
    };
    assert.deepEqual([one.entry.version, one.snapshot.relays.length], [6, 1]);
    const { changes } = (await read("/v1/diff?from=6&to=7")) as { changes: string[] };
    assert.deepEqual(changes, [
      "relay r2 added at https://r2.relays.example/moq",
      "route example.2ecom: r2 added with weight 1",
    ]);
    await problemOf(await there.get("/v1/history/999"), 404, "UNKNOWN_VERSION");
    await problemOf(await there.get("/v1/diff?from=6&to=999"), 404, "UNKNOWN_VERSION");
    for (const path of ["/v1/history?limit=0", "/v1/history?before=x", "/v1/diff?from=6"]) {
      await problemOf(await there.get(path), 400, "INVALID_QUERY");
    }
  });

  test("why a namespace goes where it goes", async () => {
    const there = await world();
    const response = await there.get("/v1/route?name=example.2ecom-m1-camera");
    const explained = (await response.json()) as Record<string, unknown>;
    assert.deepEqual(
      [explained.namespace, explained.hashKey, explained.rejection, explained.route],
      [
        "example.2ecom-m1-camera",
        "example.2ecom-m1",
        null,
        { prefix: "example.2ecom", kind: "hashed", profile: "HRW-SHA256", keyFields: 2 },
      ],
    );
    const ranking = explained.ranking as { hash: string }[];
    assert.equal(ranking.length, 2);
    for (const { hash } of ranking) assert.match(hash, /^[0-9a-f]{64}$/);
    await problemOf(await there.get("/v1/route?name=a.b"), 400, "INVALID_QUERY");
  });

  test("refusals, and a store that fails is told as that", async () => {
    const there = await world();
    there.agent.refusals.push({ at: noon, type: "rollback", code: "FORBIDDEN", operator: "vera" });
    const response = await there.get("/v1/refusals");
    assert.deepEqual(await response.json(), { refusals: there.agent.refusals });
    there.agent.fault = new AgentError("STORE_FAILED", "the store failed: history");
    await problemOf(await there.get("/v1/history"), 503, "STORE_FAILED");
  });

  test("metrics: operators, and whoever has the scraper's token, which opens nothing else", async () => {
    const there = await world({ metricsToken: "prometheus-1" });
    assert.equal((await there.get("/metrics")).status, 200);
    const headers = { authorization: "Bearer prometheus-1" };
    const scraped = await there.app.request(`${origin}/metrics`, { headers });
    assert.equal(await scraped.text(), "yardmaster_relays 2\n");
    await problemOf(await there.app.request(`${origin}/v1/status`, { headers }), 403, "FORBIDDEN");
    assert.equal((await there.app.request(`${origin}/metrics`)).status, 401);
    await problemOf(await there.getAsInstance("/metrics"), 403, "FORBIDDEN");
  });

  test("an instance reads the snapshot alone", async () => {
    const there = await world();
    assert.equal((await there.getAsInstance("/v1/snapshot")).status, 200);
    await problemOf(await there.getAsInstance("/v1/status"), 403, "FORBIDDEN");
    await problemOf(await there.getAsInstance("/v1/history"), 403, "FORBIDDEN");
  });
});
