/** @jsxImportSource hono/jsx */

/**
 * Client groups with requests in progress, over all connections.
 *
 * @module
 */

import { count, counted } from "../../page/words.ts";
import type { GatewayView } from "../view.ts";

/** Clients that are listed: those with most requests. */
const MOST_SHOWN = 20;

interface Client {
  readonly digest: string;
  inProgress: number;
  readonly on: { readonly connection: string; readonly identifier: number | undefined }[];
}

export function Groups({ view }: { readonly view: GatewayView }) {
  const clients = clientsOf(view);
  return (
    <section class="card" aria-labelledby="groups">
      <header>
        <h2 id="groups">Client groups at work</h2>
        {clients.length > 0 && (
          <span class="quiet">{counted(clients.length, "client")} with requests in progress</span>
        )}
      </header>
      {clients.length === 0 ? (
        <p class="quiet">No client has a request in progress.</p>
      ) : (
        <table class="stacked">
          <caption class="unseen">Clients, those with most requests in progress first</caption>
          <thead>
            <tr>
              <th scope="col">Client</th>
              <th scope="col">In progress</th>
              <th scope="col">Identifiers, by connection</th>
            </tr>
          </thead>
          <tbody>
            {clients.slice(0, MOST_SHOWN).map(({ digest, inProgress, on }) => (
              <tr>
                <th scope="row">
                  <a class="mono nowrap" href={`/?client=${digest}`}>
                    {digest}
                  </a>
                </th>
                <td>{count(inProgress)}</td>
                <td class="line">
                  {on.slice(0, 4).map(({ connection, identifier }) => (
                    <>
                      <span class="quiet">{connection}</span> <code>
                        {identifier ?? "none"}
                      </code>{" "}
                    </>
                  ))}
                  {on.length > 4 && <span class="quiet">and {count(on.length - 4)} more</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {clients.length > MOST_SHOWN && (
        <p class="quiet small">
          and {counted(clients.length - MOST_SHOWN, "client")} with fewer requests
        </p>
      )}
    </section>
  );
}

function clientsOf({ pool }: GatewayView): readonly Client[] {
  const clients = new Map<string, Client>();
  for (const { id, groups } of pool.connections) {
    for (const { client, identifier, inProgress } of groups) {
      let found = clients.get(client);
      if (found === undefined) {
        found = { digest: client, inProgress: 0, on: [] };
        clients.set(client, found);
      }
      found.inProgress += inProgress;
      found.on.push({ connection: id, identifier });
    }
  }
  return [...clients.values()].sort(
    (a, b) => b.inProgress - a.inProgress || (a.digest < b.digest ? -1 : 1),
  );
}
