/**
 * One session for each Connect URI (LB-REDIR-11, RD-14).
 *
 * @module
 */

import { ClientError } from "./errors.ts";
import { abortable } from "./waiting.ts";

/** What the pool has to know of a session. */
export interface PooledSession {
  /** Whether a new request may be made on it: it is open, and its peer sent no GOAWAY. */
  readonly usable: boolean;
  /** Resolves once the session is over; never rejects. */
  readonly closed: Promise<unknown>;
  /** Ends the session. */
  close(): void;
}

export interface SessionPoolOptions<Session> {
  /** Makes a session to a normalised URI. */
  readonly open: (uri: string, signal: AbortSignal) => Promise<Session>;
}

/** Sessions by their normalised URI. */
export class SessionPool<Session extends PooledSession> {
  readonly #open: SessionPoolOptions<Session>["open"];
  readonly #current = new Map<string, Promise<Session>>();
  /** Every session that is not over, those that take no new requests included. */
  readonly #alive = new Set<Session>();
  readonly #closing = new AbortController();

  constructor({ open }: SessionPoolOptions<Session>) {
    this.#open = open;
  }

  /** How many sessions are open. */
  get size(): number {
    return this.#alive.size;
  }

  /**
   * The session to `uri` that takes new requests (LB-REDIR-12): the one that exists or is being
   * made, else a new one. One whose peer sent GOAWAY is left to its requests (LB-S100).
   *
   * @param uri normalised
   * @param signal lets this caller stop waiting; others still get the session
   * @throws what `open` throws; {@link ClientError} CLOSED after {@link close}
   */
  async get(uri: string, signal?: AbortSignal): Promise<Session> {
    for (;;) {
      this.#closing.signal.throwIfAborted();
      const existing = this.#current.get(uri);
      const session = await abortable(existing ?? this.#make(uri), signal);
      if (existing === undefined || session.usable) return session;
      // Whoever else waited may have replaced it by now.
      if (this.#current.get(uri) === existing) this.#current.delete(uri);
    }
  }

  /** Ends every session, and lets no new one come up. */
  close(): void {
    this.#closing.abort(new ClientError("CLOSED", "the client is closed"));
    this.#current.clear();
    for (const session of this.#alive) session.close();
  }

  #make(uri: string): Promise<Session> {
    const session = this.#opened(uri);
    this.#current.set(uri, session);
    const forget = () => {
      if (this.#current.get(uri) === session) this.#current.delete(uri);
    };
    session.then(({ closed }) => closed).then(forget, forget);
    return session;
  }

  async #opened(uri: string): Promise<Session> {
    const { signal } = this.#closing;
    const session = await this.#open(uri, signal);
    if (signal.aborted) {
      session.close();
      throw signal.reason;
    }
    this.#alive.add(session);
    void session.closed.then(() => this.#alive.delete(session));
    return session;
  }
}
