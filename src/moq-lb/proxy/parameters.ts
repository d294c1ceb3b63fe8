/**
 * Message Parameters on their way to the other leg: all stay as they are but the tokens, which
 * count for one session only (LB-A20, LB-PSETUP-13 to LB-PSETUP-15).
 *
 * @module
 */

import type { MessageParameter } from "../../moqt/mod.ts";
import { isReserved } from "../../routing/mod.ts";
import type { AuthorizationToken } from "../tokens.ts";

/** `parameters` with `tokens`, by value, in the place of theirs. */
export function withTokens(
  parameters: readonly MessageParameter[],
  tokens: readonly AuthorizationToken[],
): readonly MessageParameter[] {
  const rest = parameters.filter(({ type }) => type !== "AUTHORIZATION_TOKEN");
  if (rest.length === parameters.length && tokens.length === 0) return parameters;
  return [
    ...tokens.map(({ tokenType, tokenValue }) => ({
      type: "AUTHORIZATION_TOKEN" as const,
      token: { aliasType: "USE_VALUE" as const, tokenType, tokenValue },
    })),
    ...rest,
  ];
}

/** SUBSCRIBER_PRIORITY, 0 to 255, where they have it. */
export function subscriberPriority(parameters: readonly MessageParameter[]): number | undefined {
  for (const parameter of parameters) {
    if (parameter.type === "SUBSCRIBER_PRIORITY") return parameter.value;
  }
  return undefined;
}

/** That of the fill that they ask for, where it has one of its own. */
export function fillPriority(parameters: readonly MessageParameter[]): number | undefined {
  for (const parameter of parameters) {
    if (parameter.type === "FILL_PARAMETERS") return subscriberPriority(parameter.parameters);
  }
  return undefined;
}

/** Whether a parameter asks for data on a stream of its own, a fill. */
export function asksForFill(parameters: readonly MessageParameter[]): boolean {
  return parameters.some(({ type }) => type === "FILL_PARAMETERS");
}

/** Whether they move a request to a prefix that never leaves its session (LB-S3, LB-S4). */
export function movesToReserved(parameters: readonly MessageParameter[]): boolean {
  return parameters.some(
    (parameter) =>
      parameter.type === "TRACK_NAMESPACE_PREFIX" && isReserved(parameter.trackNamespacePrefix),
  );
}

/** Why parameters of a client cannot go on, if they cannot; the name of a REQUEST_ERROR code. */
export function parameterFault(
  parameters: readonly MessageParameter[],
  maximumFilterRanges: bigint,
): "INVALID_FILTER" | undefined {
  let ranges = 0;
  for (const parameter of parameters) {
    if (parameter.type === "FILL_PARAMETERS") {
      const fault = parameterFault(parameter.parameters, maximumFilterRanges);
      if (fault !== undefined) return fault;
    }
    if (!("filter" in parameter)) continue;
    if (parameter.filter.kind === "INVALID") return "INVALID_FILTER";
    if (parameter.filter.kind === "RANGES") ranges += parameter.filter.ranges.length;
  }
  return BigInt(ranges) > maximumFilterRanges ? "INVALID_FILTER" : undefined;
}
