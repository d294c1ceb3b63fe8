/**
 * Structured decision log: one line of JSON a decision.
 *
 * @module
 */

import { ConfigurationError, requireFunction } from "./configuration-error.ts";
import type { DecisionEvent } from "./decision-event.ts";

/** One log record, ready for `JSON.stringify`. */
export interface DecisionLogRecord extends DecisionEvent {
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly event: "decision";
}

/**
 * The `onDecision` hook that writes each decision as one line of JSON. What a line may hold is
 * settled by {@link DecisionEvent}: no tokens, no raw names (LB-SEC-17, LB-SEC-34).
 *
 * @param write takes one line, without its line break
 * @param now milliseconds since 1970
 * @throws {ConfigurationError} one of them is no function
 *
 * @example
 * ```ts
 * moqLb({ …, onDecision: decisionLog((line) => console.log(line)) });
 * ```
 */
export function decisionLog(
  write: (line: string) => void,
  now: () => number = Date.now,
): (event: DecisionEvent) => void {
  if (typeof write !== "function") throw new ConfigurationError("write has to be a function");
  requireFunction("now", now);
  return function decisionLog(event) {
    const record: DecisionLogRecord = {
      time: new Date(now()).toISOString(),
      event: "decision",
      ...event,
    };
    write(JSON.stringify(record));
  };
}
