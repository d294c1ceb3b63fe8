/**
 * Structured session log: one line of JSON for each moment in the life of a session.
 *
 * @module
 */

import type { RedirectSessionEvent } from "./session-event.ts";

/**
 * The `onSession` hook that writes each event as one line of JSON, with the time and what it tells
 * of: `session-opened`, `session-setup`, `session-closed`, `session-refused`. What a line may hold
 * is settled by {@link RedirectSessionEvent}.
 *
 * @param write takes one line, without its line break
 * @param now milliseconds since 1970
 */
export function sessionLog(
  write: (line: string) => void,
  now: () => number = Date.now,
): (event: RedirectSessionEvent) => void {
  return function sessionLog({ type, ...rest }) {
    const time = new Date(now()).toISOString();
    write(JSON.stringify({ time, event: `session-${type}`, ...rest }));
  };
}
