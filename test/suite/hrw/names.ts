/** Short ways to write hash keys and candidates in tests. */

import { utf8 } from "../../../src/bytes.ts";
import { hashProfiles, isHashProfileName } from "../../../src/hrw/mod.ts";

export { fields } from "../../support/names.ts";
export { utf8 };

/** Every hash profile. */
export const profileNames = Object.keys(hashProfiles).filter(isHashProfileName);

/** Candidates of weight 1 with these RIDs. */
export function relays(...rids: string[]): { rid: Uint8Array; weight: number }[] {
  return rids.map((rid) => ({ rid: utf8(rid), weight: 1 }));
}

/** The RID of `candidate` as text. */
export function ridText(candidate: { readonly rid: Uint8Array } | undefined): string | undefined {
  return candidate && new TextDecoder().decode(candidate.rid);
}
