/**
 * Sessions of operators in browsers: in memory, bounded, and over after a while.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import type { Operator } from "../action.ts";

/** What sessions may cost and how long they last. */
export interface SessionBounds {
  /** Milliseconds from signing in until a session ends, used or not. */
  readonly lifetime: number;
  /** Sessions of one operator; the oldest gives way. */
  readonly perOperator: number;
  /** Sessions of all operators; beyond it nobody else signs in. */
  readonly total: number;
}

export const defaultSessionBounds: SessionBounds = {
  lifetime: 8 * 60 * 60 * 1000,
  perOperator: 8,
  total: 256,
};

/** One operator in one browser. */
export interface Session {
  /** What the browser's cookie holds. */
  readonly id: string;
  readonly operator: Operator;
  /** The token that opened it, which proves who did. */
  readonly login: string;
  /** What every form of this session carries, and no other site can know. */
  readonly csrf: string;
  /** Milliseconds of the Unix epoch. */
  readonly endsAt: number;
}

/** Why nobody was signed in. */
export type SignInFault = "used-token" | "too-many-sessions";

/** Tokens that have opened a session are remembered until they expire: so many at most. */
const MOST_USED_TOKENS = 4096;

/** The sessions of one agent. */
export class Sessions {
  readonly #bounds: SessionBounds;
  readonly #now: () => number;
  /** In the order in which they began. */
  readonly #sessions = new Map<string, Session>();
  /** When the tokens expire that have opened a session, by their `jti`. */
  readonly #used = new Map<string, number>();

  constructor(bounds: SessionBounds, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Opens a session. A token opens one and no second: who reads it in a log or over a shoulder
   * comes too late.
   *
   * @returns the session, or why there is none
   */
  open(token: {
    operator: Operator;
    jti: string;
    exp: number;
    jws: string;
  }): Session | SignInFault {
    const now = this.#now();
    this.#forget(now);
    if (this.#used.has(token.jti)) return "used-token";
    const own = [...this.#sessions].filter(
      ([, { operator }]) => operator.kid === token.operator.kid,
    );
    const leaving = own.length >= this.#bounds.perOperator ? own[0]?.[0] : undefined;
    if (leaving === undefined && this.#sessions.size >= this.#bounds.total)
      return "too-many-sessions";
    if (this.#used.size >= MOST_USED_TOKENS) return "too-many-sessions";
    if (leaving !== undefined) this.#sessions.delete(leaving);
    this.#used.set(token.jti, token.exp);
    const id = randomToken();
    const session: Session = {
      id,
      operator: token.operator,
      login: token.jws,
      csrf: randomToken(),
      endsAt: now + this.#bounds.lifetime,
    };
    this.#sessions.set(id, session);
    return session;
  }

  /** The session with this identifier, unless it is over. */
  get(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    if (session.endsAt > this.#now()) return session;
    this.#sessions.delete(id);
    return undefined;
  }

  close(id: string): void {
    this.#sessions.delete(id);
  }

  #forget(now: number): void {
    for (const [id, { endsAt }] of this.#sessions) if (endsAt <= now) this.#sessions.delete(id);
    for (const [jti, exp] of this.#used) if (exp <= now) this.#used.delete(jti);
  }
}

/** 256 random bits as text. */
function randomToken(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)));
}
