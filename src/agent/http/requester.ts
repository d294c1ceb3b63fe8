/**
 * Who asks: an operator by token or by session, an instance by token, or a stranger.
 *
 * @module
 */

import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { sameSecret } from "../../page/secret.ts";
import { verifyInstanceToken } from "../../report/token.ts";
import type { Operator } from "../action.ts";
import { verifyOperatorToken } from "../action.ts";
import type { AgentAppSettings } from "./options.ts";
import type { Session, Sessions } from "./sessions.ts";

export type Requester =
  | { readonly kind: "operator"; readonly operator: Operator; readonly session?: Session }
  | { readonly kind: "instance"; readonly instanceId: string }
  | { readonly kind: "scraper" };

/** Tells requesters apart. */
export class Gate {
  readonly #settings: AgentAppSettings;
  readonly #sessions: Sessions;

  constructor(settings: AgentAppSettings, sessions: Sessions) {
    this.#settings = settings;
    this.#sessions = sessions;
  }

  /** Who is behind a request, `undefined` where it is nobody known. Never rejects. */
  async requester(c: Context): Promise<Requester | undefined> {
    const authorization = c.req.header("authorization");
    if (authorization === undefined) {
      const session = this.session(c);
      return session && { kind: "operator", operator: session.operator, session };
    }
    // A wrong token is never made good by a cookie.
    const token = /^Bearer +([A-Za-z0-9._~+/=-]{1,4096})$/i.exec(authorization)?.[1];
    return token === undefined ? undefined : this.#bearer(token);
  }

  /** The session that the browser's cookie names, while its operator is one. */
  session(c: Context): Session | undefined {
    const id = getCookie(c, cookieName(this.isSecure(c)));
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session === undefined) return undefined;
    // Roles and keys may have changed since: what is configured now is what counts.
    const operator = this.#settings.operators.get(session.operator.kid);
    return operator && { ...session, operator };
  }

  /** Whether the browser reaches the agent over TLS. */
  isSecure(c: Context): boolean {
    const { publicUrl } = this.#settings;
    return (publicUrl ?? c.req.url).startsWith("https:");
  }

  /** Whether a form of ours sent this: browsers name the origin of whatever they post. */
  isOwnForm(c: Context): boolean {
    const origin = c.req.header("origin");
    if (origin === undefined || !URL.canParse(origin)) return false;
    const { publicUrl } = this.#settings;
    const own = [c.req.url, ...(publicUrl === undefined ? [] : [publicUrl])];
    return own.some((url) => new URL(url).host === new URL(origin).host);
  }

  async #bearer(token: string): Promise<Requester | undefined> {
    const { instances, metricsToken, operators, now } = this.#settings;
    if (metricsToken !== undefined && (await equalInHash(token, metricsToken))) {
      return { kind: "scraper" };
    }
    try {
      const { operator } = await verifyOperatorToken(token, operators, now());
      return { kind: "operator", operator };
    } catch {
      // Perhaps it is an instance's.
    }
    try {
      if (instances === undefined) return undefined;
      const { instanceId } = await verifyInstanceToken(token, instances, now());
      return { kind: "instance", instanceId };
    } catch {
      return undefined;
    }
  }
}

/** The name of the cookie that holds a session; the prefix binds it to this host and to TLS. */
export function cookieName(secure: boolean): string {
  return secure ? "__Host-yardmaster" : "yardmaster";
}

/** Compares secrets of any length by their digests. */
async function equalInHash(a: string, b: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const digests = await Promise.all(
    [a, b].map((text) => crypto.subtle.digest("SHA-256", encoder.encode(text))),
  );
  const [left = "", right = ""] = digests.map((digest) => new Uint8Array(digest).join("."));
  return sameSecret(left, right);
}
