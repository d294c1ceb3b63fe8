/**
 * By what clients are told apart for limits.
 *
 * @module
 */

import { addressKey } from "../quic/admission.ts";

/**
 * The key of the client behind an address such as `192.0.2.1:4433`, `[2001:db8::1]:4433` or
 * `2001:db8::1`: the address without its port, of IPv6 the network of 64 bits, since nobody has
 * less than that.
 */
export function clientKey(remote: string): string {
  return addressKey(hostOf(remote));
}

function hostOf(remote: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(remote)?.[1];
  if (bracketed !== undefined) return bracketed;
  const colon = remote.indexOf(":");
  return colon >= 0 && colon === remote.lastIndexOf(":") ? remote.slice(0, colon) : remote;
}
