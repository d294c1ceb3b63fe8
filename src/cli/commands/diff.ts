import { describeChange, diffSnapshots } from "../../agent/mod.ts";
import { agentOptions, whereDetails } from "../agent-options.ts";
import { command } from "../command.ts";
import { sharedDeployment } from "../open-deployment.ts";
import { print, printable, printJson, tell } from "../terminal.ts";
import { snapshotsNamed, versionHint } from "../version-argument.ts";

/** `yard diff`: what differs between two versions or files. */
export const diff = command({
  name: "diff",
  summary: "show what differs between two versions or files",
  args: {
    a: { type: "positional", description: versionHint },
    b: { type: "positional", description: "another one" },
    ...agentOptions,
    json: { type: "boolean", description: "print the changes as JSON" },
  },
  details: [
    "A file beside a version is taken as it would be published now: with what operators and probes\n" +
      "say of its relays.",
    whereDetails,
  ],
  examples: ["diff 7 8", "diff current pool.json"],
  async run({ a, b, json, ...where }) {
    const open = sharedDeployment(where);
    const [from, to] = await snapshotsNamed(a, b, open);
    const changes = diffSnapshots(from.snapshot, to.snapshot).map(describeChange);
    if (json) printJson({ from: from.name, to: to.name, changes });
    else if (changes.length === 0) tell(`no difference between ${from.name} and ${to.name}`);
    else print(changes.map(printable).join("\n"));
    return undefined;
  },
});
