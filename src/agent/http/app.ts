/**
 * The agent over HTTP: snapshots for instances, reports of theirs, operators' actions, pages.
 *
 * Strangers see the sign-in page, whether the agent is well, and nothing else: every other path
 * answers them alike, be there something or not (LB-SEC-11).
 *
 * @module
 */

import { type Context, Hono } from "hono";
import type { MiddlewareHandler } from "hono/types";
import { asset, securityHeaders } from "../../page/response.ts";
import { icon, stylesheet } from "../../page/style.ts";
import { actionsHandler, reportsHandler } from "./actions-route.ts";
import { apiHandlers } from "./api.ts";
import { faultOf, faultResponse, unauthenticated } from "./fault.ts";
import { healthHandler } from "./health-route.ts";
import { type AgentAppOptions, settingsOf } from "./options.ts";
import { addPages, type PagesContext, pageFailed, pageNotFound } from "./pages.tsx";
import { problem } from "./problem.ts";
import { Gate, type Requester } from "./requester.ts";
import { Sessions } from "./sessions.ts";
import { ShareMeter } from "./shares.ts";
import { snapshotHandler } from "./snapshot-route.ts";
import { VersionFeed } from "./version-feed.ts";

/**
 * The agent's HTTP interface.
 *
 * - `GET /healthz`: 200 while the agent publishes, or waits for another that does; else 503
 * - `GET /metrics`: for operators, and for whoever has `metricsToken`
 * - `GET /v1/snapshot`: the signed envelope in force, for instances and operators by bearer token;
 *   `ETag` and `If-None-Match`, `?after=V&wait=S` to wait for another version, `Accept:
 *   text/event-stream` to be told of each
 * - `POST /v1/reports`: a signed report of an instance; answers the signed receipt. The instance's
 *   bearer token beside it gives it a place that no stranger can take
 * - `POST /v1/actions`: `{ action, pool? }`, signed by an operator
 * - `GET /v1/status`, `/v1/history`, `/v1/history/:version`, `/v1/diff`, `/v1/route`,
 *   `/v1/refusals`: for operators by bearer token or session
 * - pages for operators who signed in, without scripts
 *
 * What is refused is `application/problem+json` with a `code`.
 */
export function agentApp(options: AgentAppOptions): Hono {
  const settings = settingsOf(options);
  const { agent, metrics, now } = settings;
  const sessions = new Sessions(settings.sessions, now);
  const gate = new Gate(settings, sessions);
  const meter = new ShareMeter(settings.simulate, settings.onError);
  const feed = new VersionFeed(agent, settings.waiting, settings.timers);
  const pages: PagesContext = { settings, gate, sessions, meter };

  const requesters = new WeakMap<Request, Requester>();
  const requesterOf = (c: Context) => requesters.get(c.req.raw) as Requester;
  const only = (...kinds: readonly Requester["kind"][]): MiddlewareHandler => {
    return async function onlyKnown(c, next) {
      const requester = await gate.requester(c);
      if (requester === undefined) return unauthenticated();
      if (!kinds.includes(requester.kind)) {
        return problem(403, { code: "FORBIDDEN", detail: "This token is for something else." });
      }
      requesters.set(c.req.raw, requester);
      return next();
    };
  };

  const app = new Hono();
  app.use(async function secureHeaders(c, next) {
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
    if (gate.isSecure(c)) c.res.headers.set("strict-transport-security", "max-age=31536000");
  });

  app.get("/healthz", healthHandler(settings));
  app.get("/style.css", () => asset(stylesheet, "text/css; charset=utf-8"));
  app.get("/icon.svg", () => asset(icon, "image/svg+xml"));

  app.get("/metrics", only("operator", "scraper"), async () => {
    if (metrics === undefined) {
      return problem(404, { code: "NOT_FOUND", detail: "There are no metrics here." });
    }
    return new Response(await metrics.render(), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    });
  });
  const snapshot = snapshotHandler(settings, feed, requesterOf);
  app.get("/v1/snapshot", only("instance", "operator"), snapshot);
  app.post("/v1/reports", reportsHandler(settings, gate));
  app.post("/v1/actions", actionsHandler(settings, gate));
  for (const [path, handler] of Object.entries(apiHandlers(settings, meter))) {
    app.get(path, only("operator"), handler);
  }
  app.all("/v1/*", only("operator", "instance"), () => {
    return problem(404, { code: "NOT_FOUND", detail: "There is nothing here for this method." });
  });
  addPages(app, pages);

  app.notFound((c) => pageNotFound(c, pages));
  app.onError((error, c) => {
    if (faultOf(error).status === 500) settings.onError(error);
    const isApi = c.req.path.startsWith("/v1/") || c.req.path === "/metrics";
    return isApi ? faultResponse(error) : pageFailed(c, pages, error);
  });
  return app;
}
