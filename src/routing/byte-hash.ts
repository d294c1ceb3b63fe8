const FNV_PRIME = 0x0100_0193;

/** The hash of no bytes; like every hash here a signed 32-bit integer. */
export const HASH_OF_NOTHING = 0x811c_9dc5 | 0;

/**
 * FNV-1a of `bytes`, going on from the hash of what comes before them. It keeps no secret and
 * spreads keys over places only: whoever looks a place up compares the bytes as well.
 */
export function hashBytes(bytes: Uint8Array, before: number): number {
  let hash = before;
  for (let i = 0; i < bytes.length; i++) {
    hash = Math.imul(hash ^ (bytes[i] as number), FNV_PRIME);
  }
  return hash;
}
