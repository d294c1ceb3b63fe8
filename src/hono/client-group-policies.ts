/**
 * Policies of an origin for client groups, ready-made. Each needs an origin that `serve` of
 * `yardmaster/http2` runs; elsewhere, and for ungrouped requests, it does nothing.
 *
 * @module
 */

import type { Context, Env, MiddlewareHandler } from "hono";
import { type ClientGroup, ClientGroupError, MAX_BLOCK_SECONDS } from "../client-group/mod.ts";
import { groupOfContext } from "./client-group-context.ts";
import { requireAtLeastOne } from "./client-group-options.ts";

/** What both policies take. */
export interface PolicyOptions {
  /** How many groups are remembered; the one that was heard of least lately goes first. Default 10,000. */
  readonly maximumGroups?: number;
  /** Milliseconds on a clock that never goes back. Default: the system's. */
  readonly now?: () => number;
}

export interface BlockAfterFailuresOptions<E extends Env = Env> extends PolicyOptions {
  /** How many failures are one too many, such as 3. */
  readonly failures: number;
  /** In how many seconds. */
  readonly within: number;
  /** For how many seconds the group is blocked then, 1..86400. */
  readonly block: number;
  /** Whether a request has failed, asked once it is answered. Default: its status is 401. */
  readonly failed?: (c: Context<E>) => boolean;
}

/**
 * Blocks a client group after so many failures, such as wrong passwords, in so much time. The request
 * of the last failure is answered as any other; later ones the intermediary answers with 429.
 *
 * @throws {ClientGroupError} INVALID_CONFIGURATION
 *
 * @example
 * ```ts
 * app.post("/login", blockAfterFailures({ failures: 3, within: 60, block: 300 }), login)
 * ```
 */
export function blockAfterFailures<E extends Env = Env>(
  options: BlockAfterFailuresOptions<E>,
): MiddlewareHandler<E> {
  const { failures, within, block, failed = (c) => c.res.status === 401 } = options;
  requireAtLeastOne("failures", failures, 1_000);
  requireAtLeastOne("within", within, MAX_BLOCK_SECONDS);
  requireAtLeastOne("block", block, MAX_BLOCK_SECONDS);
  const { now, memory } = common<readonly number[]>(options);
  return async function blockAfterFailures(c, next) {
    await next();
    const group = groupOfContext(c);
    if (group === undefined || !failed(c)) return;
    const time = now();
    const since = time - within * 1_000;
    const times = [...(memory.get(group.key) ?? []).filter((at) => at > since), time];
    if (times.length < failures) {
      memory.set(group.key, times);
      return;
    }
    memory.delete(group.key);
    ifPossible(() => group.block(block));
  };
}

export interface LimitStreamsOptions extends PolicyOptions {
  /** How many requests in progress of one group are fine. */
  readonly over: number;
  /** To how many a group that has more is limited, at most `over`. */
  readonly to: number;
  /**
   * Seconds after which a group that had more all the time is told again; one that had no more than `to`
   * in between is told at once, since its LIMIT has lapsed. Default 10.
   */
  readonly again?: number;
}

/**
 * Limits a client group that has too many requests in progress on its connection. A LIMIT resets
 * nothing, and lasts until CLEAR or until the client has no request left (CG-LIMIT-5).
 *
 * @throws {ClientGroupError} INVALID_CONFIGURATION
 *
 * @example
 * ```ts
 * app.use(limitStreams({ over: 20, to: 4 }))
 * ```
 */
export function limitStreams<E extends Env = Env>(
  options: LimitStreamsOptions,
): MiddlewareHandler<E> {
  const { over, to, again = 10 } = options;
  requireAtLeastOne("over", over);
  requireAtLeastOne("to", to, over);
  requireAtLeastOne("again", again);
  const { now, memory } = common<number>(options);
  return async function limitStreams(c, next) {
    const group = groupOfContext(c);
    if (group !== undefined && group.streams > over) limitOnce(group);
    await next();
  };

  function limitOnce(group: ClientGroup): void {
    const time = now();
    const told = memory.get(group.key);
    if (group.isOverLimit && told !== undefined && time - told < again * 1_000) return;
    memory.set(group.key, time);
    ifPossible(() => group.limit(to));
  }
}

function common<Value>({ maximumGroups = 10_000, now = () => performance.now() }: PolicyOptions) {
  requireAtLeastOne("maximumGroups", maximumGroups);
  return { now, memory: new Memory<Value>(maximumGroups) };
}

/** What is remembered of groups, by their keys; the one set last is last. */
class Memory<Value> {
  readonly #maximum: number;
  readonly #values = new Map<string, Value>();

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= this.#maximum) return;
    const [oldest] = this.#values.keys();
    if (oldest !== undefined) this.#values.delete(oldest);
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}

/** A policy is no reason for an answer to fail: the client may be gone, or the origin not take part. */
function ifPossible(say: () => void): void {
  try {
    say();
  } catch (error) {
    if (!(error instanceof ClientGroupError)) throw error;
  }
}
