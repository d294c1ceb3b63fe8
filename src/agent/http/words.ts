/**
 * How the pages and the API name relays and causes.
 *
 * @module
 */

import { toHex } from "../../bytes.ts";
import { cut } from "../../page/words.ts";
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
