import { fromHex } from "../bytes.ts";
import type { Place } from "./place.ts";
import { described, hexForm, isPlainMap, ownBytes, type UnknownMap } from "./reading.ts";
import { type Attribute, type Attributes, snapshotLimits } from "./schema.ts";

const OPEN_MAP = "LB-TABLE-3";

/**
 * Reads the open `attributes` of the map at `place` (LB-TABLE-3): text keys, and values of any
 * type that JSON and deterministic CBOR both carry. A map whose only key is `hex`, with a text, is
 * the JSON form of bytes and stands for nothing else.
 *
 * @returns a copy of its own, or `undefined` where it is absent or no map
 */
export function readAttributes(value: unknown, place: Place): Attributes | undefined {
  if (value === undefined) return undefined;
  const here = place.at("attributes");
  if (isPlainMap(value)) return readOpenMap(value, here, 1);
  here.problem(OPEN_MAP, `expected a map with text keys, found ${described(value)}`);
  return undefined;
}

function readOpenMap(map: UnknownMap, place: Place, depth: number): Attributes {
  const entries: [string, Attribute][] = [];
  for (const [key, value] of Object.entries(map)) {
    const here = place.at(key);
    if (!key.isWellFormed()) here.problem(OPEN_MAP, "the key has an unpaired surrogate");
    entries.push([key, readAttribute(value, here, depth)]);
  }
  // fromEntries defines its keys, so that one named __proto__ stays a key like any other.
  return Object.fromEntries(entries);
}

function readAttribute(value: unknown, place: Place, depth: number): Attribute {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return readNumber(value, place);
  if (typeof value === "string") {
    if (!value.isWellFormed()) place.problem(OPEN_MAP, "the text has an unpaired surrogate");
    return value;
  }
  if (value instanceof Uint8Array) return ownBytes(value, place);
  if (!Array.isArray(value) && !isPlainMap(value)) {
    place.problem(OPEN_MAP, `expected JSON or bytes, found ${described(value)}`);
    return null;
  }
  const hex = hexForm(value);
  if (hex !== undefined) return readHexForm(hex, place);
  if (depth === snapshotLimits.attributeDepth) {
    place.problem(OPEN_MAP, `nested over ${snapshotLimits.attributeDepth} levels`);
    return null;
  }
  if (!Array.isArray(value)) return readOpenMap(value, place, depth + 1);
  return value.map((item: unknown, i) => readAttribute(item, place.at(i), depth + 1));
}

function readHexForm(hex: string, place: Place): Attribute {
  if (place.reading.bytes === "binary") {
    const message = "a map with the single key hex is the JSON form of bytes: use a byte string";
    place.problem(OPEN_MAP, message);
    return null;
  }
  const bytes = fromHex(hex);
  if (bytes === undefined) place.problem(OPEN_MAP, "expected two hexadecimal digits a byte in hex");
  return bytes ?? null;
}

function readNumber(value: number, place: Place): number {
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    const message = "expected a finite number, and within ±(2^53-1) where it is an integer";
    place.problem(OPEN_MAP, message);
  }
  return value;
}
