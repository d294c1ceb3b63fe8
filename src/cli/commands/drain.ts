import { whereDetails } from "../agent-options.ts";
import { actionOptions, carryOut } from "../changed.ts";
import { command } from "../command.ts";
import { readRid, ridArgument } from "../rid-argument.ts";

/** `yard drain`: planned removal begins here (LB-RESIZE-6). */
export const drain = command({
  name: "drain",
  summary: "take a relay out of placement, planned",
  args: {
    rid: ridArgument,
    ...actionOptions,
  },
  details: [
    "Draining: requests that come go elsewhere, those that are open stay until clients return or the\n" +
      "Drain Deadline ends them (LB-HEALTH-3). Take the relay out of the pool when it is empty.",
    whereDetails,
  ],
  examples: ['drain r2 --reason "kernel update"', "drain relay.2d1", "drain hex:ff00"],
  async run({ rid, ...values }) {
    await carryOut({ type: "drain", rid: readRid(rid) }, values);
    return undefined;
  },
});
