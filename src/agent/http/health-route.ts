/**
 * `GET /healthz`: whether the agent does its part, for whoever asks.
 *
 * @module
 */

import type { Handler } from "hono";
import type { AgentAppSettings } from "./options.ts";
import { problem } from "./problem.ts";

/** 200 while the agent is well, else 503 with why not. */
export function healthHandler(settings: AgentAppSettings): Handler {
  return function answerHealth() {
    const details = faultIn(settings);
    if (details !== undefined) return problem(503, details);
    return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
  };
}

function faultIn({ agent, maximumAge, now }: AgentAppSettings) {
  const { role, holder, current, alarms } = agent;
  // An agent whose store is gone waits as well, yet for nobody.
  if (alarms.some(({ code }) => code === "STORE_FAILED")) {
    return { code: "STORE_FAILED", detail: "The store does not answer." };
  }
  if (role !== "publishing" && (role !== "waiting" || holder === undefined)) {
    return { code: "NOT_PUBLISHING", detail: "The agent is not at work." };
  }
  if (
    maximumAge !== undefined &&
    (current === undefined || now() - current.signedAt > maximumAge)
  ) {
    return { code: "STALE_CONFIGURATION", detail: "What is published is stale." };
  }
  return undefined;
}
