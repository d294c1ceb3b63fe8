/**
 * How the pages and the API write what they show: names of relays, shares, ages, text of others.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import type { Cause } from "../history.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Bytes of an RID that are shown; the page of the relay has all of them. */
const MOST_SHOWN = 40;

/**
 * An RID to read: its text where every character of it can be seen and none changes how others
 * are read, else its bytes as `h'ff00'`. Two RIDs of the same look are never the same text but
 * where both are cut.
 */
export function ridText(rid: Uint8Array): string {
  const text = plainText(rid);
  if (text !== undefined) return cut(text, MOST_SHOWN);
  const hex = toHex(rid.subarray(0, MOST_SHOWN / 2));
  return `h'${hex}${rid.length > MOST_SHOWN / 2 ? "…" : ""}'`;
}

function plainText(rid: Uint8Array): string | undefined {
  try {
    const text = strictUtf8.decode(rid);
    return /^[\p{L}\p{N}\p{P}\p{S}]+$/u.test(text) && !/^h'/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Text that an operator or a pool file wrote, on one line: characters that cannot be seen or that
 * turn the direction of writing are shown as `\u{202e}`. Escaping for HTML is the renderer's.
 */
export function safeText(text: string, longest = 300): string {
  return cut(text, longest).replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}

function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${[...text].slice(0, longest - 1).join("")}…`;
}

/** 0.3333 as `33.3 %`, 0.00482 as `0.48 %`: shares of large pools need the digit. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`;
}

/** 12345 as `12,345`. */
export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `1 relay`, `3 relays`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** Seconds as `12 s`, `5 min`, `3 h`, `2 d`; rounded down. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [size, name] = units.find(([unit]) => whole >= unit) ?? [1, "s"];
  return `${Math.floor(whole / size)} ${name}`;
}

/** A time as `2026-07-25 14:03:07 UTC`. */
export function utcTime(milliseconds: number): string {
  const iso = isoTime(milliseconds);
  return iso === undefined ? "unknown" : `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** A time as `datetime` attributes have it; `undefined` where it is none that a calendar has. */
export function isoTime(milliseconds: number): string | undefined {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Why a version was published, in a word or two. */
export const causeWords: Readonly<Record<Cause, string>> = {
  first: "first version",
  publish: "publish",
  rollback: "rollback",
  drain: "drain",
  undrain: "undrain",
  weight: "weight",
  "health-override": "health override",
  health: "health",
  republish: "republished",
};
