/**
 * Whether a connection is still in use, and still alive.
 *
 * @module
 */

import type { Clock } from "../../session/clock.ts";
import type { UpstreamLimits } from "./ports.ts";

export interface LivenessPorts {
  /** Whether a request is in progress. */
  busy(): boolean;
  ping(answered: () => void): void;
  /** It has had nothing to do for as long as allowed. */
  idle(): void;
  /** It gives no sign of life. */
  dead(): void;
}

export interface Liveness {
  /** A request has begun. */
  began(): void;
  /** The last request has ended. */
  rested(): void;
  /** The origin has sent something. */
  alive(): void;
  stop(): void;
}

/**
 * A stream on which nothing happens is asked for once in so many times: some origins end connections
 * that are asked more often than every five minutes while they have nothing to say.
 */
const quietTimes = 20;

/**
 * Watches a connection with one timer. One without requests is closed after a time (A18); one with
 * requests that is silent is asked for a sign of life, and given up where none comes, as when the
 * origin's host is gone without a word.
 */
export function watchLiveness(
  clock: Clock,
  { idleTime, silenceTime, pingTime }: UpstreamLimits,
  ports: LivenessPorts,
): Liveness {
  let restedAt = clock.now();
  let aliveAt = restedAt;
  /** When the first request began that nothing has come after. */
  let waitingSince: number | undefined;
  /** What was asked since something came of itself. */
  let ping: { readonly at: number; answered: boolean } | undefined;
  let cancel = () => {};

  const ask = (now: number) => {
    const asked = { at: now, answered: false };
    ping = asked;
    ports.ping(() => {
      asked.answered = true;
      waitingSince = undefined;
    });
  };
  /** When to look again. */
  const checkBusy = (now: number): number | undefined => {
    if (ping !== undefined && !ping.answered) {
      if (now < ping.at + pingTime) return ping.at + pingTime;
      ports.dead();
      return undefined;
    }
    const quiet = ping === undefined ? aliveAt + silenceTime : ping.at + quietTimes * silenceTime;
    const due = waitingSince === undefined ? quiet : waitingSince + silenceTime;
    if (now < due) return due;
    ask(now);
    return now + pingTime;
  };
  const checkIdle = (now: number): number | undefined => {
    ping = undefined;
    if (now < restedAt + idleTime) return restedAt + idleTime;
    ports.idle();
    return undefined;
  };
  const check = () => {
    const now = clock.now();
    const next = ports.busy() ? checkBusy(now) : checkIdle(now);
    // What begins meanwhile is noticed in time.
    if (next !== undefined) watch(Math.min(next - now, silenceTime));
  };
  const watch = (delay: number) => {
    cancel = clock.after(delay, check);
  };
  watch(Math.min(idleTime, silenceTime));
  return {
    began() {
      waitingSince ??= clock.now();
    },
    rested() {
      restedAt = clock.now();
      waitingSince = undefined;
    },
    alive() {
      aliveAt = clock.now();
      waitingSince = undefined;
      ping = undefined;
    },
    stop: () => cancel(),
  };
}
