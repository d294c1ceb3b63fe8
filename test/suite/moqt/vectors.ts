/** The message vectors by id. */

import vectors from "../../vectors/moqt-messages.json" with { type: "json" };

const byId: ReadonlyMap<string, string> = new Map(vectors.messages.map(({ id, hex }) => [id, hex]));

export const vectorIds: readonly string[] = [...byId.keys()];

/** Hexadecimal digits of the message `id`. */
export function vector(id: string): string {
  const digits = byId.get(id);
  if (digits === undefined) throw new Error(`no vector ${id}`);
  return digits;
}
