/**
 * Authentication that is bound to a connection: whoever has authenticated speaks for every later
 * request on it, so that nobody else's may be there (CG-KEY-9).
 *
 * @module
 */

import type { Fields } from "./fields.ts";

const boundSchemes: ReadonlySet<string> = new Set(["negotiate", "ntlm"]);

/** Whether a request authenticates the connection that it is on. */
export function authenticatesConnection(fields: Fields): boolean {
  const { authorization } = fields;
  if (authorization === undefined) return false;
  return boundSchemes.has(String(authorization).trim().split(/\s/, 1)[0]?.toLowerCase() ?? "");
}

/**
 * Whether a 401 asks for that: its request belongs on a connection of its own (CG-S61). Challenges
 * share the commas of their parameters, so that any word that begins a list member counts.
 */
export function asksToAuthenticateConnection(status: number, fields: Fields): boolean {
  if (status !== 401) return false;
  const challenges = fields["www-authenticate"];
  if (challenges === undefined) return false;
  return String(challenges)
    .split(",")
    .some((part) => boundSchemes.has(part.trim().split(/\s/, 1)[0]?.toLowerCase() ?? ""));
}
