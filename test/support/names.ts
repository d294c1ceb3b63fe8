/** Names as tests write them. */

import { utf8 } from "../../src/bytes.ts";

/** A namespace of UTF-8 fields. */
export function fields(...texts: string[]): Uint8Array[] {
  return texts.map(utf8);
}
