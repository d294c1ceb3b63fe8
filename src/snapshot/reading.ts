import { fromHex, utf8 } from "../bytes.ts";
import type { Place } from "./place.ts";

/** A map as JSON and CBOR have it. */
export type UnknownMap = Readonly<Record<string, unknown>>;

/** Whether `value` is a map as JSON and our CBOR reader make them, not an instance of a class. */
export function isPlainMap(value: unknown): value is UnknownMap {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** What `value` is, in words that fit a message: `a text string`, `an array`, `17`. */
export function described(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value instanceof Uint8Array) return "a byte string";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a text string";
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "no finite number";
  if (typeof value === "object") return "a map";
  return `a ${typeof value}`;
}

/*
 * The functions below read `value`, which stands under `key` in the map or list at `place`. Where
 * it is not what it has to be they report a problem and answer undefined, or what is safest.
 */

/** Reads a map with text keys. */
export function readMap(
  value: unknown,
  place: Place,
  key: string | number,
  requirement: string,
): UnknownMap | undefined {
  if (isPlainMap(value)) return value;
  place.at(key).problem(requirement, `expected a map, found ${described(value)}`);
  return undefined;
}

/** Reads an array. */
export function readList(
  value: unknown,
  place: Place,
  key: string,
  requirement: string,
): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  place.at(key).problem(requirement, `expected an array, found ${described(value)}`);
  return undefined;
}

/** Reads an integer in `least`..2^53-1; `least` where it is none. */
export function readUint(
  value: unknown,
  place: Place,
  key: string,
  requirement: string,
  least: number,
): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  const message = `expected an integer in ${least}..2^53-1, found ${described(value)}`;
  place.at(key).problem(requirement, message);
  return least;
}

/** Reads a byte string in the form that this reading takes. */
export function readBytes(
  value: unknown,
  place: Place,
  key: string | number,
  requirement: string,
): Uint8Array | undefined {
  if (value instanceof Uint8Array) return ownBytes(value, place);
  if (place.reading.bytes === "binary") {
    const message = `expected a byte string, found ${described(value)}`;
    place.at(key).problem(requirement, message);
    return undefined;
  }
  if (typeof value === "string") {
    if (value.isWellFormed()) return utf8(value);
    place.at(key).problem(requirement, "the text has an unpaired surrogate");
    return undefined;
  }
  const hex = hexForm(value);
  const bytes = hex === undefined ? undefined : fromHex(hex);
  if (bytes === undefined) {
    const found = hex === undefined ? described(value) : "something else in hex";
    const message = `expected a string or {"hex": "…"} with two hexadecimal digits a byte, found ${found}`;
    place.at(key).problem(requirement, message);
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
export function ownBytes(bytes: Uint8Array, place: Place): Uint8Array {
  return place.reading.bytes === "binary" ? bytes : new Uint8Array(bytes);
}

/** The maps are closed: what they do not name goes into `attributes` (LB-S12). */
export function refuseUnknownKeys(map: UnknownMap, known: ReadonlySet<string>, place: Place): void {
  for (const key of Object.keys(map)) {
    if (known.has(key)) continue;
    const message = `unknown key; expected only ${[...known].join(", ")}`;
    place.at(key).problem("LB-S12", message);
  }
}
