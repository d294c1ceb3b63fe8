/** A RID that a snapshot mentions. */
export interface MentionedRid {
  readonly rid: Uint8Array;
  /** Place in `relays` of the first relay that has it; absent while none has. */
  relay?: number;
  /** The list of candidates that named it last, and at which place. */
  lastList?: readonly unknown[];
  lastPlace?: number;
}

/**
 * One object for each RID, however often a snapshot mentions it: RIDs are then compared by
 * identity, and their bytes are kept once.
 */
export class MentionedRids {
  readonly #byKey = new Map<string, MentionedRid>();
  /** Whether `relays` could be read, so that a RID without a relay is a fault (LB-CONF-9). */
  complete = false;

  of(rid: Uint8Array): MentionedRid {
    const key = bytesKey(rid);
    let mentioned = this.#byKey.get(key);
    if (mentioned === undefined) {
      mentioned = { rid };
      this.#byKey.set(key, mentioned);
    }
    return mentioned;
  }
}

/** Bytes that `String.fromCharCode` takes at once without straining the stack. */
const KEY_CHUNK = 8192;

/** `bytes` as the key of a map, a character for each byte: equal bytes have equal keys. */
export function bytesKey(bytes: Uint8Array): string {
  if (bytes.length <= KEY_CHUNK) {
    return String.fromCharCode.apply(null, bytes as unknown as number[]);
  }
  let key = "";
  for (let i = 0; i < bytes.length; i += KEY_CHUNK) {
    key += bytesKey(bytes.subarray(i, i + KEY_CHUNK));
  }
  return key;
}
