import { agentOptions, reasonOf, reasonOption, whereDetails } from "../agent-options.ts";
import { printChanged } from "../changed.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { openDeployment } from "../open-deployment.ts";
import { readRid, ridArgument } from "../rid-argument.ts";

const values = ["healthy", "unhealthy", "auto"] as const;

/** `yard health`: an operator knows better than probes. */
export const health = command({
  name: "health",
  summary: "fix the health of a relay, whatever probes say",
  args: {
    rid: ridArgument,
    health: {
      type: "positional",
      description: "healthy or unhealthy fix it; auto lets probes and the pool decide again",
    },
    ...reasonOption,
    ...agentOptions,
    json: { type: "boolean", description: "print the new version, its digest and kid as JSON" },
  },
  details: ["The cap on what probes may take out does not hold for operators.", whereDetails],
  examples: ['health r2 unhealthy --reason "wrong certificate"', "health r2 auto"],
  async run({ rid: text, health: wanted, reason, json, ...where }) {
    const value = values.find((known) => known === wanted);
    if (value === undefined) throw new UsageError(`HEALTH has to be one of ${values.join(", ")}`);
    const rid = readRid(text);
    const why = reasonOf(reason);
    const deployment = await openDeployment(where);
    const changed = await deployment.act({ type: "health", rid, health: value }, why);
    printChanged(changed, deployment, json);
    return undefined;
  },
});
