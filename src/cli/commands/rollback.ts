import { agentOptions, reasonOf, reasonOption, whereDetails } from "../agent-options.ts";
import { printChanged } from "../changed.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { openDeployment } from "../open-deployment.ts";
import { readVersion } from "../version-argument.ts";

/** `yard rollback`: earlier contents as a new, higher version (LB-ROT-4, LB-ROT-5). */
export const rollback = command({
  name: "rollback",
  summary: "publish the contents of an earlier version again",
  args: {
    to: { type: "string", valueHint: "VERSION", description: "the version to go back to" },
    ...reasonOption,
    ...agentOptions,
    json: { type: "boolean", description: "print the new version, its digest and kid as JSON" },
  },
  details: [
    "The new version is above the current one, as load balancers never go back (LB-ROT-3). It needs\n" +
      "an operator's own signature, also where no agent runs.",
    whereDetails,
  ],
  examples: ['rollback --to 7 --reason "the new relay drops sessions"'],
  async run({ to, reason, json, ...where }) {
    if (to === undefined) throw new UsageError("option --to is missing: which version?");
    const version = readVersion("option --to", to);
    const why = reasonOf(reason);
    const deployment = await openDeployment(where);
    printChanged(await deployment.rollback(version, why), deployment, json);
    return undefined;
  },
});
