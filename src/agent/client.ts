/**
 * An operator's side of the agent's API: reads with short-lived tokens, acts with signed actions.
 *
 * @module
 */

import { sha256Hex } from "../digest.ts";
import { messageOf, YardmasterError, type YardmasterErrorOptions } from "../errors.ts";
import { agentBase, type Fetch, ReportError, readBody } from "../report/mod.ts";
import {
  encodeSnapshot,
  type JsonSnapshot,
  type Problem,
  parseSnapshot,
  type SigningKey,
  type Snapshot,
} from "../snapshot/mod.ts";
import { type OperatorRequest, signAction, signOperatorToken } from "./action.ts";
import { AgentError } from "./errors.ts";
import type { HistoryEntry, Refusal } from "./history.ts";
import type { PublishedJson } from "./http/actions-route.ts";
import type { Status } from "./http/status.ts";
import { parsePool } from "./pool.ts";

export interface AgentClientOptions {
  /** Base of the agent's addresses; https, or http on the loopback interface. */
  readonly url: string;
  /** The operator's own key. */
  readonly key: SigningKey;
  /** Trusts the agent's certificate as the deployment needs it; `fetch` by default. */
  readonly fetch?: Fetch;
  /** Milliseconds that an answer may take, to its last byte; 30 s by default. */
  readonly timeout?: number;
  /** Milliseconds of the Unix epoch; `Date.now` by default. */
  readonly now?: () => number;
}

/**
 * That the agent does not do what it was asked. `code` is that of its `problem+json`, such as
 * `FORBIDDEN`; `UNREACHABLE` and `NO_AGENT` are our own.
 */
export class AgentRefusal extends YardmasterError {
  /** HTTP status; 0 where nothing, or nothing of an agent, came back. */
  readonly status: number;
  /** Every rule that a pool breaks. */
  readonly problems: readonly Problem[];
  readonly currentVersion: number | undefined;

  constructor(status: number, details: RefusalDetails, options?: YardmasterErrorOptions) {
    super(details.code, details.detail, options);
    this.status = status;
    this.problems = details.problems ?? [];
    this.currentVersion = details.currentVersion;
  }
}

interface RefusalDetails {
  readonly code: string;
  readonly detail: string;
  readonly problems?: readonly Problem[];
  readonly currentVersion?: number;
}

/** One version as the agent keeps it; without `snapshot` where only its record is left. */
export interface HistoryVersion {
  readonly entry: HistoryEntry;
  readonly snapshot?: JsonSnapshot;
}

/** The largest answer that is read: a whole snapshot as JSON is the longest. */
const LARGEST_ANSWER = 256 * 1024 * 1024;
/**
 * How often an action is signed anew because another version came first: a relay that flaps must
 * not keep an operator out.
 */
const ATTEMPTS = 8;

export class AgentClient {
  readonly #base: string;
  readonly #key: SigningKey;
  readonly #fetch: Fetch;
  readonly #timeout: number;
  readonly #now: () => number;

  /** @throws {AgentError} `INVALID_CONFIGURATION` where `url` is no address of an agent */
  constructor(options: AgentClientOptions) {
    try {
      this.#base = agentBase(options.url);
    } catch (cause) {
      if (!(cause instanceof ReportError)) throw cause;
      throw new AgentError("INVALID_CONFIGURATION", cause.message, { cause });
    }
    this.#key = options.key;
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#timeout = options.timeout ?? 30_000;
    this.#now = options.now ?? Date.now;
  }

  /** Everything that the agent knows of now. */
  status(): Promise<Status> {
    return this.#get("/v1/status");
  }

  /** Newest first. */
  async history(options: { before?: number; limit?: number } = {}): Promise<HistoryEntry[]> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) query.set(name, String(value));
    const { entries } = await this.#get<{ entries: HistoryEntry[] }>(`/v1/history?${query}`);
    return entries;
  }

  version(version: number): Promise<HistoryVersion> {
    return this.#get(`/v1/history/${version}`);
  }

  /** @throws {AgentRefusal} `UNKNOWN_VERSION` where its contents are not kept */
  async snapshotAt(version: number): Promise<Snapshot> {
    const { snapshot } = await this.version(version);
    if (snapshot !== undefined) return parseSnapshot(snapshot);
    throw new AgentRefusal(404, {
      code: "UNKNOWN_VERSION",
      detail: `of version ${version} only the record is left`,
    });
  }

  async refusals(): Promise<readonly Refusal[]> {
    const { refusals } = await this.#get<{ refusals: Refusal[] }>("/v1/refusals");
    return refusals;
  }

  /** A link that signs a browser in, once and within five minutes. */
  async loginLink(): Promise<string> {
    return `${this.#base}/login?token=${await signOperatorToken(this.#key, this.#now())}`;
  }

  /**
   * Publishes a pool as the next version.
   *
   * @throws {SnapshotError} `MALFORMED_SNAPSHOT`, `INVALID_SNAPSHOT`, before anything is sent
   * @throws {AgentRefusal}
   */
  async publish(pool: unknown, reason: string): Promise<PublishedJson> {
    const { snapshot } = parsePool(pool);
    const json = typeof pool === "string" ? JSON.parse(pool) : pool;
    return this.#act(reason, json, async (newVersion) => ({
      type: "publish",
      digest: await sha256Hex(encodeSnapshot({ ...snapshot, version: newVersion })),
    }));
  }

  /**
   * Publishes the contents of an earlier version as the next one (LB-ROT-4).
   *
   * @throws {AgentRefusal}
   */
  async rollback(oldVersion: number, reason: string): Promise<PublishedJson> {
    const { entry } = await this.version(oldVersion);
    return this.act({ type: "rollback", oldVersion, digest: entry.digest }, reason);
  }

  /** @throws {AgentRefusal} */
  act(request: OperatorRequest, reason: string): Promise<PublishedJson> {
    return this.#act(reason, undefined, () => Promise.resolve(request));
  }

  /** Signs for the version after the current one, and anew where another came first. */
  async #act(
    reason: string,
    pool: unknown,
    requestFor: (newVersion: number) => Promise<OperatorRequest>,
  ): Promise<PublishedJson> {
    // What an action needs of it does not wait for shares to be measured.
    const { current: newest } = await this.#get<Status>("/v1/status?shares=none");
    let current = newest?.version ?? 0;
    for (let attempt = 1; ; attempt++) {
      const newVersion = current + 1;
      const action = { ...(await requestFor(newVersion)), newVersion, reason };
      const jws = await signAction(action, this.#key, this.#now());
      const body = JSON.stringify({ action: jws, ...(pool !== undefined && { pool }) });
      try {
        return await this.#ask("/v1/actions", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
        });
      } catch (error) {
        const moved = error instanceof AgentRefusal && error.code === "VERSION_MOVED";
        if (!moved || error.currentVersion === undefined || attempt === ATTEMPTS) throw error;
        current = error.currentVersion;
      }
    }
  }

  #get<T>(path: string): Promise<T> {
    return this.#ask(path, {});
  }

  async #ask<T>(path: string, init: RequestInit): Promise<T> {
    const token = await signOperatorToken(this.#key, this.#now());
    let response: Response;
    let body: Uint8Array | undefined;
    try {
      response = await this.#fetch(`${this.#base}${path}`, {
        ...init,
        headers: { ...init.headers, authorization: `Bearer ${token}` },
        // A token and an action are for this agent, not for where it might send them.
        redirect: "manual",
        signal: AbortSignal.timeout(this.#timeout),
      });
      body = await readBody(response, LARGEST_ANSWER);
    } catch (cause) {
      const detail = `${this.#base}: no answer: ${messageOf(cause)}`;
      throw new AgentRefusal(0, { code: "UNREACHABLE", detail }, { cause });
    }
    const value = body && jsonOf(body);
    if (response.ok && value !== undefined) return value as T;
    if (isRefusal(value)) throw new AgentRefusal(response.status, value);
    const detail = `${this.#base} does not answer like an agent: HTTP status ${response.status}`;
    throw new AgentRefusal(0, { code: "NO_AGENT", detail });
  }
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function isRefusal(value: unknown): value is RefusalDetails {
  const { code, detail } = (value ?? {}) as Partial<RefusalDetails>;
  return typeof code === "string" && typeof detail === "string";
}
