/**
 * A whole agent out of a configuration: store, health checks, reports, metrics, HTTP. Wiring only.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import { messageOf } from "../errors.ts";
import { createAgentMetrics } from "../metrics/mod.ts";
import { serve } from "../page/serve.ts";
import type { Snapshot, Timers } from "../snapshot/mod.ts";
import { openWritableStore } from "../store/open.ts";
import { watchFile } from "../store/watch-file.ts";
import type { Agent } from "./agent.ts";
import type { AgentConfig } from "./config.ts";
import { createAgent } from "./configuration-agent.ts";
import { createHealth, networkProbe, type Probe } from "./health/mod.ts";
import { agentApp } from "./http/app.ts";
import { poolLoader } from "./pool-loader.ts";
import { createCollector, watchAlarms } from "./reports/mod.ts";
import { simulate } from "./simulate.ts";

/** Writes one line of the log. */
type Say = (
  event: { readonly at: number; readonly event: string } & Readonly<Record<string, unknown>>,
) => void;

/** Milliseconds between two looks for reports that instances left in the store. */
const POLL_REPORTS = 5_000;
/** Milliseconds between two looks for alarms about instances. */
const LOOK_FOR_ALARMS = 5_000;

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
  /** Resolves once it publishes, with the pool file loaded if it counts. */
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
  const pool =
    file === undefined
      ? undefined
      : poolLoader(config, file, agent, (message, problems) =>
          say({ event: "pool-file", at: now(), message, problems }),
        );
  const forget = agent.onChange(() => {
    collector.noteVersion();
    pool?.catchUp();
  });
  const ends = [
    collector.watchStore(store, POLL_REPORTS),
    watchAlarms({
      collector,
      interval: LOOK_FOR_ALARMS,
      now,
      timers,
      onEvent: (event) => say({ ...event }),
    }),
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
