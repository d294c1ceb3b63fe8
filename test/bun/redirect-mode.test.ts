/** What redirect mode never does, seen from the relays and from the heap. */

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { join } from "node:path";
import { moqLb } from "../../src/hono/moq-lb.ts";
import { createRedirector, decodeRequest, tokenBucket } from "../../src/moq-lb/mod.ts";
import { encodeControlMessage, requestMessage, requestTypes } from "../../src/moqt/mod.ts";
import {
  currentKey,
  exportPublicKey,
  generateSigningKey,
  parseSnapshot,
  signSnapshot,
} from "../../src/snapshot/mod.ts";
import { fileStore } from "../../src/store/file.ts";
import { bun, launch, root, withDirectory } from "./processes.ts";

/** A relay that counts who comes, over TCP and over UDP on one port. */
async function startRelay() {
  let visits = 0;
  const count = () => {
    visits++;
  };
  const tcp = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: count, data() {} },
  });
  const udp = createSocket("udp4", count);
  await new Promise<void>((resolve) => udp.bind(tcp.port, "127.0.0.1", resolve));
  return {
    uri: `https://127.0.0.1:${tcp.port}/moq`,
    visits: () => visits,
    stop() {
      tcp.stop(true);
      udp.close();
    },
  };
}

test("an instance sends clients to a relay and never goes there itself [LB-REDIR-1]", () =>
  withDirectory(async (directory) => {
    const relay = await startRelay();
    const key = await generateSigningKey();
    const snapshot = parseSnapshot({
      version: 1,
      relays: [{ rid: "r1", uri: relay.uri, health: "healthy" }],
      routes: [{ prefix: [], kind: "static", rid: "r1" }],
    });
    const store = join(directory, "store");
    const envelope = await signSnapshot(snapshot, key, { issuedAt: Date.now() });
    await fileStore(store).set(currentKey, envelope);
    const running = launch([bun, join(root, "workers", "bun.ts")], {
      env: {
        YARDMASTER_MAXIMUM_AGE: "600",
        YARDMASTER_AUTHORIZATION: "allow-all",
        YARDMASTER_TRUSTED_KEYS: JSON.stringify(await exportPublicKey(key)),
        YARDMASTER_STORE: `file:${store}`,
        YARDMASTER_LAST_KNOWN_GOOD: `file:${join(directory, "kept")}`,
        PORT: "0",
      },
    });
    try {
      const url = (await running.printed(/"listening","url":"([^"]+)"/))[1];
      for (const type of requestTypes) {
        const name = /NAMESPACE|TRACKS/.test(type) ? "a-b" : "a-b--c";
        const message = encodeControlMessage(requestMessage(type, { requestId: 0n, name }), 22);
        const answer = await fetch(`${url}/moqt/moqt-22`, {
          method: "POST",
          headers: { "content-type": "application/octet-stream" },
          body: message as Uint8Array<ArrayBuffer>,
        });
        expect(Buffer.from(await answer.arrayBuffer()).toString("latin1")).toContain(relay.uri);
      }
      const redirect = await fetch(`${url}/redirect/subscribe/a--b`, { redirect: "manual" });
      expect(redirect.headers.get("location")).toBe(relay.uri);
      expect(relay.visits()).toBe(0);
    } finally {
      running.kill("SIGKILL");
      await running.exited;
      relay.stop();
    }
  }));

function liveObjects(): number {
  Bun.gc(true);
  Bun.gc(true);
  return heapStats().objectCount;
}

const routes = [{ prefix: ["a"], kind: "hashed", rids: ["r1", "r2"] }];
const relays = ["r1", "r2"].map((rid) => ({
  rid,
  uri: `https://${rid}.example/moq`,
  health: "healthy",
}));
const active = {
  snapshot: parseSnapshot({ version: 1, relays, routes }),
  signedAt: Date.now(),
  maximumAge: 86_400_000,
  digest: "",
};

function subscribe(i: number): Uint8Array<ArrayBuffer> {
  const request = requestMessage("SUBSCRIBE", { requestId: 0n, name: `a-n${i}--t` });
  return encodeControlMessage(request, 22) as Uint8Array<ArrayBuffer>;
}

test("200,000 requests for names of their own, from clients of their own, leave nothing behind [LB-REDIR-16]", () => {
  const redirector = createRedirector({
    holder: { active },
    authorization: "allow-all",
    rateLimit: tokenBucket({ ratePerSecond: 1_000_000, maximumClients: 1000 }),
  });
  const redirect = (i: number) => {
    const decision = redirector.decide(decodeRequest(subscribe(i), 22), 22, { client: `c${i}` });
    if (!("kind" in decision) || decision.kind !== "redirect") throw new Error("not redirected");
  };
  // The decision cache and the buckets of clients fill up, and are full from then on.
  for (let i = 0; i < 40_000; i++) redirect(i);
  const before = liveObjects();
  for (let i = 40_000; i < 240_000; i++) redirect(i);
  expect(liveObjects() - before).toBeLessThan(1000);
}, 60_000);

test("20,000 messages over HTTP leave nothing behind [LB-REDIR-16]", async () => {
  const app = moqLb({ holder: { active }, authorization: "allow-all" });
  const headers = { "content-type": "application/octet-stream" };
  const redirect = async (i: number) => {
    const init = { method: "POST", headers, body: subscribe(i) };
    const response = await app.request("/moqt/moqt-22", init);
    if ((await response.arrayBuffer()).byteLength < 20) throw new Error("not redirected");
  };
  for (let i = 0; i < 20_000; i++) await redirect(i);
  const before = liveObjects();
  for (let i = 20_000; i < 40_000; i++) await redirect(i);
  expect(liveObjects() - before).toBeLessThan(1000);
}, 60_000);
