/**
 * The `moqt` claim of a JSON Web Token: what its bearer may ask for.
 *
 * ```json
 * { "moqt": [
 *   { "operations": ["publish", "publish-namespace"], "prefix": "example.2ecom-m1-alice" },
 *   { "operations": ["subscribe", "subscribe-namespace"], "prefix": "example.2ecom", "min_depth": 2 }
 * ] }
 * ```
 *
 * `prefix` is the text form of a Track Namespace prefix; `""` covers every namespace. `min_depth`
 * is the least number of fields that subscribe-namespace and subscribe-tracks have to name: short
 * prefixes are the cheapest amplification (LB-S127).
 *
 * @module
 */

import { hasPrefix, parseName, type TrackNamespace } from "../moqt/mod.ts";
import type { AuthorizationRequest } from "./authorization.ts";
import { isOperation, type Operation } from "./operation.ts";

export interface Grant {
  readonly operations: ReadonlySet<Operation>;
  readonly prefix: TrackNamespace;
  readonly minimumDepth: number;
}

/**
 * The grants that a `moqt` claim holds. A grant only ever adds, so one that cannot be understood
 * as a whole is left out: an unknown member could be a restriction. Unknown operations are
 * skipped, they grant nothing here.
 *
 * @returns `undefined` where the claim is not a list
 */
export function parseGrants(claim: unknown): readonly Grant[] | undefined {
  if (!Array.isArray(claim)) return undefined;
  return claim.map(parseGrant).filter((grant) => grant !== undefined);
}

/** Whether one of `grants` covers the request: operation, prefix and depth. */
export function isCovered(
  grants: readonly Grant[],
  { operation, trackNamespace }: Pick<AuthorizationRequest, "operation" | "trackNamespace">,
): boolean {
  const asksForPrefix = operation === "subscribe-namespace" || operation === "subscribe-tracks";
  return grants.some(
    ({ operations, prefix, minimumDepth }) =>
      operations.has(operation) &&
      hasPrefix(trackNamespace, prefix) &&
      !(asksForPrefix && trackNamespace.length < minimumDepth),
  );
}

const members = new Set(["operations", "prefix", "min_depth"]);

function parseGrant(value: unknown): Grant | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.keys(value).some((member) => !members.has(member))) return undefined;
  const { operations, prefix, min_depth: minimumDepth = 0 } = value as Record<string, unknown>;
  if (!Array.isArray(operations) || typeof prefix !== "string") return undefined;
  if (typeof minimumDepth !== "number" || !Number.isInteger(minimumDepth)) return undefined;
  const parsed = parsePrefix(prefix);
  if (parsed === undefined) return undefined;
  return { operations: new Set(operations.filter(isOperation)), prefix: parsed, minimumDepth };
}

function parsePrefix(text: string): TrackNamespace | undefined {
  try {
    const { trackNamespace, trackName } = parseName(text);
    return trackName === undefined ? trackNamespace : undefined;
  } catch {
    return undefined;
  }
}
