/**
 * Authentication that is bound to a connection: whoever has authenticated speaks for every later
 * request on it, so that nobody else's may be there (CG-KEY-9).
 *
 * @module
 */

import type { OriginKey } from "../../client-group/mod.ts";
import type { GatewayClient } from "../types.ts";
import type { Fields } from "./fields.ts";

const boundSchemes: ReadonlySet<string> = new Set(["negotiate", "ntlm"]);

/**
 * Who has to be alone where: the clients of one connection, each with the origin keys that it
 * authenticates itself to by connection. A front's connection carries many clients, whom what one of
 * them does is not to concern.
 */
export class BoundClients {
  readonly #bound = new WeakMap<GatewayClient, Set<OriginKey>>();

  add(client: GatewayClient, key: OriginKey): void {
    const keys = this.#bound.get(client);
    if (keys === undefined) this.#bound.set(client, new Set([key]));
    else keys.add(key);
  }

  has(client: GatewayClient, key: OriginKey): boolean {
    return this.#bound.get(client)?.has(key) === true;
  }
}

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
