import process from "node:process";
import { AgentRefusal } from "../../agent/client.ts";
import { agentOptions, whereDetails } from "../agent-options.ts";
import { command } from "../command.ts";
import type { Deployment } from "../deployment.ts";
import { openDeployment } from "../open-deployment.ts";
import { statusLines } from "../status-lines.ts";
import { messageStyle, print, printJson, resultStyle, tell } from "../terminal.ts";

/** Milliseconds between two looks. */
const PAUSE = 2_000;

/** `yard status`: relays, instances and alarms at a glance. */
export const status = command({
  name: "status",
  summary: "show relays, instances that follow, and alarms",
  args: {
    watch: { type: "boolean", description: "look again every 2 seconds, until Ctrl-C" },
    ...agentOptions,
    json: { type: "boolean", description: "print everything as JSON, a line each with --watch" },
  },
  details: [
    "SHARE is the measured share of the keys of hashed routes, EXPECTED the one that weights give.\n" +
      "Instances that do not follow the current version have a ! before them.",
    "Long names of relays and long URIs are shortened; --json has them whole.",
    whereDetails,
  ],
  examples: ["status", "status --watch", "status --json"],
  async run({ watch, json, ...where }) {
    const deployment = await openDeployment(where);
    if (watch) await watchStatus(deployment, json);
    else if (json) printJson(await deployment.status());
    else await show(deployment);
    return undefined;
  },
});

async function show(deployment: Deployment): Promise<void> {
  print(statusLines(await deployment.status(), deployment, resultStyle(), columns()).join("\n"));
}

/** Characters of a line, where a terminal shows it. */
function columns(): number | undefined {
  return process.stdout.isTTY === true ? process.stdout.columns : undefined;
}

/** Shows the status again and again; a terminal is cleared before, other outputs get a blank line. */
async function watchStatus(deployment: Deployment, json: boolean): Promise<void> {
  const end = Promise.withResolvers<true>();
  const stop = () => end.resolve(true);
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  process.stdout.on("error", stop);
  for (let stopped = false; !stopped; ) {
    try {
      if (json) print(JSON.stringify(await deployment.status()));
      else await showNext(deployment);
    } catch (error) {
      // An agent that restarts is what somebody watches for.
      if (!(error instanceof AgentRefusal) || error.status !== 0) throw error;
      tell(messageStyle().yellow(`${error.message} (${error.code})`));
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pause = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), PAUSE);
    });
    stopped = await Promise.race([pause, end.promise]);
    clearTimeout(timer);
  }
}

async function showNext(deployment: Deployment): Promise<void> {
  const lines = statusLines(await deployment.status(), deployment, resultStyle(), columns());
  const isTerminal = process.stdout.isTTY === true && process.env.TERM !== "dumb";
  print(isTerminal ? `\u001b[H\u001b[2J${lines.join("\n")}` : `${lines.join("\n")}\n`);
}
