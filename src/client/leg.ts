/**
 * A request of this client on one session.
 *
 * @module
 */

import type {
  OutgoingRequest,
  RequestAnswer,
  RequestEnd,
  RequestGoaway,
  RequestNews,
} from "../session/mod.ts";
import type { Target } from "./target.ts";

/** A wish of a peer that a request be made elsewhere; the session or the request has to move. */
export type Departure = RequestGoaway;

/**
 * One request from the moment it is sent. News that come before anybody listens are kept, so that
 * nothing is lost between the answer and whoever waits for it.
 */
export class Leg {
  readonly request: OutgoingRequest;
  readonly target: Target;
  readonly #departure = Promise.withResolvers<Departure>();
  #news: RequestNews[] | undefined = [];

  /** @param onGoaway told of a GOAWAY for this request alone */
  constructor(
    request: OutgoingRequest,
    target: Target,
    onGoaway: (departure: Departure) => void = () => {},
  ) {
    this.request = request;
    this.target = target;
    request.onGoaway = (goaway) => {
      onGoaway(goaway);
      this.depart(goaway);
    };
    request.onMessage = (message) => this.#news?.push(message);
  }

  /** @throws RequestEndedError (as rejection) where the request ends before the answer */
  get answer(): Promise<RequestAnswer> {
    return this.request.answer;
  }

  /** Resolves with how the request ended; never rejects. */
  get ended(): Promise<RequestEnd> {
    return this.request.ended;
  }

  /** Resolves when the peer wants the request to move, by itself or with its session. */
  get departure(): Promise<Departure> {
    return this.#departure.promise;
  }

  /** The peer wants the request to move. Only the first such wish counts. */
  depart(departure: Departure): void {
    this.#departure.resolve(departure);
  }

  /** Tells `hear` the news so far, and all that come. */
  listen(hear: (message: RequestNews) => void): void {
    const missed = this.#news ?? [];
    this.#news = undefined;
    this.request.onMessage = hear;
    for (const message of missed) hear(message);
  }

  /** Gives the request up. */
  cancel(): void {
    this.request.cancel();
  }
}
