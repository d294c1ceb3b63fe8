/**
 * The history of a deployment, to read.
 *
 * @module
 */

import { causeWords } from "../agent/http/words.ts";
import type { HistoryEntry } from "../agent/mod.ts";
import { utcTime } from "../page/words.ts";
import { titledLines } from "./table.ts";
import { printable, type Style } from "./terminal.ts";

/** One line for each version, newest first, with what changed below it. */
export function historyLines(entries: readonly HistoryEntry[], style: Style): string[] {
  const rows = entries.map((entry) => [
    `${entry.version}`,
    utcTime(entry.at),
    whatText(entry),
    byText(entry),
    entry.operator === undefined ? "-" : entry.operator.signed ? "signed" : "session",
    printable(entry.operator?.reason ?? "") || "-",
  ]);
  const titles = ["VERSION", "SIGNED AT", "WHAT", "BY", "PROOF", "REASON"];
  const [title = "", ...lines] = titledLines(titles, rows, style.dim, (text, _, column) =>
    column === 0 ? style.bold(text) : text,
  );
  const indent = " ".repeat("VERSION  ".length);
  return [
    title,
    ...lines.flatMap((line, i) => [
      line,
      ...(entries[i] as HistoryEntry).changes.map((change) => `${indent}${printable(change)}`),
    ]),
  ];
}

function whatText({ cause, rolledBackTo }: HistoryEntry): string {
  return rolledBackTo === undefined ? causeWords[cause] : `rollback to ${rolledBackTo}`;
}

/** The operator, else the agent that acted by itself. */
function byText({ operator, agentId }: HistoryEntry): string {
  return printable(operator?.name ?? (agentId === "" ? "" : `agent ${agentId}`)) || "-";
}
