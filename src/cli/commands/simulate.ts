import process from "node:process";
import { simulate as simulateChange } from "../../agent/simulate.ts";
import { agentOptions, whereDetails } from "../agent-options.ts";
import { command } from "../command.ts";
import { UsageError } from "../errors.ts";
import { readNamespaces } from "../namespaces-file.ts";
import { sharedDeployment } from "../open-deployment.ts";
import { countOption } from "../option-values.ts";
import { Progress } from "../progress.ts";
import { simulationLines, simulationToJson } from "../simulation.ts";
import { print, printJson, resultStyle } from "../terminal.ts";
import { snapshotsNamed, versionHint } from "../version-argument.ts";

const DEFAULT_KEYS = 100_000;

/** `yard simulate`: what a change does to requests, before it is published (LB-RESIZE-2). */
export const simulate = command({
  name: "simulate",
  summary: "show which share of keys relays get, and which keys a change moves",
  args: {
    from: { type: "string", valueHint: "A", default: "current", description: versionHint },
    to: { type: "string", valueHint: "B", description: "likewise: what it shall become" },
    keys: {
      type: "string",
      valueHint: "N",
      description: `how many keys are made, spread over the hashed routes; by default ${DEFAULT_KEYS}`,
    },
    namespaces: {
      type: "string",
      valueHint: "FILE",
      description: "place these namespaces instead: one in MOQT text form on each line",
    },
    ...agentOptions,
    json: { type: "boolean", description: "print counts of keys as JSON" },
  },
  details: [
    "EXPECTED is the share that weights give. On a terminal # draws the share after the change, and |\n" +
      "the expected one.",
    "A file beside a version is taken as it would be published now: with what operators and probes\n" +
      "say of its relays.",
    whereDetails,
  ],
  examples: ["simulate --to pool.json", "simulate --from 7 --to 8 --keys 1000000 --json"],
  async run({ from: a, to: b, keys, namespaces, json, ...where }) {
    if (b === undefined) throw new UsageError("option --to is missing: what shall it become?");
    if (keys !== undefined && namespaces !== undefined) {
      throw new UsageError("--keys and --namespaces exclude each other");
    }
    const placed =
      namespaces === undefined
        ? { keys: keys === undefined ? DEFAULT_KEYS : countOption("--keys", keys) }
        : { namespaces: await readNamespaces(namespaces) };
    const open = sharedDeployment(where);
    const [from, to] = await snapshotsNamed(a, b, open);
    const progress = new Progress("keys");
    const simulation = await simulateChange(from.snapshot, to.snapshot, {
      ...placed,
      onProgress: progress.update,
    }).finally(() => progress.stop());
    const change = { from: from.name, to: to.name };
    if (json) printJson(simulationToJson(simulation, change));
    else {
      const bars = process.stdout.isTTY === true;
      print(simulationLines(simulation, change, resultStyle(), bars).join("\n"));
    }
    return undefined;
  },
});
