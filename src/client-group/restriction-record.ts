/**
 * BLOCK and LIMIT of one client as the processes of one intermediary tell each other of them.
 *
 * Times are those of the wall clock, in milliseconds since the epoch: no other clock is the same in
 * two processes. Where their clocks differ, deadlines err by as much.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { toHex, utf8 } from "../bytes.ts";
import type { RestrictionScope } from "./origin-key.ts";

/** When something was said, and by which process: later ones win, and no two are equal. */
export interface Stamp {
  readonly at: number;
  readonly process: string;
}

interface Part extends Stamp {
  /** Until when it holds; 0 where CLEAR has ended it. */
  readonly until: number;
  /**
   * Until when it has to be remembered, so that what it replaced, kept by a process that was cut off
   * from the others, does not come back.
   */
  readonly keep: number;
}

/** BLOCK. */
export type BlockPart = Part;

/** LIMIT. It holds as long as some process that has requests of the client prolongs it. */
export interface LimitPart extends Part {
  readonly requests: number;
}

/** What is known of one client in one scope. */
export interface RestrictionRecord {
  /** {@link restrictionId} of the two. */
  readonly id: string;
  readonly block?: BlockPart | undefined;
  readonly limit?: LimitPart | undefined;
}

/** Longest record that is read. */
export const MAX_RECORD_BYTES = 2_048;

/**
 * Names a client in a scope to other processes without telling who it is: SHA-256 of both, in
 * hexadecimal.
 */
export function restrictionId(clientKey: string, scope: RestrictionScope): string {
  return toHex(sha256(utf8(JSON.stringify([scope, clientKey]))));
}

/** Whether `a` was said after `b`. */
export function isLater(a: Stamp, b: Stamp | undefined): boolean {
  if (b === undefined || a.at !== b.at) return b === undefined || a.at > b.at;
  return a.process > b.process;
}

/**
 * What two processes know together. The order in which records arrive, and how often, makes no
 * difference.
 */
export function mergeRecords(a: RestrictionRecord, b: RestrictionRecord): RestrictionRecord {
  return {
    id: a.id,
    block: mergeParts(a.block, b.block),
    limit: mergeParts(a.limit, b.limit),
  };
}

function mergeParts<P extends Part>(a: P | undefined, b: P | undefined): P | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const keep = Math.max(a.keep, b.keep);
  // The same LIMIT, prolonged by another process.
  if (a.at === b.at && a.process === b.process) {
    return { ...a, until: Math.max(a.until, b.until), keep };
  }
  return { ...(isLater(a, b) ? a : b), keep };
}

/** Whether there is no difference between them. */
export function sameRecord(a: RestrictionRecord | undefined, b: RestrictionRecord): boolean {
  return a !== undefined && encodeRecord(a) === encodeRecord(b);
}

/** Whether anything of it has to be remembered at `time`. */
export function isOver({ block, limit }: RestrictionRecord, time: number): boolean {
  return Math.max(block?.keep ?? 0, limit?.keep ?? 0) <= time;
}

export function encodeRecord({ id, block, limit }: RestrictionRecord): string {
  return JSON.stringify({
    v: 1,
    id,
    ...(block && { block: [block.at, block.process, block.until, block.keep] }),
    ...(limit && { limit: [limit.at, limit.process, limit.until, limit.keep, limit.requests] }),
  });
}

/** `undefined` for anything that is no record: another version's, or somebody else's. */
export function decodeRecord(bytes: Uint8Array): RestrictionRecord | undefined {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  if (typeof json !== "object" || json === null || json.v !== 1) return undefined;
  const { id } = json;
  if (typeof id !== "string" || !/^[0-9a-f]{64}$/.test(id)) return undefined;
  const block = partOf(json.block);
  const limit = partOf(json.limit);
  const requests = Array.isArray(json.limit) ? json.limit[4] : undefined;
  if (limit !== undefined && !isTime(requests)) return undefined;
  if (json.block !== undefined && block === undefined) return undefined;
  if (json.limit !== undefined && limit === undefined) return undefined;
  return {
    id,
    ...(block && { block }),
    ...(limit && { limit: { ...limit, requests: requests as number } }),
  };
}

function partOf(value: unknown): Part | undefined {
  if (!Array.isArray(value)) return undefined;
  const [at, process, until, keep] = value;
  if (!isTime(at) || !isTime(until) || !isTime(keep)) return undefined;
  if (typeof process !== "string" || !/^[A-Za-z0-9-]{1,64}$/.test(process)) return undefined;
  return { at, process, until, keep };
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
