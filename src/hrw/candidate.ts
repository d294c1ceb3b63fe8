import { HrwError } from "./error.ts";

/** A relay that a hashed route may select. */
export interface Candidate {
  /** The relay identifier, any bytes. */
  readonly rid: Uint8Array;
  /** An integer in 0..16; 1 where absent, 0 keeps the relay out (LB-HASHED-2, LB-HASHED-14). */
  readonly weight?: number;
}

/** A candidate with its hash for one hash key. */
export interface HashedCandidate {
  readonly rid: Uint8Array;
  readonly weight: number;
  /** H: unsigned, of the profile's width (LB-HASH-6). */
  readonly hash: bigint;
}

/** The largest weight (LB-HASHED-12). */
export const MAX_WEIGHT = 16;

/**
 * `rid`, found to be bytes.
 *
 * @throws {HrwError} INVALID_RID
 */
export function validRid(rid: Uint8Array): Uint8Array {
  if (rid instanceof Uint8Array) return rid;
  throw new HrwError("INVALID_RID", "rid has to be a Uint8Array");
}

/**
 * `candidates`, found to be an array.
 *
 * @throws {HrwError} INVALID_CANDIDATE
 */
export function validCandidates(candidates: readonly Candidate[]): readonly Candidate[] {
  if (Array.isArray(candidates)) return candidates;
  throw new HrwError("INVALID_CANDIDATE", "candidates has to be an array");
}

/**
 * The weight of `candidate` with the default filled in, once both members are found valid.
 *
 * @param at the candidate's index, or its name, for the message
 * @throws {HrwError} INVALID_CANDIDATE, INVALID_RID, INVALID_WEIGHT
 */
export function validWeight(candidate: Candidate, at: number | string): number {
  if (typeof candidate !== "object" || candidate === null) {
    throw new HrwError("INVALID_CANDIDATE", `${path(at)} has to be an object with an rid`);
  }
  const { rid, weight = 1 } = candidate;
  if (!(rid instanceof Uint8Array)) {
    throw new HrwError("INVALID_RID", `${path(at)}.rid has to be a Uint8Array`);
  }
  if (!Number.isInteger(weight) || weight < 0 || weight > MAX_WEIGHT) {
    const expected = `an integer in 0..${MAX_WEIGHT}`;
    throw new HrwError("INVALID_WEIGHT", `${path(at)}.weight has to be ${expected}`);
  }
  return weight;
}

function path(at: number | string): string {
  return typeof at === "number" ? `candidates[${at}]` : at;
}
