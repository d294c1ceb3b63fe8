import { agentOptions, whereDetails } from "../agent-options.ts";
import { command } from "../command.ts";
import { elsewhere } from "../deployment.ts";
import { historyLines } from "../history-lines.ts";
import { openDeployment } from "../open-deployment.ts";
import { countOption } from "../option-values.ts";
import { print, printJson, resultStyle, tell } from "../terminal.ts";
import { readVersion } from "../version-argument.ts";

/** The most that an agent answers at once. */
const PAGE = 200;

/** `yard history`: who published what, when and why. */
export const history = command({
  name: "history",
  summary: "show published versions, who asked for them and what changed",
  args: {
    limit: { type: "string", valueHint: "N", default: "20", description: "show so many versions" },
    before: { type: "string", valueHint: "VERSION", description: "only versions below this one" },
    ...agentOptions,
    json: { type: "boolean", description: "print the entries as JSON, with the signed actions" },
  },
  details: [
    "PROOF: signed, the operator's key signed the action itself; session, the operator had signed in\n" +
      "to the agent's pages; -, the agent acted by itself.",
    whereDetails,
  ],
  examples: ["history", "history --limit 5 --json"],
  async run({ limit: text, before: below, json, ...where }) {
    const limit = countOption("--limit", text);
    const before = below === undefined ? undefined : readVersion("option --before", below);
    const deployment = await openDeployment(where);
    const entries = [];
    for (let next = before; entries.length < limit; ) {
      const wanted = Math.min(PAGE, limit - entries.length);
      const page = await deployment.history({
        limit: wanted,
        ...(next !== undefined && { before: next }),
      });
      entries.push(...page);
      next = page.at(-1)?.version;
      if (page.length < wanted) break;
    }
    if (json) printJson(entries);
    else if (entries.length === 0) {
      const hint = deployment.live ? "" : `; ${elsewhere}`;
      tell(`${deployment.where}: nothing is published${hint}`);
    } else print(historyLines(entries, resultStyle()).join("\n"));
    return undefined;
  },
});
