/**
 * What the commands that change a deployment print.
 *
 * @module
 */

import type { Changed, Deployment } from "./deployment.ts";
import { print, printJson, tell } from "./terminal.ts";

/** Prints the version that an action led to. */
export function printChanged(
  { version, digest, kid, cause }: Changed,
  { where }: Deployment,
  json: boolean,
): void {
  if (json) printJson({ version, digest, kid, cause });
  else print(`version ${version}`);
  tell(`published at ${where}`);
}
