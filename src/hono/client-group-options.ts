/**
 * Options of the client-group plug-in.
 *
 * @module
 */

import type { Context, Env } from "hono";
import {
  ClientGroupError,
  type RecordStore,
  type RestrictionScope,
  type TagAgreement,
} from "../client-group/mod.ts";

/**
 * An intermediary: an edge function that forwards requests with `fetch(c.req.raw)`.
 *
 * Client-Group is taken out of requests, so that what the app forwards has none of the client's
 * making (CG-FIELD-15), and out of responses (CG-FIELD-18).
 *
 * `fetch` can neither negotiate nor say which connection a request takes, so that nothing is tagged;
 * `negotiates` of the handler is `false`, and `log` is told once. A host that has connections of its
 * own says by `agreement` what holds on the one that the request is going to take.
 */
export interface IntermediaryOptions<E extends Env = Env> {
  readonly role: "intermediary";
  /**
   * Tells clients apart, and required with `store`: the same text that the gateways of the fleet have
   * for the client, such as `header:alice` where they tell clients apart by a field. It is never stored
   * or logged.
   */
  readonly client?: (c: Context<E>) => string;
  /** What BLOCK and LIMIT hold for, as the gateways have it; required with `store`. */
  readonly scope?: RestrictionScope | ((c: Context<E>) => RestrictionScope);
  /**
   * Where gateways of the fleet share what origins said. Blocked clients get 429 with Retry-After, and
   * so do those with as many requests in progress, in this process, as their LIMIT allows. While the
   * store fails or is silent, what was known holds on. Default: nothing is enforced.
   */
  readonly store?: RecordStore;
  /** What the host agreed with the origin on the connection that this request is going to take. */
  readonly agreement?: (c: Context<E>) => TagAgreement | undefined;
  /** Milliseconds that what the store said is believed. Default 1,000. */
  readonly freshFor?: number;
  /**
   * Milliseconds that a request waits for the store; then it goes by what was known. Default 250.
   */
  readonly answerTime?: number;
  /** How many clients are remembered. Default 10,000. */
  readonly maximumClients?: number;
  /** Milliseconds since the epoch. Default: the system's. */
  readonly wallClock?: () => number;
  /** Milliseconds on a clock that never goes back. Default: the system's. */
  readonly now?: () => number;
  /** Told of what the store fails with, and that it has not answered in time. */
  readonly onError?: (error: unknown) => void;
  /** Told once, in one line, that nothing is negotiated here. */
  readonly log?: (line: string) => void;
}

/** @throws {ClientGroupError} INVALID_CONFIGURATION where an option is missing or wrong */
export function checkIntermediary<E extends Env>(options: IntermediaryOptions<E>): void {
  const { store, client, scope } = options;
  if (store !== undefined && typeof store.get !== "function") {
    throw invalid("store has to have a method get");
  }
  if (store !== undefined && (typeof client !== "function" || scope === undefined)) {
    throw invalid("client or scope is missing: with a store, clients have to be told apart");
  }
  requireAtLeastOne("freshFor", options.freshFor);
  requireAtLeastOne("answerTime", options.answerTime);
  requireAtLeastOne("maximumClients", options.maximumClients);
}

/** @throws {ClientGroupError} INVALID_CONFIGURATION where `value` is given and no integer from 1 on */
export function requireAtLeastOne(name: string, value: number | undefined, most = 2 ** 31): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw invalid(`${name} has to be an integer in 1..${most}`);
}

/** @throws {ClientGroupError} INVALID_CONFIGURATION for anything but a role that there is, or none */
export function checkRole(role: unknown): void {
  if (role === undefined || role === "origin" || role === "intermediary") return;
  throw invalid('role has to be "origin" or "intermediary"');
}

function invalid(message: string): ClientGroupError {
  return new ClientGroupError("INVALID_CONFIGURATION", message);
}
