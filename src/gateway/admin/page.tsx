/** @jsxImportSource hono/jsx */

/**
 * The page of a gateway: connections, groups, restrictions in force, what waits, the fleet.
 *
 * @module
 */

import { Brand, Document } from "../../page/document.tsx";
import { Notice, State, type Tone } from "../../page/pieces.tsx";
import { count, counted, duration, safeText, utcTime } from "../../page/words.ts";
import type { GatewayView } from "../view.ts";
import { Connections } from "./connections.tsx";
import { Groups } from "./groups.tsx";
import { Restrictions } from "./restrictions.tsx";

interface GatewayPageProps {
  readonly view: GatewayView;
  /** Digest of the client that alone is shown. */
  readonly client?: string | undefined;
  /** Seconds between two loads of the page. */
  readonly refresh?: number | undefined;
}

export function GatewayPage({ view, client, refresh }: GatewayPageProps) {
  return (
    <Document title={titleOf(view)} refresh={refresh}>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <div>
          <a class="brand" href="/">
            <Brand />
            Yardmaster gateway
          </a>
          <nav aria-label="Views">
            <a href="/" aria-current={client === undefined ? "page" : undefined}>
              Status
            </a>
            <a href="/status.json">JSON</a>
            <a href="/metrics">Metrics</a>
          </nav>
        </div>
      </header>
      <main id="content">
        <Alarms view={view} />
        {client === undefined ? <Facts view={view} /> : <OneClient client={client} />}
        <Restrictions view={view} client={client} />
        <Connections view={view} client={client} />
        {client === undefined && <Groups view={view} />}
        <section class="card" aria-labelledby="find">
          <header>
            <h2 id="find">One client</h2>
          </header>
          <form class="row" method="get" action="/">
            <label class="grow">
              Digest, as the access log has it
              <input
                name="client"
                value={client ?? ""}
                pattern="[0-9A-Fa-f]{16}"
                maxlength={16}
                placeholder="16 hexadecimal digits"
              />
            </label>
            <button type="submit">Show</button>
          </form>
        </section>
        <p class="quiet small">
          {utcTime(view.now)}, running for {duration((view.now - view.since) / 1_000)}.{" "}
          {refresh === undefined ? (
            <a href={linkOf(client, 5)}>Refresh every 5 seconds</a>
          ) : (
            <>
              Refreshes every {counted(refresh, "second")}. <a href={linkOf(client)}>Stop</a>
            </>
          )}
        </p>
      </main>
    </Document>
  );
}

function linkOf(client: string | undefined, refresh?: number): string {
  const query = new URLSearchParams({
    ...(client !== undefined && { client }),
    ...(refresh !== undefined && { refresh: `${refresh}` }),
  });
  return query.size === 0 ? "/" : `/?${query}`;
}

/** The tab of the browser tells at once whether there is anything to look at. */
function titleOf({ restrictions, pool, fleet, state }: GatewayView): string {
  const signs = [
    ...(state === "draining" ? ["ending"] : []),
    ...(fleet?.state === "lost" ? ["store lost"] : []),
    ...(pool.unreachable.length > 0 ? [`${count(pool.unreachable.length)} unreachable`] : []),
    ...(restrictions.blocked > 0 ? [`${count(restrictions.blocked)} blocked`] : []),
    counted(pool.connections.length, "connection"),
  ];
  return `${signs.join(", ")} · Yardmaster gateway`;
}

/** Unreachable origins that have a line of their own. */
const MOST_UNREACHABLE = 5;

function Alarms({ view }: { readonly view: GatewayView }) {
  const { fleet, pool, configuration, lostLogLines, state } = view;
  const { unreachable } = pool;
  return (
    <>
      {state === "draining" && (
        <Notice tone="warn">
          <State tone="warn">Ending</State> Requests in progress are finished, no others are taken.
        </Notice>
      )}
      {fleet?.state === "lost" && (
        <Notice tone="bad">
          <State tone="bad">The shared store is lost</State> BLOCK and LIMIT hold in this process by
          what it knows and hears itself. {safeText(fleet.fault ?? "", 200)}
        </Notice>
      )}
      {configuration.problems.length > 0 && (
        <Notice tone="bad">
          <State tone="bad">The new configuration is not in force</State> The one of{" "}
          {utcTime(configuration.at)} still is.
          <ul>
            {configuration.problems.slice(0, 20).map((problem) => (
              <li>{safeText(problem)}</li>
            ))}
          </ul>
        </Notice>
      )}
      {unreachable.length > 0 && (
        <Notice tone="bad">
          <State tone="bad">{counted(unreachable.length, "origin")}</State> cannot be reached.
          <ul>
            {unreachable
              .slice(0, MOST_UNREACHABLE)
              .map(({ origin, error, reason, attempts, retryIn }) => (
                <li>
                  {safeText(origin, 120)} ({safeText(error, 60)}
                  {reason !== undefined && `: ${safeText(reason, 60)}`}),{" "}
                  {counted(attempts, "attempt")}, next in {duration(retryIn / 1_000)}
                </li>
              ))}
            {unreachable.length > MOST_UNREACHABLE && (
              <li>and {count(unreachable.length - MOST_UNREACHABLE)} more</li>
            )}
          </ul>
        </Notice>
      )}
      {lostLogLines > 0 && (
        <Notice tone="warn">
          <State tone="warn">{counted(lostLogLines, "line")} of the access log lost</State> Whatever
          they go to is too slow.
        </Notice>
      )}
    </>
  );
}

const fleetWords: Readonly<
  Record<NonNullable<GatewayView["fleet"]>["state"], readonly [tone: Tone, text: string]>
> = {
  starting: ["warn", "starting"],
  connected: ["ok", "connected"],
  lost: ["bad", "store lost"],
};

function Facts({ view }: { readonly view: GatewayView }) {
  const { clients, pool, restrictions, fleet } = view;
  const { connections, queue } = pool;
  const streams = connections.reduce((sum, one) => sum + one.streams, 0);
  const draining = connections.filter(({ state }) => state === "DRAINING").length;
  const [fleetTone, fleetText] =
    fleet === undefined ? (["idle", "one process"] as const) : fleetWords[fleet.state];
  return (
    <dl class="facts">
      <div>
        <dt>Connections of clients</dt>
        <dd>
          {count(clients.connections.http1 + clients.connections.http2)}
          <small>
            {count(clients.connections.http2)} HTTP/2, {count(clients.connections.http1)} HTTP/1.1
          </small>
        </dd>
      </div>
      <div>
        <dt>Connections to origins</dt>
        <dd>
          {count(connections.length)}
          <small>
            {draining > 0 ? `${count(draining)} draining, ` : ""}
            {count(pool.dialing)} being made
          </small>
        </dd>
      </div>
      <div>
        <dt>Requests</dt>
        <dd>
          {count(clients.requests)}
          <small>{count(streams)} at origins</small>
        </dd>
      </div>
      <div>
        <dt>Waiting</dt>
        <dd>
          {count(queue.requests)}
          <small>of {counted(queue.clients, "client")}</small>
        </dd>
      </div>
      <div>
        <dt>Restricted</dt>
        <dd>
          {count(restrictions.blocked + restrictions.limited)}
          <small>
            {count(restrictions.blocked)} BLOCK, {count(restrictions.limited)} LIMIT
          </small>
        </dd>
      </div>
      <div>
        <dt>Fleet</dt>
        <dd>
          <State tone={fleetTone}>{fleetText}</State>
          <small>
            {fleet === undefined ? "no shared store" : counted(fleet.records, "record")}
          </small>
        </dd>
      </div>
    </dl>
  );
}

function OneClient({ client }: { readonly client: string }) {
  return (
    <h1>
      Client <code>{client}</code>
    </h1>
  );
}
