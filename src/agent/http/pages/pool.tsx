/** @jsxImportSource hono/jsx */

/**
 * The relays of the pool with their health, and the measured share of keys against weight.
 *
 * @module
 */

import { ShareBar, ShareLegend, scaleOf, Tag, type Tone } from "../../../page/pieces.tsx";
import { count, counted, percent, safeText } from "../../../page/words.ts";
import type { RelayStatus, Status } from "../status.ts";
import { HealthState } from "./health-state.tsx";

/** Pools up to this size are shown in full at once. */
const MOST_SHOWN = 40;

export function Pool({ status }: { readonly status: Status }) {
  const { relays, measured } = status;
  const scale = scaleOf(
    relays.flatMap(({ share, expectedShare }) => [share ?? 0, expectedShare ?? 0]),
  );
  const attention = relays.filter(needsAttention).sort((a, b) => urgency(b) - urgency(a));
  const others = relays.filter((relay) => !needsAttention(relay));
  const large = relays.length > MOST_SHOWN;
  return (
    <section class="card" aria-labelledby="pool">
      <header>
        <h2 id="pool">Relays</h2>
        {measured !== null && relays.length > 0 && (
          <ShareLegend measured="measured share of keys" expected="by weight" />
        )}
      </header>
      {relays.length === 0 && (
        <p class="quiet">
          The pool is empty: every request is turned away. Publish one with{" "}
          <code>yard publish POOL.json</code>.
        </p>
      )}
      {large && measured !== null && <Skyline relays={relays} scale={scale} />}
      {relays.length > 0 && <Measured status={status} />}
      {!large && relays.length > 0 && (
        <RelayTable relays={[...attention, ...others]} scale={scale} caption="All relays" unseen />
      )}
      {large && attention.length > 0 && (
        <RelayTable
          relays={attention.slice(0, MOST_SHOWN)}
          scale={scale}
          caption="Relays that are not simply healthy"
        />
      )}
      {large && (
        <details>
          <summary>
            {attention.length === 0
              ? `All ${count(relays.length)} relays`
              : `The other ${counted(relays.length - Math.min(attention.length, MOST_SHOWN), "relay")}`}
          </summary>
          <RelayTable
            relays={[...attention.slice(MOST_SHOWN), ...others]}
            scale={scale}
            caption="Healthy relays"
            unseen
          />
        </details>
      )}
    </section>
  );
}

function needsAttention({ health, override, heldByCap, hint }: RelayStatus): boolean {
  return health !== "healthy" || override !== null || heldByCap || hint !== null;
}

/** Relays that are out come first, then those that would be. */
function urgency({ health, heldByCap }: RelayStatus): number {
  return (health === "unhealthy" ? 4 : 0) + (heldByCap ? 2 : 0) + (health === "draining" ? 1 : 0);
}

/** How the shares came about, and how far they are off. */
function Measured({ status }: { readonly status: Status }) {
  const { current, measured, relays, routes } = status;
  if (routes.hashed === 0)
    return <p class="quiet small">There is no hashed route: no keys to share.</p>;
  if (measured === null) {
    return <p class="quiet small">Shares of keys are being measured.</p>;
  }
  let widest: RelayStatus | undefined;
  for (const relay of relays) if (difference(relay) > difference(widest)) widest = relay;
  return (
    <p class="quiet small">
      Measured with {count(measured.keys)} keys over {counted(routes.hashed, "hashed route")}
      {measured.since !== current?.since && `, as of version ${measured.since}; measuring anew`}.
      {widest !== undefined && (
        <>
          {" "}
          Widest apart: {widest.name}, {percent(widest.share ?? 0)} of{" "}
          {percent(widest.expectedShare ?? 0)}.
        </>
      )}
    </p>
  );
}

function difference(relay: RelayStatus | undefined): number {
  return Math.abs((relay?.share ?? 0) - (relay?.expectedShare ?? 0));
}

/** One column per relay, in the order of the pool; for pools too large to be read row by row. */
function Skyline({
  relays,
  scale,
}: {
  readonly relays: readonly RelayStatus[];
  readonly scale: number;
}) {
  const y = (share: number | null) => 100 - ((share ?? 0) / (scale || 1)) * 100;
  const marks = relays
    .map(({ expectedShare }, i) => `M${i} ${y(expectedShare).toFixed(1)}h1`)
    .join("");
  return (
    <svg
      class="skyline"
      viewBox={`0 0 ${relays.length} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Measured share of keys of ${relays.length} relays against their weights; the tables have the numbers.`}
    >
      {relays.map(({ share, name, health, expectedShare }, i) => (
        <rect
          class={`bar-fill ${health === "healthy" ? "" : health === "draining" ? "warn" : "bad"}`}
          x={i + 0.12}
          width="0.76"
          y={y(share).toFixed(1)}
          height={(100 - y(share)).toFixed(1)}
        >
          <title>{`${name}: ${percent(share ?? 0)} of ${percent(expectedShare ?? 0)}, ${health}`}</title>
        </rect>
      ))}
      <path class="bar-mark" fill="none" d={marks} />
    </svg>
  );
}

interface RelayTableProps {
  readonly relays: readonly RelayStatus[];
  readonly scale: number;
  readonly caption: string;
  /** Whether the caption is for those who do not see the heading above. */
  readonly unseen?: boolean;
}

function RelayTable({ relays, scale, caption, unseen = false }: RelayTableProps) {
  return (
    <table class="stacked">
      <caption class={unseen ? "unseen" : undefined}>{caption}</caption>
      <colgroup>
        <col />
        <col />
        <col />
        <col class="bar" />
        <col class="wide" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Relay</th>
          <th scope="col">Health</th>
          <th scope="col" class="number">
            Weight
          </th>
          <th scope="col">Share of keys</th>
          <th scope="col" class="wide">
            Endpoint
          </th>
        </tr>
      </thead>
      <tbody>
        {relays.map((relay) => (
          <tr>
            <th scope="row">
              <a href={relayPath(relay.rid)}>
                <bdi>{relay.name || "(empty RID)"}</bdi>
              </a>
            </th>
            <td>
              <HealthState health={relay.health} /> <Remarks relay={relay} />
            </td>
            <td class="number">
              <span class="narrow quiet small">weight </span>
              {weightText(relay)}
            </td>
            <td class="line">
              {relay.share === null || relay.expectedShare === null ? (
                <span class="quiet">{relay.hashedRoutes === 0 ? "on no hashed route" : "–"}</span>
              ) : (
                <ShareBar
                  share={relay.share}
                  expected={relay.expectedShare}
                  scale={scale}
                  class={relay.health === "healthy" ? "" : "out"}
                />
              )}
            </td>
            <td class="wide quiet mono">
              <bdi>{safeText(relay.uri, 120)}</bdi>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The page of a relay. */
export function relayPath(rid: string): string {
  return `/relay?rid=${rid}`;
}

/** Its weights: one number, a range, or nothing. */
export function weightText({ weights }: Pick<RelayStatus, "weights">): string {
  const [least, most] = [weights[0], weights.at(-1)];
  if (least === undefined || most === undefined) return "–";
  return least === most ? `${least}` : `${least}–${most}`;
}

/** Why its health is what it is, in a few words. */
export function Remarks({ relay }: { readonly relay: RelayStatus }) {
  const remarks = remarksOf(relay);
  if (remarks.length === 0) return null;
  return (
    <span class="tags">
      {remarks.map(([tone, text]) => (
        <Tag tone={tone}>{text}</Tag>
      ))}
    </span>
  );
}

function remarksOf(relay: RelayStatus): (readonly [Tone, string])[] {
  const { drained, override, heldByCap, probe, hint, intent } = relay;
  return [
    ...(drained ? [["warn", "drained by operator"] as const] : []),
    ...(override === null ? [] : [["warn", `override: ${override}`] as const]),
    ...(intent === "healthy" ? [] : [["idle", `pool says ${intent}`] as const]),
    ...(heldByCap ? [["bad", "failing, held in by the cap"] as const] : []),
    ...(probe?.verdict === "down" && !heldByCap
      ? [["bad", `probe: ${safeText(probe.fault ?? "failed", 40)}`] as const]
      : []),
    ...(hint === null || hint === undefined
      ? []
      : [["warn", `${counted(hint.instances, "instance")} saw ${hint.state}`] as const]),
  ];
}
