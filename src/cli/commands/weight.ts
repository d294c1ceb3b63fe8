import { snapshotLimits } from "../../snapshot/mod.ts";
import { whereDetails } from "../agent-options.ts";
import { actionOptions, carryOut } from "../changed.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
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
    ...actionOptions,
  },
  details: ["Try it first: yard simulate shows which keys would move.", whereDetails],
  examples: ["weight r2 4", "weight r2 0 --prefix example.2ecom"],
  async run({ rid: text, weight: number, prefix, ...values }) {
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
    await carryOut(request, values);
    return undefined;
  },
});
