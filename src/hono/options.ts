/**
 * Options of the MoQ-LB plug-in.
 *
 * @module
 */

import type { Context, Env, Handler } from "hono";
import {
  ConfigurationError,
  type LimitStatuses,
  type RedirectorOptions,
  type RedirectServerStatus,
  requireFunction,
  requireInteger,
  requireList,
} from "../moq-lb/mod.ts";
import { type Draft, drafts } from "../moqt/mod.ts";
import { type CorsOptions, checkCors } from "./cors-option.ts";

/** Options of `moqLb()`. Only `holder` and `authorization` are required. */
export interface MoqLbOptions<E extends Env = Env> extends RedirectorOptions {
  /**
   * How clients are told apart for `rateLimit`, and required with it: only the deployment knows
   * whether a client's address is that of the socket, that of a header which its own proxy sets,
   * or no address at all. `X-Forwarded-For` as such is whatever the client says.
   */
  readonly clientOf?: (c: Context<E>) => string;
  /** The tenant that `rateLimit` and authorization policies are told. Default: none. */
  readonly tenantOf?: (c: Context<E>) => string | undefined;
  /** Drafts that `POST /moqt/:draft` answers; others are 404. Default: 18 to 22. */
  readonly drafts?: readonly Draft[];
  /** Longest body in bytes; longer ones are 413. Default: the longest control message, 65,546. */
  readonly maximumBodySize?: number;
  /**
   * Milliseconds until a body has arrived in full; what takes longer is 408. Default 10,000.
   * Bodies that are on their way count against `maximumPending`.
   */
  readonly bodyTimeout?: number;
  /**
   * CORS for players on other origins, as hono's `cors` takes it. Off by default. Scripts in
   * browsers can use `POST /moqt/:draft` alone: the `Location` of a redirect is hidden from them.
   */
  readonly cors?: CorsOptions;
  /** Live sessions: what `moqtOverWebSocket` made. Default: none, and no such path. */
  readonly sessions?: {
    readonly handler: Handler<E>;
    /** One or more; default `/moqt`. */
    readonly path?: string | readonly string[];
  };
  /** Whose limits `GET /status` shows as those of sessions, and whose mode. Default: none. */
  readonly sessionServer?: {
    status(): RedirectServerStatus & { readonly proxy?: { readonly limits: LimitStatuses } };
  };
  /** Name of this instance in `GET /status`. Default: a random UUID. */
  readonly instanceId?: string;
  /** Told of what `clientOf` and `tenantOf` throw, and of errors that no rule foresees, bare 500s. */
  readonly onError?: (error: unknown) => void;
}

/** A type in up to 9 bytes, a length in 2, a body. */
export const longestMessage = 9 + 2 + 0xffff;

export const defaultBodyTimeout = 10_000;

/**
 * Checks what the redirector does not check.
 *
 * @throws {ConfigurationError} an option is missing or wrong
 */
export function checkOptions<E extends Env>(options: MoqLbOptions<E>): void {
  for (const hook of ["clientOf", "tenantOf", "onError"] as const) {
    requireFunction(hook, options[hook]);
  }
  if (options.rateLimit !== undefined && options.clientOf === undefined) {
    throw new ConfigurationError("clientOf is missing: rateLimit has to tell clients apart");
  }
  requireInteger("maximumBodySize", options.maximumBodySize ?? longestMessage, 1);
  requireInteger("bodyTimeout", options.bodyTimeout ?? defaultBodyTimeout, 1, 3_600_000);
  requireDrafts(options.drafts);
  const { instanceId, sessions, cors } = options;
  if (instanceId === "" || (instanceId !== undefined && typeof instanceId !== "string")) {
    throw new ConfigurationError("instanceId has to be a string that is not empty");
  }
  if (cors !== undefined) checkCors(cors);
  if (sessions !== undefined) checkSessions(sessions);
  if (options.sessionServer !== undefined && typeof options.sessionServer.status !== "function") {
    throw new ConfigurationError("sessionServer has to be what createRedirectServer made");
  }
}

/** @throws {ConfigurationError} `given` is given and not a list of drafts that are spoken here */
export function requireDrafts(given: readonly Draft[] | undefined): void {
  const isKnown = (draft: unknown) => drafts.includes(draft as Draft);
  requireList("drafts", given, isKnown, `one or more of ${drafts.join(", ")}`);
  if (given?.length === 0) throw new ConfigurationError("drafts must not be empty");
}

function checkSessions({ handler, path = "/" }: { handler?: unknown; path?: unknown }): void {
  if (typeof handler !== "function") {
    throw new ConfigurationError("sessions.handler is missing: give what moqtOverWebSocket made");
  }
  const paths: unknown[] = Array.isArray(path) ? path : [path];
  if (!paths.every((one) => typeof one === "string" && one.startsWith("/"))) {
    throw new ConfigurationError("sessions.path has to start with /");
  }
}
