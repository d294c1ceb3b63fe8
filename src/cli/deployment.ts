/**
 * What operators' commands act on: a live agent, or the store of the home where none runs.
 *
 * @module
 */

import type { AgentClient } from "../agent/client.ts";
import type { Cause } from "../agent/mod.ts";
import type { PoolFile } from "./snapshot-file.ts";

/** Said where the store of the home holds nothing, and it may be that nobody meant that store. */
export const elsewhere = "an agent with another store is reached by --agent URL";

/** What was published. */
export interface PublishedVersion {
  readonly version: number;
  /** SHA-256 of the signed payload, lower-case hexadecimal. */
  readonly digest: string;
  /** The key that signed it. */
  readonly kid: string;
}

export interface DeploymentPublishOptions {
  /** Take the next version, whatever the file says. */
  readonly next: boolean;
  readonly reason: string;
  /** What messages call the pool, such as its file. */
  readonly source: string;
}

/** One deployment: what it is like, and how it is changed. */
export interface Deployment extends Pick<AgentClient, "status" | "history" | "snapshotAt"> {
  /** The agent's address or the home's folder, for messages. */
  readonly where: string;
  /** Whether a live agent answers. */
  readonly live: boolean;
  /**
   * Publishes a pool. A version in the file has to be above the current one, unless `next`
   * (LB-ROT-3).
   */
  publish(
    pool: PoolFile,
    options: DeploymentPublishOptions,
  ): Promise<PublishedVersion & { replaced?: string }>;
  rollback(...given: Parameters<AgentClient["rollback"]>): Promise<Changed>;
  act(...given: Parameters<AgentClient["act"]>): Promise<Changed>;
}

/** A version that an action led to. */
export interface Changed extends PublishedVersion {
  readonly cause: Cause;
}
