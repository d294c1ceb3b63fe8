/**
 * What a balancer in proxy mode can promise its clients: what every relay that they may be placed
 * on keeps (LB-PSETUP-2, LB-PSETUP-4). It has to be known before any session to a relay (LB-S56).
 *
 * @module
 */

import { YardmasterError } from "../../../errors.ts";
import { drafts as allDrafts, type Draft } from "../../../moqt/mod.ts";
import { commonDrafts, draftsInWords, poolOf, type Snapshot } from "../../../snapshot/mod.ts";

export interface PoolCapabilities {
  /** Drafts to offer to clients, most preferred first; at least one. */
  readonly drafts: readonly Draft[];
  /** MAX_REQUEST_UPDATES for clients; 0: no limit. */
  readonly maxRequestUpdates: bigint;
  /** MAX_FILTER_RANGES for clients; 0: no Range Filters. */
  readonly maxFilterRanges: bigint;
}

/** Limits that a relay has set in a SETUP. */
export interface RelayLimits {
  /** 0: no limit. */
  readonly maxRequestUpdates: bigint;
  /** 0: no Range Filters. */
  readonly maxFilterRanges: bigint;
}

export type CapabilitiesErrorCode =
  /** No draft is spoken by all relays, and here (LB-PSETUP-3). */
  | "NO_COMMON_DRAFT"
  /** `attributes.moqt` of a relay cannot be understood. */
  | "INVALID_CAPABILITIES";

/** No promise can be made for the pool. For operators: it names relays of the snapshot. */
export class CapabilitiesError extends YardmasterError {
  declare readonly code: CapabilitiesErrorCode;

  constructor(code: CapabilitiesErrorCode, message: string) {
    super(code, message);
  }
}

/**
 * What can be promised for the relays that routes of `snapshot` name, by their `attributes.moqt`
 * and by what they have said in earlier SETUPs; the tighter of both counts. A relay that nothing is
 * known of is taken to speak every draft, and to keep the least: one update at a time, and no Range
 * Filter.
 *
 * @param learned by RID in lower-case hexadecimal
 * @throws CapabilitiesError
 */
export function poolCapabilities(
  snapshot: Snapshot,
  learned?: ReadonlyMap<string, RelayLimits>,
): PoolCapabilities {
  const pool = poolOf(snapshot);
  const [problem] = pool.problems;
  if (problem !== undefined) {
    const { path, message } = problem;
    throw new CapabilitiesError("INVALID_CAPABILITIES", `${path}: ${message}`);
  }
  const common = commonDrafts(pool);
  const drafts = allDrafts.filter((draft) => common?.has(draft) ?? true);
  if (drafts.length === 0) {
    const message = `no draft of MOQT is spoken here and by all relays of the routes; their drafts: ${draftsInWords(pool)}`;
    throw new CapabilitiesError("NO_COMMON_DRAFT", message);
  }
  let maxRequestUpdates = 0n;
  let maxFilterRanges: bigint | undefined;
  for (const { ridName, capabilities } of pool.relays) {
    const limits = learned?.get(ridName);
    const { maxRequestUpdates: updates, maxFilterRanges: ranges } = capabilities;
    for (const known of [updates, limits?.maxRequestUpdates]) {
      if (known !== undefined) maxRequestUpdates = fewerUpdates(maxRequestUpdates, BigInt(known));
    }
    if (updates === undefined && limits === undefined) maxRequestUpdates = 1n;
    const configured = ranges === undefined ? undefined : BigInt(ranges);
    const of = least(configured, limits?.maxFilterRanges) ?? 0n;
    maxFilterRanges = least(maxFilterRanges, of);
  }
  return { drafts, maxRequestUpdates, maxFilterRanges: maxFilterRanges ?? 0n };
}

/** 0 is no limit here, hence more than any other (LB-S55). */
function fewerUpdates(a: bigint, b: bigint): bigint {
  if (a === 0n) return b;
  return b !== 0n && b < a ? b : a;
}

/** 0 is 0 here (LB-S55); what is not known does not count. */
function least(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
  if (a === undefined) return b;
  return b !== undefined && b < a ? b : a;
}
