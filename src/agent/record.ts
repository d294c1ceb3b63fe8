/**
 * What the agent writes down of each publication: a JWS by its own signing key, so that the history
 * is worth as much as the snapshots in it.
 *
 * @module
 */

import { fromHex } from "../bytes.ts";
import type { SigningKey, TrustedKeys } from "../snapshot/mod.ts";
import { AgentError } from "./errors.ts";
import { type Cause, causes, type HistoryEntry, type HistoryOperator } from "./history.ts";
import { signJson, verifyJson } from "./jws.ts";
import type { Marks, RelayMark } from "./marks.ts";

const TYPE = "moq-lb-record+jwt";
/** Characters; the marks of 100,000 relays fit. */
const LONGEST_RECORD = 16 * 1024 * 1024;

/** Which pools came last, each as the digest of its contents: repeated from record to record. */
export interface Pools {
  /** The last one that was published, from wherever. */
  readonly published: string;
  /** The last one that the agent loaded from its pool file. */
  readonly file?: string;
}

/** One publication, as it is written down. */
export interface PublicationRecord extends HistoryEntry {
  /** SHA-256 of the contents without their version, in hexadecimal: equal for repetitions. */
  readonly contents: string;
  /** The first version with these contents. */
  readonly since: number;
  /** The JWS that opened the operator's session, where there was one. */
  readonly login?: string;
  readonly marks: Marks;
  readonly pools?: Pools;
}

/** Signs a record; its `kid` is that of `key`. */
export function signRecord(record: PublicationRecord, key: SigningKey): Promise<string> {
  return signJson({ ...record, marks: Object.fromEntries(record.marks) }, TYPE, key);
}

/**
 * Verifies a record.
 *
 * @throws {AgentError} `UNAUTHENTICATED`, `BAD_SIGNATURE`; `INVALID_ACTION` where the agent signed
 *   something else
 */
export async function verifyRecord(jws: string, keys: TrustedKeys): Promise<PublicationRecord> {
  const options = {
    typ: TYPE,
    maximumLength: LONGEST_RECORD,
    keyOf: (kid: string) => keys.get(kid),
  };
  const { payload, kid } = await verifyJson(jws, options);
  const record = payload as Omit<PublicationRecord, "marks"> & { marks: Record<string, RelayMark> };
  if (!isRecord(record) || record.kid !== kid) {
    throw new AgentError("INVALID_ACTION", "what is signed is no record of a publication");
  }
  const marks = Object.entries(record.marks).filter(([rid]) => fromHex(rid) !== undefined);
  return { ...record, marks: new Map(marks) };
}

/** The part of a record that the history shows. */
export function entryOf(record: PublicationRecord): HistoryEntry {
  const { contents: _, since: __, login: ___, marks: ____, pools: _____, ...entry } = record;
  return entry;
}

/** Members that another version of this program may have signed otherwise. */
function isRecord(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Readonly<Record<string, unknown>>;
  return (
    ["version", "at", "since"].every((name) => Number.isSafeInteger(record[name])) &&
    ["digest", "kid", "agentId", "contents"].every((name) => typeof record[name] === "string") &&
    causes.includes(record.cause as Cause) &&
    Array.isArray(record.changes) &&
    record.changes.every((change) => typeof change === "string") &&
    typeof record.marks === "object" &&
    record.marks !== null &&
    (record.pools === undefined || isPools(record.pools)) &&
    (record.operator === undefined || isOperator(record.operator)) &&
    (record.rolledBackTo === undefined || Number.isSafeInteger(record.rolledBackTo))
  );
}

function isPools(value: unknown): value is Pools {
  const pools = value as Partial<Pools> | null;
  return (
    typeof pools?.published === "string" &&
    (pools.file === undefined || typeof pools.file === "string")
  );
}

function isOperator(value: unknown): value is HistoryOperator {
  const operator = value as Partial<HistoryOperator> | null;
  return (
    typeof operator?.name === "string" &&
    typeof operator.kid === "string" &&
    typeof operator.reason === "string" &&
    typeof operator.signed === "boolean"
  );
}
