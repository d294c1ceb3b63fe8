/**
 * How much may still be sent: what the peer granted (MAX_DATA, MAX_STREAM_DATA) less what was
 * taken. The library counts the same, but does not tell; and a write that waits for credit inside
 * the library can be cancelled only after the credit has come. So bytes wait here instead.
 *
 * @module
 */

/** The credit that all streams of a session share. */
export class SessionCredit {
  #limit = 0;
  #taken = 0;
  /** In order of waiting, so that every stream gets its turn. */
  readonly #waiting = new Set<StreamCredit>();

  get left(): number {
    return this.#limit - this.#taken;
  }

  /** The peer takes bytes up to `limit` in all. */
  grant(limit: number): void {
    this.#limit = Math.max(this.#limit, limit);
    this.#wake();
  }

  take(bytes: number): void {
    this.#taken += bytes;
  }

  giveBack(bytes: number): void {
    this.#taken -= bytes;
    this.#wake();
  }

  wait(stream: StreamCredit): void {
    this.#waiting.add(stream);
  }

  leave(stream: StreamCredit): void {
    this.#waiting.delete(stream);
  }

  #wake(): void {
    for (const stream of this.#waiting) {
      if (this.left <= 0) return;
      stream.retry();
    }
  }
}

/** The credit of one stream, out of the session's. */
export class StreamCredit {
  readonly #session: SessionCredit;
  #limit: number;
  #taken = 0;
  #sent = 0;
  #waiter:
    | { most: number; give: (bytes: number) => void; refuse: (error: unknown) => void }
    | undefined;

  constructor(session: SessionCredit, limit: number) {
    this.#session = session;
    this.#limit = limit;
  }

  grant(limit: number): void {
    this.#limit = Math.max(this.#limit, limit);
    this.retry();
  }

  /** Takes at least one byte and `most` at most, waiting until there is one. One at a time. */
  take(most: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#waiter = { most, give: resolve, refuse: reject };
    this.#session.wait(this);
    this.retry();
    return promise;
  }

  /** Serves whoever waits, if it can be. */
  retry(): void {
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    const bytes = Math.min(waiter.most, this.#limit - this.#taken, this.#session.left);
    if (bytes <= 0) return;
    this.#waiter = undefined;
    this.#session.leave(this);
    this.#taken += bytes;
    this.#session.take(bytes);
    waiter.give(bytes);
  }

  /** `bytes` of what was taken went out. */
  sent(bytes: number): void {
    this.#sent += bytes;
  }

  /** Refuses whoever waits, with `error`. */
  refuse(error: unknown): void {
    this.#session.leave(this);
    this.#waiter?.refuse(error);
    this.#waiter = undefined;
  }

  /** Nothing more goes out: what was taken and never sent is the session's again. */
  settle(): void {
    this.#session.giveBack(this.#taken - this.#sent);
    this.#taken = this.#sent;
  }
}
