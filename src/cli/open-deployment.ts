/**
 * Finding what a command acts on.
 *
 * @module
 */

import process from "node:process";
import { AgentClient, AgentRefusal } from "../agent/client.ts";
import { type LeaseHolder, leaseHolder } from "../agent/mod.ts";
import type { Fetch } from "../report/mod.ts";
import { fetchTrusting } from "./agent-fetch.ts";
import type { AgentValues } from "./agent-options.ts";
import type { Deployment } from "./deployment.ts";
import { UsageError } from "./errors.ts";
import { type Home, homeAt } from "./home.ts";
import { localDeployment } from "./local-deployment.ts";
import { notAbove } from "./not-above.ts";
import { hasOperatorKey, readOperatorKey } from "./people.ts";
import { messageStyle, printable, tell } from "./terminal.ts";

/** Milliseconds that an agent may take to show that it lives. */
const PATIENCE = 5_000;

/**
 * The deployment that the options mean: the agent that they name; else the one that holds the lease
 * of the home's store and can be reached; else that store itself. Where an agent lives that cannot
 * be reached, its lease keeps us from publishing beside it.
 *
 * @throws {UsageError} the address is none of an agent
 * @throws {InputError} the operator's key is missing, or the file with authorities is of no use
 */
export async function openDeployment(values: AgentValues): Promise<Deployment> {
  const home = homeAt(values.home);
  const named = agentUrl(values);
  if (named !== undefined) return remote(await clientFor(named, home, values), named);
  const holder = await holderOf(home);
  if (holder?.url === undefined || !(await hasOperatorKey(home))) {
    return localDeployment(home, Date.now);
  }
  const client = await clientFor(holder.url, home, values, PATIENCE);
  const fault = await faultOf(client);
  if (fault === undefined) {
    return remote(await clientFor(holder.url, home, values), holder.url);
  }
  tell(messageStyle().dim(`note: ${fault}; working on the store of ${home.directory} itself`));
  return localDeployment(home, Date.now);
}

/**
 * A client of the agent itself, for what makes no sense without one.
 *
 * @throws {UsageError} no agent is named, and none holds the lease of the home's store
 */
export async function openAgent(values: AgentValues): Promise<AgentClient> {
  const home = homeAt(values.home);
  const url = agentUrl(values) ?? (await holderOf(home))?.url;
  if (url !== undefined) return clientFor(url, home, values);
  throw new UsageError(
    `no agent publishes from the store of ${home.directory}; name one with --agent`,
  );
}

/** The address of the agent that is named, if one is. */
function agentUrl({ agent }: AgentValues): string | undefined {
  return agent ?? (process.env.YARDMASTER_AGENT || undefined);
}

async function holderOf(home: Home): Promise<LeaseHolder | undefined> {
  const holder = await leaseHolder(home.store);
  // Whoever can write to the store can write this; it goes to no terminal as it is.
  return holder?.url === undefined ? holder : { ...holder, url: printable(holder.url) };
}

async function clientFor(
  url: string,
  home: Home,
  { ca }: AgentValues,
  timeout?: number,
): Promise<AgentClient> {
  const key = await readOperatorKey(home);
  const trusting: Fetch | undefined = ca === undefined ? undefined : await fetchTrusting(ca);
  try {
    return new AgentClient({
      url,
      key,
      ...(trusting && { fetch: trusting }),
      ...(timeout !== undefined && { timeout }),
    });
  } catch (error) {
    if ((error as { code?: unknown }).code !== "INVALID_CONFIGURATION") throw error;
    throw new UsageError((error as Error).message);
  }
}

/** Why the agent cannot be talked to; a refusal is an answer. */
async function faultOf(client: AgentClient): Promise<string | undefined> {
  try {
    await client.refusals();
    return undefined;
  } catch (error) {
    if (!(error instanceof AgentRefusal)) throw error;
    return error.status === 0 ? error.message : undefined;
  }
}

function remote(client: AgentClient, where: string): Deployment {
  return {
    where,
    live: true,
    status: () => client.status(),
    history: (options) => client.history(options),
    snapshotAt: (version) => client.snapshotAt(version),
    async publish({ json, version }, { next, reason, source }) {
      const current = next || version === undefined ? undefined : (await client.status()).current;
      // The agent numbers versions itself; a file from before is not published by mistake.
      if (current && version !== undefined && version <= current.version) {
        throw notAbove(source, version, current.version, where);
      }
      return client.publish(json, reason);
    },
    rollback: (version, reason) => client.rollback(version, reason),
    act: (request, reason) => client.act(request, reason),
  };
}

/** Opens the deployment at most once, and only where something asks for it. */
export function sharedDeployment(values: AgentValues): () => Promise<Deployment> {
  let opened: Promise<Deployment> | undefined;
  return () => {
    opened ??= openDeployment(values);
    return opened;
  };
}
