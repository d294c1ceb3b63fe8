/**
 * Looking into Message Parameters.
 *
 * @module
 */

import type { MessageParameter, ParameterName, ParameterOf } from "../moqt/mod.ts";

/** The first parameter called `name`. */
export function parameter<Name extends ParameterName>(
  parameters: readonly MessageParameter[],
  name: Name,
): ParameterOf<Name> | undefined {
  return parameters.find((each): each is ParameterOf<Name> => each.type === name);
}

const rangeFilters = [
  "SUBGROUP_FILTER",
  "OBJECTID_FILTER",
  "PRIORITY_FILTER",
  "OBJECT_PROPERTY_FILTER",
  "TRACK_PROPERTY_FILTER",
] as const;

/** Whether `parameters` ask for ranges, which nobody may do whom MAX_FILTER_RANGES does not let. */
export function hasRangeFilter(parameters: readonly MessageParameter[]): boolean {
  return rangeFilters.some((name) => parameter(parameters, name) !== undefined);
}
