import { agentOptions, reasonOf, reasonOption, whereDetails } from "../agent-options.ts";
import { printChanged } from "../changed.ts";
import { command } from "../command.ts";
import { openDeployment } from "../open-deployment.ts";
import { readRid, ridArgument } from "../rid-argument.ts";

/** `yard drain`: planned removal begins here (LB-RESIZE-6). */
export const drain = command({
  name: "drain",
  summary: "take a relay out of placement, planned",
  args: {
    rid: ridArgument,
    ...reasonOption,
    ...agentOptions,
    json: { type: "boolean", description: "print the new version, its digest and kid as JSON" },
  },
  details: [
    "Draining: requests that come go elsewhere, those that are open stay until clients return or the\n" +
      "Drain Deadline ends them (LB-HEALTH-3). Take the relay out of the pool when it is empty.",
    whereDetails,
  ],
  examples: ['drain r2 --reason "kernel update"', "drain relay.2d1", "drain hex:ff00"],
  async run({ rid: text, reason, json, ...where }) {
    const rid = readRid(text);
    const why = reasonOf(reason);
    const deployment = await openDeployment(where);
    printChanged(await deployment.act({ type: "drain", rid }, why), deployment, json);
    return undefined;
  },
});
