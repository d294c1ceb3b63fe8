/** `yard agent` and operators' commands on Deno: real processes. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, test } from "#test";
import { developmentCertificate } from "../../src/quic/development-certificate.ts";

const entry = fileURLToPath(new URL("../../src/cli/yard.ts", import.meta.url));

function start(args: readonly string[], cwd: string): ChildProcess {
  return spawn(process.execPath, ["run", "--quiet", "-A", entry, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What `yard ARGS` prints and how it ends. */
async function yard(args: readonly string[], cwd: string) {
  const child = start(args, cwd);
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.on("data", (bytes: Uint8Array) => {
      output[stream] += new TextDecoder().decode(bytes);
    });
  }
  const status = await new Promise((resolve) => child.on("close", resolve));
  return { status, ...output };
}

/** Resolves with what `pattern` finds in the output of `child`. */
function printed(child: ChildProcess, stream: "stdout" | "stderr", pattern: RegExp) {
  return new Promise<string>((resolve, reject) => {
    let output = "";
    child[stream]?.on("data", (bytes: Uint8Array) => {
      output += new TextDecoder().decode(bytes);
      const match = pattern.exec(output);
      if (match !== null) resolve(match[1] ?? match[0]);
    });
    child.on("close", (status) => reject(new Error(`ended with ${status}: ${output}`)));
  });
}

const pool = {
  relays: ["r1", "r2"].map((rid) => ({ rid, uri: `https://${rid}.example/moq`, probe: "none" })),
  routes: [{ prefix: ["example.com"], kind: "hashed", rids: ["r1", "r2"] }],
};

describe("yard agent on Deno", () => {
  test("runs over TLS, does what operators sign, and leaves a store that goes on [LB-ROT-5]", async () => {
    const folder = await mkdtemp(join(tmpdir(), "yard-test-"));
    let agent: ChildProcess | undefined;
    try {
      const done = async (...args: string[]) => {
        const run = await yard([...args, "--home", "home"], folder);
        assert.equal(run.status, 0, run.stderr);
        return run.stdout;
      };
      await done("keygen");
      await done("keygen", "--operator", "ada");
      await developmentCertificate({ directory: folder });
      const certificate = "development-certificate.pem";
      await writeFile(join(folder, "pool.json"), JSON.stringify(pool));
      const configuration = {
        agentId: "agent-1",
        listen: { port: 0, certificate, key: "development-key.pem" },
        store: "file:home/store",
        signingKey: "home/keys/signing.jwk",
        trustedKeys: "home/keys/trusted.jwks",
        pool: "pool.json",
        maximumAge: 900,
        operators: "home/operators.json",
      };
      await writeFile(join(folder, "agent.json"), JSON.stringify(configuration));
      agent = start(["agent", "--config", "agent.json"], folder);
      const [url] = await Promise.all([
        printed(agent, "stderr", /^agent agent-1 at (\S+)$/m),
        printed(agent, "stdout", /"event":"published"/),
      ]);
      assert.match(url, /^https:/);
      const ca = ["--ca", certificate];
      assert.equal(await done("drain", "r2", "--reason", "disk", ...ca), "version 2\n");
      assert.equal(await done("rollback", "--to", "1", ...ca), "version 3\n");
      const status = JSON.parse(await done("status", "--json", ...ca));
      assert.equal(status.role, "publishing");
      assert.equal(status.current.version, 3);
      const distrusted = await yard(["status", "--home", "home", "--agent", url], folder);
      assert.equal(distrusted.status, 1);
      assert.match(distrusted.stderr, /\(UNREACHABLE\)\n$/);
      const ended = new Promise((resolve) => agent?.on("close", resolve));
      // Its own kill makes Deno forget the exit status.
      process.kill(agent.pid as number, "SIGTERM");
      assert.equal(await ended, 0);
      assert.equal(await done("weight", "r2", "4"), "version 4\n");
      assert.match(await done("history", "--limit", "1"), /\n4 .* weight {2}ada {2}signed {2}-\n/);
    } finally {
      agent?.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    }
  });
});
