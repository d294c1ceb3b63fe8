import { fromHex, utf8 } from "../bytes.ts";
import { described, type Findings, keyPath } from "./findings.ts";

/**
 * How byte strings are written in the value under validation: `"any"` takes a string (its UTF-8
 * bytes), `{ hex }` and `Uint8Array`, as people write snapshots; `"binary"` takes `Uint8Array`
 * alone, because CBOR text where bytes are required is a type error (LB-S13).
 */
export type BytesForm = "any" | "binary";

/** Where problems go, and which form of bytes the value has. */
export interface Reading {
  readonly findings: Findings;
  readonly bytes: BytesForm;
}

/**
 * Reads a byte string.
 *
 * @returns `undefined` where `value` is none; the problem is then reported under `requirement`
 */
export function readBytes(
  value: unknown,
  path: string,
  requirement: string,
  reading: Reading,
): Uint8Array | undefined {
  if (value instanceof Uint8Array) return ownBytes(value, reading);
  if (reading.bytes === "binary") {
    reading.findings.add(path, requirement, `expected a byte string, found ${described(value)}`);
    return undefined;
  }
  if (typeof value === "string") {
    if (value.isWellFormed()) return utf8(value);
    reading.findings.add(path, requirement, "the text has an unpaired surrogate");
    return undefined;
  }
  const hex = hexForm(value);
  const bytes = hex === undefined ? undefined : fromHex(hex);
  if (bytes === undefined) {
    const found = hex === undefined ? described(value) : "something else in hex";
    reading.findings.add(
      path,
      requirement,
      `expected a string or {"hex": "…"} with two hexadecimal digits a byte, found ${found}`,
    );
  }
  return bytes;
}

/** The digits of `{ hex: "ff00" }`, the JSON form of any bytes; `undefined` for other values. */
export function hexForm(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("hex" in value)) return undefined;
  if (Object.keys(value).length !== 1 || typeof value.hex !== "string") return undefined;
  return value.hex;
}

/**
 * `bytes` as a plain `Uint8Array` that nobody else writes to. Decoded CBOR is such already: its
 * byte strings are views of the one copy that the decoder made.
 */
export function ownBytes(bytes: Uint8Array, reading: Reading): Uint8Array {
  return reading.bytes === "binary" ? bytes : new Uint8Array(bytes);
}

/** Whether `value` is a map as JSON and our CBOR decoder make them, not an instance of a class. */
export function isPlainMap(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A map with text keys; `undefined` and a problem where `value` is none. */
export function readMap(
  value: unknown,
  path: string,
  requirement: string,
  reading: Reading,
): Readonly<Record<string, unknown>> | undefined {
  if (isPlainMap(value)) return value;
  reading.findings.add(path, requirement, `expected a map, found ${described(value)}`);
  return undefined;
}

/** An array; `undefined` and a problem where `value` is none. */
export function readList(
  value: unknown,
  path: string,
  requirement: string,
  reading: Reading,
): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  reading.findings.add(path, requirement, `expected an array, found ${described(value)}`);
  return undefined;
}

/** An integer in `least`..2^53-1; `least` and a problem where `value` is none. */
export function readUint(
  value: unknown,
  least: number,
  path: string,
  requirement: string,
  reading: Reading,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  const message = `expected an integer in ${least}..2^53-1, found ${described(value)}`;
  reading.findings.add(path, requirement, message);
  return least;
}

/** The maps are closed: what they do not name goes into `attributes` (LB-S12). */
export function refuseUnknownKeys(
  map: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
  path: string,
  reading: Reading,
): void {
  for (const key of Object.keys(map)) {
    if (known.has(key)) continue;
    const message = `unknown key; expected only ${[...known].join(", ")}`;
    reading.findings.add(keyPath(path, key), "LB-S12", message);
  }
}

/**
 * Where `key` occurred before, `undefined` where it did not; `place` is then remembered as its
 * first. One look-up each, so that finding duplicates takes time linear in the list.
 */
export function firstPlace(
  places: Map<string, number>,
  key: string,
  place: number,
): number | undefined {
  const first = places.get(key);
  if (first === undefined) places.set(key, place);
  return first;
}
