/** @jsxImportSource hono/jsx */

/**
 * BLOCK and LIMIT in force, with the time that is left.
 *
 * @module
 */

import { Tag } from "../../page/pieces.tsx";
import { count, counted, duration, safeText } from "../../page/words.ts";
import type { GatewayView, RestrictionView } from "../view.ts";
import { restrictionsOf } from "./status.ts";

/** Restrictions that are listed at once; the others are folded away. */
const MOST_SHOWN = 15;

interface RestrictionsProps {
  readonly view: GatewayView;
  readonly client?: string | undefined;
}

export function Restrictions({ view, client }: RestrictionsProps) {
  const listed = restrictionsOf(view, client);
  const { blocked, limited } = view.restrictions;
  const folded = listed.slice(MOST_SHOWN);
  return (
    <section class="card" aria-labelledby="restrictions">
      <header>
        <h2 id="restrictions">Restrictions in force</h2>
        {client === undefined && blocked + limited > 0 && (
          <span class="quiet">
            {count(blocked)} BLOCK, {count(limited)} LIMIT
          </span>
        )}
      </header>
      {listed.length === 0 ? (
        <p class="quiet">
          {client === undefined
            ? "No origin has blocked or limited anyone."
            : "No origin has blocked or limited this client."}
        </p>
      ) : (
        <RestrictionTable restrictions={listed.slice(0, MOST_SHOWN)} />
      )}
      {folded.length > 0 && (
        <details>
          <summary>{counted(folded.length, "further restriction")}</summary>
          <RestrictionTable restrictions={folded} />
        </details>
      )}
    </section>
  );
}

function RestrictionTable({ restrictions }: { readonly restrictions: readonly RestrictionView[] }) {
  return (
    <table class="stacked">
      <caption class="unseen">Restrictions, those that last longest first</caption>
      <thead>
        <tr>
          <th scope="col">Client</th>
          <th scope="col">What</th>
          <th scope="col">Time left</th>
          <th scope="col">Origin</th>
          <th scope="col">Requests</th>
        </tr>
      </thead>
      <tbody>
        {restrictions.map((one) => (
          <tr>
            <th scope="row">
              {one.client === undefined ? (
                <span class="quiet">not seen here</span>
              ) : (
                <a class="mono nowrap" href={`/?client=${one.client}`}>
                  {one.client}
                </a>
              )}
            </th>
            <td>
              <span class="tags">
                {one.secondsBlocked > 0 && <Tag tone="bad">BLOCK</Tag>}
                {one.limit !== undefined && <Tag tone="warn">LIMIT {count(one.limit)}</Tag>}
                {one.shared && <Tag>fleet</Tag>}
              </span>
            </td>
            <td class="nowrap">
              {one.secondsBlocked > 0 ? duration(one.secondsBlocked) : "while busy"}
            </td>
            <td class="line">{safeText(one.origin ?? "", 80)}</td>
            <td class="line quiet">
              {count(one.inProgress)} in progress, {count(one.queued)} waiting
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
