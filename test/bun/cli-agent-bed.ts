/** A home with keys and an operator, and `yard agent` as a process on its store. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentClient } from "../../src/agent/client.ts";
import type { Role } from "../../src/agent/mod.ts";
import { createSigningKey, type Home, homeAt } from "../../src/cli/home.ts";
import { createInstanceKey, createOperatorKey, readOperatorKey } from "../../src/cli/people.ts";
import { inFolder, type Run, type RunOptions, yard } from "./cli-harness.ts";
import { launch, type RunningProcess, root } from "./processes.ts";

/** A pool of two relays that nobody probes. */
export const pool = {
  relays: [
    { rid: "r1", uri: "https://r1.example/moq", probe: "none" },
    { rid: "relay-2", uri: "https://r2.example/moq", probe: "none" },
  ],
  routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids: ["r1", "relay-2"] }],
};

export interface AgentBed {
  readonly folder: string;
  readonly home: Home;
  readonly poolFile: string;
  /** `yard ARGS --home …` */
  yard(args: readonly string[], options?: RunOptions): Promise<Run>;
  /** Starts `yard agent`; resolves once it publishes. */
  agent(
    changes?: Readonly<Record<string, unknown>>,
  ): Promise<{ url: string; process: RunningProcess }>;
  /** A client with the operator's key. */
  client(url: string): Promise<AgentClient>;
}

/** Runs `body` with a home in a new folder; what it started is ended afterwards. */
export function withBed(body: (bed: AgentBed) => Promise<void>, role: Role = "routes") {
  return inFolder(async (folder) => {
    const home = homeAt(join(folder, "home"));
    await createSigningKey(home.keys);
    const files = { ...home.keys, lists: home.directory };
    await createOperatorKey(files, { name: "ada", roles: [role] }, false);
    await createInstanceKey(files, "edge-1", false);
    const poolFile = join(folder, "pool.json");
    await writeFile(poolFile, JSON.stringify(pool));
    const running: RunningProcess[] = [];
    try {
      await body({
        folder,
        home,
        poolFile,
        yard: (args, options) => yard([...args, "--home", home.directory], options),
        async agent(changes = {}) {
          const file = join(folder, "agent.json");
          await writeFile(file, JSON.stringify({ ...configuration, ...changes }));
          const entry = join(root, "src", "cli", "yard.ts");
          const command = [process.execPath, entry, "agent", "--config", file];
          const agent = launch(command, { cwd: folder });
          running.push(agent);
          const [, url = ""] = await agent.printed(/^agent agent-1 at (\S+)$/m);
          await agent.printed(/"role":"publishing"/);
          await agent.printed(/"event":"(?:published|adopted)"/);
          return { url, process: agent };
        },
        client: async (url) => new AgentClient({ url, key: await readOperatorKey(home) }),
      });
    } finally {
      for (const agent of running) agent.kill("SIGKILL");
      await Promise.all(running.map(({ exited }) => exited));
    }
  });
}

/** Paths are relative to the file, as operators write them. */
const configuration = {
  agentId: "agent-1",
  listen: { port: 0 },
  store: "file:home/store",
  signingKey: "home/keys/signing.jwk",
  trustedKeys: "home/keys/trusted.jwks",
  pool: "pool.json",
  maximumAge: 900,
  operators: "home/operators.json",
  instances: "home/instances.json",
  operatorSignatures: ["publish", "pool"],
  leaseTtl: 1,
};

/** Output in which times and ages are the same in every run. */
export function timeless(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, "2026-11-05 12:00:00 UTC")
    .replace(/\b\d+ s ago/g, "0 s ago");
}
