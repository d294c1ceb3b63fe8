/** @jsxImportSource hono/jsx */

/**
 * The history, a page of versions at a time, and one version with all that is known of it.
 *
 * @module
 */

import { Ago, Tag } from "../../../page/pieces.tsx";
import { count, safeText, utcTime } from "../../../page/words.ts";
import type { HistoryEntry, Refusal } from "../../history.ts";
import { causeWords } from "../words.ts";
import { By, causeText, HistoryTable } from "./history-table.tsx";
import { Layout, type Viewer } from "./layout.tsx";

interface HistoryPageProps {
  readonly viewer: Viewer;
  readonly entries: readonly HistoryEntry[];
  /** The version that older entries are below; absent where there are none. */
  readonly older?: number | undefined;
  /** Newest first. */
  readonly refusals: readonly Refusal[];
  readonly now: number;
}

export function HistoryPage({ viewer, entries, older, refusals, now }: HistoryPageProps) {
  return (
    <Layout title="History · Yardmaster" viewer={viewer} place="history">
      <h1>History</h1>
      <section class="card">
        {entries.length === 0 ? (
          <p class="quiet">There is nothing here.</p>
        ) : (
          <HistoryTable entries={entries} now={now} caption="Versions, newest first" />
        )}
        {older !== undefined && (
          <p>
            <a href={`/history?before=${older}`}>Older versions</a>
          </p>
        )}
      </section>
      {refusals.length > 0 && <Refusals refusals={refusals} now={now} />}
    </Layout>
  );
}

function Refusals({ refusals, now }: Pick<HistoryPageProps, "refusals" | "now">) {
  return (
    <section class="card" aria-labelledby="refused">
      <header>
        <h2 id="refused">Refused actions</h2>
      </header>
      <table>
        <caption>The last that were asked for and not done</caption>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Why not</th>
            <th scope="col">By</th>
            <th scope="col" class="wide">
              Reason given
            </th>
          </tr>
        </thead>
        <tbody>
          {refusals.map((refusal) => (
            <tr>
              <td class="quiet">
                <Ago at={refusal.at} now={now} />
              </td>
              <td>{safeText(refusal.type, 40)}</td>
              <td>
                <Tag tone="bad">{safeText(refusal.code, 40)}</Tag>
              </td>
              <td>
                <bdi>{safeText(refusal.operator ?? "unknown", 60)}</bdi>
              </td>
              <td class="wide quiet">
                <bdi>{safeText(refusal.reason ?? "", 200)}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface VersionPageProps {
  readonly viewer: Viewer;
  readonly entry: HistoryEntry;
  /** The snapshot as people write it; absent where the store has it no more. */
  readonly snapshotJson?: string | undefined;
  readonly currentVersion: number;
  readonly now: number;
}

export function VersionPage(props: VersionPageProps) {
  const { viewer, entry, snapshotJson, currentVersion, now } = props;
  const { version, changes } = entry;
  return (
    <Layout title={`v${version} · Yardmaster`} viewer={viewer} place="history">
      <h1>
        Version {version} {version === currentVersion && <Tag tone="ok">in force</Tag>}
      </h1>
      <section class="card">
        <dl class="plain">
          <dt>Published</dt>
          <dd>
            {utcTime(entry.at)}, <Ago at={entry.at} now={now} />
          </dd>
          <dt>What</dt>
          <dd>{causeText(entry)}</dd>
          <dt>By</dt>
          <dd>
            <By entry={entry} />
          </dd>
          {entry.operator !== undefined && (
            <>
              <dt>Operator's key</dt>
              <dd class="mono">{safeText(entry.operator.kid, 256)}</dd>
            </>
          )}
          <dt>Agent</dt>
          <dd>{entry.agentId === "" ? "unknown" : safeText(entry.agentId, 64)}</dd>
          <dt>Signed with</dt>
          <dd class="mono">{safeText(entry.kid, 256)}</dd>
          <dt>Digest</dt>
          <dd class="mono">{entry.digest}</dd>
        </dl>
        <h3>Changes</h3>
        {changes.length === 0 ? (
          <p class="quiet">
            {entry.cause === "republish" ? `None: ${causeWords.republish}.` : "None."}
          </p>
        ) : (
          <ul class="changes">
            {changes.map((change) => (
              <li>{safeText(change)}</li>
            ))}
          </ul>
        )}
        {version !== currentVersion && (
          <>
            <h3>Against what is in force</h3>
            <p>
              <a href={`/simulate?from=${currentVersion}&to=${version}`}>
                Simulate what keys would move
              </a>
            </p>
            <p>
              To bring these contents back as a new version, sign for it:{" "}
              <code>yard rollback --to {version}</code>
            </p>
          </>
        )}
        {entry.action !== undefined && (
          <details>
            <summary>The signed action</summary>
            <code>{safeText(entry.action, 20_000)}</code>
          </details>
        )}
      </section>
      <section class="card">
        {snapshotJson === undefined ? (
          <p class="quiet">The store has this snapshot no more.</p>
        ) : (
          <details>
            <summary>The snapshot, {count(snapshotJson.length)} characters of JSON</summary>
            <pre class="mono">{safeLines(snapshotJson)}</pre>
          </details>
        )}
      </section>
    </Layout>
  );
}

/** Longest snapshot that a page shows; `/v1/history/<version>` has all of it. */
const MOST_CHARACTERS = 200_000;

function safeLines(text: string): string {
  const lines = text.slice(0, MOST_CHARACTERS).split("\n");
  const rest = text.length > MOST_CHARACTERS ? "\n…" : "";
  return lines.map((line) => safeText(line, MOST_CHARACTERS)).join("\n") + rest;
}
