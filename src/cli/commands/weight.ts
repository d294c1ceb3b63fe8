import { snapshotLimits } from "../../snapshot/mod.ts";
import { agentOptions, reasonOf, reasonOption, whereDetails } from "../agent-options.ts";
import { printChanged } from "../changed.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { openDeployment } from "../open-deployment.ts";
import { readPrefix, readRid, ridArgument } from "../rid-argument.ts";

/** `yard weight`: a relay's share of keys (LB-RESIZE-4). */
export const weight = command({
  name: "weight",
  summary: "set the weight of a relay on hashed routes",
  args: {
    rid: ridArgument,
    weight: {
      type: "positional",
      description: `0 to ${snapshotLimits.weight}; with 0 nothing is placed on it any more`,
    },
    prefix: {
      type: "string",
      valueHint: "NAME",
      description:
        "only on the route of this prefix (MOQT text form, * for the empty one); by default on all",
    },
    ...reasonOption,
    ...agentOptions,
    json: { type: "boolean", description: "print the new version, its digest and kid as JSON" },
  },
  details: ["Try it first: yard simulate shows which keys would move.", whereDetails],
  examples: ["weight r2 4", "weight r2 0 --prefix example.2ecom"],
  async run({ rid: text, weight: number, prefix, reason, json, ...where }) {
    const value = /^\d{1,2}$/.test(number) ? Number(number) : Number.NaN;
    if (!(value <= snapshotLimits.weight)) {
      throw new UsageError(`WEIGHT has to be an integer in 0..${snapshotLimits.weight}`);
    }
    const request = {
      type: "weight" as const,
      rid: readRid(text),
      weight: value,
      ...(prefix !== undefined && { prefix: readPrefix(prefix) }),
    };
    const why = reasonOf(reason);
    const deployment = await openDeployment(where);
    printChanged(await deployment.act(request, why), deployment, json);
    return undefined;
  },
});
