/** @jsxImportSource hono/jsx */

/**
 * The form that explains a namespace: matched route, hash key, ranking with hashes.
 *
 * @module
 */

import { Notice, State, Tag } from "../../../page/pieces.tsx";
import { counted, safeText } from "../../../page/words.ts";
import type { Exclusion } from "../../../routing/mod.ts";
import type { ExplainedRelay, Explanation } from "../explanation.ts";
import { Layout, type Viewer } from "./layout.tsx";
import { relayPath } from "./pool.tsx";

interface RoutePageProps {
  readonly viewer: Viewer;
  /** What was asked for, as it was typed. */
  readonly name: string;
  readonly explanation?: Explanation | undefined;
  readonly fault?: string | undefined;
}

export function RoutePage({ viewer, name, explanation, fault }: RoutePageProps) {
  return (
    <Layout title="Route · Yardmaster" viewer={viewer} place="route">
      <h1>Where does a namespace go?</h1>
      <section class="card">
        <form class="row" method="get" action="/route">
          <label class="grow">
            Namespace in MOQT's text form
            <input
              name="name"
              value={name}
              class="mono"
              placeholder="example.2ecom-m1"
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              maxlength={16384}
            />
          </label>
          <button class="main" type="submit">
            Explain
          </button>
        </form>
        <p class="quiet small">
          Fields are joined by <code>-</code>; letters, digits and <code>_</code> stand for
          themselves, any other byte is <code>.</code> and two digits: <code>example.com</code> is{" "}
          <code>example.2ecom</code>.
        </p>
      </section>
      {fault !== undefined && <Notice tone="bad">{safeText(fault)}</Notice>}
      {explanation !== undefined && <Explained explanation={explanation} />}
    </Layout>
  );
}

/** What becomes of requests that no relay is found for. */
const rejections: Readonly<Record<NonNullable<Explanation["rejection"]>, string>> = {
  "reserved-namespace": "MOQT reserves this namespace: requests get DOES_NOT_EXIST.",
  "no-route":
    "No prefix matches: requests get DOES_NOT_EXIST, PUBLISH and PUBLISH_NAMESPACE UNINTERESTED.",
  "no-eligible-relay": "No relay is eligible: requests get INTERNAL_ERROR with a retry interval.",
};

const reasonWords: Readonly<Record<Exclusion, string>> = {
  "weight-zero": "weight 0",
  draining: "draining",
  unhealthy: "unhealthy",
};

function Explained({ explanation }: { readonly explanation: Explanation }) {
  const { namespace, version, route, hashKey, selected, rejection, ranking, excluded } =
    explanation;
  return (
    <>
      <section class="card">
        <dl class="plain">
          <dt>Namespace</dt>
          <dd class="mono">{namespace || "(empty)"}</dd>
          <dt>Snapshot</dt>
          <dd>
            <a href={`/history/${version}`}>v{version}</a>
          </dd>
          <dt>Matched route</dt>
          <dd>
            {route === null ? (
              "none"
            ) : (
              <>
                prefix <span class="mono">{route.prefix || "(empty)"}</span>, {route.kind}
                {route.profile !== null && `, ${route.profile}`}
                {route.keyFields !== null && `, key of ${counted(route.keyFields, "field")}`}
              </>
            )}
          </dd>
          {hashKey !== null && (
            <>
              <dt>Hash key</dt>
              <dd class="mono">{hashKey || "(empty)"}</dd>
            </>
          )}
          <dt>Selected relay</dt>
          <dd>
            {selected === null ? (
              <>
                <State tone="bad">none</State> {rejection !== null && rejections[rejection]}
              </>
            ) : (
              <>
                <State tone="ok">
                  <RelayLink relay={selected} />
                </State>{" "}
                <span class="quiet mono">
                  <bdi>{safeText(selected.uri, 300)}</bdi>
                </span>
              </>
            )}
          </dd>
        </dl>
      </section>
      {ranking.length > 0 && <Ranking ranking={ranking} />}
      {excluded.length > 0 && <Excluded excluded={excluded} />}
    </>
  );
}

function Ranking({ ranking }: Pick<Explanation, "ranking">) {
  return (
    <section class="card">
      <table>
        <caption>
          Eligible candidates, best first. Where weights differ, a smaller hash may win.
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Rank
            </th>
            <th scope="col">Relay</th>
            <th scope="col" class="number">
              Weight
            </th>
            <th scope="col">Hash</th>
          </tr>
        </thead>
        <tbody>
          {ranking.map((relay, i) => (
            <tr class={i === 0 ? "chosen" : undefined}>
              <td class="number">{i + 1}</td>
              <th scope="row">
                <RelayLink relay={relay} /> {i === 0 && <Tag tone="ok">selected</Tag>}
              </th>
              <td class="number">{relay.weight}</td>
              <td class="mono quiet">{relay.hash}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Excluded({ excluded }: Pick<Explanation, "excluded">) {
  return (
    <section class="card">
      <table>
        <caption>Candidates that are not eligible</caption>
        <thead>
          <tr>
            <th scope="col">Relay</th>
            <th scope="col" class="number">
              Weight
            </th>
            <th scope="col">Why not</th>
          </tr>
        </thead>
        <tbody>
          {excluded.map((relay) => (
            <tr>
              <th scope="row">
                <RelayLink relay={relay} />
              </th>
              <td class="number">{relay.weight ?? "–"}</td>
              <td>
                <span class="tags">
                  {relay.reasons.map((reason) => (
                    <Tag tone={reason === "unhealthy" ? "bad" : "warn"}>{reasonWords[reason]}</Tag>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function RelayLink({ relay }: { readonly relay: ExplainedRelay }) {
  return (
    <a href={relayPath(relay.rid)}>
      <bdi>{relay.name || "(empty RID)"}</bdi>
    </a>
  );
}
