import { fromHex } from "../bytes.ts";
import { described, keyPath } from "./findings.ts";
import { hexForm, isPlainMap, ownBytes, type Reading } from "./reading.ts";
import type { Attribute, Attributes } from "./schema.ts";
import { snapshotLimits } from "./schema.ts";

const OPEN_MAP = "LB-TABLE-3";

/**
 * Reads the open `attributes` map of a snapshot, relay or route (LB-TABLE-3): text keys, and
 * values of any type that JSON and deterministic CBOR both carry. A map whose only key is `hex`,
 * with a text, is the JSON form of bytes and stands for nothing else.
 *
 * @returns a copy of its own, or `undefined` where it is absent or no map
 */
export function readAttributes(
  value: unknown,
  path: string,
  reading: Reading,
): Attributes | undefined {
  if (value === undefined) return undefined;
  if (!isPlainMap(value)) {
    const message = `expected a map with text keys, found ${described(value)}`;
    reading.findings.add(path, OPEN_MAP, message);
    return undefined;
  }
  return readMap(value, path, reading, 1);
}

function readMap(
  map: Readonly<Record<string, unknown>>,
  path: string,
  reading: Reading,
  depth: number,
): Attributes {
  const entries: [string, Attribute][] = [];
  for (const [key, value] of Object.entries(map)) {
    const place = keyPath(path, key);
    if (!key.isWellFormed()) {
      reading.findings.add(place, OPEN_MAP, "the key has an unpaired surrogate");
    }
    entries.push([key, readAttribute(value, place, reading, depth)]);
  }
  // fromEntries defines its keys, so that one named __proto__ stays a key like any other.
  return Object.fromEntries(entries);
}

function readAttribute(value: unknown, path: string, reading: Reading, depth: number): Attribute {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return readNumber(value, path, reading);
  if (typeof value === "string") {
    if (value.isWellFormed()) return value;
    reading.findings.add(path, OPEN_MAP, "the text has an unpaired surrogate");
    return null;
  }
  if (value instanceof Uint8Array) return ownBytes(value, reading);
  if (Array.isArray(value) || isPlainMap(value)) {
    const hex = hexForm(value);
    if (hex !== undefined) return readHexForm(hex, path, reading);
    if (depth < snapshotLimits.attributeDepth) return readNested(value, path, reading, depth + 1);
    reading.findings.add(path, OPEN_MAP, `nested over ${snapshotLimits.attributeDepth} levels`);
    return null;
  }
  reading.findings.add(path, OPEN_MAP, `expected JSON or bytes, found ${described(value)}`);
  return null;
}

function readNested(
  value: readonly unknown[] | Readonly<Record<string, unknown>>,
  path: string,
  reading: Reading,
  depth: number,
): Attribute {
  if (!Array.isArray(value)) {
    return readMap(value as Readonly<Record<string, unknown>>, path, reading, depth);
  }
  return value.map((item: unknown, i) => readAttribute(item, `${path}[${i}]`, reading, depth));
}

function readHexForm(hex: string, path: string, reading: Reading): Attribute {
  const bytes = reading.bytes === "any" ? fromHex(hex) : undefined;
  if (bytes !== undefined) return bytes;
  const message =
    reading.bytes === "any"
      ? "expected two hexadecimal digits a byte in hex"
      : "a map with the single key hex has no form of its own in JSON: use a byte string";
  reading.findings.add(path, OPEN_MAP, message);
  return null;
}

function readNumber(value: number, path: string, reading: Reading): number {
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    const message = "expected a finite number, and within ±(2^53-1) where it is an integer";
    reading.findings.add(path, OPEN_MAP, message);
  }
  // -0 has an encoding of its own in CBOR that JSON texts do not keep apart.
  return value === 0 ? 0 : value;
}
