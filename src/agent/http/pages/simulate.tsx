/** @jsxImportSource hono/jsx */

/**
 * What a change of version does to keys: which share each relay gets, and what moves where.
 *
 * @module
 */

import { Notice, ShareBar, ShareLegend, State, scaleOf } from "../../../page/pieces.tsx";
import { count, percent, safeText } from "../../../page/words.ts";
import type { Simulation } from "../../simulate.ts";
import { ridText } from "../words.ts";
import { Layout, type Viewer } from "./layout.tsx";

/** What the form asks for, as it was typed. */
export interface SimulationRequest {
  readonly from: string;
  readonly to: string;
  readonly keys: string;
}

interface SimulatePageProps {
  readonly viewer: Viewer;
  readonly request: SimulationRequest;
  readonly mostKeys: number;
  readonly simulation?: Simulation | undefined;
  readonly fault?: string | undefined;
}

export function SimulatePage(props: SimulatePageProps) {
  const { viewer, request, mostKeys, simulation, fault } = props;
  return (
    <Layout title="Simulate · Yardmaster" viewer={viewer} place="simulate">
      <h1>What would move?</h1>
      <section class="card">
        <form class="row" method="get" action="/simulate">
          <label>
            From version
            <input class="short" name="from" type="number" min="1" required value={request.from} />
          </label>
          <label>
            To version
            <input class="short" name="to" type="number" min="1" required value={request.to} />
          </label>
          <label>
            Keys
            <input
              class="short"
              name="keys"
              type="number"
              min="1"
              max={`${mostKeys}`}
              required
              value={request.keys}
            />
          </label>
          <button class="main" type="submit">
            Simulate
          </button>
        </form>
        <p class="quiet small">
          For a pool file that is not published, or more keys: <code>yard simulate</code>.
        </p>
      </section>
      {fault !== undefined && <Notice tone="bad">{safeText(fault)}</Notice>}
      {simulation !== undefined && <Simulated simulation={simulation} request={request} />}
    </Layout>
  );
}

/** Moves that are listed, largest first. */
const MOST_MOVES = 30;

function Simulated({
  simulation,
  request,
}: {
  readonly simulation: Simulation;
  readonly request: SimulationRequest;
}) {
  const { relays, moves, moved, keys, unplaced } = simulation;
  const share = (placed: number) => placed / Math.max(1, keys);
  const scale = scaleOf(relays.flatMap(({ before, after }) => [share(before), share(after)]));
  const largest = moves.slice(0, MOST_MOVES);
  return (
    <>
      <section class="card">
        <header>
          <h2>{percent(share(moved))} of keys move</h2>
          <span class="quiet small">
            {count(keys)} keys, v{request.from} to v{request.to}
          </span>
          <span class="end">
            <ShareLegend measured="after" expected="before" />
          </span>
        </header>
        {unplaced.after > 0 && (
          <p>
            <State tone="bad">no relay</State> for {percent(share(unplaced.after))} of keys after,{" "}
            {percent(share(unplaced.before))} before.
          </p>
        )}
        <div class="scroll">
          <table>
            <caption>Share of keys of each relay</caption>
            <colgroup>
              <col />
              <col class="bar" />
              <col />
              <col />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Relay</th>
                <th scope="col">After, of before</th>
                <th scope="col" class="number">
                  Change
                </th>
                <th scope="col" class="number">
                  By weight
                </th>
              </tr>
            </thead>
            <tbody>
              {relays.map(({ rid, before, after, expectedAfter }) => (
                <tr>
                  <th scope="row">
                    <bdi>{ridText(rid) || "(empty RID)"}</bdi>
                  </th>
                  <td>
                    <ShareBar share={share(after)} expected={share(before)} scale={scale} />
                  </td>
                  <td class="number">{signed(share(after - before))}</td>
                  <td class="number quiet">{percent(share(expectedAfter))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      {largest.length > 0 && (
        <section class="card">
          <div class="scroll">
            <table>
              <caption>
                {moves.length > MOST_MOVES
                  ? `The ${MOST_MOVES} largest of ${count(moves.length)} moves`
                  : "What moves where"}
              </caption>
              <thead>
                <tr>
                  <th scope="col">From</th>
                  <th scope="col">To</th>
                  <th scope="col" class="number">
                    Share of keys
                  </th>
                </tr>
              </thead>
              <tbody>
                {largest.map(({ from, to, keys: moving }) => (
                  <tr>
                    <td>{nameOf(from)}</td>
                    <td>{nameOf(to)}</td>
                    <td class="number">{percent(share(moving))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
    </>
  );
}

function nameOf(rid: Uint8Array | undefined) {
  return rid === undefined ? (
    <span class="quiet">no relay</span>
  ) : (
    <bdi>{ridText(rid) || "(empty RID)"}</bdi>
  );
}

function signed(share: number): string {
  const text = percent(Math.abs(share));
  if (text === percent(0)) return "±0.0 %";
  return `${share < 0 ? "−" : "+"}${text}`;
}
