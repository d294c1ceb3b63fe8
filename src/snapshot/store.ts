/**
 * Where envelopes lie: two operations on bytes by key, and how an `unstorage` storage is one.
 *
 * @module
 */

import { equalBytes, utf8 } from "../bytes.ts";
import { envelopeTooLarge, SnapshotError } from "./errors.ts";

/** A place for envelopes. Reading is all that a load balancer needs. */
export interface SnapshotStore {
  /**
   * The bytes under `key`, `undefined` where there are none; rejects where reading fails.
   *
   * An item of more than `maximumBytes`, as it is stored, rejects with ENVELOPE_TOO_LARGE. Stores
   * that can tell a size (files, Redis) do so without reading the item. Others read what their
   * service lets a value have, 64 KiB in Deno KV and 25 MiB in Workers KV.
   */
  get(key: string, maximumBytes?: number): Promise<Uint8Array | undefined>;
  /** Puts `bytes` under `key`; rejects where that fails. Absent from a read-only store. */
  set?(key: string, bytes: Uint8Array): Promise<void>;
}

/** Where load balancers look for the newest snapshot. */
export const currentKey = "moq-lb:snapshot:current";

/** Where a load balancer keeps the envelope it last activated (LB-CONF-23). */
export const lastKnownGoodKey = "moq-lb:snapshot:last-known-good";

/** Where the snapshot of `version` stays for history and rollback. */
export function versionKey(version: number): string {
  return `moq-lb:snapshot:${version}`;
}

/**
 * Publishes `envelope`: under its version first, then as the current one, so that what is current
 * is always in the history as well.
 *
 * @throws {SnapshotError} `STORE_FAILED` where the store is read-only; whatever the store throws
 */
export async function publishSnapshot(
  store: SnapshotStore,
  envelope: Uint8Array,
  version: number,
): Promise<void> {
  if (store.set === undefined) {
    throw new SnapshotError("STORE_FAILED", "the store cannot be written to");
  }
  await store.set(versionKey(version), envelope);
  await store.set(currentKey, envelope);
}

/** The part of an `unstorage` storage that is used here. */
export interface RawStorage {
  /** Drivers of this package keep to `maximumBytes`; others do not know it. */
  getItemRaw(key: string, options: { maximumBytes?: number }): Promise<unknown>;
  setItemRaw(key: string, value: Uint8Array): Promise<void>;
}

/**
 * An `unstorage` storage as a store. Drivers give bytes back in different clothes: as
 * `Uint8Array`, `Buffer`, `ArrayBuffer` or another view, or, where they hold text alone, as
 * `base64:…`.
 */
export function storeFromUnstorage(storage: RawStorage): Required<SnapshotStore> {
  return {
    async get(key, maximumBytes = Number.POSITIVE_INFINITY) {
      const bytes = toBytes(await storage.getItemRaw(key, { maximumBytes }));
      const length = bytes?.length ?? 0;
      if (length > maximumBytes) throw envelopeTooLarge(maximumBytes, length);
      return bytes;
    },
    async set(key, bytes) {
      await storage.setItemRaw(key, bytes);
    },
  };
}

function toBytes(value: unknown): Uint8Array | undefined {
  if (value === null || value === undefined) return undefined;
  if (ArrayBuffer.isView(value)) {
    return plainBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof ArrayBuffer) return plainBytes(new Uint8Array(value));
  if (typeof value === "string") {
    const bytes = fromBase64Text(value);
    if (bytes !== undefined) return bytes;
  }
  throw new SnapshotError("STORE_FAILED", "the store gave something else than bytes");
}

/** A publisher whose driver holds text alone left text, which a driver with raw access reads back. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  if (!equalBytes(bytes.subarray(0, base64Mark.length), base64Mark)) return bytes;
  return fromBase64Text(new TextDecoder().decode(bytes)) ?? bytes;
}

const base64Mark = utf8("base64:");

function fromBase64Text(text: string): Uint8Array | undefined {
  if (!text.startsWith("base64:")) return undefined;
  try {
    return Uint8Array.from(atob(text.slice("base64:".length)), (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}
