/** Whole instances with proxy mode as processes, on Bun and on Deno: what they refuse, show and report. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSigningKey, type Home, homeAt } from "../../src/cli/home.ts";
import { createInstanceKey } from "../../src/cli/people.ts";
import { publishLocally } from "../../src/cli/publish.ts";
import { reportKey } from "../../src/report/mod.ts";
import { openStore } from "../../src/store/open.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import { RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import { bun, deno, eventually, launch, root } from "./processes.ts";

setDefaultTimeout(60_000);

const commands = {
  bun: [bun, join(root, "workers", "bun.ts")],
  deno: [deno, "run", "-A", "--no-lock", "--quiet", join(root, "workers", "deno.ts")],
};

const instanceId = "lb-1";

/** A home with a pool of two relays that nobody answers at. */
async function homeWith(drafts: readonly (readonly number[])[]): Promise<Home> {
  const home = homeAt(mkdtempSync(join(tmpdir(), "yardmaster-instance-")));
  await createSigningKey(home.keys);
  await createInstanceKey({ ...home.keys, lists: home.directory }, instanceId, false);
  const rids = drafts.map((_, i) => `r${i + 1}`);
  await publishLocally(
    {
      version: 1,
      relays: drafts.map((spoken, i) => ({
        rid: rids[i],
        uri: `moqt://127.0.0.1:${i + 1}/moq`,
        health: "healthy",
        attributes: { moqt: { drafts: spoken } },
      })),
      routes: [{ prefix: [], kind: "hashed", key_fields: 2, rids }],
    },
    { home, now: Date.now() },
  );
  return home;
}

function settingsOf(home: Home): Record<string, string> {
  return {
    PORT: "0",
    YARDMASTER_MOQT_PORT: "0",
    YARDMASTER_METRICS_PORT: "0",
    YARDMASTER_MAXIMUM_AGE: "600",
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: home.keys.trusted,
    YARDMASTER_STORE: `file:${home.directory}/store`,
    YARDMASTER_LAST_KNOWN_GOOD: `file:${home.directory}/last-known-good`,
    YARDMASTER_DEVELOPMENT_CERTIFICATE: home.directory,
    YARDMASTER_INSTANCE_ID: instanceId,
    YARDMASTER_INSTANCE_KEY: join(home.keys.directory, `instance-${instanceId}.jwk`),
    // Not within a test, unless there is news.
    YARDMASTER_REPORT_INTERVAL: "3600",
    YARDMASTER_REPORT: "store",
    YARDMASTER_PROXY_URIS: "/proxy",
    YARDMASTER_BACKEND_TOKENS: "none",
    YARDMASTER_RELAY_CONNECT_TIMEOUT: "0.3",
  };
}

let alike: Home;
let apart: Home;

beforeAll(async () => {
  alike = await homeWith([[20], [18, 20]]);
  apart = await homeWith([[18], [20]]);
});

afterAll(() => {
  for (const { directory } of [alike, apart]) rmSync(directory, { recursive: true, force: true });
});

describe("an instance with proxy mode", () => {
  const cases: Readonly<
    Record<string, [keyof typeof commands, () => Record<string, string>, RegExp]>
  > = {
    "on a QUIC stack that does not keep the codes of streams": [
      "deno",
      () => ({ ...settingsOf(alike), YARDMASTER_QUIC_BACKEND: "deno" }),
      /YARDMASTER_QUIC_BACKEND has to be quiche$/,
    ],
    "without a policy for what relays are shown [LB-SEC-14]": [
      "bun",
      () => ({ ...settingsOf(alike), YARDMASTER_BACKEND_TOKENS: "" }),
      /YARDMASTER_BACKEND_TOKENS is missing: how relays learn who asks has to be said/,
    ],
    "for a pool whose relays have no draft in common [LB-PSETUP-3]": [
      "bun",
      () => settingsOf(apart),
      /YARDMASTER_PROXY_URIS: no draft of MOQT is spoken here and by all relays of the routes; their drafts: 18 by .*r1.*20 by .*r2/,
    ],
  };
  for (const [what, [runtime, settings, complaint]] of Object.entries(cases)) {
    test(`refuses to start: ${what}`, async () => {
      const process = launch(commands[runtime], { env: settings() });
      expect(await process.exited).toBe(1);
      const lines = process.output().trim().split("\n");
      expect(lines.filter((line) => line.startsWith("yardmaster:"))).toHaveLength(1);
      expect(lines.at(-1)).toMatch(complaint);
    });
  }
});

for (const [runtime, command] of Object.entries(commands)) {
  test(`an instance on ${runtime} offers what its pool speaks, lists its limits, and reports a relay that it cannot reach [PX-08, LB-PSETUP-2, LB-SEC-32, LB-HEALTH-9]`, async () => {
    const begun = Date.now();
    const process = launch(command, { env: settingsOf(alike) });
    try {
      const [line] = await process.printed(/\{"event":"listening".*\}/);
      const { url, sessions, metricsUrl } = JSON.parse(line);
      const [{ webSocket }] = sessions.proxy;
      const asking = (address: string, draft: number) =>
        connectQmux(address, { protocols: [`moqt-${draft}`] });

      await expect(asking(webSocket, 22)).rejects.toThrow();
      (await asking(sessions.webSocket, 22)).close(0n, "");
      const client = new RawPeer(await asking(webSocket, 20));
      await client.setup();

      const status = await (await fetch(`${url}/status`)).json();
      expect(status.mode).toBe("proxy");
      expect(status.limits.proxy.maximumBackends).toEqual({ limit: 10_000, inUse: 0 });
      const metrics = await (await fetch(metricsUrl)).text();
      for (const limit of Object.keys(status.limits.proxy)) {
        expect(metrics).toContain(`yardmaster_limit{limit="${limit}"}`);
      }
      expect(metrics).toContain('yardmaster_limit_use{limit="maximumMappings"} 0');
      expect(metrics).toContain("yardmaster_proxy_sessions 1");

      const { errorCode, retryInterval, errorReason } = await client.refusal(
        requestBytes("SUBSCRIBE", "live--video", { draft: 20 }),
        false,
      );
      // INTERNAL_ERROR, with a retry (LB-A9), and nothing of the relay.
      expect(errorCode).toBe(0n);
      expect(retryInterval).toBeGreaterThan(0n);
      expect(errorReason).not.toContain("127.0.0.1");
      const store = await openStore(`file:${alike.directory}/store`, "store");
      const { at, health, mode } = await eventually(
        async () => reportOf(await store.get(reportKey(instanceId))),
        // The store may still have the report of the process before.
        (report) => report?.startedAt >= begun && report.health.length > 0,
      );
      expect(mode).toBe("proxy");
      expect(health[0].state).toBe("unhealthy");
      expect(at - health[0].at).toBeLessThanOrEqual(1000);
      expect(process.output()).toMatch(
        /"event":"relay-health","relay":"r\d","state":"unhealthy","reason":"the relay /,
      );
    } finally {
      process.kill("SIGKILL");
      await process.exited;
    }
  });
}

/** What a report in the store says. */
// biome-ignore lint/suspicious/noExplicitAny: JSON
function reportOf(bytes: Uint8Array | null | undefined): any {
  if (bytes === null || bytes === undefined) return undefined;
  const [, payload = ""] = new TextDecoder().decode(bytes).split(".");
  return JSON.parse(Buffer.from(payload, "base64url").toString());
}
