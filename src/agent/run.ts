/**
 * A whole agent out of a configuration: store, health checks, reports, metrics, HTTP. Wiring only.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import { createAgentMetrics } from "../metrics/mod.ts";
import { type Snapshot, SnapshotError, type Timers } from "../snapshot/mod.ts";
import { openWritableStore } from "../store/open.ts";
import type { Agent } from "./agent.ts";
import type { AgentConfig } from "./config.ts";
import { createAgent } from "./configuration-agent.ts";
import { createHealth, networkProbe, type Probe } from "./health/mod.ts";
import { agentApp } from "./http/app.ts";
import { readPoolFile, watchFile } from "./pool-file.ts";
import { createCollector } from "./reports/mod.ts";
import { serve } from "./serve.ts";
import { simulate } from "./simulate.ts";

/** Writes one line of the log. */
type Say = (
  event: { readonly at: number; readonly event: string } & Readonly<Record<string, unknown>>,
) => void;

/** Milliseconds between two looks for reports that instances left in the store. */
const POLL_REPORTS = 5_000;

const timers: Timers = {
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

export interface RunOptions {
  /** Takes lines of the log: one JSON map each. */
  readonly log: (line: string) => void;
}

/** An agent that runs. */
export interface RunningAgent {
  readonly agent: Agent;
  /** Where its HTTP interface is. */
  readonly url: string;
  /** Resolves once it publishes, with the pool file loaded if the store had no snapshot. */
  readonly started: Promise<void>;
  /** Reads the pool file again and publishes it, where no signature is asked for that. */
  reload(): Promise<void>;
  /** Ends everything and releases the lease. */
  close(): Promise<void>;
}

/**
 * Runs an agent. It answers at once; that it publishes may take until another agent is gone.
 *
 * @throws {ConfigurationError} the store's address
 * @throws {YardmasterError} `LISTEN_FAILED`
 */
export async function runAgent(config: AgentConfig, { log }: RunOptions): Promise<RunningAgent> {
  const now = () => Date.now();
  const monotonic = () => performance.now();
  // As instances write theirs.
  const say: Say = ({ at, ...event }) =>
    log(JSON.stringify({ time: new Date(at).toISOString(), ...event }));
  const store = await openWritableStore(config.store, "store");
  const { timeout } = config.health;
  const dial = networkProbe({ ...config.probeTrust, ...(timeout !== undefined && { timeout }) });
  let probe: Probe = dial;
  const health = createHealth(config.health, {
    probe: (relay, signal) => probe(relay, signal),
    now,
    monotonic,
    timers,
    random: Math.random,
  });
  const { listen, publicUrl, ownServiceUris, history, leaseTtl, instances, maximumAge } = config;
  const { agentId, signingKey, trustedKeys, operators, operatorSignatures } = config;
  // The socket comes first: its port is in the lease, and requests wait for no lease.
  let answer: (request: Request) => Response | Promise<Response> = () =>
    new Response(null, { status: 503 });
  const listener = serve(listen, (request) => answer(request));
  const agent = createAgent({
    agentId,
    url: publicUrl ?? listener.url,
    store,
    signingKey,
    trustedKeys,
    maximumAge,
    operators,
    operatorSignatures,
    ...(ownServiceUris && { ownServiceUris }),
    ...(history !== undefined && { history }),
    ...(leaseTtl !== undefined && { leaseTtl }),
    health,
    now,
    monotonic,
    timers,
    onEvent: (event) => {
      say(event);
      metrics.onEvent(event);
    },
  });
  const collector = createCollector({
    instances,
    signingKey,
    current: () => agent.current,
    hints: health,
    isRelay: relayCheck(agent),
    now,
    monotonic,
    timers,
  });
  const metrics = createAgentMetrics({ agent, collector, maximumAge, now });
  probe = metrics.countProbes(dial);
  const app = agentApp({
    agent,
    operators,
    simulate,
    now,
    instances,
    collector,
    metrics,
    publicUrl: publicUrl ?? listener.url,
    operatorSignatures: new Set([...operatorSignatures, "rollback"]),
    maximumAge,
    ...(config.metricsToken !== undefined && { metricsToken: config.metricsToken }),
    timers,
    onError: (error) => say({ event: "error", at: now(), message: messageOf(error) }),
  });
  answer = (request) => app.fetch(request);
  const { pool: file } = config;
  const pool = file === undefined ? undefined : poolLoader(config, file, agent, say);
  const forget = agent.onChange(() => {
    collector.noteVersion();
    pool?.catchUp();
  });
  const ends = [
    collector.watchStore(store, POLL_REPORTS),
    ...(file === undefined ? [] : [watchFile(file, timers, () => void pool?.reload())]),
    forget,
  ];
  const started = agent.start().then(() => pool?.loadFirst());
  // Who is stopped while it waits has nothing to report.
  started.catch(() => {});
  return {
    agent,
    url: listener.url,
    started,
    reload: async () => pool?.reload(),
    async close() {
      for (const end of ends) end();
      await agent.stop();
      await listener.close();
    },
  };
}

/** Whether a RID in hexadecimal is a relay's of the current pool; asked for with every report. */
function relayCheck(agent: Agent): (rid: string) => boolean {
  let of: Snapshot | undefined;
  let rids: ReadonlySet<string> = new Set();
  return (rid) => {
    const snapshot = agent.current?.snapshot;
    if (snapshot !== of) {
      of = snapshot;
      rids = new Set(snapshot?.relays.map((relay) => toHex(relay.rid)));
    }
    return rids.has(rid);
  };
}

/** Publishes the pool file, or says what is wrong with it. */
function poolLoader({ operatorSignatures }: AgentConfig, file: string, agent: Agent, say: Say) {
  /** Whether the file changed while another agent published. */
  let changedMeanwhile = false;
  const load = async (): Promise<void> => {
    try {
      const text = await readPoolFile(file);
      await agent.publish(text, { kind: "local" });
      agent.setAlarm("POOL_FILE", undefined);
    } catch (error) {
      const problems = error instanceof SnapshotError ? error.problems : [];
      const message = `${file}: ${messageOf(error)}`;
      say({ event: "pool-file", at: Date.now(), message, problems });
      agent.setAlarm("POOL_FILE", message);
    }
  };
  const reload = async (): Promise<void> => {
    if (agent.role !== "publishing") {
      changedMeanwhile = true;
      const message = `${file} changed: it counts once this agent publishes`;
      say({ event: "pool-file", at: Date.now(), message, problems: [] });
      return;
    }
    const first = agent.current === undefined;
    if (!first && operatorSignatures.has("publish")) {
      const message = `${file} changed: publish it with an operator's signature`;
      say({ event: "pool-file", at: Date.now(), message, problems: [] });
      return;
    }
    await load();
  };
  return {
    reload,
    async loadFirst(): Promise<void> {
      // Where the newest version is lost, operators decide what takes its place.
      if (agent.alarms.some(({ code }) => code === "STORE_DAMAGED")) return;
      if (agent.current === undefined) await load();
    },
    /** Does what was put off while another agent published. */
    catchUp(): void {
      if (!changedMeanwhile || agent.role !== "publishing") return;
      changedMeanwhile = false;
      void reload();
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
