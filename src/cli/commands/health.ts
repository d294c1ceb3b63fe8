import { whereDetails } from "../agent-options.ts";
import { actionOptions, carryOut } from "../changed.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { readRid, ridArgument } from "../rid-argument.ts";

const states = ["healthy", "unhealthy", "auto"] as const;

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
    ...actionOptions,
  },
  details: ["The cap on what probes may take out does not hold for operators.", whereDetails],
  examples: ['health r2 unhealthy --reason "wrong certificate"', "health r2 auto"],
  async run({ rid: text, health: wanted, ...values }) {
    const value = states.find((known) => known === wanted);
    if (value === undefined) throw new UsageError(`HEALTH has to be one of ${states.join(", ")}`);
    await carryOut({ type: "health", rid: readRid(text), health: value }, values);
    return undefined;
  },
});
