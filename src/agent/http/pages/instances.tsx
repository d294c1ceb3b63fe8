/** @jsxImportSource hono/jsx */

/**
 * Who follows which version: skew, silence and age of each instance (LB-CONF-24, LB-CONF-25).
 *
 * @module
 */

import { Ago, State, Tag, type Tone } from "../../../page/pieces.tsx";
import { count, counted, duration, percent, safeText } from "../../../page/words.ts";
import type { InstanceStatus, Status } from "../status.ts";

/** Instances in order are listed at once up to this many. */
const MOST_SHOWN = 12;
/** Versions that have a bar of their own. */
const MOST_VERSIONS = 6;

const order: readonly InstanceStatus["state"][] = [
  "differs",
  "ahead",
  "silent",
  "never",
  "empty",
  "behind",
  "current",
];

export function Instances({ status }: { readonly status: Status }) {
  const { instances } = status;
  const sorted = [...instances].sort(
    (a, b) =>
      order.indexOf(a.state) - order.indexOf(b.state) ||
      b.behind - a.behind ||
      (a.id < b.id ? -1 : 1),
  );
  const attention = sorted.filter(({ state, stale }) => state !== "current" || stale);
  const others = sorted.filter(({ state, stale }) => state === "current" && !stale);
  const shown = others.length <= MOST_SHOWN ? sorted : attention;
  return (
    <section class="card" aria-labelledby="instances">
      <header>
        <h2 id="instances">Instances</h2>
        <Skew instances={instances} />
      </header>
      {instances.length === 0 && (
        <p class="quiet">
          No instance is known to this agent. <code>yard keygen --instance ID</code> makes a key for
          one.
        </p>
      )}
      {instances.length > 0 && <Versions status={status} />}
      {shown.length > 0 && (
        <InstanceTable
          instances={shown}
          now={status.now}
          caption={
            shown === sorted ? "All instances" : "Instances that are behind, silent or stale"
          }
        />
      )}
      {shown !== sorted && (
        <details>
          <summary>{counted(others.length, "instance")} in order</summary>
          <InstanceTable
            instances={others}
            now={status.now}
            caption="Instances on the current version"
          />
        </details>
      )}
    </section>
  );
}

const words: Readonly<Record<InstanceStatus["state"], readonly [Tone, string]>> = {
  current: ["ok", "current"],
  behind: ["warn", "behind"],
  empty: ["bad", "no snapshot"],
  ahead: ["bad", "ahead of this agent"],
  differs: ["bad", "other contents"],
  silent: ["bad", "silent"],
  never: ["idle", "never seen"],
};

function Skew({ instances }: { readonly instances: readonly InstanceStatus[] }) {
  return (
    <span class="legend">
      {[...order].reverse().map((state) => {
        const number = instances.filter((instance) => instance.state === state).length;
        const [tone, word] = words[state];
        return number === 0 ? null : (
          <State tone={tone}>
            {count(number)} {word}
          </State>
        );
      })}
    </span>
  );
}

/** One bar per version, newest first; older ones than there is room for share the last. */
function Versions({ status: { instances, current } }: { readonly status: Status }) {
  const counts = new Map<number, number>();
  for (const { version } of instances) {
    if (version !== null) counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  const rising = [...counts].sort(([a], [b]) => b - a);
  const older = rising.slice(MOST_VERSIONS).reduce((sum, [, number]) => sum + number, 0);
  const rows: (readonly [label: string, number: number, tone: Tone])[] = rising
    .slice(0, MOST_VERSIONS)
    .map(([version, number]) => [
      `v${version}`,
      number,
      version === current?.version ? "ok" : "warn",
    ]);
  if (older > 0) rows.push(["older", older, "warn"]);
  const none = instances.filter(({ version }) => version === null).length;
  if (none > 0) rows.push(["no version", none, "idle"]);
  return (
    <div class="versions">
      {rows.map(([label, number, tone]) => (
        <>
          <span>{label}</span>
          <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
            <rect class="bar-track" width="100" height="12" />
            <rect
              class={`bar-fill ${tone}`}
              width={((number / instances.length) * 100).toFixed(2)}
              height="12"
            />
          </svg>
          <span class="number">
            {count(number)} <span class="quiet small">{percent(number / instances.length)}</span>
          </span>
        </>
      ))}
    </div>
  );
}

interface InstanceTableProps {
  readonly instances: readonly InstanceStatus[];
  readonly now: number;
  readonly caption: string;
}

function InstanceTable({ instances, now, caption }: InstanceTableProps) {
  return (
    <table class="stacked">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Instance</th>
          <th scope="col">State</th>
          <th scope="col" class="number">
            Version
          </th>
          <th scope="col" class="number">
            Age
          </th>
          <th scope="col" class="wide">
            Mode
          </th>
          <th scope="col" class="number wide">
            Sessions
          </th>
          <th scope="col" class="number wide">
            Decisions
          </th>
          <th scope="col" class="wide">
            Reported
          </th>
        </tr>
      </thead>
      <tbody>
        {instances.map((instance) => (
          <tr>
            <th scope="row">{instance.id}</th>
            <td class="line">
              <InstanceState instance={instance} now={now} />
            </td>
            <td class="number">{instance.version === null ? "–" : `v${instance.version}`}</td>
            <td class="number">
              {instance.ageSeconds === null ? "–" : duration(instance.ageSeconds)}
            </td>
            <td class="wide">{instance.mode ?? "–"}</td>
            <td class="number wide">
              {instance.sessions === null ? "–" : count(instance.sessions)}
            </td>
            <td class="number wide" title={decisionsText(instance)}>
              {instance.version === null ? "–" : count(decisionsOf(instance))}
            </td>
            <td class="wide quiet">
              {instance.reportedAt === null ? "never" : <Ago at={instance.reportedAt} now={now} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function InstanceState({
  instance,
  now,
}: {
  readonly instance: InstanceStatus;
  readonly now: number;
}) {
  const { state, behind, behindSince, silentSince, stale, localHealth, refused } = instance;
  const [tone, word] = words[state];
  const since = state === "silent" ? silentSince : state === "behind" ? behindSince : null;
  return (
    <>
      <State tone={tone}>
        {state === "behind" ? `${counted(behind, "version")} behind` : word}
      </State>{" "}
      {since !== null && (
        <span class="quiet small nowrap">for {duration((now - since) / 1000)}</span>
      )}{" "}
      {(stale || localHealth > 0 || refused !== null) && (
        <span class="tags">
          {refused !== null && <Tag tone="bad">report refused: {safeText(refused, 40)}</Tag>}
          {stale && <Tag tone="bad">stale</Tag>}
          {localHealth > 0 && <Tag tone="warn">sees {counted(localHealth, "relay")} fail</Tag>}
        </span>
      )}
    </>
  );
}

function decisionsOf({ decisions }: InstanceStatus): number {
  return Object.values(decisions).reduce((sum, number) => sum + number, 0);
}

/** `REDIRECT 120, DOES_NOT_EXIST 3`; outcomes are of a closed list. */
function decisionsText({ decisions }: InstanceStatus): string {
  return Object.entries(decisions)
    .map(([outcome, number]) => `${outcome} ${count(number)}`)
    .join(", ");
}
