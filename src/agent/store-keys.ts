/**
 * Where the agent's own items lie in the store, beside the snapshots.
 *
 * @module
 */

import { versionKey } from "../snapshot/mod.ts";

export const leasePrefix = "moq-lb:agent:lease:";
export const recordPrefix = "moq-lb:agent:record:";
/** The version that became the current one last, as a JWS. */
export const confirmationKey = "moq-lb:agent:confirmed";
/** The last actions that were refused, as JSON. */
export const refusalsKey = "moq-lb:agent:refusals";
/** What every key of a version starts with. */
export const versionPrefix = versionKey(0).slice(0, -1);

/** Who publishes: the item of the highest epoch counts. */
export function leaseKey(epoch: number): string {
  return `${leasePrefix}${epoch}`;
}

/** What is known of a publication; the digest tells one that happened from one that did not. */
export function recordKey(version: number, digest: string): string {
  return `${recordPrefix}${version}:${digest.slice(0, 16)}`;
}

/** The number at the end of `key`, where it is no more than `prefix` and a number. */
export function numberAfter(prefix: string, key: string): number | undefined {
  const text = key.slice(prefix.length);
  if (!key.startsWith(prefix) || !/^\d{1,16}$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}
