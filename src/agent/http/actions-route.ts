/**
 * `POST /v1/reports` and `POST /v1/actions`: what comes in signed. Who may ask is proved by what is
 * in the body, not by who sends it.
 *
 * @module
 */

import type { Context, Handler } from "hono";
import { type BodyFault, BodyReader } from "../../hono/body.ts";
import { maximumReportLength } from "../../report/instance-report.ts";
import type { Published } from "../agent.ts";
import { faultResponse } from "./fault.ts";
import type { AgentAppSettings } from "./options.ts";
import { problem } from "./problem.ts";
import type { Gate } from "./requester.ts";

const BODY_TIMEOUT = 10_000;
/** Milliseconds that a whole pool may take to arrive. */
const POOL_TIMEOUT = 60_000;
/** Longest body from somebody unknown: an action without a pool is far shorter. */
const LARGEST_STRANGE_BODY = 64 * 1024;

/** Reports that may be on their way at a time: of all instances, of one, and of strangers. */
const PENDING_REPORTS = 512;
const PENDING_OF_ONE = 8;
const PENDING_OF_STRANGERS = 32;

/**
 * Takes reports; answers the receipt. A report is proved by its own signature, and one without a
 * token is taken too; the token is what keeps strangers, however slowly they send, from taking the
 * places of instances (LB-SEC-33).
 */
export function reportsHandler({ collector }: AgentAppSettings, gate: Gate): Handler {
  const limits = { maximumSize: maximumReportLength, timeout: BODY_TIMEOUT };
  const known = new BodyReader({ ...limits, maximumPending: PENDING_REPORTS });
  const strange = new BodyReader({ ...limits, maximumPending: PENDING_OF_STRANGERS });
  const pending = new Map<string, number>();
  /** A token may be copied: its instance alone suffers. */
  const readOf = async (c: Context, instanceId: string) => {
    const own = pending.get(instanceId) ?? 0;
    if (own >= PENDING_OF_ONE) return tooManyBodies();
    pending.set(instanceId, own + 1);
    try {
      return await textOf(c, known);
    } finally {
      const left = (pending.get(instanceId) ?? 1) - 1;
      if (left > 0) pending.set(instanceId, left);
      else pending.delete(instanceId);
    }
  };
  return async function answerReport(c) {
    if (collector === undefined) {
      return problem(404, { code: "NOT_FOUND", detail: "This agent takes no reports." });
    }
    const requester = await gate.requester(c);
    const body = await (requester?.kind === "instance"
      ? readOf(c, requester.instanceId)
      : textOf(c, strange));
    if (body instanceof Response) return body;
    try {
      const { jws } = await collector.accept(body);
      return new Response(jws, {
        headers: { "content-type": "application/jwt", "cache-control": "no-store" },
      });
    } catch (error) {
      return faultResponse(error);
    }
  };
}

/** What `POST /v1/actions` answers. */
export interface PublishedJson {
  readonly version: number;
  readonly digest: string;
  readonly kid: string;
  /** Milliseconds of the Unix epoch. */
  readonly signedAt: number;
  readonly cause: Published["cause"];
  readonly since: number;
}

/** Takes signed actions; answers what was published. */
export function actionsHandler(settings: AgentAppSettings, gate: Gate): Handler {
  const { agent, maximumPoolSize } = settings;
  const limits = { timeout: BODY_TIMEOUT, maximumPending: 64 };
  const small = new BodyReader({ ...limits, maximumSize: LARGEST_STRANGE_BODY });
  const large = new BodyReader({
    maximumSize: maximumPoolSize,
    timeout: POOL_TIMEOUT,
    maximumPending: 4,
  });
  return async function answerAction(c) {
    // Nobody unknown may make us hold megabytes: a pool comes with the operator's token.
    const requester = await gate.requester(c);
    const body = await textOf(c, requester?.kind === "operator" ? large : small);
    if (body instanceof Response) return body;
    const request = readRequest(body);
    if (request === undefined) {
      const detail = 'The body has to be JSON, as { "action": "<JWS>", "pool": { … } }.';
      return problem(400, { code: "INVALID_ACTION", detail });
    }
    try {
      return answer(await agent.submit(request.action, request.pool));
    } catch (error) {
      return faultResponse(error);
    }
  };
}

function answer({ version, digest, kid, signedAt, cause, since }: Published): Response {
  const published: PublishedJson = { version, digest, kid, signedAt, cause, since };
  return Response.json(published, { headers: { "cache-control": "no-store" } });
}

function readRequest(text: string): { action: string; pool?: unknown } | undefined {
  try {
    const value = JSON.parse(text) as { action?: unknown; pool?: unknown } | null;
    if (typeof value?.action !== "string") return undefined;
    return { action: value.action, pool: value.pool };
  } catch {
    return undefined;
  }
}

const faults: Readonly<Record<BodyFault, () => Response>> = {
  "too-large": () => problem(413, { code: "CONTENT_TOO_LARGE", detail: "The body is too large." }),
  late: () => problem(408, { code: "REQUEST_TIMEOUT", detail: "The body took too long." }),
  incomplete: () => problem(400, { code: "INCOMPLETE_BODY", detail: "The body broke off." }),
};

function tooManyBodies(): Response {
  const detail = "Too many bodies are on their way.";
  return problem(503, { code: "TOO_MANY_REQUESTS", detail }, { "retry-after": "2" });
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

async function textOf(c: Context, bodies: BodyReader): Promise<string | Response> {
  if (bodies.turnsAway()) return tooManyBodies();
  const body = await bodies.read(c.req);
  if (typeof body === "string") return faults[body]();
  try {
    return strictUtf8.decode(body);
  } catch {
    return problem(400, { code: "MALFORMED_BODY", detail: "The body is not UTF-8." });
  }
}
