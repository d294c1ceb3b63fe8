/** The Worker as Cloudflare would run it: what wrangler uploads, on workerd with a KV namespace. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { Miniflare } from "miniflare";
import { createCollector } from "../../src/agent/reports/mod.ts";
import { decodeControlMessage, type RequestError } from "../../src/moqt/mod.ts";
import {
  currentKey,
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  lastKnownGoodKey,
  parseSnapshot,
  signSnapshot,
} from "../../src/snapshot/mod.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import { RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import { eventually, root, withDirectory } from "./processes.ts";
import { bundleWorker } from "./worker-bundle.ts";

/** SUBSCRIBE, Request ID 0, namespace (example.com, m1), name video, no parameters. */
const subscribe = Buffer.from("03001800020b6578616d706c652e636f6d026d3105766964656f00", "hex");

interface Worker {
  readonly miniflare: Miniflare;
  log(): string;
}

async function withWorker(
  bindings: Record<string, string>,
  body: (worker: Worker) => Promise<void>,
): Promise<void> {
  let log = "";
  const miniflare = new Miniflare({
    modules: true,
    script: await bundleWorker(),
    compatibilityDate: "2026-04-01",
    kvNamespaces: ["SNAPSHOTS"],
    durableObjects: { MOQT_SESSIONS: "MoqtSessions" },
    bindings,
    handleRuntimeStdio(stdout: Readable, stderr: Readable) {
      for (const stream of [stdout, stderr]) {
        stream.on("data", (chunk: Buffer) => {
          log += chunk.toString();
        });
      }
    },
  });
  try {
    await body({ miniflare, log: () => log });
  } finally {
    await miniflare.dispose();
  }
}

async function signedExample() {
  const key = await generateSigningKey();
  const relays = ["r1", "r2", "r3"].map((rid) => ({
    rid,
    uri: `https://${rid}.example/moq`,
    health: "healthy",
  }));
  const sign = (version: number, route: object) => {
    const snapshot = parseSnapshot({ version, relays, routes: [route] });
    return signSnapshot(snapshot, key, { issuedAt: Date.now() });
  };
  const meetings = { prefix: ["example.com"], kind: "hashed", key_fields: 2 };
  const envelope = await sign(1, { ...meetings, rids: ["r1", "r2", "r3"] });
  const bindings = {
    YARDMASTER_MAXIMUM_AGE: "600",
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: JSON.stringify({ keys: [await exportPublicKey(key)] }),
  };
  return { envelope, bindings, sign };
}

async function publish(miniflare: Miniflare, envelope: Uint8Array): Promise<void> {
  const kv = await miniflare.getKVNamespace("SNAPSHOTS");
  await kv.put(currentKey, new Uint8Array(envelope).buffer as ArrayBuffer);
}

describe("the Worker", () => {
  test("passes wrangler's dry run and stays below 200 KiB gzipped", async () => {
    await withDirectory(async (directory) => {
      const result = Bun.spawnSync(
        [
          "node",
          join(root, "node_modules", "wrangler", "bin", "wrangler.js"),
          "deploy",
          "--dry-run",
          "--minify",
          "--outdir",
          directory,
        ],
        { cwd: root, env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" } },
      );
      expect(result.stdout.toString() + result.stderr.toString()).toContain("SNAPSHOTS");
      expect(result.exitCode).toBe(0);
      const script = readdirSync(directory).find((name) => name.endsWith(".js"));
      const size = Bun.gzipSync(readFileSync(join(directory, script as string))).length;
      expect(size).toBeLessThan(200 * 1024);
    });
  }, 60_000);

  test("has no metrics inside: prom-client is for Bun and Deno", async () => {
    const script = await bundleWorker();
    expect(script).toContain("moq-lb-report+jwt");
    expect(script).not.toContain("yardmaster_decisions_total");
    expect(script).not.toContain("prom-client");
  });

  test("reports through KV, and the agent finds it there [LB-CONF-24] [LB-CONF-25]", async () => {
    const { envelope, bindings } = await signedExample();
    const key = await generateSigningKey("worker");
    const reporting = {
      YARDMASTER_INSTANCE_ID: "worker",
      YARDMASTER_INSTANCE_KEY: JSON.stringify(await exportSigningKey(key)),
      YARDMASTER_REPORT: "store",
    };
    await withWorker({ ...bindings, ...reporting }, async ({ miniflare }) => {
      await publish(miniflare, envelope);
      const answer = await miniflare.dispatchFetch("http://lb.test/healthz");
      expect(answer.status).toBe(200);
      const kv = await miniflare.getKVNamespace("SNAPSHOTS");
      const store = {
        async get(name: string) {
          const value = await kv.get(name, "arrayBuffer");
          return value === null ? undefined : new Uint8Array(value);
        },
      };
      const collector = createCollector({
        instances: new Map([["worker", key.publicKey]]),
        signingKey: key,
        current: () => ({ version: 1 }),
      });
      const views = async () => {
        await collector.pollStore(store);
        return collector.instances();
      };
      const [view] = await eventually(views, ([found]) => found?.never === false);
      expect(view?.report).toMatchObject({ activeVersion: 1, mode: "redirect", stale: false });
    });
  });

  test("answers a real SUBSCRIBE with REDIRECT to r2 [LB-REDIR-3, LB-EX-5]", async () => {
    const { envelope, bindings } = await signedExample();
    await withWorker(bindings, async ({ miniflare }) => {
      await publish(miniflare, envelope);
      const response = await miniflare.dispatchFetch("http://lb.test/moqt/moqt-22", {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: subscribe,
      });
      expect(response.status).toBe(200);
      const answer = decodeControlMessage(new Uint8Array(await response.arrayBuffer()), 22);
      expect(answer).toMatchObject({ type: "REQUEST_ERROR", errorCode: 0x34n, retryInterval: 0n });
      expect((answer as RequestError).redirect?.connectUri).toBe("https://r2.example/moq");
    });
  });

  test("pulls on schedule and keeps the last good snapshot in its namespace [LB-CONF-23]", async () => {
    const { envelope, bindings } = await signedExample();
    await withWorker(bindings, async ({ miniflare }) => {
      const kv = await miniflare.getKVNamespace("SNAPSHOTS");
      await kv.put(currentKey, new Uint8Array(envelope).buffer as ArrayBuffer);
      const worker = await miniflare.getWorker();
      await worker.scheduled({ cron: "* * * * *", scheduledTime: new Date() });
      const kept = await eventually(
        () => kv.get(lastKnownGoodKey, "arrayBuffer"),
        (bytes) => bytes !== null,
      );
      expect(envelope).toEqual(new Uint8Array(kept as ArrayBuffer));
    });
  });

  test("says in one line which setting is missing, and answers 503", async () => {
    await withWorker({ YARDMASTER_MAXIMUM_AGE: "600" }, async ({ miniflare, log }) => {
      const response = await miniflare.dispatchFetch("http://lb.test/status");
      expect(response.status).toBe(503);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(await response.json()).toMatchObject({ status: 503, code: "INTERNAL_ERROR" });
      const line = await eventually(
        async () =>
          log()
            .split("\n")
            .find((text) => text.includes("YARDMASTER_")),
        (text) => text !== undefined,
      );
      expect(line).toContain("YARDMASTER_AUTHORIZATION has to be one of allow-all, jwt");
      expect(line).toContain("YARDMASTER_TRUSTED_KEYS is missing");
    });
  });
});

/** A client of the Worker, with what it is redirected to for the namespace (example.com, m1). */
async function sessionWith(miniflare: Miniflare) {
  const { host } = await miniflare.ready;
  const peer = new RawPeer(await connectQmux(`ws://${host}/moqt`, { protocols: ["moqt-22"] }));
  await peer.setup();
  let requestId = 0;
  return {
    peer,
    async redirect(): Promise<string | undefined> {
      const name = "example.2ecom-m1--video";
      const bytes = requestBytes("SUBSCRIBE", name, { requestId: BigInt(requestId) });
      requestId += 2;
      return (await peer.refusal(bytes)).redirect?.connectUri;
    },
  };
}

for (const where of ["worker", "durable-object"]) {
  describe(`live sessions, YARDMASTER_SESSIONS=${where}`, () => {
    test("are redirected, side by side, and closed for what breaks the protocol [LB-EX-5, RQ-07]", async () => {
      const { envelope, bindings } = await signedExample();
      await withWorker({ ...bindings, YARDMASTER_SESSIONS: where }, async ({ miniflare }) => {
        await publish(miniflare, envelope);
        const one = await sessionWith(miniflare);
        const other = await sessionWith(miniflare);
        expect(await one.redirect()).toBe("https://r2.example/moq");
        expect(await other.redirect()).toBe("https://r2.example/moq");
        await one.peer.open("3f0000", true);
        await one.peer.closedWith("PROTOCOL_VIOLATION");
        expect(await other.redirect()).toBe("https://r2.example/moq");
        other.peer.transport.close(0n, "");
      });
    });

    test("follow a snapshot that is published while they are open [LB-KEY-11]", async () => {
      const { envelope, bindings, sign } = await signedExample();
      const settings = { YARDMASTER_SESSIONS: where, YARDMASTER_REFRESH_INTERVAL: "0.2" };
      await withWorker({ ...bindings, ...settings }, async ({ miniflare }) => {
        await publish(miniflare, envelope);
        const { redirect, peer } = await sessionWith(miniflare);
        expect(await redirect()).toBe("https://r2.example/moq");
        await publish(
          miniflare,
          await sign(2, { prefix: ["example.com"], kind: "static", rid: "r1" }),
        );
        await eventually(redirect, (uri) => uri === "https://r1.example/moq");
        peer.transport.close(0n, "");
      });
    });
  });
}

test("GET /moqt without an upgrade is 426 in a Worker", async () => {
  const { bindings } = await signedExample();
  await withWorker(bindings, async ({ miniflare }) => {
    const response = await miniflare.dispatchFetch("http://lb.test/moqt");
    expect(response.status).toBe(426);
    expect(await response.json()).toMatchObject({ code: "UPGRADE_REQUIRED" });
  });
});

test("an unknown YARDMASTER_SESSIONS is one line in the log, and 503", async () => {
  const { bindings } = await signedExample();
  await withWorker({ ...bindings, YARDMASTER_SESSIONS: "edge" }, async ({ miniflare, log }) => {
    expect((await miniflare.dispatchFetch("http://lb.test/status")).status).toBe(503);
    const complaint = "YARDMASTER_SESSIONS has to be one of worker, durable-object";
    await eventually(
      async () => log(),
      (text) => text.includes(complaint),
    );
  });
});
