/**
 * What a subscription asks for after its updates, and what is left to ask another relay for
 * (LB-PMOVE-4 to LB-PMOVE-6, LB-S91, LB-S92, LB-S94).
 *
 * @module
 */

import type {
  Location,
  LocationFilter,
  MessageParameter,
  ParameterName,
} from "../../../moqt/mod.ts";

type Parameters = readonly MessageParameter[];

/** Said once: they hold for the message that carries them, and are not asked for again. */
const ofOneMessage: ReadonlySet<ParameterName> = new Set([
  "AUTHORIZATION_TOKEN",
  "FILL_PARAMETERS",
  "NEW_GROUP_REQUEST",
]);

/**
 * The parameters of a subscription after an update that was accepted: what the update names
 * replaces what was there, what it leaves out stays.
 */
export function updated(current: Parameters, update: Parameters): Parameters {
  const lasting = update.filter(({ type }) => !ofOneMessage.has(type));
  const named = new Set(lasting.map(({ type }) => type));
  const kept = current.filter(({ type }) => !named.has(type));
  return [...kept, ...lasting.filter((parameter) => !isRemoval(parameter))];
}

function isRemoval(parameter: MessageParameter): boolean {
  if (!("filter" in parameter)) return false;
  return parameter.filter.kind === "NONE" || parameter.filter.kind === "REMOVE";
}

/** What is left of a subscription for another relay. */
export interface Remainder {
  readonly parameters: Parameters;
  /** The first group that the other relay is to deliver. */
  readonly from: bigint;
}

/**
 * What to ask another relay for.
 *
 * @param current what the subscription asks for now
 * @param largestGroup the largest group of which anything was forwarded; where there is none, the
 *   subscriber gets from the new relay what it had asked the old one for
 * @returns `undefined` where the range has been delivered: nothing is left to ask for
 */
export function remainder(
  current: Parameters,
  largestGroup: bigint | undefined,
): Remainder | undefined {
  if (largestGroup === undefined) return { parameters: current, from: 0n };
  const asked = filterOf(current);
  const from = firstGroup(asked, largestGroup + 1n);
  const filter = filterFrom(from, asked);
  if (filter === undefined) return undefined;
  const rest = current.filter(({ type }) => type !== "LOCATION_FILTER" && !ofOneMessage.has(type));
  return { parameters: [...rest, { type: "LOCATION_FILTER", filter }], from };
}

/** FORWARD, where they have it. */
export function forwardState(parameters: Parameters): 0 | 1 | undefined {
  for (const parameter of parameters) if (parameter.type === "FORWARD") return parameter.value;
  return undefined;
}

/** LARGEST_OBJECT, where they have it. */
export function largestObject(parameters: Parameters): Location | undefined {
  for (const parameter of parameters) {
    if (parameter.type === "LARGEST_OBJECT") return parameter.location;
  }
  return undefined;
}

/** Whether a subscription begins where it says, and not where its track is when a relay gets it. */
export function namesStart(current: Parameters): boolean {
  const kind = filterOf(current)?.kind;
  return kind === "START" || kind === "RANGE";
}

function filterOf(parameters: Parameters): LocationFilter | undefined {
  for (const parameter of parameters) {
    if (parameter.type === "LOCATION_FILTER") return parameter.filter;
  }
  return undefined;
}

/** A subscriber that has moved its start beyond what it got is not to get what lies between. */
function firstGroup(asked: LocationFilter | undefined, next: bigint): bigint {
  if (asked?.kind !== "START" && asked?.kind !== "RANGE") return next;
  const { group } = asked.start;
  return group > next ? group : next;
}

/** From `group` on, as far as `asked` reaches. */
function filterFrom(group: bigint, asked: LocationFilter | undefined): LocationFilter | undefined {
  const start = { group, object: 0n };
  if (asked?.kind !== "START" && asked?.kind !== "RANGE") return { kind: "START", start };
  if (asked.start.group === group) start.object = asked.start.object;
  if (asked.kind === "START") return { kind: "START", start };
  const { endGroup, endObject } = asked;
  if (endGroup < group) return undefined;
  return { kind: "RANGE", start, endGroup, ...(endObject !== undefined && { endObject }) };
}
