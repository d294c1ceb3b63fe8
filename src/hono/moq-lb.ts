/**
 * @module
 * MoQ-LB in redirect mode as a plug-in for Hono: `POST /moqt/:draft` answers a routable request of
 * MOQT with the REQUEST_ERROR that a session would get, `GET /redirect/:request/:name` gives the
 * same decision as an HTTP redirect.
 */

import { type Env, type Handler, Hono } from "hono";
import { cors } from "hono/cors";
import { tell } from "../hook.ts";
import { createRedirector, defaultMaximumPending } from "../moq-lb/mod.ts";
import { BodyReader } from "./body.ts";
import { withAnyOrigin } from "./cors-option.ts";
import { messageHandler } from "./message.ts";
import { checkOptions, defaultBodyTimeout, longestMessage, type MoqLbOptions } from "./options.ts";
import { problem } from "./problem.ts";
import { redirectHandler } from "./redirect.ts";
import { healthHandler, statusHandler } from "./status.ts";

export type { MoqLbOptions } from "./options.ts";
export type { InstanceStatus } from "./status.ts";

/**
 * MoQ-LB in redirect mode.
 *
 * - `POST /moqt/moqt-22` (or another draft): the body is one routable request as it would open a
 *   request stream, `application/octet-stream`. 200 with the REQUEST_ERROR; 400 where a session
 *   would be closed, with the name of the session error as `code`; 404, 408, 413 and 415 for a
 *   draft, a body or a media type that is not taken, 503 with `Retry-After` while too many bodies
 *   are on their way.
 * - `GET /redirect/:request/:name`: `:request` is one of subscribe, publish, fetch, track-status,
 *   publish-namespace, subscribe-namespace and subscribe-tracks, `:name` the MOQT text form, with
 *   `--` and a Track Name for the first four and without for the others. 307 to the Connect URI;
 *   rejections are 404, 403, and 503 with `Retry-After`.
 * - `GET /moqt` with `Upgrade: websocket`: a live session over QMux, where `sessions` is given.
 * - `GET /healthz`: 200 while requests can be placed, else 503.
 * - `GET /status`: version and age of the snapshot, instance, mode, and how the limits stand; no
 *   relays.
 *
 * What is not a placement is `application/problem+json` with a `code`. No answer is cached.
 *
 * Tokens come as `Authorization: Bearer`, or by value in AUTHORIZATION_TOKEN parameters. Without a
 * session there is no cache of token aliases: to register one is AUTH_TOKEN_CACHE_OVERFLOW, to use
 * one UNKNOWN_AUTH_TOKEN_ALIAS, both 400.
 *
 * @param {MoqLbOptions} options - The snapshot holder, the authorization policy, and the rest.
 * @returns {Hono} An app, to be served as it is or mounted with `app.route()`.
 * @throws {ConfigurationError} An option is missing or wrong; the message is one line.
 *
 * @example
 * ```ts
 * const app = new Hono()
 *
 * app.route(
 *   "/",
 *   moqLb({
 *     holder,
 *     authorization: jwtPolicy({ keys, issuer: "https://id.example", audience: "moq-lb" }),
 *     rateLimit: tokenBucket({ ratePerSecond: 50, burst: 100 }),
 *     clientOf: (c) => getConnInfo(c).remote.address ?? "",
 *   }),
 * )
 * ```
 */
export function moqLb<E extends Env = Env>(options: MoqLbOptions<E>): Hono<E> {
  const redirector = createRedirector(options);
  checkOptions(options);
  const bodies = new BodyReader({
    maximumSize: options.maximumBodySize ?? longestMessage,
    timeout: options.bodyTimeout ?? defaultBodyTimeout,
    maximumPending: options.maximumPending ?? defaultMaximumPending,
  });

  const app = new Hono<E>();
  const { sessions } = options;
  if (sessions !== undefined) {
    // Before CORS, which copies responses: no copy of a 101 can be made.
    const { path = "/moqt" } = sessions;
    for (const one of new Set(typeof path === "string" ? [path] : path)) {
      app.all(one, only(["GET"], sessions.handler));
    }
  }
  if (options.cors !== undefined) {
    const allowMethods = ["GET", "HEAD", "POST"];
    const crossOrigin = cors({ allowMethods, ...withAnyOrigin(options.cors) });
    app.use("/moqt/*", crossOrigin);
    app.use("/redirect/*", crossOrigin);
  }
  const redirect = only(["GET", "HEAD"], redirectHandler(redirector, options));
  app.all("/moqt/:draft", only(["POST"], messageHandler(redirector, bodies, options)));
  app.all("/redirect/:request/:name", redirect);
  // The namespace of no fields is the empty text.
  app.all("/redirect/:request/", redirect);
  app.all("/healthz", only(["GET", "HEAD"], healthHandler(options)));
  app.all("/status", only(["GET", "HEAD"], statusHandler(redirector, bodies, options)));

  app.notFound(() => problem(404, { code: "NOT_FOUND", detail: "There is nothing here." }));
  app.onError((error) => {
    tell(options.onError, error);
    return problem(500, { code: "INTERNAL_ERROR", detail: "The request could not be handled." });
  });
  return app;
}

/**
 * `handler` for `methods`, 405 for others: hono itself would say 404. One handler a path also
 * keeps hono on its short way, which composes nothing.
 */
function only<E extends Env>(methods: readonly string[], handler: Handler<E>): Handler<E> {
  const allow = methods.join(", ");
  return function onlyMethods(c, next) {
    if (methods.includes(c.req.method)) return handler(c, next);
    const detail = `The method has to be ${methods.join(" or ")}.`;
    return problem(405, { code: "METHOD_NOT_ALLOWED", detail }, { allow });
  };
}
