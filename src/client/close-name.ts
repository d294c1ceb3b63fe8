/**
 * How a session ended, for people.
 *
 * @module
 */

import { sessionErrorName } from "../moqt/mod.ts";
import type { SessionClose } from "../session/mod.ts";

/** In a word: the registered name, or a number where there is none. */
export function closeName({ by, app, code }: SessionClose): string {
  if (by === "idle") return "idle timeout";
  const name = app ? sessionErrorName(code) : undefined;
  return name ?? `${app ? "" : "transport "}code 0x${code.toString(16)}`;
}
