/**
 * What the store holds: versions, their records, and which of them is the current one.
 *
 * @module
 */

import { equalBytes, utf8 } from "../bytes.ts";
import { sha256Hex } from "../digest.ts";
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
import { verifyConfirmation } from "./confirmation.ts";
import { AgentError } from "./errors.ts";
import type { HistoryEntry } from "./history.ts";
import type { Marks } from "./marks.ts";
import { entryOf, type PublicationRecord, verifyRecord } from "./record.ts";
import {
  confirmationKey,
  numberAfter,
  recordKey,
  recordPrefix,
  versionPrefix,
} from "./store-keys.ts";

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

/** The newest version that there was cannot be read. */
export interface Damage {
  /** The highest one that may have been published. */
  readonly version: number;
  /** What the newest record that can be verified says of relays. */
  readonly marks: Marks;
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
  /** Those whose item is no envelope at all, and that certainly never were published. */
  readonly unpublished: readonly number[];
  /** Those, and others whose item is no envelope and of which nothing else is known. */
  readonly replaceable: readonly number[];
  /** What is confirmed as the last version that became current. */
  readonly confirmed?: number;
  readonly damage?: Damage;
  /** Why the current item is of no use, where it is not. */
  readonly fault?: string;
}

/** An envelope and its key's verdict. */
type Look = StoredVersion | "absent" | "malformed" | SnapshotError;

/** The keys of records, by their version. */
type RecordKeys = ReadonlyMap<number, readonly string[]>;

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
   * half-way; and whether there was a newer one than those that can be read (LB-ROT-5, LB-SEC-8).
   *
   * A version above all readable ones counts as lost where it is confirmed, where it has a record
   * by a trusted key, or where its item is anything but an envelope of a key that is not trusted:
   * whatever such a key signed is not believed, and was no version to anybody who trusts ours.
   *
   * What an agent began when it was killed looks alike: a record, and no item or half of one. It is
   * taken as never published only where that is certain: the version before is confirmed as the
   * last that became current, and still is current and intact. The confirmation is written after
   * the current item, so that a version of which it does not know yet is in the current item. Only
   * if both are lost together would a version be; an agent that never confirmed anything in the
   * store decides nothing by itself.
   *
   * @param head what is known already as published
   * @throws {AgentError} `STORE_FAILED`
   */
  async look(head?: StoredVersion): Promise<Found> {
    const versions = await this.versions();
    const records = await this.#recordKeys();
    const confirmed = await this.#confirmed();
    const current = await this.#lookAt(currentKey);
    const verified = isStored(current) ? current : undefined;
    const known = verified?.verified.snapshot.version ?? -1;
    const unread = new Map<number, Look>();
    let kept: StoredVersion | undefined;
    // A store that lists old keys may have the item of a record all the same.
    for (const version of [...new Set([...versions, ...records.keys()])].sort((a, b) => b - a)) {
      if (version < known) break;
      const look = await this.#lookAt(versionKey(version), version, verified);
      if (isStored(look)) {
        kept = look;
        break;
      }
      unread.set(version, look);
    }
    // What is kept counts before what is current: it was created, and so there is but one of it.
    const newest = kept ?? verified;
    const isCurrent = verified !== undefined && isSame(verified, newest);
    const readable = Math.max(versionOf(newest), versionOf(head));
    const lost: number[] = confirmed !== undefined && confirmed > readable ? [confirmed] : [];
    for (const [version, look] of unread) {
      if (version <= readable) continue;
      const isListed = versions.includes(version) && !isOfStranger(look);
      if (isListed || (await this.#recordOf(records.get(version))) !== undefined) {
        lost.push(version);
      }
    }
    const isIntact =
      newest === undefined
        ? current === "absent" || isOfStranger(current)
        : isCurrent && versionOf(newest) === readable;
    // Whoever published it itself needs no current item to know.
    const isSure = confirmed === readable && (isIntact || (head && versionOf(head) === readable));
    const malformed = lost.filter((version) => unread.get(version) === "malformed");
    const unpublished = isSure ? malformed : [];
    const isUnrecorded = (version: number) => version !== confirmed && !records.has(version);
    return {
      ...(newest && { newest }),
      isCurrent,
      isKept: kept !== undefined,
      versions,
      unpublished,
      replaceable: isSure ? malformed : malformed.filter(isUnrecorded),
      ...(confirmed !== undefined && { confirmed }),
      ...(lost.length > 0 && !isSure && { damage: await this.#damage(lost, records) }),
      ...faultOf(current),
    };
  }

  /**
   * Removes what was written down of a version that never was published.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async forget(version: number): Promise<void> {
    for (const key of await this.#store.keys(`${recordPrefix}${version}:`)) {
      this.#entries.delete(key);
      await this.#store.remove(key);
    }
  }

  async #damage(lost: readonly number[], records: RecordKeys): Promise<Damage> {
    const version = Math.max(...lost);
    for (const recorded of [...records.keys()].sort((a, b) => b - a)) {
      const record = await this.#recordOf(records.get(recorded));
      if (record !== undefined) return { version, marks: record.marks };
    }
    return { version, marks: new Map() };
  }

  /** The latest of those of one version that a trusted key vouches for. */
  async #recordOf(keys: readonly string[] = []): Promise<PublicationRecord | undefined> {
    let latest: PublicationRecord | undefined;
    for (const key of keys) {
      const record = await this.#record(key);
      if (record === undefined || recordKey(record.version, record.digest) !== key) continue;
      if (latest === undefined || record.at >= latest.at) latest = record;
    }
    return latest;
  }

  async #recordKeys(): Promise<RecordKeys> {
    const keysOf = new Map<number, string[]>();
    for (const key of await this.#store.keys(recordPrefix)) {
      const version = numberAfter(recordPrefix, key.slice(0, key.lastIndexOf(":")));
      if (version !== undefined) keysOf.set(version, [...(keysOf.get(version) ?? []), key]);
    }
    return keysOf;
  }

  async #confirmed(): Promise<number | undefined> {
    const bytes = await this.#store.get(confirmationKey, LARGEST_RECORD);
    if (bytes === undefined) return undefined;
    return verifyConfirmation(new TextDecoder().decode(bytes), this.#trusted);
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
    await this.forget(version);
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
    for (const [version, keys] of await this.#recordKeys()) {
      if (version > highest) continue;
      let real: string | undefined;
      if (there.has(version)) {
        if (keys.length === 1) continue;
        const stored = await this.snapshotAt(version);
        if (stored === undefined) continue;
        real = recordKey(version, stored.verified.digest);
      } else if ((await this.#lookAt(versionKey(version), version)) !== "absent") {
        continue; // The store did not list it.
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

/** 0 where there is none. */
function versionOf(stored: StoredVersion | undefined): number {
  return stored?.verified.snapshot.version ?? 0;
}

function isSame(a: StoredVersion, b: StoredVersion | undefined): boolean {
  return a.verified.digest === b?.verified.digest;
}

/** Whether it is an envelope of a key that is not trusted. */
function isOfStranger(look: Look): boolean {
  return look instanceof SnapshotError && look.code === "UNTRUSTED_KEY";
}

function faultOf(look: Look): { fault?: string } {
  if (!(look instanceof SnapshotError)) return {};
  return { fault: `the current snapshot is not usable: ${look.message} (${look.code})` };
}

/** The digest of a snapshot's contents without its version: equal for repetitions. */
export function contentsDigest(snapshot: Snapshot): Promise<string> {
  return sha256Hex(encodeSnapshot({ ...snapshot, version: 0 }));
}

/** A record as the store has it. */
export function recordBytes(jws: string): Uint8Array {
  return utf8(jws);
}
