/**
 * Which Message Parameters may stand in which message. A parameter out of place closes the
 * session, so that this is a rule of the codec.
 *
 * @module
 */

import type { Draft } from "./draft.ts";
import { type DraftFacts, draftFacts, type ParameterScopes } from "./draft-facts.ts";
import type { RequestContext } from "./message.ts";
import type { ParameterName } from "./parameter.ts";

/** The parameters that may stand in one place. */
export interface ParameterScope {
  /** The place, for error messages. */
  readonly place: string;
  readonly names: ReadonlySet<ParameterName>;
}

/** A message with parameters. */
export type ParameterPlace = Exclude<keyof ParameterScopes, "FILL_PARAMETERS">;

interface DraftScopes {
  readonly messages: ReadonlyMap<ParameterPlace, ParameterScope>;
  readonly answers: ReadonlyMap<string, ParameterScope>;
  readonly updates: ReadonlyMap<string, ParameterScope>;
  readonly fill: ParameterScope;
}

/**
 * The parameters that a message may carry.
 *
 * @param context the request that a REQUEST_OK or REQUEST_UPDATE belongs to; where it is not
 *   given, whatever any of them may carry
 * @returns `undefined` where the message cannot belong to that request at all
 */
export function parameterScope(
  facts: DraftFacts,
  place: ParameterPlace,
  context: RequestContext,
): ParameterScope | undefined {
  const scopes = scopesOf(facts);
  if (place === "REQUEST_OK" && context.answers !== undefined) {
    return scopes.answers.get(context.answers);
  }
  if (place === "REQUEST_UPDATE" && context.updates !== undefined) {
    return scopes.updates.get(context.updates);
  }
  return scopes.messages.get(place);
}

/** The parameters that may stand inside FILL_PARAMETERS. */
export function fillScope(facts: DraftFacts): ParameterScope {
  return scopesOf(facts).fill;
}

function scopesOf({ draft }: DraftFacts): DraftScopes {
  return scopesOfDraft.get(draft) as DraftScopes;
}

const scopesOfDraft: ReadonlyMap<Draft, DraftScopes> = new Map(
  Object.values(draftFacts).map(({ draft, parameters }) => [draft, compile(parameters)]),
);

function compile(scopes: ParameterScopes): DraftScopes {
  const { REQUEST_OK, REQUEST_UPDATE, FILL_PARAMETERS, ...messages } = scopes;
  const answers = byRequest("REQUEST_OK to", REQUEST_OK);
  const updates = byRequest("REQUEST_UPDATE of", REQUEST_UPDATE);
  return {
    messages: new Map<ParameterPlace, ParameterScope>([
      ...Object.entries(messages).map(
        ([place, names]) => [place as ParameterPlace, scope(place, names)] as const,
      ),
      ["REQUEST_OK", union("REQUEST_OK", answers)],
      ["REQUEST_UPDATE", union("REQUEST_UPDATE", updates)],
    ]),
    answers,
    updates,
    fill: scope("FILL_PARAMETERS", FILL_PARAMETERS),
  };
}

function byRequest(
  place: string,
  lists: Readonly<Record<string, readonly ParameterName[]>>,
): Map<string, ParameterScope> {
  return new Map(
    Object.entries(lists).map(([request, names]) => [request, scope(`${place} ${request}`, names)]),
  );
}

function scope(place: string, names: Iterable<ParameterName>): ParameterScope {
  return { place, names: new Set(names) };
}

function union(place: string, scopes: ReadonlyMap<string, ParameterScope>): ParameterScope {
  return scope(
    place,
    [...scopes.values()].flatMap(({ names }) => [...names]),
  );
}
