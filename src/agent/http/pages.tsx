/** @jsxImportSource hono/jsx */

/**
 * The pages: what they need is gathered here, how they look is in pages/.
 *
 * @module
 */

import type { Context, Handler, Hono } from "hono";
import { setCookie } from "hono/cookie";
import { type BodyFault, BodyReader } from "../../hono/body.ts";
import { sameSecret } from "../../page/secret.ts";
import { snapshotToJson } from "../../snapshot/mod.ts";
import { type OperatorAction, type OperatorRequest, verifyOperatorToken } from "../action.ts";
import { AgentError } from "../errors.ts";
import { entryOf, namespaceOf, snapshotOf } from "./api.ts";
import { explain } from "./explanation.ts";
import { faultOf } from "./fault.ts";
import type { AgentAppSettings } from "./options.ts";
import { HistoryPage, VersionPage } from "./pages/history.tsx";
import type { Viewer } from "./pages/layout.tsx";
import { MessagePage } from "./pages/message.tsx";
import { type Forms, type Message, RelayPage } from "./pages/relay.tsx";
import { RoutePage } from "./pages/route.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { SimulatePage } from "./pages/simulate.tsx";
import { StatusPage } from "./pages/status-page.tsx";
import { statusTitle } from "./problem.ts";
import { wholeNumber, wholeNumberOf } from "./query.ts";
import { cookieName, type Gate } from "./requester.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { ShareMeter, Shares } from "./shares.ts";
import { statusOf } from "./status.ts";

/** What the pages share with the rest of the app. */
export interface PagesContext {
  readonly settings: AgentAppSettings;
  readonly gate: Gate;
  readonly sessions: Sessions;
  readonly meter: ShareMeter;
}

const HISTORY_ON_STATUS = 8;
const HISTORY_PER_PAGE = 50;
const REFUSALS_SHOWN = 50;
/** Bytes of a form: a token and a reason. */
const LARGEST_FORM = 16 * 1024;
/** Milliseconds that the status page waits for shares that are not measured yet. */
const SHARES_IN_TIME = 1000;
/** Seconds after which a page without them is loaded again. */
const SHARES_LATER = 3;
/** Keys of a simulation in the browser, and hashes that it may take. */
const MOST_KEYS = 100_000;
const MOST_HASHES = 20_000_000;
const DEFAULT_KEYS = 10_000;

/** Adds the pages to `app`. */
export function addPages(app: Hono, context: PagesContext): void {
  const { agent, maximumAge, now } = context.settings;
  const page = (render: (c: Context, session: Session) => Promise<Response>): Handler => {
    return async function answerPage(c) {
      const session = context.gate.session(c);
      if (session === undefined) return signInPage(c, 401, { next: pathOf(c) });
      return render(c, session);
    };
  };

  app.get(
    "/",
    page(async (c, session) => {
      const [shares, history] = await Promise.all([
        sharesInTime(context),
        agent.history({ limit: HISTORY_ON_STATUS }),
      ]);
      const status = statusOf(agent, context.settings.collector, shares, now());
      const asked = c.req.query("refresh") !== undefined;
      const refresh = asked ? Math.max(5, wholeNumber(c, "refresh") || 0) : undefined;
      const isMeasuring = shares === undefined && status.routes.hashed > 0;
      return html(
        c,
        <StatusPage
          viewer={viewerOf(session)}
          status={status}
          history={history}
          maximumAge={maximumAge}
          refresh={refresh}
          reloadIn={isMeasuring ? SHARES_LATER : refresh}
        />,
      );
    }),
  );

  app.get(
    "/history",
    page(async (c, session) => {
      const before = wholeNumber(c, "before") ?? undefined;
      const limit = HISTORY_PER_PAGE + 1;
      const found = await agent.history({ limit, ...(before !== undefined && { before }) });
      const entries = found.slice(0, HISTORY_PER_PAGE);
      const refusals = [...agent.refusals].reverse().slice(0, REFUSALS_SHOWN);
      return html(
        c,
        <HistoryPage
          viewer={viewerOf(session)}
          entries={entries}
          older={found.length > entries.length ? entries.at(-1)?.version : undefined}
          refusals={before === undefined ? refusals : []}
          now={now()}
        />,
      );
    }),
  );

  app.get(
    "/history/:version",
    page(async (c, session) => {
      const version = wholeNumberOf(c.req.param("version") ?? "") ?? 0;
      const [entry, verified] = await Promise.all([
        entryOf(agent, version),
        agent.snapshotAt(version),
      ]);
      if (entry === undefined) {
        return messagePage(c, session, 404, "Not found", "The history has no such version.");
      }
      return html(
        c,
        <VersionPage
          viewer={viewerOf(session)}
          entry={entry}
          snapshotJson={verified && JSON.stringify(snapshotToJson(verified.snapshot), null, 2)}
          currentVersion={agent.current?.version ?? 0}
          now={now()}
        />,
      );
    }),
  );

  app.get(
    "/route",
    page(async (c, session) => {
      const name = c.req.query("name");
      const viewer = viewerOf(session);
      if (name === undefined) return html(c, <RoutePage viewer={viewer} name="" />);
      const namespace = namespaceOf(name.trim());
      if (typeof namespace === "string" || agent.current === undefined) {
        const fault = typeof namespace === "string" ? namespace : "Nothing is published yet.";
        return html(c, <RoutePage viewer={viewer} name={name} fault={fault} />, 400);
      }
      const explanation = explain(agent.current, namespace);
      return html(c, <RoutePage viewer={viewer} name={name} explanation={explanation} />);
    }),
  );

  app.get("/simulate", page(simulatePage(context)));

  app.get(
    "/relay",
    page(async (c, session) => {
      const done = wholeNumber(c, "done");
      const text = `Published as version ${done}.`;
      return relayPage(c, context, session, 200, done ? { tone: "ok", text } : undefined);
    }),
  );
  app.post("/relay", changeRelay(context));

  app.get("/login", (c) => {
    const token = c.req.query("token");
    return signInPage(c, 200, { next: "/", ...(token !== undefined && { token }) });
  });
  app.post("/login", signIn(context));
  app.post("/logout", async (c) => {
    const form = await formOf(c, context);
    if (form instanceof Response) return form;
    context.sessions.close(form.session.id);
    const secure = context.gate.isSecure(c);
    setCookie(c, cookieName(secure), "", { ...cookieRules, secure, maxAge: 0 });
    return c.redirect("/login", 303);
  });
}

/** Any page that there is not; strangers are asked to sign in there as well. */
export function pageNotFound(c: Context, { gate }: PagesContext): Response {
  const session = gate.session(c);
  if (session === undefined) return signInPage(c, 401, { next: "/" });
  return messagePage(c, session, 404, "Not found", "There is no such page.");
}

/** What is shown after an error that nobody foresaw. */
export function pageFailed(c: Context, { gate }: PagesContext, error: unknown): Response {
  const { status, details } = faultOf(error);
  const session = gate.session(c);
  if (session === undefined) return signInPage(c, 401, { next: "/" });
  return messagePage(c, session, status, statusTitle(status), details.detail);
}

type Status = 200 | ReturnType<typeof faultOf>["status"];

function html(c: Context, page: unknown, status: Status = 200): Response {
  c.header("cache-control", "no-store");
  c.header("content-type", "text/html; charset=utf-8");
  return c.body(`<!doctype html>${page}`, status);
}

function messagePage(c: Context, session: Session, status: Status, title: string, text: string) {
  return html(c, <MessagePage viewer={viewerOf(session)} title={title} text={text} />, status);
}

function signInPage(
  c: Context,
  status: Status,
  props: { readonly next: string; readonly token?: string; readonly fault?: string },
): Response {
  return html(c, <SignInPage {...props} />, status);
}

function viewerOf({ operator, csrf }: Session): Viewer {
  return { operator, csrf };
}

/** Path and query of a request, to come back to. */
function pathOf(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  return ownPath(pathname + search);
}

/** `path` where it leads to a page of ours and nowhere else, or the first page. */
function ownPath(path: string): string {
  return /^\/(?:[A-Za-z0-9_.~-][A-Za-z0-9_./~?=&%-]*)?(?:\?[A-Za-z0-9_./~?=&%-]*)?$/.test(path)
    ? path
    : "/";
}

function sharesInTime({ settings, meter }: PagesContext): Promise<Shares | undefined> {
  return meter.within(settings.agent.current, SHARES_IN_TIME, settings.timers);
}

function simulatePage({ settings }: PagesContext) {
  const { agent, simulate } = settings;
  /** One at a time: each takes a core for seconds. */
  let busy = false;
  return async (c: Context, session: Session): Promise<Response> => {
    const version = `${agent.current?.version ?? ""}`;
    const asked = (name: string) => (c.req.query(name) ?? "").slice(0, 20);
    const request = {
      from: asked("from") || `${agent.current?.since ?? ""}`,
      to: asked("to") || version,
      keys: asked("keys") || `${DEFAULT_KEYS}`,
    };
    const shown = { viewer: viewerOf(session), request, mostKeys: MOST_KEYS };
    if (c.req.query("from") === undefined) return html(c, <SimulatePage {...shown} />);
    const failed = (status: Status, fault: string) => {
      return html(c, <SimulatePage {...shown} fault={fault} />, status);
    };
    const [from, to, keys] = [request.from, request.to, request.keys].map(wholeNumberOf);
    if (from === undefined || to === undefined || !keys || keys > MOST_KEYS) {
      return failed(400, `Two versions, and a number of keys up to ${MOST_KEYS}, are needed.`);
    }
    if (busy) return failed(503, "Another simulation runs: try again in a moment.");
    busy = true;
    try {
      const [before, after] = await Promise.all([snapshotOf(agent, from), snapshotOf(agent, to)]);
      const relays = Math.max(before.snapshot.relays.length, after.snapshot.relays.length, 1);
      if (keys * relays > MOST_HASHES) {
        const most = Math.floor(MOST_HASHES / relays);
        return failed(
          400,
          `At most ${most} keys for a pool of this size; yard simulate takes more.`,
        );
      }
      const { signal } = c.req.raw;
      const simulation = await simulate(before.snapshot, after.snapshot, { keys, signal });
      return html(c, <SimulatePage {...shown} simulation={simulation} />);
    } catch (error) {
      const { status, details } = faultOf(error);
      if (status === 500) settings.onError(error);
      return failed(status, details.detail);
    } finally {
      busy = false;
    }
  };
}

async function relayPage(
  c: Context,
  context: PagesContext,
  session: Session,
  status: Status,
  message?: Message,
): Promise<Response> {
  const { settings } = context;
  const shares = await sharesInTime(context);
  const at = settings.now();
  const { relays } = statusOf(settings.agent, undefined, shares, at);
  const relay = relays.find(({ rid }) => rid === c.req.query("rid"));
  if (relay === undefined) {
    return messagePage(
      c,
      session,
      404,
      "Not found",
      message?.text ?? "The pool has no such relay.",
    );
  }
  return html(
    c,
    <RelayPage
      viewer={viewerOf(session)}
      relay={relay}
      forms={formsFor(session, settings)}
      message={message}
      now={at}
    />,
    status,
  );
}

function formsFor(
  { operator: { roles } }: Session,
  { operatorSignatures }: AgentAppSettings,
): Forms {
  if (!roles.includes("pool") && !roles.includes("routes")) return "no-role";
  return operatorSignatures.has("pool") ? "signature-required" : "shown";
}

/** Does what a form of the relay's page asks for. */
function changeRelay(context: PagesContext): Handler {
  const { settings } = context;
  const { agent } = settings;
  return async function answerChange(c) {
    const form = await formOf(c, context);
    if (form instanceof Response) return form;
    const { session, fields } = form;
    const rid = c.req.query("rid") ?? "";
    try {
      const request = requestOf(rid, fields);
      const { operator, login } = session;
      if (formsFor(session, settings) === "no-role") {
        throw new AgentError("FORBIDDEN", "your key may look at the pool, and not change it");
      }
      const reason = (fields.get("reason") ?? "").trim().slice(0, 500);
      const authority = { kind: "session", operator, login } as const;
      const published = await untilSettled(agent, { ...request, reason }, (action) =>
        agent.act(action, authority),
      );
      return c.redirect(`/relay?rid=${rid}&done=${published.version}`, 303);
    } catch (error) {
      const { status, details } = faultOf(error);
      if (status === 500) settings.onError(error);
      const text = `Not done: ${details.detail} (${details.code})`;
      return relayPage(c, context, session, status, { tone: "bad", text });
    }
  };
}

/** How often an action is tried anew because another version came between. */
const ATTEMPTS = 3;

/**
 * Does an action for the version after the current one. What a form asks for holds whatever was
 * published since the page was loaded; that it is done but once is up to the token in the form.
 */
async function untilSettled<T>(
  agent: AgentAppSettings["agent"],
  request: OperatorRequest & { readonly reason: string },
  act: (action: OperatorAction) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act({ ...request, newVersion: (agent.current?.version ?? 0) + 1 });
    } catch (error) {
      const moved = error instanceof AgentError && error.code === "VERSION_MOVED";
      if (!moved || attempt === ATTEMPTS) throw error;
    }
  }
}

/** @throws {AgentError} `INVALID_ACTION` */
function requestOf(rid: string, fields: URLSearchParams): OperatorRequest {
  const action = fields.get("action");
  if (action === "drain" || action === "undrain") return { type: action, rid };
  if (action === "weight") {
    const weight = wholeNumberOf(fields.get("weight") ?? "");
    if (weight !== undefined && weight <= 16) return { type: action, rid, weight };
    throw new AgentError("INVALID_ACTION", "a weight is a whole number from 0 to 16");
  }
  const health = fields.get("health");
  if (
    action === "health" &&
    (health === "auto" || health === "healthy" || health === "unhealthy")
  ) {
    return { type: action, rid, health };
  }
  throw new AgentError("INVALID_ACTION", "the form asks for nothing that there is");
}

const bodies = new BodyReader({ maximumSize: LARGEST_FORM, timeout: 10_000, maximumPending: 64 });

/** Fields of a form that was posted, of bounded size. */
async function fieldsOf(c: Context): Promise<URLSearchParams | BodyFault | "busy" | "no-form"> {
  const type = (c.req.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") return "no-form";
  if (bodies.turnsAway()) return "busy";
  const body = await bodies.read(c.req);
  return typeof body === "string" ? body : new URLSearchParams(new TextDecoder().decode(body));
}

/** A form that a session of ours sent, or the answer to anything else. */
async function formOf(
  c: Context,
  { gate }: PagesContext,
): Promise<{ session: Session; fields: URLSearchParams } | Response> {
  const session = gate.session(c);
  if (session === undefined) return signInPage(c, 401, { next: "/" });
  const refused = (status: Status, text: string) => {
    return messagePage(c, session, status, "Not done", text);
  };
  // What another site makes a browser send has another origin, and never the session's secret.
  if (!gate.isOwnForm(c)) return refused(403, "The form did not come from a page of this agent.");
  const fields = await fieldsOf(c);
  if (typeof fields === "string") return refused(statusOfFault[fields], "The form did not arrive.");
  if (!sameSecret(fields.get("csrf") ?? "", session.csrf)) {
    return refused(403, "The form is of another session: load its page again.");
  }
  return { session, fields };
}

const statusOfFault: Readonly<Record<BodyFault | "busy" | "no-form", Status>> = {
  "too-large": 413,
  late: 408,
  incomplete: 400,
  busy: 503,
  "no-form": 415,
};

/** SameSite keeps the cookie out of whatever another site makes a browser ask for. */
const cookieRules = { path: "/", httpOnly: true, sameSite: "Strict" } as const;

function signIn({ settings, gate, sessions }: PagesContext): Handler {
  const { operators, now } = settings;
  return async function answerSignIn(c) {
    const refused = (status: Status, fault: string) => signInPage(c, status, { next: "/", fault });
    if (!gate.isOwnForm(c)) return refused(403, "The form did not come from a page of this agent.");
    const fields = await fieldsOf(c);
    if (typeof fields === "string")
      return refused(statusOfFault[fields], "The form did not arrive.");
    const jws = (fields.get("token") ?? "").trim();
    try {
      const { operator, jti, exp } = await verifyOperatorToken(jws, operators, now());
      const opened = sessions.open({ operator, jti, exp, jws });
      if (opened === "used-token") {
        return refused(401, "This token was used already: yard login makes another.");
      }
      if (opened === "too-many-sessions") {
        return refused(503, "Too many operators are signed in: try again later.");
      }
      const secure = gate.isSecure(c);
      const maxAge = settings.sessions.lifetime / 1000;
      setCookie(c, cookieName(secure), opened.id, { ...cookieRules, secure, maxAge });
      return c.redirect(ownPath(fields.get("next") ?? "/"), 303);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      return refused(
        401,
        error.code === "EXPIRED"
          ? "This token is too old: yard login makes another."
          : "This is no token of an operator of this agent.",
      );
    }
  };
}
