/**
 * Keeping a request placed: where its relay drains or is lost, it is made again through the service
 * (LB-RGOAWAY-3, LB-RGOAWAY-5, LB-DISPL-13).
 *
 * @module
 */

import type { Clock } from "../session/mod.ts";
import {
  type Again,
  Attempts,
  type PlacedRequest,
  type Placement,
  type Placer,
  type PlacingSession,
} from "./placing.ts";
import { abortable } from "./waiting.ts";

/** A request that lasts beyond its answer. */
export interface StandingRequest<Session> extends PlacedRequest<Session> {
  /** Puts a granted leg to use, beside an earlier one that may still be there. */
  begin(placement: Placement<Session>): Tenure;
  /** Gives up what was granted. */
  cancel(): void;
}

/** The use of one leg. */
export interface Tenure {
  /** How it ended: `undefined` for good, else why the request has to be made again. */
  readonly over: Promise<Again | undefined>;
  /** Another leg has taken over: this one is to end as soon as nothing is lost by that. */
  retire(): void;
}

/** A leg that lasted this long, in milliseconds, was no mistake: failures are counted anew. */
const settleTime = 5_000;

export interface StandingContext<Session extends PlacingSession> {
  readonly placer: Placer<Session>;
  readonly clock: Clock;
  /** Ends every request. */
  readonly signal: AbortSignal;
}

/** A request that is being kept placed. */
export interface Kept {
  /**
   * Resolves once the request has ended for good, or was cancelled. Rejects as {@link Placer.place}
   * where it cannot be placed any more.
   */
  readonly over: Promise<void>;
  cancel(): void;
}

/**
 * Places a request, and keeps it placed.
 *
 * @param given ends the request too
 * @returns once it has been granted for the first time
 * @throws as {@link Placer.place}
 */
export async function keepPlaced<Session extends PlacingSession>(
  request: StandingRequest<Session>,
  { placer, clock, signal: ofAll }: StandingContext<Session>,
  given?: AbortSignal,
): Promise<Kept> {
  const cancelling = new AbortController();
  const signals = [ofAll, cancelling.signal, ...(given === undefined ? [] : [given])];
  const signal = AbortSignal.any(signals);
  const standing = await new Standing(request, placer, clock, signal).start();
  signal.addEventListener("abort", () => request.cancel(), { once: true });
  if (signal.aborted) request.cancel();
  const over = standing.over.catch((error) => {
    if (!signal.aborted) throw error;
  });
  // Not everybody asks how a request ended.
  over.catch(() => {});
  return { over, cancel: () => cancelling.abort() };
}

class Standing<Session extends PlacingSession> {
  readonly #request: StandingRequest<Session>;
  readonly #placer: Placer<Session>;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #attempts = new Attempts();

  constructor(
    request: StandingRequest<Session>,
    placer: Placer<Session>,
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#request = request;
    this.#placer = placer;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** @returns how it goes on, once the request has been granted for the first time */
  async start(): Promise<{ readonly over: Promise<void> }> {
    const placement = await this.#placer.place(this.#request, this.#attempts, this.#signal);
    return { over: this.#keep(placement) };
  }

  async #keep(first: Placement<Session>): Promise<void> {
    for (let placement: Placement<Session> | undefined = first; placement !== undefined; ) {
      const tenure = this.#request.begin(placement);
      placement = await this.#successor(placement, tenure);
      tenure.retire();
    }
  }

  /** The next placement, or `undefined` where the request has ended for good. */
  async #successor(
    { leg }: Placement<Session>,
    tenure: Tenure,
  ): Promise<Placement<Session> | undefined> {
    const begun = this.#clock.now();
    const departure = leg.departure.then((wish) => this.#placer.depart(leg.target, wish));
    const turn = await Promise.race([tenure.over, departure]);
    if (this.#isSettled(begun)) this.#attempts.failed = 0;
    if (turn === undefined) return undefined;
    // The first wish to move is followed at once; whoever repeats it has to wait.
    const again = this.#attempts.failed === 0 && turn.isWish ? { ...turn, delay: 0 } : turn;
    try {
      return await this.#placer.place(this.#request, this.#attempts, this.#signal, again);
    } catch (error) {
      if (!turn.isWish) throw error;
      // The old leg serves on for as long as it lasts; if that is long, it is worth another try.
      const failedAt = this.#clock.now();
      const end = await abortable(tenure.over, this.#signal);
      if (end === undefined) return undefined;
      if (!this.#isSettled(failedAt)) throw error;
      this.#attempts.failed = 0;
      return await this.#placer.place(this.#request, this.#attempts, this.#signal, end);
    }
  }

  #isSettled(since: number): boolean {
    return this.#clock.now() - since >= settleTime;
  }
}
