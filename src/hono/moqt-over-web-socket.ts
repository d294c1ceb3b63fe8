/**
 * @module
 * `GET /moqt` with `Upgrade: websocket`: a live MOQT session over QMux, on any runtime that hands
 * out WebSockets.
 */

import type { Context, Env, Handler } from "hono";
import { tell, textFrom } from "../hook.ts";
import {
  ConfigurationError,
  type RedirectServer,
  requireFunction,
  requireObject,
} from "../moq-lb/mod.ts";
import { type Draft, draftName, drafts } from "../moqt/mod.ts";
import { selectQmux } from "../transport/qmux.ts";
import type { Upgrade, UpgradeOptions } from "../transport/qmux-upgrade/upgrade.ts";
import { requireOrigins } from "./cors-option.ts";
import { requireDrafts } from "./options.ts";
import { problem } from "./problem.ts";
import { refused } from "./refusal.ts";
import { authorityOf } from "./requester.ts";

/** Options of {@link moqtOverWebSocket}. */
export interface WebSocketOptions<E extends Env = Env> {
  /** Serves the sessions. */
  readonly server: RedirectServer;
  /** Accepts the WebSocket of a request, as the runtime does it. */
  readonly upgrade: (c: Context<E>, options: UpgradeOptions) => Upgrade;
  /** The address of the client, as for the limits on sessions. Default: all are one. */
  readonly clientOf?: (c: Context<E>) => string;
  /** Drafts that are offered, best first. Default: 22 to 18. */
  readonly drafts?: readonly Draft[];
  /** Origins of web pages that may connect. Default: all, as there are no cookies to abuse. */
  readonly origins?: readonly string[];
  /** Told of what `clientOf` throws; the client is told to come back. */
  readonly onError?: (error: unknown) => void;
}

/**
 * The handler that turns a WebSocket into a session.
 *
 * What cannot become one is refused before the upgrade: 426 without `Upgrade`, 400 where no
 * subprotocol such as `qmux-02.moqt-22` is offered, 403 for a page of another origin, 404 and 421
 * for a path or authority that is not served here, 429 and 503 at a limit.
 *
 * @param {WebSocketOptions} options - The server of sessions, and how the runtime upgrades.
 * @returns {Handler} A handler for `GET`, to be given to `moqLb()` as `sessions`.
 * @throws {ConfigurationError} An option is missing or wrong; the message is one line.
 */
export function moqtOverWebSocket<E extends Env = Env>(options: WebSocketOptions<E>): Handler<E> {
  checkOptions(options);
  const { server, upgrade, clientOf, origins, onError } = options;
  const isAllowed = (origin: string) =>
    origins === undefined || origins.includes("*") || origins.includes(origin);
  const offered = options.drafts ?? drafts;

  return function openSession(c) {
    const { url, headers } = c.req.raw;
    if (headers.get("upgrade")?.toLowerCase() !== "websocket") return upgradeRequired();
    const origin = headers.get("origin");
    if (origin !== null && !isAllowed(origin)) return foreignOrigin();
    let remote = "";
    try {
      if (clientOf !== undefined) remote = textFrom("clientOf", clientOf(c));
    } catch (error) {
      tell(onError, error);
      return unknownClient();
    }
    const address = { path: pathOf(url), authority: authorityOf(url) };
    const refusal = server.refusalOf(remote, address);
    if (refusal !== undefined) return refused(refusal);
    // Where the address is that of proxy mode, relays may not speak each.
    const possible = server.draftsAt(address);
    const protocols = offered.filter((draft) => possible.includes(draft)).map(draftName);
    const asked = headers.get("sec-websocket-protocol");
    if (selectQmux(asked, protocols) === undefined) return noCommonProtocol();
    const { response, transport } = upgrade(c, { protocols, remote });
    if (transport !== undefined) void server.serve(transport);
    return response;
  };
}

function checkOptions<E extends Env>(options: WebSocketOptions<E>): void {
  requireObject("options", options);
  if (typeof options.server?.serve !== "function") {
    throw new ConfigurationError("server is missing: give what createRedirectServer made");
  }
  if (typeof options.upgrade !== "function") {
    throw new ConfigurationError("upgrade is missing: give the one of the runtime");
  }
  for (const hook of ["clientOf", "onError"] as const) requireFunction(hook, options[hook]);
  requireDrafts(options.drafts);
  requireOrigins("origins", options.origins);
}

/** Path and query of an absolute URL. */
function pathOf(url: string): string {
  return url.slice(url.indexOf("/", url.indexOf("//") + 2));
}

function upgradeRequired(): Response {
  const detail = "Sessions come over WebSocket here: the request has to ask for an upgrade.";
  const headers = { upgrade: "websocket", connection: "upgrade" };
  return problem(426, { code: "UPGRADE_REQUIRED", detail }, headers);
}

function foreignOrigin(): Response {
  const detail = "Pages of this origin may not connect.";
  return problem(403, { code: "FORBIDDEN_ORIGIN", detail });
}

/** A hook that fails is a failed check, as it is for a request. */
function unknownClient(): Response {
  const detail = "The request could not be checked.";
  return problem(503, { code: "INTERNAL_ERROR", detail }, { "retry-after": "5" });
}

function noCommonProtocol(): Response {
  const detail = "Sec-WebSocket-Protocol has to offer one such as qmux-02.moqt-22.";
  return problem(400, { code: "NO_COMMON_PROTOCOL", detail });
}
