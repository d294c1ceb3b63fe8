/**
 * What an agent asks of a store beyond reading: one item that only one of many can create, and a
 * list of what is there.
 *
 * @module
 */

import { SnapshotError, type SnapshotStore } from "../snapshot/mod.ts";

/**
 * A store that an agent can publish through. Keys are segments of `[A-Za-z0-9._-]` joined by `:`;
 * no segment starts with a dot.
 */
export interface WritableStore extends SnapshotStore {
  /** Puts `bytes` under `key`, whatever is there; a reader sees the item before or this one. */
  set(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Puts `bytes` under `key` where nothing is; `false`, changing nothing, where something is.
   * Atomic among all processes: of many that create one key at once, one is told `true`.
   */
  create(key: string, bytes: Uint8Array): Promise<boolean>;
  /** Every key that starts with `prefix`, in no order. */
  keys(prefix: string): Promise<string[]>;
  /** Removes the item under `key`, if there is one. */
  remove(key: string): Promise<void>;
  /** Gives up what the store holds open, if anything; nothing may be asked of it any more. */
  close?(): Promise<void>;
}

/**
 * `key` itself, where every store of this package could keep it.
 *
 * @throws {SnapshotError} `STORE_FAILED`
 */
export function storableKey(key: string): string {
  if (key.split(":").every((segment) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(segment))) return key;
  const message = "a key of a store has letters, digits, '.', '_' and '-' between its ':'";
  throw new SnapshotError("STORE_FAILED", message);
}
