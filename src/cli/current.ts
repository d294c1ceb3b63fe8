/**
 * What a home's store holds now.
 *
 * @module
 */

import {
  currentKey,
  DEFAULT_MAXIMUM_BYTES,
  SnapshotError,
  type TrustedKeys,
  type VerifiedSnapshot,
  verifySnapshot,
  versionKey,
} from "../snapshot/mod.ts";
import type { Home } from "./home.ts";

/** The current snapshot of a store, as far as it can be told. */
export interface Current {
  /** Absent where there is none, or none that a trusted key vouches for. */
  readonly verified?: VerifiedSnapshot;
  /** Why the current item is not usable, where there is one and it is not. */
  readonly fault?: string;
  /** A new version has to be above this one. */
  readonly floor: number;
}

/**
 * Reads and verifies the current snapshot (LB-SEC-5).
 *
 * @param now milliseconds of the Unix epoch; infinite where it does not matter when it was signed
 */
export async function readCurrent(home: Home, trusted: TrustedKeys, now: number): Promise<Current> {
  try {
    const envelope = await home.store.get(currentKey, DEFAULT_MAXIMUM_BYTES);
    if (envelope === undefined) return { floor: 0 };
    const verified = await verifySnapshot(envelope, trusted, { now });
    return { verified, floor: verified.snapshot.version };
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    const fault = `the current snapshot is not usable: ${error.message} (${error.code})`;
    // Load balancers may have activated any version of the history: a repair has to be above it.
    return { fault, floor: Math.max(0, ...(await storedVersions(home))) };
  }
}

/** Every version in the history, in no particular order. */
export async function storedVersions(home: Home): Promise<number[]> {
  const prefix = versionKey(0).slice(0, -1);
  return (await home.store.keys(prefix))
    .filter((key) => /^\d{1,16}$/.test(key.slice(prefix.length)))
    .map((key) => Number(key.slice(prefix.length)));
}
