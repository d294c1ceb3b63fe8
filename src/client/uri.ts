/**
 * The normal form of the URIs that a client goes to.
 *
 * @module
 */

import { normaliseUri } from "../snapshot/mod.ts";

/**
 * The normal form of a URI that sessions can be made to, and the key of its session (RD-14). Besides
 * what can be a Connect URI, a service can be at a WebSocket (`wss`, `ws`).
 *
 * @returns `undefined` where `uri` is none
 */
export function sessionUri(uri: string): string | undefined {
  const scheme = /^wss?(?=:\/\/)/i.exec(uri)?.[0].toLowerCase();
  if (scheme === undefined) return normaliseUri(uri);
  // The URL class leaves the default port of its own scheme out: 443, or 80.
  const isPlausible = normaliseUri(uri.replace(/^wss?/i, "https")) !== undefined;
  return isPlausible ? new URL(uri).href : undefined;
}
