/**
 * What a gateway shows of itself over HTTP: to people a page, to programs JSON, to Prometheus its
 * metrics.
 *
 * @module
 */

import { type Context, Hono } from "hono";
import type { GatewayMetrics } from "../../metrics/mod.ts";
import { asset, securityHeaders } from "../../page/response.ts";
import { sameSecret } from "../../page/secret.ts";
import { icon, stylesheet } from "../../page/style.ts";
import type { GatewayView } from "../view.ts";
import { GatewayPage } from "./page.tsx";
import { statusJson } from "./status.ts";

export interface AdminOptions {
  /** The gateway as it is now. */
  readonly view: () => GatewayView;
  readonly metrics: Pick<GatewayMetrics, "render" | "contentType">;
  /** What requests have to show; without one, only names of the loopback are answered. */
  readonly token?: string | undefined;
}

/**
 * The gateway's own HTTP interface.
 *
 * - `GET /healthz`: 200 while clients are served, 503 while the gateway ends; for everybody
 * - `GET /`: the page; `?client=DIGEST` for one client, `?refresh=SECONDS`
 * - `GET /status.json`: the same as JSON; `?client=DIGEST` as well
 * - `GET /metrics`: Prometheus
 *
 * Where there is a token, it is asked for as `Authorization: Bearer`, and as the password of Basic,
 * which browsers ask people for.
 */
export function adminApp({ view, metrics, token }: AdminOptions): Hono {
  const app = new Hono();
  app.use(async function secureHeaders(c, next) {
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
    if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
  });
  app.get("/healthz", (c) => {
    const { state } = view();
    return c.json({ status: state === "running" ? "ok" : state }, state === "running" ? 200 : 503);
  });
  app.use(async function onlyKnown(c, next) {
    if (token === undefined) {
      // A name of somebody else's that leads to the loopback is a page of theirs that looks at ours.
      if (!isLoopbackHost(c)) return c.text("Only asked for by an address of the loopback.\n", 421);
    } else if (!showsToken(c, token)) {
      return c.text("Show the token of the gateway's admin interface.\n", 401, {
        "www-authenticate": 'Basic realm="yardmaster gateway", charset="UTF-8"',
      });
    }
    return next();
  });
  app.get("/style.css", () => asset(stylesheet, "text/css; charset=utf-8"));
  app.get("/icon.svg", () => asset(icon, "image/svg+xml"));
  app.get("/metrics", async () => {
    return new Response(await metrics.render(), {
      headers: { "content-type": metrics.contentType },
    });
  });
  app.get("/status.json", (c) => c.json(statusJson(view(), digestOf(c))));
  app.get("/", (c) => {
    const refresh = Number(c.req.query("refresh"));
    const seconds =
      Number.isInteger(refresh) && refresh >= 1 && refresh <= 3_600 ? refresh : undefined;
    return c.html(
      `<!doctype html>${GatewayPage({ view: view(), client: digestOf(c), refresh: seconds })}`,
    );
  });
  app.notFound((c) => c.text("There is nothing here.\n", 404));
  return app;
}

function digestOf(c: Context): string | undefined {
  const text = c.req.query("client")?.trim().toLowerCase();
  return text !== undefined && /^[0-9a-f]{16}$/.test(text) ? text : undefined;
}

function isLoopbackHost(c: Context): boolean {
  const host = (c.req.header("host") ?? "").replace(/:\d+$/, "");
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(host);
}

function showsToken(c: Context, token: string): boolean {
  const [scheme, credentials = ""] = (c.req.header("authorization") ?? "").split(" ");
  if (scheme?.toLowerCase() === "bearer") return sameSecret(credentials, token);
  if (scheme?.toLowerCase() !== "basic") return false;
  try {
    const text = atob(credentials);
    return sameSecret(text.slice(text.indexOf(":") + 1), token);
  } catch {
    return false;
  }
}
