import { whereDetails } from "../agent-options.ts";
import { actionOptions, carryOut } from "../changed.ts";
import { command } from "../command.ts";
import { readRid, ridArgument } from "../rid-argument.ts";

/** `yard undrain`: the relay takes its share of keys again. */
export const undrain = command({
  name: "undrain",
  summary: "let a drained relay be placed on again",
  args: {
    rid: ridArgument,
    ...actionOptions,
  },
  details: [
    "Ends what yard drain did, and a health of draining that the pool asks for.",
    whereDetails,
  ],
  examples: ['undrain r2 --reason "updated"', "undrain relay.2d1", "undrain hex:ff00"],
  async run({ rid, ...values }) {
    await carryOut({ type: "undrain", rid: readRid(rid) }, values);
    return undefined;
  },
});
