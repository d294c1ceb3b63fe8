/**
 * The agent itself as a snapshot store, for instances that share no store with it: `GET
 * /v1/snapshot`, the same envelope, the same checks (LB-CONF-19, LB-CONF-21).
 *
 * @module
 */

import { agentBase, discard, type Fetch, ReportError, readBody } from "../report/mod.ts";
import {
  currentKey,
  envelopeTooLarge,
  SnapshotError,
  type SnapshotStore,
  type Timers,
} from "../snapshot/mod.ts";

export interface HttpStoreOptions {
  /** Base of the agent's addresses. */
  readonly url: string;
  /** A bearer token for one request. */
  readonly token: () => Promise<string>;
  readonly fetch?: Fetch;
  /** Milliseconds that an answer may take, to its last byte. Default 10 s. */
  readonly timeout?: number;
}

/** What follows the changes of a snapshot; a `SnapshotHolder` is one. */
export interface Follower {
  readonly active: { readonly snapshot: { readonly version: number } } | undefined;
  refresh(): Promise<unknown>;
}

export interface WatchOptions {
  /** Seconds that the agent may hold a request back while nothing changes. Default 25. */
  readonly wait?: number;
  readonly timers?: Timers;
  readonly random?: () => number;
}

/** A store that holds the current snapshot alone, and can only be read. */
export interface HttpStore extends SnapshotStore {
  /**
   * Has `follower` look as soon as the agent has another version than it, by long polls. Its own
   * looks go on beside this, so that nothing is lost where it fails.
   *
   * @returns ends it
   */
  watch(follower: Follower, options?: WatchOptions): () => void;
}

interface Kept {
  readonly etag: string;
  readonly bytes: Uint8Array;
}

/**
 * The snapshot that the agent at `url` publishes. An answer that says that nothing changed costs
 * no transfer; one that has more bytes than asked for is not read to its end.
 *
 * @throws {SnapshotError} `INVALID_CONFIGURATION` where `url` is no address of an agent
 */
export function httpStore(options: HttpStoreOptions): HttpStore {
  return new AgentStore(options);
}

class AgentStore implements HttpStore {
  readonly #options: HttpStoreOptions;
  readonly #address: string;
  readonly #fetch: Fetch;
  #kept: Kept | undefined;
  /** The version that a follower acts on, where there is one. */
  #followed: (() => number | undefined) | undefined;

  constructor(options: HttpStoreOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch;
    try {
      this.#address = `${agentBase(options.url)}/v1/snapshot`;
    } catch (cause) {
      if (!(cause instanceof ReportError)) throw cause;
      throw new SnapshotError("INVALID_CONFIGURATION", cause.message, { cause });
    }
  }

  async get(key: string, maximumBytes = Number.POSITIVE_INFINITY): Promise<Uint8Array | undefined> {
    if (key !== currentKey) {
      throw new SnapshotError("STORE_FAILED", "the agent gives the current snapshot alone");
    }
    const kept = this.#validKept();
    const headers = kept && { "if-none-match": kept.etag };
    const signal = AbortSignal.timeout(this.#options.timeout ?? 10_000);
    const response = await this.#request(this.#address, signal, headers);
    if (response.status === 304 && kept !== undefined) return kept.bytes;
    if (response.status === 404) {
      discard(response);
      return undefined;
    }
    if (response.status !== 200) throw refusedWith(response);
    const bytes = await this.#body(response, maximumBytes);
    const etag = response.headers.get("etag");
    this.#kept = etag === null ? undefined : { etag, bytes };
    return bytes;
  }

  watch(follower: Follower, options: WatchOptions = {}): () => void {
    this.#followed = () => follower.active?.snapshot.version;
    return watch(follower, options, (after, wait, signal) => this.#changed(after, wait, signal));
  }

  /** Whether there is another version than `after` before `wait` seconds have passed. */
  async #changed(after: number, wait: number, signal: AbortSignal): Promise<boolean> {
    const address = `${this.#address}?after=${after}&wait=${wait}`;
    const response = await this.#request(address, signal);
    discard(response);
    if (response.status === 200) return true;
    if (response.status === 304 || response.status === 204) return false;
    throw refusedWith(response);
  }

  /**
   * What is kept, unless it turned out to be of no use: bytes that did not become active are asked
   * for anew, else an agent that mended them under the same tag would never be heard.
   */
  #validKept(): Kept | undefined {
    const kept = this.#kept;
    if (kept === undefined || this.#followed === undefined) return kept;
    return kept.etag.replace(/^W\//, "") === `"v${this.#followed()}"` ? kept : undefined;
  }

  async #request(
    address: string,
    signal: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const authorization = `Bearer ${await this.#options.token()}`;
    try {
      // Redirects are not followed: the token is for this agent.
      return await this.#fetch(address, {
        headers: { accept: "application/cose", authorization, ...headers },
        redirect: "manual",
        signal,
      });
    } catch (cause) {
      throw unreachable(signal, cause);
    }
  }

  async #body(response: Response, maximumBytes: number): Promise<Uint8Array> {
    let bytes: Uint8Array | undefined;
    try {
      bytes = await readBody(response, maximumBytes);
    } catch (cause) {
      throw unreachable(undefined, cause);
    }
    if (bytes === undefined) throw envelopeTooLarge(maximumBytes);
    return bytes;
  }
}

function unreachable(signal: AbortSignal | undefined, cause: unknown): SnapshotError {
  const late = signal?.aborted === true || (cause as Error | undefined)?.name === "TimeoutError";
  return late
    ? new SnapshotError("STORE_TIMEOUT", "the agent took too long", { cause })
    : new SnapshotError("STORE_FAILED", "the agent could not be reached", { cause });
}

function refusedWith(response: Response): SnapshotError {
  discard(response);
  return new SnapshotError("STORE_FAILED", `the agent answered ${response.status}`);
}

/** Milliseconds: between two polls at least, after failures at most, and for a fleet to spread in. */
const shortestPause = 1000;
const longestPause = 60_000;
const spread = 1000;

/** Milliseconds beyond its wait that a poll may take. */
const grace = 10_000;

function watch(
  follower: Follower,
  { wait = 25, timers = platformTimers, random = Math.random }: WatchOptions,
  changed: (after: number, wait: number, signal: AbortSignal) => Promise<boolean>,
): () => void {
  const version = () => follower.active?.snapshot.version ?? 0;
  let stopped = false;
  /** Ends the pause or the poll under way. */
  let interrupt = () => {};

  const sleep = (delay: number) =>
    new Promise<void>((resolve) => {
      const timer = timers.setTimeout(resolve, delay);
      interrupt = () => {
        timers.clearTimeout(timer);
        resolve();
      };
    });
  const poll = async (after: number) => {
    const controller = new AbortController();
    const late = timers.setTimeout(() => controller.abort(), wait * 1000 + grace);
    interrupt = () => controller.abort();
    try {
      return await changed(after, wait, controller.signal);
    } finally {
      timers.clearTimeout(late);
    }
  };
  /** Whether to ask again soon: nothing happened, or what did was of use. */
  const turn = async () => {
    const before = version();
    try {
      if (!(await poll(before))) return true;
    } catch {
      // The follower's own looks tell of an agent that is away.
      return false;
    }
    // The whole fleet hears of a version at one time: its looks need not come at one.
    if (!stopped) await sleep(spread * random());
    if (!stopped) await follower.refresh();
    // What was announced and did not become active would be announced again at once.
    return version() > before;
  };
  const run = async () => {
    let pause = 0;
    while (!stopped) {
      pause = (await turn()) ? 0 : nextPause(pause);
      if (!stopped) await sleep(Math.max(shortestPause, pause) * (0.5 + 0.5 * random()));
    }
  };
  void run();
  return () => {
    stopped = true;
    interrupt();
  };
}

function nextPause(pause: number): number {
  return Math.min(longestPause, Math.max(shortestPause, 2 * pause));
}

const platformTimers: Timers = {
  setTimeout: (callback, delay) => setTimeout(callback, delay),
  clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};
