import process from "node:process";
import { readAgentConfig } from "../../agent/config.ts";
import { runAgent } from "../../agent/run.ts";
import { command } from "../command.ts";
import { InputError, UsageError } from "../errors.ts";
import { print, tell } from "../terminal.ts";

/** `yard agent`: the Configuration Agent as a service. */
export const agent = command({
  name: "agent",
  summary: "run the Configuration Agent",
  args: {
    config: { type: "string", valueHint: "FILE", description: "its configuration, as JSON" },
  },
  details: [
    "Logs a line of JSON for each event on standard output, and ends with Ctrl-C or SIGTERM; SIGHUP\n" +
      "makes it read the pool file again. docs/operations.md explains every key of the configuration.",
  ],
  examples: ["agent --config agent.json"],
  async run({ config: file }) {
    if (file === undefined) throw new UsageError("option --config is missing");
    const config = await readAgentConfig(file).catch((error: Error & { code?: string }) => {
      // Its message has a line for each mistake, with the file.
      throw error.code === "INVALID_CONFIGURATION" ? new InputError(error.message, error) : error;
    });
    const end = Promise.withResolvers<void>();
    process.once("SIGINT", end.resolve);
    process.once("SIGTERM", end.resolve);
    const running = await runAgent(config, { log: print });
    process.on("SIGHUP", () => void running.reload());
    tell(`agent ${config.agentId} at ${running.url}`);
    await end.promise;
    await running.close();
    return undefined;
  },
});
