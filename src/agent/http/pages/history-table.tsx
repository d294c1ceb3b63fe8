/** @jsxImportSource hono/jsx */

/**
 * Versions with what they changed and who is behind them.
 *
 * @module
 */

import { Ago, Tag } from "../../../page/pieces.tsx";
import { safeText } from "../../../page/words.ts";
import type { HistoryEntry } from "../../history.ts";
import { causeWords } from "../words.ts";

interface HistoryTableProps {
  readonly entries: readonly HistoryEntry[];
  readonly now: number;
  readonly caption: string;
}

/** Changes of one version that the table shows; its own page has all. */
const MOST_CHANGES = 3;

export function HistoryTable({ entries, now, caption }: HistoryTableProps) {
  return (
    <table class="top-aligned stacked">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Version</th>
          <th scope="col">When</th>
          <th scope="col">What</th>
          <th scope="col">By</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr>
            <th scope="row">
              <a href={`/history/${entry.version}`}>v{entry.version}</a>
            </th>
            <td class="quiet">
              <Ago at={entry.at} now={now} />
            </td>
            <td class="line">
              <b class="nowrap">{causeText(entry)}</b>
              <ul class="changes small">
                {entry.changes.slice(0, MOST_CHANGES).map((change) => (
                  <li>{safeText(change)}</li>
                ))}
                {entry.changes.length > MOST_CHANGES && (
                  <li class="quiet">and {entry.changes.length - MOST_CHANGES} more</li>
                )}
              </ul>
            </td>
            <td class="line">
              <By entry={entry} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function causeText({ cause, rolledBackTo }: HistoryEntry): string {
  return rolledBackTo === undefined
    ? causeWords[cause]
    : `${causeWords[cause]} to v${rolledBackTo}`;
}

/** Who asked for a version, how that is proved, and why. */
export function By({ entry: { operator, agentId } }: { readonly entry: HistoryEntry }) {
  if (operator === undefined) {
    return <span class="quiet">{agentId === "" ? "unknown" : safeText(agentId, 64)}</span>;
  }
  return (
    <>
      <bdi>{safeText(operator.name, 60)}</bdi> <Signed operator={operator} />
      {operator.reason !== "" && (
        <div class="quiet small">
          <bdi>{safeText(operator.reason, 200)}</bdi>
        </div>
      )}
    </>
  );
}

function Signed({
  operator: { signed },
}: {
  readonly operator: NonNullable<HistoryEntry["operator"]>;
}) {
  return signed ? <Tag tone="ok">✓ signed</Tag> : <Tag>by session</Tag>;
}
