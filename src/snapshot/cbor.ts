/**
 * All CBOR of this package: core deterministic encoding (RFC 8949 §4.2.1), and nothing else is
 * accepted. cbor2 decodes, and no other file imports it; what encodes knows the types of a snapshot
 * alone, and is several times as fast for it.
 *
 * @module
 */

import { type DecodeOptions, decode, SequenceEvents } from "cbor2";
import { YardmasterError } from "../errors.ts";
import { CborEncoder, type CborValue } from "./cbor-encoder.ts";

export type { CborValue } from "./cbor-encoder.ts";

/** Bytes that are not one data item in core deterministic encoding. `code` is `MALFORMED_CBOR`. */
export class CborError extends YardmasterError {
  constructor(message: string, cause?: unknown) {
    super("MALFORMED_CBOR", message, { cause });
  }
}

/** Nesting that cbor2 counts: one level for a map, two for an array. */
const MAX_DEPTH = 64;

/** Any tag leads here: `get` is all that cbor2 asks of the map. */
class NoTags extends Map<number | bigint | number, () => never> {
  override get(): () => never {
    return () => {
      throw new CborError("a tag where none is allowed");
    };
  }
}

const decodeOptions: DecodeOptions = {
  // Preferred sizes, definite lengths, keys in bytewise order and hence none twice.
  cde: true,
  maxDepth: MAX_DEPTH,
  // Floats only where there is no integer: 1.0 is not a weight (LB-HASHED-12).
  rejectLongFloats: true,
  rejectLongLoundNaN: true,
  rejectNegativeZero: true,
  rejectSimple: true,
  rejectUndefined: true,
  ignoreGlobalTags: true,
  tags: new NoTags(),
};

/**
 * The one encoding of `value`. Equal values have equal bytes.
 *
 * @throws {TypeError} where something in it is none of the types of {@link CborValue}
 */
export function encodeCbor(value: CborValue): Uint8Array {
  const encoder = new CborEncoder();
  encoder.write(value);
  return encoder.result;
}

/**
 * Decodes exactly one data item. Refused are encodings that are not the shortest, indefinite
 * lengths, keys out of order or twice, text that is not UTF-8, tags, `undefined`, floats with an
 * integral value, nesting of more than about 30 levels and anything after the item. Memory grows
 * with the bytes that are there, never with a length that they claim.
 *
 * @param bytes byte strings in the result are views of them
 * @param options `maps: "map"` makes every map a `Map`; by default those with text keys alone are
 *   plain objects
 * @throws {CborError}
 */
export function decodeCbor(bytes: Uint8Array, options: { maps?: "map" } = {}): unknown {
  try {
    return decode(bytes, { ...decodeOptions, preferMap: options.maps === "map" });
  } catch (cause) {
    // The messages of cbor2 quote its input, so they stay inside.
    throw new CborError("not one data item in core deterministic encoding", cause);
  }
}

/** A head and, for byte strings, its content. `value` is a tag number or a count of items. */
export type CborItem =
  | { readonly type: "bytes"; readonly bytes: Uint8Array }
  | { readonly type: "array" | "map" | "tag"; readonly value: number | bigint }
  | { readonly type: "other" };

const itemTypes = new Map([
  [4, "array"],
  [5, "map"],
  [6, "tag"],
] as const);

/**
 * Reads item after item without looking further ahead, so that whoever knows what has to come
 * stops at the first surprise, however long the rest is.
 *
 * @throws {CborError} when the next item is malformed
 */
export function* cborItems(bytes: Uint8Array): Generator<CborItem, undefined> {
  const events = new SequenceEvents(bytes, { requirePreferred: true, maxDepth: MAX_DEPTH });
  for (;;) {
    const event = nextEvent(events);
    if (event === undefined) return;
    const [majorType, , value] = event;
    const type = itemTypes.get(majorType as 4 | 5 | 6);
    if (value instanceof Uint8Array) yield { type: "bytes", bytes: value };
    else if (type !== undefined) yield { type, value: value as number | bigint };
    else yield { type: "other" };
  }
}

function nextEvent(events: SequenceEvents): ReturnType<SequenceEvents["read"]> {
  try {
    return events.read();
  } catch (cause) {
    throw new CborError("not well-formed, or not in preferred encoding", cause);
  }
}
