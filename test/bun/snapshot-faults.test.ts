/**
 * What an operator fears, on each runtime: the store gone, or full of garbage, old, forged or
 * oversized snapshots. Decisions go on from the last good one until the maximum age.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { Miniflare } from "miniflare";
import {
  currentKey,
  exportPublicKey,
  generateSigningKey,
  parseSnapshot,
  type SigningKey,
  signSnapshot,
} from "../../src/snapshot/mod.ts";
import { bun, deno, eventually, launch, type RunningProcess, root } from "./processes.ts";
import { bundleWorker } from "./worker-bundle.ts";

/** One running instance, whose store can be played with. */
interface Subject {
  request(path: string): Promise<Response>;
  /** Puts bytes where the current snapshot is looked for; `undefined` takes them away. */
  put(bytes: Uint8Array | undefined): Promise<void>;
  /** What the instance logged so far. */
  log(): string;
  /** Ends it and starts another on the same stores. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const maximumAge = 60;
let key: SigningKey;
let stranger: SigningKey;

beforeAll(async () => {
  key = await generateSigningKey();
  stranger = await generateSigningKey();
});

async function settings(): Promise<Record<string, string>> {
  return {
    YARDMASTER_MAXIMUM_AGE: String(maximumAge),
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: JSON.stringify({ keys: [await exportPublicKey(key)] }),
    YARDMASTER_REFRESH_INTERVAL: "0.1",
    PORT: "0",
  };
}

/** A signed snapshot that sends everything under (a) to one relay. */
function envelope(
  version: number,
  relay: string,
  { signer = key, secondsAgo = 0 }: { signer?: SigningKey; secondsAgo?: number } = {},
): Promise<Uint8Array> {
  const snapshot = parseSnapshot({
    version,
    relays: [{ rid: relay, uri: `https://${relay}.example/moq`, health: "healthy" }],
    routes: [{ prefix: ["a"], kind: "hashed", rids: [relay] }],
  });
  return signSnapshot(snapshot, signer, { issuedAt: Date.now() - 1000 * secondsAgo });
}

async function startProcess(command: readonly string[]): Promise<Subject> {
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-faults-"));
  const file = join(directory, "store", ...currentKey.split(":"));
  const env = {
    ...(await settings()),
    YARDMASTER_STORE: `file:${join(directory, "store")}`,
    YARDMASTER_LAST_KNOWN_GOOD: `file:${join(directory, "kept")}`,
  };
  let running: RunningProcess;
  let url = "";
  const start = async () => {
    running = launch(command, { env });
    url = (await running.printed(/"listening","url":"([^"]+)"/))[1] as string;
  };
  await start();
  return {
    request: (path) => fetch(url + path, { redirect: "manual" }),
    async put(bytes) {
      if (bytes === undefined) return rm(file, { force: true });
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.new`, bytes);
      await rename(`${file}.new`, file);
    },
    log: () => running.output(),
    async restart() {
      running.kill("SIGTERM");
      expect(await running.exited).toBe(0);
      await start();
    },
    async close() {
      running.kill("SIGKILL");
      await running.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startWorker(): Promise<Subject> {
  const script = await bundleWorker();
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-worker-"));
  const bindings = await settings();
  let log = "";
  const create = () =>
    new Miniflare({
      modules: true,
      script,
      compatibilityDate: "2026-04-01",
      kvNamespaces: ["SNAPSHOTS"],
      kvPersist: join(directory, "kv"),
      bindings,
      handleRuntimeStdio(stdout: Readable, stderr: Readable) {
        for (const stream of [stdout, stderr]) {
          stream.on("data", (chunk: Buffer) => {
            log += chunk.toString();
          });
        }
      },
    });
  let miniflare = create();
  return {
    request: async (path) =>
      (await miniflare.dispatchFetch(`http://lb.test${path}`, {
        redirect: "manual",
      })) as unknown as Response,
    async put(bytes) {
      const kv = await miniflare.getKVNamespace("SNAPSHOTS");
      if (bytes === undefined) return kv.delete(currentKey);
      await kv.put(currentKey, new Uint8Array(bytes).buffer as ArrayBuffer);
    },
    log: () => log,
    async restart() {
      await miniflare.dispose();
      miniflare = create();
    },
    async close() {
      await miniflare.dispose();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const runtimes: readonly (readonly [string, () => Promise<Subject>])[] = [
  ["Bun", () => startProcess([bun, join(root, "workers", "bun.ts")])],
  ["Deno", () => startProcess([deno, "run", "-A", "--quiet", join(root, "workers", "deno.ts")])],
  ["workerd", startWorker],
];

for (const [runtime, start] of runtimes) {
  describe(`on ${runtime}`, () => {
    let subject: Subject;

    beforeAll(async () => {
      subject = await start();
    });

    afterAll(() => subject.close());

    const location = async (): Promise<string> => {
      const response = await subject.request("/redirect/subscribe/a-b--c");
      await response.body?.cancel();
      return response.headers.get("location") ?? `status ${response.status}`;
    };
    const becomes = (expected: string) => eventually(location, (answer) => answer === expected);
    /** Puts something bad into the store and waits until the instance says why it is refused. */
    const putRefused = async (bytes: Uint8Array | undefined, reason: string) => {
      const before = subject.log().length;
      await subject.put(bytes);
      await eventually(
        async () => {
          // On workerd, requests are what makes an instance look into the store.
          await location();
          return subject.log().slice(before);
        },
        (log) => log.includes(`"reason":"${reason}"`),
      );
    };

    test("before the first snapshot every request is told to come back [LB-A24, LB-S41]", async () => {
      const response = await subject.request("/redirect/subscribe/a-b--c");
      expect(response.status).toBe(503);
      const problem = (await response.json()) as Record<string, unknown>;
      expect(problem.code).toBe("INTERNAL_ERROR");
      expect(problem.retryInterval).toBeGreaterThanOrEqual(1);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect((await subject.request("/healthz")).status).toBe(503);
    });

    test("the first signed snapshot is followed without a restart [LB-ROT-1]", async () => {
      await subject.put(await envelope(5, "r5"));
      await becomes("https://r5.example/moq");
      expect((await subject.request("/healthz")).status).toBe(200);
      const status = (await (await subject.request("/status")).json()) as Record<string, unknown>;
      expect(status).toMatchObject({ activeVersion: 5, stale: false, mode: "redirect" });
    });

    const faults: readonly (readonly [string, string, () => Promise<Uint8Array | undefined>])[] = [
      ["garbage [LB-CONF-19, LB-CONF-21]", "malformed", async () => new Uint8Array(300).fill(0xa5)],
      [
        "half an envelope [LB-CONF-21]",
        "malformed",
        async () => (await envelope(6, "r6")).subarray(0, 90),
      ],
      [
        "a snapshot signed with another key [LB-SEC-5]",
        "untrusted-key",
        () => envelope(7, "r7", { signer: stranger }),
      ],
      [
        "a forged snapshot under a trusted key's name [LB-SEC-5]",
        "bad-signature",
        async () => {
          const bytes = await envelope(8, "r8");
          bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
          return bytes;
        },
      ],
      ["an older version [LB-ROT-3, CF-01, LB-SEC-8]", "older-version", () => envelope(4, "r4")],
      [
        "another content under the same version [LB-S113]",
        "equal-version-different-content",
        () => envelope(5, "rx"),
      ],
      [
        "a snapshot from the future [LB-S109]",
        "signed-in-future",
        () => envelope(9, "r9", { secondsAgo: -3600 }),
      ],
      [
        "a snapshot beyond the size limit",
        "too-large",
        async () => new Uint8Array(16 * 1024 * 1024 + 1),
      ],
      ["nothing at all [LB-CONF-23]", "missing", async () => undefined],
    ];

    for (const [what, reason, bytes] of faults) {
      test(`decisions go on from the last good snapshot when the store holds ${what}`, async () => {
        await putRefused(await bytes(), reason);
        expect(await location()).toBe("https://r5.example/moq");
      });
    }

    test("a restart with a broken store goes on from the last good snapshot [LB-CONF-23, LB-S110]", async () => {
      await subject.put(new Uint8Array([0xff]));
      await subject.restart();
      expect(await location()).toBe("https://r5.example/moq");
    });

    test("a restart does not open the door to an older version [LB-SEC-8, LB-S118]", async () => {
      const older = await envelope(4, "r4");
      await subject.put(older);
      await subject.restart();
      await putRefused(older, "older-version");
      expect(await location()).toBe("https://r5.example/moq");
    });

    test("past the maximum age requests are rejected with a retry, not placed [LB-CONF-27, LB-REJECT-6, CF-05]", async () => {
      await subject.put(await envelope(20, "r20", { secondsAgo: maximumAge - 2 }));
      await becomes("https://r20.example/moq");
      await becomes("status 503");
      const response = await subject.request("/redirect/subscribe/a-b--c");
      const problem = (await response.json()) as Record<string, unknown>;
      expect(problem).toMatchObject({ code: "INTERNAL_ERROR" });
      expect(problem.retryInterval).toBeGreaterThanOrEqual(1);
      // What no route matches needs no health, so its answer is the same as ever.
      const unrouted = await subject.request("/redirect/subscribe/b--c");
      expect(unrouted.status).toBe(404);
      await unrouted.body?.cancel();
    });

    test("a restart does not make an old snapshot young again [LB-S110, LB-A2]", async () => {
      await subject.restart();
      expect(await location()).toBe("status 503");
    });

    test("a fresh version ends the refusal at once [LB-CONF-23]", async () => {
      await subject.put(await envelope(21, "r21"));
      await becomes("https://r21.example/moq");
    });
  });
}
