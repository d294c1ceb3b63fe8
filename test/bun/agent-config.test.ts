/** The configuration file of an agent, and an agent that runs by one, on Bun and on Deno. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { AgentClient } from "../../src/agent/client.ts";
import { ConfigFileError, readAgentConfig } from "../../src/agent/config.ts";
import { signOperatorToken } from "../../src/agent/mod.ts";
import {
  exportPublicKey,
  exportSigningKey,
  generateSigningKey,
  type SigningKey,
} from "../../src/snapshot/mod.ts";
import { inFolder, jsonFile } from "./cli-harness.ts";
import { bun, deno, eventually, launch, root } from "./processes.ts";

setDefaultTimeout(60_000);

const relay = (name: string) => ({ rid: name, uri: `https://${name}.example/moq`, probe: "none" });
const pool = (...names: string[]) => ({
  relays: names.map(relay),
  routes: [{ prefix: [], kind: "hashed", rids: names }],
});

/** A whole configuration that is right, with one operator and one instance. */
async function rightFiles(
  folder: string,
  more: object = {},
): Promise<{ file: string; ann: SigningKey }> {
  const [agent, ann, instance] = await Promise.all([
    generateSigningKey(),
    generateSigningKey(),
    generateSigningKey("edge-1"),
  ]);
  await jsonFile(folder, "signing.jwk", await exportSigningKey(agent));
  await jsonFile(folder, "trusted.jwks", { keys: [await exportPublicKey(agent)] });
  await jsonFile(folder, "operators.json", [
    { name: "ann", roles: ["routes"], key: await exportPublicKey(ann) },
  ]);
  await jsonFile(folder, "instances.jwks", { keys: [await exportPublicKey(instance)] });
  await jsonFile(folder, "pool.json", pool("r1", "r2"));
  const file = await jsonFile(folder, "agent.json", {
    $schema: "https://example.com/agent.json",
    agentId: "agent-1",
    listen: { hostname: "127.0.0.1", port: 0 },
    store: "file:store",
    signingKey: "signing.jwk",
    trustedKeys: "trusted.jwks",
    pool: "pool.json",
    maximumAge: 600,
    operators: "operators.json",
    operatorSignatures: ["rollback"],
    instances: "instances.jwks",
    ownServiceUris: ["https://lb.example/moq"],
    health: {
      interval: 5,
      timeout: 2,
      jitter: 0.1,
      fall: 3,
      rise: 2,
      maximumShare: 0.5,
      hintTtl: 60,
    },
    history: 500,
    leaseTtl: 2,
    ...more,
  });
  return { file, ann };
}

describe("readAgentConfig", () => {
  test("reads seconds as milliseconds and paths relative to the file", () =>
    inFolder(async (folder) => {
      const { file, ann } = await rightFiles(folder);
      const config = await readAgentConfig(file);
      expect(config).toMatchObject({
        agentId: "agent-1",
        listen: { hostname: "127.0.0.1", port: 0 },
        store: `file:${join(folder, "store")}`,
        pool: join(folder, "pool.json"),
        maximumAge: 600_000,
        ownServiceUris: ["https://lb.example/moq"],
        health: { interval: 5000, timeout: 2000, hintTtl: 60_000, fall: 3, maximumShare: 0.5 },
        history: 500,
        leaseTtl: 2000,
      });
      expect([...config.operators.values()]).toMatchObject([
        { name: "ann", roles: ["routes"], kid: ann.kid },
      ]);
      expect([...config.instances.keys()]).toEqual(["edge-1"]);
      expect([...config.operatorSignatures]).toEqual(["rollback"]);
    }));

  test("lists every mistake of the file and of those it names, each with its path [LB-CONF-26]", () =>
    inFolder(async (folder) => {
      const { ann } = await rightFiles(folder);
      const key = await exportPublicKey(ann);
      await jsonFile(folder, "operators.json", [
        { name: "", roles: ["king"], key },
        { name: "bob", roles: ["pool"], key: { kty: "RSA" } },
        { name: "cem", key, secret: 1 },
        "dan",
      ]);
      await jsonFile(folder, "instances.jwks", { keys: [{ ...key, kid: "not an id" }, key, key] });
      const other = await exportPublicKey(await generateSigningKey());
      await jsonFile(folder, "trusted.jwks", { keys: [other] });
      const file = await jsonFile(folder, "wrong.json", {
        agentId: "no spaces please",
        listen: { port: 99_999, certificate: "none.pem", prot: 1 },
        store: "ftp://somewhere",
        signingKey: "signing.jwk",
        trustedKeys: "trusted.jwks",
        operators: "operators.json",
        operatorSignatures: ["everything"],
        instances: "instances.jwks",
        ownServiceUris: ["nowhere"],
        health: { interval: -1, fall: 1.5, maximumShare: 2, intervall: 3 },
        history: 0,
        leaseTtl: "long",
        maximumage: 600,
      });
      const error = await readAgentConfig(file).catch((fault) => fault);
      expect(error).toBeInstanceOf(ConfigFileError);
      const paths = error.problems.map(({ path }: { path: string }) => path);
      expect(paths.sort()).toEqual(
        [
          "agentId",
          "health.fall",
          "health.interval",
          "health.intervall",
          "health.maximumShare",
          "history",
          "instances[0].kid",
          "instances[2].kid",
          "leaseTtl",
          "listen.certificate",
          "listen.key",
          "listen.port",
          "listen.prot",
          "maximumAge",
          "maximumage",
          "operatorSignatures[0]",
          "operators[0].name",
          "operators[0].roles[0]",
          "operators[1].key",
          "operators[2].roles",
          "operators[2].secret",
          "operators[3]",
          "ownServiceUris[0]",
          "pool",
          "store",
          "trustedKeys",
        ].sort(),
      );
      for (const line of error.message.split("\n")) expect(line).toStartWith(`${file}: `);
    }));

  test("wants TLS on an address that is not the loopback, or to hear who does it [LB-CONF-20]", () =>
    inFolder(async (folder) => {
      const listenOn = async (listen: object) =>
        readAgentConfig((await rightFiles(folder, { listen })).file);
      await expect(listenOn({ hostname: "0.0.0.0" })).rejects.toThrow(
        "listen.certificate: missing",
      );
      await expect(listenOn({ hostname: "::" })).rejects.toThrow("listen.certificate: missing");
      await expect(listenOn({ behindProxy: "yes" })).rejects.toThrow("listen.behindProxy: has");
      for (const hostname of ["localhost", "127.3.2.1", "::1"]) {
        expect((await listenOn({ hostname })).listen).toEqual({ hostname, port: 8790 });
      }
      const proxied = await listenOn({ hostname: "0.0.0.0", behindProxy: true });
      expect(proxied.listen.hostname).toBe("0.0.0.0");
    }));

  test("reads whom probes trust, and what a scraper shows, from files of their own", () =>
    inFolder(async (folder) => {
      const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
      await Bun.write(join(folder, "ca.pem"), pem);
      await Bun.write(join(folder, "metrics.token"), "abcdefghijklmnop\n");
      const hash = `${"A".repeat(42)}E=`;
      const health = { ca: "ca.pem", certificateHashes: [hash] };
      const metricsToken = "metrics.token";
      const { file } = await rightFiles(folder, { health, metricsToken });
      const config = await readAgentConfig(file);
      expect(config.metricsToken).toBe("abcdefghijklmnop");
      expect(config.probeTrust.ca).toBe(pem);
      const bytes = new Uint8Array(32);
      bytes[31] = 1;
      expect(config.probeTrust.certificateHashes).toEqual([bytes]);

      await Bun.write(join(folder, "metrics.token"), "short");
      const wrong = await rightFiles(folder, {
        health: { ca: "pool.json", certificateHashes: ["abc"] },
        metricsToken,
      });
      const error = await readAgentConfig(wrong.file).catch((fault) => fault);
      expect(error.problems.map(({ path }: { path: string }) => path)).toEqual([
        "health.ca",
        "health.certificateHashes[0]",
        "metricsToken",
      ]);
      expect(error.message).not.toContain('"short"');
    }));

  test("says of a file that is missing, or no JSON, no more than that", () =>
    inFolder(async (folder) => {
      const missing = join(folder, "none.json");
      await expect(readAgentConfig(missing)).rejects.toThrow(`${missing}: no such file`);
      const { file } = await rightFiles(folder);
      await Bun.write(join(folder, "signing.jwk"), '{"d": "secret');
      const error = await readAgentConfig(file).catch((fault) => fault);
      expect(error.message).toContain("not JSON");
      expect(error.message).not.toContain("secret");
    }));
});

const script = `
  import { readAgentConfig } from ${JSON.stringify(join(root, "src/agent/config.ts"))};
  import { runAgent } from ${JSON.stringify(join(root, "src/agent/run.ts"))};
  import process from "node:process";
  const running = await runAgent(await readAgentConfig(process.argv[2]), { log: console.log });
  console.log("url " + running.url);
  process.on("SIGTERM", async () => { await running.close(); process.exit(0); });
`;

for (const [runtime, command] of [
  ["Bun", [bun]],
  ["Deno", [deno, "run", "-A", "--quiet", "--no-check", "--config", join(root, "deno.json")]],
] as const) {
  test(`an agent on ${runtime} loads its pool, answers, follows the file and reports one that is wrong [LB-CONF-14] [LB-CONF-16]`, () =>
    inFolder(async (folder) => {
      await Bun.write(join(folder, "metrics.token"), "abcdefghijklmnop");
      const { file, ann } = await rightFiles(folder, { metricsToken: "metrics.token" });
      const entry = join(folder, "run.ts");
      await Bun.write(entry, script);
      const running = launch([...command, entry, file]);
      try {
        const url = (await running.printed(/url (http\S+)/))[1] as string;
        const status = async () => {
          const token = await signOperatorToken(ann, Date.now());
          const response = await fetch(`${url}/v1/status`, {
            headers: { authorization: `Bearer ${token}` },
          });
          return JSON.stringify(await response.json());
        };
        await running.printed(/"event":"published","version":1,"cause":"first"/);
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        expect((await fetch(`${url}/v1/status`)).status).toBe(401);
        const metrics = (token: string) =>
          fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
        expect((await metrics("abcdefghijklmno")).status).toBe(401);
        expect(await (await metrics("abcdefghijklmnop")).text()).toContain("yardmaster_");
        expect(await status()).toContain("https://r2.example/moq");
        await jsonFile(folder, "pool.json", pool("r1", "r2", "r3"));
        await running.printed(/"event":"published","version":2,"cause":"publish"/);
        await jsonFile(folder, "pool.json", { relays: [{ rid: "r1", uri: "nowhere" }], routes: 7 });
        await running.printed(/"event":"pool-file".*relays\[0\]\.uri.*routes/);
        await eventually(status, (text) => text.includes("POOL_FILE"));
        expect(running.output()).not.toContain('"version":3');
        running.kill("SIGTERM");
        expect(await running.exited).toBe(0);
      } finally {
        running.kill("SIGKILL");
        await running.exited;
      }
    }));
}

test("a pool file that changed while no agent ran is published by the next one, once [LB-CONF-2]", () =>
  inFolder(async (folder) => {
    const { file } = await rightFiles(folder);
    const entry = join(folder, "run.ts");
    await Bun.write(entry, script);
    /** What an agent logs from its start until it has compared the file, and a while longer. */
    const run = async (until: RegExp) => {
      const running = launch([bun, entry, file]);
      try {
        await running.printed(until);
        await Bun.sleep(300);
        running.kill("SIGTERM");
        expect(await running.exited).toBe(0);
        return running.output();
      } finally {
        running.kill("SIGKILL");
        await running.exited;
      }
    };
    await run(/"event":"published","version":1,"cause":"first"/);
    await jsonFile(folder, "pool.json", pool("r1", "r2", "r3"));
    await run(/"event":"published","version":2,"cause":"publish"/);
    const last = await run(/"event":"adopted","version":2/);
    expect(last).not.toContain('"event":"published"');
    expect(last).not.toContain("POOL_FILE");
  }));

test("a pool file that changed raises an alarm until it is signed for or put back, where that is asked for [LB-ROT-5]", () =>
  inFolder(async (folder) => {
    const { file, ann } = await rightFiles(folder, { operatorSignatures: ["publish"] });
    const entry = join(folder, "run.ts");
    await Bun.write(entry, script);
    const alarm = /"event":"alarm","code":"POOL_FILE","message":"[^"]*yard publish/;
    const over = /"event":"alarm-over","code":"POOL_FILE"/;
    let running = launch([bun, entry, file]);
    try {
      await running.printed(/"event":"published","version":1,"cause":"first"/);
      await Bun.sleep(1100);
      await jsonFile(folder, "pool.json", pool("r1", "r2", "r3"));
      await running.printed(alarm);
      await jsonFile(folder, "pool.json", pool("r1", "r2"));
      await running.printed(over);
      running.kill("SIGTERM");
      expect(await running.exited).toBe(0);

      await jsonFile(folder, "pool.json", pool("r1"));
      running = launch([bun, entry, file]);
      const url = (await running.printed(/url (http\S+)/))[1] as string;
      await running.printed(alarm);
      const client = new AgentClient({ url, key: ann });
      expect((await client.publish(pool("r1"), "smaller")).version).toBe(2);
      await running.printed(over);
    } finally {
      running.kill("SIGKILL");
      await running.exited;
    }
  }));

test("a pool file that changes while another agent publishes counts from the take-over on", () =>
  inFolder(async (folder) => {
    const first = await rightFiles(folder, { agentId: "first", leaseTtl: 1 });
    const entry = join(folder, "run.ts");
    await Bun.write(entry, script);
    const publishing = launch([bun, entry, first.file]);
    await publishing.printed(/"event":"published","version":1/);
    await jsonFile(folder, "pool-2.json", pool("r1", "r2"));
    const second = join(folder, "agent-2.json");
    const config = { ...(await Bun.file(first.file).json()), agentId: "second" };
    await Bun.write(second, JSON.stringify({ ...config, pool: "pool-2.json" }));
    const waiting = launch([bun, entry, second]);
    try {
      await waiting.printed(/url http/);
      // A change counts for one once the watch has seen the file as it was before.
      let relays = 3;
      await eventually(
        async () => {
          const names = Array.from({ length: relays++ }, (_, i) => `r${i}`);
          await jsonFile(folder, "pool-2.json", pool(...names));
          return waiting.output();
        },
        (output) => output.includes("counts once this agent publishes"),
      );
      publishing.kill("SIGTERM");
      await publishing.exited;
      await waiting.printed(/"event":"published","version":\d+,"cause":"publish"/);
    } finally {
      for (const { kill, exited } of [publishing, waiting]) {
        kill("SIGKILL");
        await exited;
      }
    }
  }));
