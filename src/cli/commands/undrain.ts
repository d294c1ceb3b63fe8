import { agentOptions, reasonOf, reasonOption, whereDetails } from "../agent-options.ts";
import { printChanged } from "../changed.ts";
import { command } from "../command.ts";
import { openDeployment } from "../open-deployment.ts";
import { readRid, ridArgument } from "../rid-argument.ts";

/** `yard undrain`: the relay takes its share of keys again. */
export const undrain = command({
  name: "undrain",
  summary: "let a drained relay be placed on again",
  args: {
    rid: ridArgument,
    ...reasonOption,
    ...agentOptions,
    json: { type: "boolean", description: "print the new version, its digest and kid as JSON" },
  },
  details: [
    "Ends what yard drain did, and a health of draining that the pool asks for.",
    whereDetails,
  ],
  examples: ['undrain r2 --reason "updated"', "undrain relay.2d1", "undrain hex:ff00"],
  async run({ rid: text, reason, json, ...where }) {
    const rid = readRid(text);
    const why = reasonOf(reason);
    const deployment = await openDeployment(where);
    printChanged(await deployment.act({ type: "undrain", rid }, why), deployment, json);
    return undefined;
  },
});
