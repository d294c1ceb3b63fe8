/**
 * What the commands that change a deployment take, do and print.
 *
 * @module
 */

import { agentOptions, reasonOf, reasonOption } from "./agent-options.ts";
import type { Changed, Deployment } from "./deployment.ts";
import { openDeployment } from "./open-deployment.ts";
import { print, printJson, tell } from "./terminal.ts";

/** Options of every command that asks for one action. */
export const actionOptions = {
  ...reasonOption,
  ...agentOptions,
  json: { type: "boolean", description: "print the new version, its digest and kid as JSON" },
} as const;

type ActionValues = Parameters<typeof openDeployment>[0] & {
  readonly reason: Parameters<typeof reasonOf>[0];
  readonly json: boolean;
};

/** Has the deployment do what is asked, and prints what came of it. */
export async function carryOut(
  request: Parameters<Deployment["act"]>[0],
  { reason, json, ...where }: ActionValues,
): Promise<void> {
  const why = reasonOf(reason);
  const deployment = await openDeployment(where);
  printChanged(await deployment.act(request, why), deployment, json);
}

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
