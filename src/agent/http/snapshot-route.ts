/**
 * `GET /v1/snapshot`: the signed envelope in force for instances that share no store with the agent;
 * at once, when there is a newer one, or as a stream of events that tells versions.
 *
 * @module
 */

import type { Context, Handler } from "hono";
import type { AgentAppSettings } from "./options.ts";
import { problem } from "./problem.ts";
import { wholeNumber } from "./query.ts";
import type { Requester } from "./requester.ts";
import type { VersionFeed } from "./version-feed.ts";

/** @param requesterOf who is behind a request; strangers do not come this far */
export function snapshotHandler(
  { agent, waiting }: AgentAppSettings,
  feed: VersionFeed,
  requesterOf: (c: Context) => Requester,
): Handler {
  return async function answerSnapshot(c) {
    const signal = c.req.raw.signal;
    const client = clientOf(requesterOf(c));
    if (accepts(c, "text/event-stream")) {
      const seat = feed.seat(client);
      if (seat === undefined) return tooManyWait();
      return new Response(feed.events(seat, signal), {
        headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
      });
    }
    const after = wholeNumber(c, "after");
    const wait = wholeNumber(c, "wait", 0);
    if (after === null || wait === null || wait > waiting.longestWait) {
      const detail = `after is a version, wait a number of seconds up to ${waiting.longestWait}.`;
      return problem(400, { code: "INVALID_QUERY", detail });
    }
    if (after !== undefined && wait > 0) {
      const seat = feed.seat(client);
      if (seat === undefined) return tooManyWait();
      await feed.newer(after, wait * 1000, signal);
      seat.release();
    }
    const { current } = agent;
    if (current === undefined) {
      const detail = "Nothing is published yet.";
      return problem(404, { code: "NO_CONFIGURATION", detail });
    }
    const etag = `"v${current.version}"`;
    const headers = { etag, "cache-control": "no-store", vary: "accept, authorization, cookie" };
    const isKnown = isAmong(c.req.header("if-none-match") ?? "", etag);
    if ((after !== undefined && current.version <= after) || isKnown) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(current.envelope as Uint8Array<ArrayBuffer>, {
      headers: { ...headers, "content-type": "application/cose" },
    });
  };
}

/** Whether `If-None-Match` names `etag`, compared weakly (RFC 9110 §13.1.2). */
function isAmong(field: string, etag: string): boolean {
  const tags = field.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags[0] === "*";
}

function clientOf(requester: Requester): string {
  if (requester.kind === "instance") return `instance ${requester.instanceId}`;
  return requester.kind === "operator" ? `operator ${requester.operator.kid}` : "scraper";
}

function accepts(c: Context, type: string): boolean {
  const ranges = (c.req.header("accept") ?? "").split(",");
  return ranges.some((range) => range.split(";")[0]?.trim().toLowerCase() === type);
}

function tooManyWait(): Response {
  const detail = "So many wait for versions already that no more may.";
  return problem(429, { code: "TOO_MANY_WAITERS", detail }, { "retry-after": "10" });
}
