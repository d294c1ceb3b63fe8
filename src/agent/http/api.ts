/**
 * What operators' tools read: status, history, differences, explanations, refusals, as JSON.
 *
 * @module
 */

import type { Handler } from "hono";
import { MalformedNameError, parseName, type TrackNamespace } from "../../moqt/mod.ts";
import { snapshotToJson, type VerifiedSnapshot } from "../../snapshot/mod.ts";
import { describeChange, diffSnapshots } from "../diff.ts";
import { AgentError } from "../errors.ts";
import type { HistoryEntry } from "../history.ts";
import { explain } from "./explanation.ts";
import { faultResponse } from "./fault.ts";
import type { AgentAppSettings } from "./options.ts";
import type { AgentPort } from "./ports.ts";
import { problem } from "./problem.ts";
import { wholeNumber, wholeNumberOf } from "./query.ts";
import type { ShareMeter } from "./shares.ts";
import { statusOf } from "./status.ts";

/** Milliseconds that a status waits for shares that are not measured yet. */
const SHARES_IN_TIME = 3000;
const HISTORY_LIMIT = 50;
const MOST_HISTORY = 200;

/** @param meter measures the shares that the status tells; null in it until they are known */
export function apiHandlers(
  settings: AgentAppSettings,
  meter: ShareMeter,
): Readonly<Record<string, Handler>> {
  const { agent, collector, now } = settings;
  return {
    "/v1/status": async (c) => {
      // A tool that wants the version alone need not wait for what takes a while to measure.
      const patience = c.req.query("shares") === "none" ? 0 : SHARES_IN_TIME;
      const shares = await meter.within(agent.current, patience, settings.timers);
      return json(statusOf(agent, collector, shares, now()));
    },
    "/v1/history": async (c) => {
      const before = wholeNumber(c, "before");
      const limit = wholeNumber(c, "limit", HISTORY_LIMIT);
      if (before === null || limit === null || limit < 1 || limit > MOST_HISTORY) {
        return badQuery(`before is a version, limit a number from 1 to ${MOST_HISTORY}.`);
      }
      const entries = await agent.history({ limit, ...(before !== undefined && { before }) });
      return json({ entries });
    },
    "/v1/history/:version": async (c) => {
      const version = wholeNumberOf(c.req.param("version") ?? "");
      if (version === undefined) return notFound();
      const [entry, verified] = await Promise.all([
        entryOf(agent, version),
        agent.snapshotAt(version),
      ]);
      if (entry === undefined) return notFound();
      return json({ entry, ...(verified && { snapshot: snapshotToJson(verified.snapshot) }) });
    },
    "/v1/diff": async (c) => {
      const [from, to] = [wholeNumber(c, "from"), wholeNumber(c, "to")];
      if (typeof from !== "number" || typeof to !== "number") {
        return badQuery("from and to are versions.");
      }
      const [a, b] = await Promise.all([snapshotOf(agent, from), snapshotOf(agent, to)]);
      const changes = diffSnapshots(a.snapshot, b.snapshot).map(describeChange);
      return json({ from, to, changes });
    },
    "/v1/route": async (c) => {
      const namespace = namespaceOf(c.req.query("name") ?? "");
      if (typeof namespace === "string") return badQuery(namespace);
      if (agent.current === undefined) {
        return problem(404, { code: "NO_CONFIGURATION", detail: "Nothing is published yet." });
      }
      return json(explain(agent.current, namespace));
    },
    "/v1/refusals": async () => json({ refusals: agent.refusals }),
  };
}

/** The history's entry of `version`. */
export async function entryOf(
  agent: AgentPort,
  version: number,
): Promise<HistoryEntry | undefined> {
  const [entry] = await agent.history({ before: version + 1, limit: 1 });
  return entry?.version === version ? entry : undefined;
}

/** @throws {AgentError} `UNKNOWN_VERSION` */
export async function snapshotOf(agent: AgentPort, version: number): Promise<VerifiedSnapshot> {
  const found = await agent.snapshotAt(version);
  if (found !== undefined) return found;
  throw new AgentError("UNKNOWN_VERSION", `the history has no version ${version}`);
}

/** The namespace that `text` names, or what is wrong with it; a Track Name is left aside. */
export function namespaceOf(text: string): TrackNamespace | string {
  try {
    return parseName(text).trackNamespace;
  } catch (error) {
    if (!(error instanceof MalformedNameError)) throw error;
    return `This is no name in MOQT's text form: ${error.message}.`;
  }
}

function json(value: unknown): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}

function badQuery(detail: string): Response {
  return problem(400, { code: "INVALID_QUERY", detail });
}

function notFound(): Response {
  return faultResponse(new AgentError("UNKNOWN_VERSION", "the history has no such version"));
}
