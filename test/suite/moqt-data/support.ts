/** Shorthand for the tests of objects. */

import fc from "fast-check";
import type { SubgroupHeader } from "../../../src/moqt/mod.ts";
import { anyInteger } from "../moqt/arbitrary.ts";

export { assertCloses, hex } from "../moqt/support.ts";

/** The pieces of `bytes` when cut every `size` bytes. */
export function piecesOf(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let offset = 0; offset < bytes.length; offset += size) {
    pieces.push(bytes.slice(offset, offset + size));
  }
  return pieces;
}

/** What a reader makes of `pieces`; each piece is overwritten once it was read. */
export function readAll<T>(
  reader: { push(chunk: Uint8Array): T[]; end(): void },
  pieces: Uint8Array[],
): T[] {
  const items = pieces.flatMap((piece) => {
    const lent = new Uint8Array(piece);
    const read = reader.push(lent);
    lent.fill(0xff);
    return read;
  });
  reader.end();
  return items;
}

/** Some bytes that are Key-Value-Pairs. */
export const someProperties: fc.Arbitrary<Uint8Array> = fc.constantFrom(
  Uint8Array.of(2, 5),
  Uint8Array.of(0x0b, 1, 0x61),
  Uint8Array.of(0x3c, 5),
);

export function anyPayload(): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ maxLength: 200 });
}

const anyPriority = fc.option(fc.integer({ min: 0, max: 255 }), { nil: undefined });

export function anySubgroupHeader(): fc.Arbitrary<SubgroupHeader> {
  return fc
    .tuple(
      anyInteger(),
      anyInteger(),
      fc.option(anyInteger(), { nil: undefined }),
      anyPriority,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([trackAlias, groupId, subgroupId, publisherPriority, properties, end, first]) => ({
      type: "SUBGROUP",
      trackAlias,
      groupId,
      ...(subgroupId === undefined ? {} : { subgroupId }),
      ...(publisherPriority === undefined ? {} : { publisherPriority }),
      hasProperties: properties,
      endOfGroup: end,
      firstObject: first,
    }));
}
