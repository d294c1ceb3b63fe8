/**
 * One leg of a request that is carried, as whoever carries it follows it.
 *
 * @module
 */

import type { RequestError, RequestOk, TokenValue } from "../../moqt/mod.ts";
import type {
  OutgoingRequest,
  RequestAnswer,
  RequestEnd,
  RequestGoaway,
  RequestNews,
  SessionRequest,
} from "../../session/mod.ts";

/** What is told of a leg, in the order in which it came. */
export interface LegEvents {
  onNews(message: RequestNews, tokens: readonly TokenValue[]): void;
  /** FIN of the peer, where our direction stays open. */
  onFinish(): void;
  onGoaway(goaway: RequestGoaway): void;
  /** Comes once, and last. */
  onEnd(end: RequestEnd): void;
}

/**
 * Follows a request. A session tells news at once and answers, of updates too, by promises, which
 * take a turn: here everything takes one, so that nothing overtakes (LB-PDATA-1).
 */
export function follow(request: SessionRequest, events: LegEvents): void {
  request.onMessage = (message, tokens) => queueMicrotask(() => events.onNews(message, tokens));
  request.onFinish = () => queueMicrotask(() => events.onFinish());
  request.onGoaway = (goaway) => queueMicrotask(() => events.onGoaway(goaway));
  void request.ended.then((end) => events.onEnd(end));
}

/** Follows a request of ours, whose answer is told too; it never comes where the request ends. */
export function followOwn(
  request: OutgoingRequest,
  events: LegEvents & { onAnswer(answer: RequestAnswer): void },
): void {
  request.answer.then(
    (answer) => events.onAnswer(answer),
    () => {},
  );
  follow(request, events);
}

/**
 * Updates of one request, by one end, that may be unanswered: each is kept until its answer is there,
 * and a relay need not give any (LB-SEC-33). It is what peers are promised at most.
 */
export const mostUpdates = 64;

/** MAX_REQUEST_UPDATES to promise where that much would be kept; 0 is no limit there (LB-S55). */
export function promisedUpdates(kept: bigint): bigint {
  const most = BigInt(mostUpdates);
  return kept === 0n || kept > most ? most : kept;
}

/**
 * The answers to the updates of one requester. They go out in the order of its updates, wherever
 * they come from: some are given by the other leg, some here.
 */
export class UpdateAnswers {
  readonly #send: (answer: RequestOk | RequestError) => void;
  readonly #waiting: { answer?: RequestOk | RequestError }[] = [];

  constructor(send: (answer: RequestOk | RequestError) => void) {
    this.#send = send;
  }

  /** Updates whose answers are still to go out. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** An update has come. @returns gives its answer */
  expect(): (answer: RequestOk | RequestError) => void {
    const entry: { answer?: RequestOk | RequestError } = {};
    this.#waiting.push(entry);
    return (answer) => {
      entry.answer = answer;
      for (let next = this.#waiting[0]; next?.answer !== undefined; next = this.#waiting[0]) {
        this.#waiting.shift();
        this.#send(next.answer);
      }
    };
  }
}
