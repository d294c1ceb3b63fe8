import { parseName, type TrackNamespace } from "../moqt/mod.ts";
import { InputError } from "./errors.ts";
import { readText, sourceName } from "./input.ts";
import { readNameArgument } from "./name-argument.ts";

/**
 * Namespaces from a file, or from standard input for `-`: one in MOQT text form on each line; a
 * Track Name is left aside, as are empty lines and those that begin with `#`.
 *
 * @throws {InputError} the file cannot be read, has no namespace, or a line is none
 */
export async function readNamespaces(path: string): Promise<TrackNamespace[]> {
  const text = await readText(path);
  const namespaces: TrackNamespace[] = [];
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const name = line.trim();
    if (name === "" || name.startsWith("#")) continue;
    namespaces.push(namespaceOn(name, `${sourceName(path)}:${i + 1}`));
  }
  if (namespaces.length === 0) throw new InputError(`${sourceName(path)}: there is no namespace`);
  return namespaces;
}

function namespaceOn(name: string, place: string): TrackNamespace {
  try {
    return readNameArgument(name, parseName).trackNamespace;
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${place}: ${error.message}`, error);
    throw error;
  }
}
