/**
 * What the store holds: versions, their records, and which of them is the current one.
 *
 * @module
 */

import { equalBytes, toHex, utf8 } from "../bytes.ts";
import {
  currentKey,
  DEFAULT_MAXIMUM_BYTES,
  encodeSnapshot,
  type Snapshot,
  SnapshotError,
  type TrustedKeys,
  type VerifiedSnapshot,
  verifySnapshot,
  versionKey,
} from "../snapshot/mod.ts";
import type { WritableStore } from "../store/writable.ts";
import { AgentError } from "./errors.ts";
import type { HistoryEntry } from "./history.ts";
import { entryOf, type PublicationRecord, verifyRecord } from "./record.ts";
import { numberAfter, recordKey, recordPrefix, versionPrefix } from "./store-keys.ts";

/** A version counts whenever it was signed: a clock may have been wrong. */
const ANY_TIME = Number.POSITIVE_INFINITY;
const LARGEST_RECORD = 16 * 1024 * 1024;
/** Entries that are remembered. */
const REMEMBERED = 5000;

/** An envelope of the store with the snapshot that a trusted key vouches for. */
export interface StoredVersion {
  readonly envelope: Uint8Array;
  readonly verified: VerifiedSnapshot;
}

/** What a look into the store found. */
export interface Found {
  /** The highest version that a trusted key vouches for. */
  readonly newest?: StoredVersion;
  /** Whether the current item is exactly that one. */
  readonly isCurrent: boolean;
  /** Whether that one is in the history as well. */
  readonly isKept: boolean;
  /** Every version that has an item, newest first. */
  readonly versions: readonly number[];
  /** Those, above the newest one, whose item is no envelope at all. */
  readonly malformed: readonly number[];
  /** Why the current item is of no use, where it is not. */
  readonly fault?: string;
}

/** An envelope and its key's verdict. */
type Look = StoredVersion | "absent" | "malformed" | SnapshotError;

export class Archive {
  readonly #store: WritableStore;
  readonly #trusted: TrustedKeys;
  /** By the key of their records. */
  readonly #entries = new Map<string, HistoryEntry>();

  constructor(store: WritableStore, trusted: TrustedKeys) {
    this.#store = store;
    this.#trusted = trusted;
  }

  /**
   * Looks for the newest version: the current item, or a higher one that somebody published
   * half-way.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async look(): Promise<Found> {
    const versions = await this.versions();
    const current = await this.#lookAt(currentKey);
    const verified = isStored(current) ? current : undefined;
    const known = isStored(current) ? current.verified.snapshot.version : -1;
    const malformed: number[] = [];
    let kept: StoredVersion | undefined;
    for (const version of versions) {
      if (version < known) break;
      const look = await this.#lookAt(versionKey(version), version, verified);
      if (isStored(look)) {
        kept = look;
        break;
      }
      if (look === "malformed") malformed.push(version);
    }
    // What is kept counts before what is current: it was created, and so there is but one of it.
    const newest = kept ?? (isStored(current) ? current : undefined);
    return {
      ...(newest && { newest }),
      isCurrent: isStored(current) && current.verified.digest === newest?.verified.digest,
      isKept: kept !== undefined,
      versions,
      malformed,
      ...faultOf(current),
    };
  }

  /**
   * Every version of the history, newest first.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async versions(): Promise<number[]> {
    return (await this.#store.keys(versionPrefix))
      .map((key) => numberAfter(versionPrefix, key))
      .filter((version) => version !== undefined)
      .sort((a, b) => b - a);
  }

  /**
   * `undefined` where there is no such version, or none that a trusted key vouches for.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async snapshotAt(version: number): Promise<StoredVersion | undefined> {
    if (!Number.isSafeInteger(version) || version < 0) return undefined;
    const look = await this.#lookAt(versionKey(version), version);
    return isStored(look) ? look : undefined;
  }

  /**
   * The record of a version; `undefined` where there is none, or none by a trusted key.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async record(version: number, digest: string): Promise<PublicationRecord | undefined> {
    const record = await this.#record(recordKey(version, digest));
    return record?.version === version && record.digest === digest ? record : undefined;
  }

  /**
   * The history's entry of `version`; `undefined` where nothing of it can be verified.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async entry(version: number): Promise<HistoryEntry | undefined> {
    const keys = await this.#store.keys(`${recordPrefix}${version}:`);
    const [only] = keys;
    const remembered = keys.length === 1 && only !== undefined && this.#entries.get(only);
    if (remembered) return remembered;
    // Several: an agent died after it had written one, and another version was published instead.
    if (keys.length === 1 && only !== undefined) {
      const record = await this.#record(only);
      if (record?.version === version) return this.remember(record);
    }
    const stored = await this.snapshotAt(version);
    if (stored === undefined) return undefined;
    const { digest, kid, signedAt } = stored.verified;
    const record = await this.record(version, digest);
    if (record !== undefined) return this.remember(record);
    // Published by hand, before there was an agent, or by one whose key is trusted no longer.
    return { version, at: signedAt, digest, kid, agentId: "", cause: "publish", changes: [] };
  }

  /** Keeps the entry of a record at hand. */
  remember(record: PublicationRecord): HistoryEntry {
    const entry = entryOf(record);
    if (this.#entries.size >= REMEMBERED) this.#entries.clear();
    this.#entries.set(recordKey(record.version, record.digest), entry);
    return entry;
  }

  /**
   * Removes a version and everything that belongs to it.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async remove(version: number): Promise<void> {
    await this.#store.remove(versionKey(version));
    for (const key of await this.#store.keys(`${recordPrefix}${version}:`)) {
      this.#entries.delete(key);
      await this.#store.remove(key);
    }
  }

  /**
   * Removes records of publications that did not happen, and cannot any more. One for a version
   * that is still to come may be about to.
   *
   * @param versions those that there are
   * @throws {AgentError} `STORE_FAILED`
   */
  async removeOrphans(versions: readonly number[]): Promise<void> {
    const there = new Set(versions);
    const highest = Math.max(0, ...versions);
    const keysOf = new Map<number, string[]>();
    for (const key of await this.#store.keys(recordPrefix)) {
      const version = numberAfter(recordPrefix, key.slice(0, key.lastIndexOf(":")));
      if (version === undefined || version > highest) continue;
      keysOf.set(version, [...(keysOf.get(version) ?? []), key]);
    }
    for (const [version, keys] of keysOf) {
      let real: string | undefined;
      if (there.has(version)) {
        if (keys.length === 1) continue;
        const stored = await this.snapshotAt(version);
        if (stored === undefined) continue;
        real = recordKey(version, stored.verified.digest);
      }
      for (const key of keys) if (key !== real) await this.#store.remove(key);
    }
  }

  async #record(key: string): Promise<PublicationRecord | undefined> {
    const bytes = await this.#store.get(key, LARGEST_RECORD);
    if (bytes === undefined) return undefined;
    try {
      return await verifyRecord(new TextDecoder().decode(bytes), this.#trusted);
    } catch (error) {
      if (error instanceof AgentError) return undefined;
      throw error;
    }
  }

  /**
   * @param known one that was verified already: what has the same bytes is not verified again
   * @throws {AgentError} `STORE_FAILED`
   */
  async #lookAt(key: string, version?: number, known?: StoredVersion): Promise<Look> {
    try {
      const envelope = await this.#store.get(key, DEFAULT_MAXIMUM_BYTES);
      if (envelope === undefined) return "absent";
      const verified =
        known !== undefined && equalBytes(envelope, known.envelope)
          ? known.verified
          : await verifySnapshot(envelope, this.#trusted, { now: ANY_TIME });
      // Somebody copied an item to where it does not belong.
      if (version !== undefined && verified.snapshot.version !== version) return "malformed";
      return { envelope, verified };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      if (version !== undefined && error.code === "MALFORMED_ENVELOPE") return "malformed";
      return error;
    }
  }
}

function isStored(look: Look): look is StoredVersion {
  return typeof look === "object" && "envelope" in look;
}

function faultOf(look: Look): { fault?: string } {
  if (!(look instanceof SnapshotError)) return {};
  return { fault: `the current snapshot is not usable: ${look.message} (${look.code})` };
}

/** SHA-256 in lower-case hexadecimal. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return toHex(new Uint8Array(digest));
}

/** The digest of a snapshot's contents without its version: equal for repetitions. */
export function contentsDigest(snapshot: Snapshot): Promise<string> {
  return sha256(encodeSnapshot({ ...snapshot, version: 0 }));
}

/** A record as the store has it. */
export function recordBytes(jws: string): Uint8Array {
  return utf8(jws);
}
