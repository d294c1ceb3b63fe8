/** @jsxImportSource hono/jsx */

/**
 * Shared connections to origins.
 *
 * @module
 */

import { Ago, State, Tag, type Tone } from "../../page/pieces.tsx";
import { count, counted, safeText } from "../../page/words.ts";
import type { ConnectionView } from "../types.ts";
import type { GatewayView } from "../view.ts";
import { connectionsOf } from "./status.ts";

/** Connections that are listed at once; the others are folded away, and at some number left out. */
const MOST_SHOWN = 15;
const MOST_FOLDED = 500;

const tones: Readonly<Record<ConnectionView["state"], Tone>> = {
  ACTIVE: "ok",
  DRAINING: "warn",
  CLOSED: "idle",
};

interface ConnectionsProps {
  readonly view: GatewayView;
  readonly client?: string | undefined;
}

export function Connections({ view, client }: ConnectionsProps) {
  const connections = [...connectionsOf(view, client)].sort(
    (a, b) => b.groups.length - a.groups.length || b.streams - a.streams || b.since - a.since,
  );
  const origins = new Set(connections.map(({ origin }) => origin)).size;
  const folded = connections.slice(MOST_SHOWN, MOST_SHOWN + MOST_FOLDED);
  const left = connections.length - MOST_SHOWN - folded.length;
  return (
    <section class="card" aria-labelledby="connections">
      <header>
        <h2 id="connections">Shared connections</h2>
        {connections.length > 0 && (
          <span class="quiet">
            {count(connections.length)} to {counted(origins, "origin")}
          </span>
        )}
      </header>
      {connections.length === 0 ? (
        <p class="quiet">
          {client === undefined
            ? "None: they are made when requests come."
            : "This client is on none now."}
        </p>
      ) : (
        <ConnectionTable
          connections={connections.slice(0, MOST_SHOWN)}
          now={view.now}
          client={client}
        />
      )}
      {folded.length > 0 && (
        <details>
          <summary>{counted(folded.length, "further connection")}</summary>
          <ConnectionTable connections={folded} now={view.now} client={client} />
          {left > 0 && <p class="quiet">and {count(left)} more</p>}
        </details>
      )}
    </section>
  );
}

interface ConnectionTableProps {
  readonly connections: readonly ConnectionView[];
  readonly now: number;
  readonly client: string | undefined;
}

function ConnectionTable({ connections, now, client }: ConnectionTableProps) {
  return (
    <table class="stacked">
      <caption class="unseen">Connections, those with most groups first</caption>
      <thead>
        <tr>
          <th scope="col">Connection</th>
          <th scope="col">State</th>
          <th scope="col">{client === undefined ? "At work" : "Identifier"}</th>
          <th scope="col">Requests</th>
          <th scope="col" class="wide">
            Opened
          </th>
          <th scope="col">Client groups at the origin</th>
        </tr>
      </thead>
      <tbody>
        {connections.map((connection) => (
          <tr>
            <th scope="row">
              {connection.id} <span class="quiet small">{safeText(connection.origin, 80)}</span>
            </th>
            <td>
              <State tone={tones[connection.state]}>{connection.state.toLowerCase()}</State>
            </td>
            <td class="nowrap">
              {client === undefined ? (
                counted(connection.groups.length, "group")
              ) : (
                <code>{connection.groups[0]?.identifier ?? "none"}</code>
              )}
            </td>
            <td class="line">
              {count(connection.streams)} now{" "}
              <span class="quiet small">of {count(connection.requests)}</span>
            </td>
            <td class="wide quiet">
              <Ago at={connection.since} now={now} />
            </td>
            <td class="line">
              <span class="tags">
                <Support connection={connection} />
                {connection.dedicated && <Tag tone="warn">for one client</Tag>}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Support({ connection: { support, policy } }: { readonly connection: ConnectionView }) {
  if (support === "awaited") return <Tag>settings awaited</Tag>;
  if (support === "not-offered") return <Tag>not offered</Tag>;
  if (support === "unsupported") return <Tag>not known there</Tag>;
  return <Tag tone="ok">{policy === 0n ? "any number" : `at most ${policy}`}</Tag>;
}
