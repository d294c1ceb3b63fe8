import { readFile } from "node:fs/promises";

/** The text of a pool file. */
export function readPoolFile(path: string): Promise<string> {
  return readFile(path, "utf8");
}
