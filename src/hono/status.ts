/**
 * `GET /healthz` and `GET /status`: the state of an instance, without a word about its relays.
 *
 * @module
 */

import type { Env, Handler } from "hono";
import type { LimitStatuses, Redirector } from "../moq-lb/mod.ts";
import { configurationAge, isStale } from "../snapshot/mod.ts";
import type { BodyReader } from "./body.ts";
import type { MoqLbOptions } from "./options.ts";
import { problem } from "./problem.ts";

/** What `GET /status` answers. */
export interface InstanceStatus {
  /** Version of the snapshot in force, `null` before the first. */
  readonly activeVersion: number | null;
  /** Its age since it was signed, rounded down; `null` before the first. */
  readonly ageSeconds: number | null;
  /** Whether requests cannot be placed for want of a snapshot that is young enough. */
  readonly stale: boolean;
  readonly instanceId: string;
  /** `proxy`: sessions at addresses of their own are in proxy mode, all else in redirect mode. */
  readonly mode: "redirect" | "proxy";
  /** How the limits stand, durations in milliseconds (LB-SEC-32). */
  readonly limits: {
    readonly requests: LimitStatuses;
    /** Absent where the plug-in knows of no sessions. */
    readonly sessions?: LimitStatuses;
    /** Absent where nothing is served in proxy mode. */
    readonly proxy?: LimitStatuses;
  };
}

/** 200 while requests can be placed; 503 before the first snapshot and past the maximum age. */
export function healthHandler<E extends Env>(options: MoqLbOptions<E>): Handler<E> {
  const { holder, now = Date.now } = options;
  return function answerHealth() {
    const { active } = holder;
    if (active === undefined) {
      return problem(503, { code: "NO_CONFIGURATION", detail: "There is no snapshot yet." });
    }
    if (isStale(active, now())) {
      const detail = "The snapshot is past its maximum age.";
      return problem(503, { code: "STALE_CONFIGURATION", detail });
    }
    return uncached({ status: "ok" });
  };
}

/**
 * Answers an {@link InstanceStatus}, always 200: whether requests can be placed is what
 * {@link healthHandler} says.
 */
export function statusHandler<E extends Env>(
  redirector: Pick<Redirector, "limits">,
  bodies: Pick<BodyReader, "limits">,
  options: MoqLbOptions<E>,
): Handler<E> {
  const { holder, now = Date.now, sessionServer } = options;
  let { instanceId } = options;
  return function answerStatus() {
    // Not before a request: Workers have no randomness while a module loads.
    instanceId ??= crypto.randomUUID();
    const { active } = holder;
    const at = now();
    const sessions = sessionServer?.status();
    const status: InstanceStatus = {
      activeVersion: active?.snapshot.version ?? null,
      ageSeconds: active === undefined ? null : Math.floor(configurationAge(active, at) / 1000),
      stale: active === undefined || isStale(active, at),
      instanceId,
      mode: sessions?.proxy === undefined ? "redirect" : "proxy",
      limits: {
        requests: { ...redirector.limits(), ...bodies.limits() },
        ...(sessions && { sessions: sessions.limits }),
        ...(sessions?.proxy && { proxy: sessions.proxy.limits }),
      },
    };
    return uncached(status);
  };
}

function uncached(value: object): Response {
  return Response.json(value, { headers: { "cache-control": "no-store" } });
}
