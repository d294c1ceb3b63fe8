/**
 * The MOQT drafts that are spoken here, and their names on the wire (ALPN, WT-Protocol).
 *
 * @module
 */

/** Number of a draft of draft-ietf-moq-transport. */
export type Draft = 18 | 19 | 20 | 21 | 22;

/** Every supported draft in order of preference: newest first. */
export const drafts: readonly Draft[] = [22, 21, 20, 19, 18];

/** The identifier that negotiates `draft`, such as `moqt-22`. */
export function draftName(draft: Draft): `moqt-${Draft}` {
  return `moqt-${draft}`;
}

/**
 * The draft that an identifier such as `moqt-22` names.
 *
 * @returns `undefined` for any other text, other drafts and `h3` included
 */
export function parseDraftName(name: string): Draft | undefined {
  return drafts.find((draft) => draftName(draft) === name);
}
