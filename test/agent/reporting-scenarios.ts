/** A whole instance with a scripted agent behind it, over real sockets. On Bun and Deno. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "#test";
import { createCollector } from "../../src/agent/reports/mod.ts";
import { verifyInstanceToken } from "../../src/report/mod.ts";
import {
  currentKey,
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  parseSnapshot,
  type SigningKey,
  signSnapshot,
} from "../../src/snapshot/mod.ts";
import { fileStore } from "../../src/store/file.ts";
import { httpStore } from "../../src/store/http.ts";
import type { RunningInstance } from "../../workers/serve.ts";
import { samplesOf } from "./metrics-scenarios.ts";

type Start = (environment: Record<string, string>) => Promise<RunningInstance>;
type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => unknown;

/** An HTTP server on the loopback that answers by script. */
async function serve(handle: Handler): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    await handle(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Asks until there is an answer. */
async function eventually<T>(ask: () => T | undefined | false): Promise<T> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const answer = ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > deadline) throw new Error("it never came to that");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** An agent as far as an instance sees it: snapshots, long polls, receipts. */
async function scriptedAgent(instances: ReadonlyMap<string, CryptoKey>, key: SigningKey) {
  let version = 0;
  let envelope = new Uint8Array(0);
  let receiptKey = key;
  const waiting = new Set<() => void>();
  const collectors = new Map<SigningKey, ReturnType<typeof createCollector>>();
  const collector = () => {
    const made =
      collectors.get(receiptKey) ??
      createCollector({ instances, signingKey: receiptKey, current: () => ({ version }) });
    collectors.set(receiptKey, made);
    return made;
  };
  const snapshot: Handler = async ({ url, headers }, response) => {
    const token = headers.authorization?.replace("Bearer ", "");
    try {
      await verifyInstanceToken(token, instances, Date.now());
    } catch {
      return response.writeHead(401).end();
    }
    const { searchParams } = new URL(url ?? "", "http://agent");
    const after = searchParams.get("after");
    if (after !== null && Number(after) >= version) {
      await new Promise<void>((resolve) => waiting.add(resolve));
    }
    const etag = `"v${version}"`;
    if (headers["if-none-match"] === etag) return response.writeHead(304, { etag }).end();
    return response.writeHead(200, { etag, "content-type": "application/cose" }).end(envelope);
  };
  const reports: Handler = async (_, response, body) => {
    try {
      const { jws } = await collector().accept(body);
      response.writeHead(200, { "content-type": "application/jwt" }).end(jws);
    } catch (error) {
      const { code } = error as { code: string };
      response.writeHead(403).end(JSON.stringify({ code }));
    }
  };
  const server = await serve((request, response, body) =>
    request.url?.startsWith("/v1/snapshot")
      ? snapshot(request, response, body)
      : reports(request, response, body),
  );
  return {
    ...server,
    async publish(next: number) {
      const relays = [{ rid: "r1", uri: "https://r1.example/moq", health: "healthy" }];
      const routes = [{ prefix: ["a"], kind: "hashed", rids: ["r1"] }];
      const parsed = parseSnapshot({ version: next, relays, routes });
      envelope = new Uint8Array(await signSnapshot(parsed, key, { issuedAt: Date.now() }));
      version = next;
      for (const resume of waiting) resume();
      waiting.clear();
      return envelope;
    },
    /** From now on somebody else answers reports. */
    answerBy(other: SigningKey) {
      receiptKey = other;
    },
    views: () => collector().instances(),
  };
}

/** Keys, settings and a directory for an instance called edge-1. */
async function setUp() {
  const agentKey = await generateSigningKey("agent");
  const instanceKey = await generateSigningKey("edge-1");
  const directory = await mkdtemp(join(tmpdir(), "yardmaster-test-"));
  const environment = {
    YARDMASTER_MAXIMUM_AGE: "600",
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: JSON.stringify(await exportPublicKey(agentKey)),
    YARDMASTER_LAST_KNOWN_GOOD: `file:${join(directory, "kept")}`,
    YARDMASTER_INSTANCE_ID: "edge-1",
    YARDMASTER_INSTANCE_KEY: JSON.stringify(await exportSigningKey(instanceKey)),
    YARDMASTER_REPORT_INTERVAL: "1",
    PORT: "0",
  };
  return {
    agentKey,
    directory,
    environment,
    instances: new Map([["edge-1", instanceKey.publicKey]]),
    clear: () => rm(directory, { recursive: true, force: true }),
  };
}

export function reportingScenarios(start: Start): void {
  describe("an instance whose store is the agent", () => {
    test("places by its snapshots, follows at once, and reports what it does [LB-CONF-18] [LB-CONF-21] [LB-CONF-25]", async () => {
      const { agentKey, instances, environment, clear } = await setUp();
      const agent = await scriptedAgent(instances, agentKey);
      await agent.publish(1);
      const instance = await start({
        ...environment,
        YARDMASTER_STORE: agent.url,
        // So long that a new version arrives by the long poll alone.
        YARDMASTER_REFRESH_INTERVAL: "600",
        YARDMASTER_METRICS_PORT: "0",
      });
      try {
        const ask = () => fetch(`${instance.url}/redirect/subscribe/a--b`, { redirect: "manual" });
        const redirect = await ask();
        assert.equal(redirect.headers.get("location"), "https://r1.example/moq");
        await redirect.body?.cancel();
        await agent.publish(2);
        const status = async () =>
          (await (await fetch(`${instance.url}/status`)).json()) as { activeVersion: number };
        while ((await status()).activeVersion !== 2) await new Promise((go) => setTimeout(go, 20));
        const report = await eventually(() => {
          const [view] = agent.views();
          return view?.report?.activeVersion === 2 && view.report;
        });
        assert.deepEqual(report.decisions, { REDIRECT: 1 });
        assert.deepEqual([report.mode, report.stale, report.sessions], ["redirect", false, 0]);
        const scraped = await fetch(instance.metricsUrl as string);
        assert.match(scraped.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
        const samples = samplesOf(await scraped.text());
        assert.equal(samples.get("yardmaster_active_version"), 2);
        assert.equal(
          samples.get('yardmaster_decisions_total{outcome="REDIRECT",cause="placed"}'),
          1,
        );
        assert.equal(samples.get('yardmaster_limit{limit="maximumSessions"}'), 10_000);
        assert.equal(samples.get('yardmaster_limit_use{limit="maximumSessions"}'), 0);
        // Who serves clients shows no metrics.
        const elsewhere = await fetch(`${instance.url}/metrics`);
        assert.equal(elsewhere.status, 404);
        await elsewhere.body?.cancel();
      } finally {
        await instance.close();
        await agent.close();
        await clear();
      }
    });

    test("notices when another answers its reports, and goes on placing [LB-CONF-18]", async () => {
      const { agentKey, instances, environment, clear } = await setUp();
      const agent = await scriptedAgent(instances, agentKey);
      await agent.publish(1);
      agent.answerBy(await generateSigningKey("agent"));
      const instance = await start({
        ...environment,
        YARDMASTER_STORE: agent.url,
        YARDMASTER_METRICS_PORT: "0",
      });
      try {
        const unverified = async () => {
          const samples = samplesOf(await (await fetch(instance.metricsUrl as string)).text());
          return samples.get('yardmaster_reports_sent_total{outcome="unverified"}') ?? 0;
        };
        while ((await unverified()) === 0) await new Promise((go) => setTimeout(go, 20));
        const health = await fetch(`${instance.url}/healthz`);
        assert.equal(health.status, 200);
        await health.body?.cancel();
      } finally {
        await instance.close();
        await agent.close();
        await clear();
      }
    });
  });

  describe("an instance that shares a store with the agent", () => {
    test("leaves its reports there, where the agent finds them [LB-CONF-24]", async () => {
      const { agentKey, instances, environment, directory, clear } = await setUp();
      const store = fileStore(join(directory, "store"));
      const snapshot = parseSnapshot({ version: 5, relays: [], routes: [] });
      await store.set(currentKey, await signSnapshot(snapshot, agentKey, { issuedAt: Date.now() }));
      const collector = createCollector({
        instances,
        signingKey: agentKey,
        current: () => ({ version: 6 }),
      });
      const instance = await start({
        ...environment,
        YARDMASTER_STORE: `file:${join(directory, "store")}`,
      });
      try {
        const polls = collector.watchStore(store, 20);
        const view = await eventually(() => collector.instances().find(({ never }) => !never));
        polls();
        assert.deepEqual([view.id, view.report?.activeVersion, view.behind], ["edge-1", 5, 1]);
        assert.equal(instance.metricsUrl, undefined);
      } finally {
        await instance.close();
        await clear();
      }
    });
  });

  describe("a snapshot over a real connection", () => {
    const token = async () => "token";
    const failing: readonly (readonly [string, string, Handler])[] = [
      [
        "that breaks in the midst of the body",
        "STORE_FAILED",
        (_, response) => {
          response.writeHead(200, { "content-length": "1000" });
          response.write(new Uint8Array(500));
          setTimeout(() => response.destroy(), 20);
        },
      ],
      [
        "that stands still in the midst of the body",
        "STORE_TIMEOUT",
        (_, response) => {
          response.writeHead(200, { "content-length": "1000" });
          response.write(new Uint8Array(500));
        },
      ],
      ["that never answers", "STORE_TIMEOUT", () => {}],
      [
        "that sends without end",
        "ENVELOPE_TOO_LARGE",
        (_, response) => {
          response.writeHead(200);
          const more = () => {
            if (response.destroyed) return;
            response.write(new Uint8Array(10_000), () => setTimeout(more, 1));
          };
          more();
        },
      ],
    ];
    for (const [what, code, handle] of failing) {
      test(`${what} is an error, and no snapshot [LB-CONF-19] [LB-CONF-21]`, async () => {
        const server = await serve(handle);
        try {
          const store = httpStore({ url: server.url, token, timeout: 500 });
          await assert.rejects(store.get(currentKey, 100_000), { code });
        } finally {
          await server.close();
        }
      });
    }
  });
}
