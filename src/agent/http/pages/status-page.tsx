/** @jsxImportSource hono/jsx */

/**
 * The status page: what is published, the pool, who follows it, what was done last.
 *
 * @module
 */

import { Ago, Notice, State, type Tone } from "../../../page/pieces.tsx";
import { count, counted, duration, percent, safeText } from "../../../page/words.ts";
import type { HistoryEntry } from "../../history.ts";
import type { RelayStatus, Status } from "../status.ts";
import { causeWords } from "../words.ts";
import { HistoryTable } from "./history-table.tsx";
import { Instances } from "./instances.tsx";
import { Layout, type Viewer } from "./layout.tsx";
import { Pool } from "./pool.tsx";

interface StatusPageProps {
  readonly viewer: Viewer;
  readonly status: Status;
  /** The newest entries. */
  readonly history: readonly HistoryEntry[];
  /** Milliseconds after which a snapshot is stale, where it is known. */
  readonly maximumAge?: number | undefined;
  /** Seconds between two loads of the page that were asked for; absent: it stays as it is. */
  readonly refresh?: number | undefined;
  /** Seconds until the browser loads it again, whyever. */
  readonly reloadIn?: number | undefined;
}

export function StatusPage({
  viewer,
  status,
  history,
  maximumAge,
  refresh,
  reloadIn,
}: StatusPageProps) {
  return (
    <Layout title={titleOf(status)} viewer={viewer} place="pool" refresh={reloadIn}>
      <Alarms status={status} />
      <Facts status={status} maximumAge={maximumAge} />
      <Pool status={status} />
      <Instances status={status} />
      <section class="card" aria-labelledby="history">
        <header>
          <h2 id="history">History</h2>
          <a class="end" href="/history">
            All versions
          </a>
        </header>
        {history.length === 0 ? (
          <p class="quiet">Nothing was published yet.</p>
        ) : (
          <HistoryTable entries={history} now={status.now} caption="The newest versions" />
        )}
      </section>
      <p class="quiet small">
        {refresh === undefined ? (
          <a href="/?refresh=15">Refresh every 15 seconds</a>
        ) : (
          <>
            Refreshes every {refresh} seconds. <a href="/">Stop</a>
          </>
        )}
      </p>
    </Layout>
  );
}

/** The tab of the browser tells at once whether there is anything to look at. */
function titleOf({ alarms, current, relays }: Status): string {
  const out = relays.filter(({ health }) => health === "unhealthy").length;
  const signs = [
    ...(alarms.length > 0 ? [counted(alarms.length, "alarm")] : []),
    ...(out > 0 ? [`${count(out)} unhealthy`] : []),
    current === null ? "nothing published" : `v${current.version}`,
  ];
  return `${signs.join(", ")} · Yardmaster`;
}

function Alarms({ status: { alarms, now } }: { readonly status: Status }) {
  return (
    <>
      {alarms.map(({ code, message, since }) => (
        <Notice tone="bad">
          <State tone="bad">{safeText(code, 40)}</State> {safeText(message)}{" "}
          {since !== null && (
            <span class="quiet small">
              <Ago at={since} now={now} />
            </span>
          )}
        </Notice>
      ))}
    </>
  );
}

const roleWords: Readonly<
  Record<Status["role"], readonly [tone: Tone, text: string, note: string]>
> = {
  publishing: ["ok", "publishing", "holds the lease"],
  waiting: ["warn", "waiting", "another agent publishes"],
  starting: ["warn", "starting", "not ready yet"],
  stopped: ["bad", "stopped", "publishes nothing"],
};

function Facts({ status, maximumAge }: Pick<StatusPageProps, "status" | "maximumAge">) {
  const { current, relays, instances, role } = status;
  const [roleTone, roleText, roleNote] = roleWords[role];
  const following = instances.filter(({ state }) => state === "current").length;
  return (
    <dl class="facts">
      <div>
        <dt>Version</dt>
        <dd>
          {current === null ? "none" : `v${current.version}`}
          {current !== null && (
            <small>
              {current.since === current.version
                ? causeWords[current.cause]
                : `same contents since v${current.since}`}
            </small>
          )}
        </dd>
      </div>
      <div>
        <dt>Age</dt>
        <dd>
          {current === null ? "–" : duration(current.ageSeconds)}
          {maximumAge !== undefined && <small>stale after {duration(maximumAge / 1000)}</small>}
        </dd>
      </div>
      <div>
        <dt>Relays</dt>
        <dd>
          {count(relays.length)}
          <small>
            <Healths relays={relays} />
          </small>
        </dd>
      </div>
      <div>
        <dt>Routes</dt>
        <dd>
          {count(status.routes.hashed + status.routes.static)}
          <small>
            {count(status.routes.hashed)} hashed, {count(status.routes.static)} static
          </small>
        </dd>
      </div>
      <div>
        <dt>Instances</dt>
        <dd>
          {count(instances.length)}
          <small>
            {instances.length === 0
              ? "none configured"
              : `${percent(following / instances.length)} on this version`}
          </small>
        </dd>
      </div>
      <div>
        <dt>Agent</dt>
        <dd>
          <State tone={roleTone}>{roleText}</State>
          <small>{roleNote}</small>
        </dd>
      </div>
    </dl>
  );
}

function Healths({ relays }: { readonly relays: readonly RelayStatus[] }) {
  const of = (state: RelayStatus["health"]) =>
    relays.filter(({ health }) => health === state).length;
  const parts = (["healthy", "draining", "unhealthy"] as const)
    .map((state) => [of(state), state] as const)
    .filter(([number]) => number > 0)
    .map(([number, state]) => `${count(number)} ${state}`);
  return <>{parts.length === 0 ? "the pool is empty" : parts.join(", ")}</>;
}
