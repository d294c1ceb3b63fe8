/**
 * How many relays may be taken out by what is only observed. Probes see the relays from one place;
 * where that place loses its network, all of them seem to fail, and taking all of them out would
 * make the failure real.
 *
 * @module
 */

/** How many relays of a pool of `size` may be out: the share, rounded down. */
export function outLimit(size: number, maximumShare: number): number {
  // 0.29 * 100 is a little less than 29.
  return Math.floor(maximumShare * size + 1e-9);
}

/** Those out and those held back, of the relays that ought to be out. */
export interface Admission {
  readonly out: ReadonlySet<string>;
  readonly held: ReadonlySet<string>;
}

/**
 * Lets as many of `wanted` out as `limit` says. Those that are out stay out as long as they ought
 * to be, so that no two relays take turns; then whoever has waited longest comes first.
 *
 * @param wanted in the order in which they came up
 * @param outBefore who was out, in the order in which they went
 */
export function admit(
  wanted: Iterable<string>,
  outBefore: Iterable<string>,
  limit: number,
): Admission {
  const waiting = new Set(wanted);
  const out = new Set<string>();
  for (const relay of outBefore) {
    if (out.size < limit && waiting.delete(relay)) out.add(relay);
  }
  for (const relay of waiting) {
    if (out.size >= limit) break;
    waiting.delete(relay);
    out.add(relay);
  }
  return { out, held: waiting };
}
