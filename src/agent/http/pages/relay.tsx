/** @jsxImportSource hono/jsx */

/**
 * One relay: what is known of it, and the forms that change it.
 *
 * @module
 */

import { Ago, Notice, type Tone } from "../../../page/pieces.tsx";
import { count, counted, duration, percent, safeText, utcTime } from "../../../page/words.ts";
import type { RelayStatus } from "../status.ts";
import { HealthState } from "./health-state.tsx";
import { Layout, type Viewer } from "./layout.tsx";
import { Remarks, weightText } from "./pool.tsx";

/** What the page says above all else. */
export interface Message {
  readonly tone: Tone;
  readonly text: string;
}

/** Which forms there are: for operators who may, where a session is enough. */
export type Forms = "shown" | "no-role" | "signature-required";

interface RelayPageProps {
  readonly viewer: Viewer;
  readonly relay: RelayStatus;
  readonly forms: Forms;
  readonly message?: Message | undefined;
  readonly now: number;
}

export function RelayPage({ viewer, relay, forms, message, now }: RelayPageProps) {
  const name = relay.name || "(empty RID)";
  const { probe, hint } = relay;
  return (
    <Layout title={`${name} · Yardmaster`} viewer={viewer} place="pool">
      {message !== undefined && <Notice tone={message.tone}>{safeText(message.text)}</Notice>}
      <h1>
        Relay <bdi>{name}</bdi>
      </h1>
      <section class="card">
        <dl class="plain">
          <dt>Health</dt>
          <dd>
            <HealthState health={relay.health} /> <Remarks relay={relay} />
          </dd>
          <dt>Weight</dt>
          <dd>
            {weightText(relay)} on {counted(relay.hashedRoutes, "hashed route")}; pinned by{" "}
            {counted(relay.staticRoutes, "static route")}
          </dd>
          <dt>Share of keys</dt>
          <dd>
            {relay.share === null || relay.expectedShare === null
              ? "not measured"
              : `${percent(relay.share)} measured, ${percent(relay.expectedShare)} by weight`}
          </dd>
          <dt>Endpoint</dt>
          <dd class="mono">
            <bdi>{safeText(relay.uri, 8192)}</bdi>
          </dd>
          <dt>RID</dt>
          <dd class="mono">{relay.rid === "" ? "(empty)" : relay.rid}</dd>
          <dt>Probes</dt>
          <dd>
            {probe === null ? (
              "none"
            ) : (
              <>
                {probe.verdict};{" "}
                {counted(Math.abs(probe.streak), probe.streak < 0 ? "failure" : "success")} in a row
                {probe.fault !== undefined && ` (${safeText(probe.fault, 60)})`}
                {probe.at !== undefined && (
                  <>
                    , last <Ago at={probe.at} now={now} />
                  </>
                )}
                {probe.duration !== undefined && ` in ${count(Math.round(probe.duration))} ms`}
                {probe.flaps > 0 && `; fell ${count(probe.flaps)} times after it had been up`}
              </>
            )}
          </dd>
          {hint !== null && hint !== undefined && (
            <>
              <dt>Reports</dt>
              <dd>
                {counted(hint.instances, "instance")} saw it {hint.state}; counts until{" "}
                {utcTime(hint.until)}, for {duration((hint.until - now) / 1000)} more
              </dd>
            </>
          )}
        </dl>
      </section>
      {forms === "no-role" && (
        <p class="quiet">Your key may look at the pool, and not change it.</p>
      )}
      {forms === "signature-required" && (
        <p class="quiet">
          Changes of the pool need your signature here: use <code>yard drain</code>,{" "}
          <code>yard undrain</code>, <code>yard weight</code> or <code>yard health</code>.
        </p>
      )}
      {forms === "shown" && <RelayForms viewer={viewer} relay={relay} />}
    </Layout>
  );
}

function RelayForms({ viewer, relay }: Pick<RelayPageProps, "viewer" | "relay">) {
  const action = `/relay?rid=${relay.rid}`;
  const hidden = <input type="hidden" name="csrf" value={viewer.csrf} />;
  const reason = (
    <label>
      Reason, for the history
      <input name="reason" required maxlength={500} autocomplete="off" />
    </label>
  );
  return (
    <section class="card" aria-labelledby="change">
      <header>
        <h2 id="change">Change</h2>
        <span class="quiet small">Each is published at once, as a new version.</span>
      </header>
      <div class="actions">
        <form method="post" action={action}>
          {hidden}
          <h3>{relay.drained ? "Undrain" : "Drain"}</h3>
          <p class="quiet small">
            {relay.drained
              ? "It takes new requests again, as far as the pool and its probes say so."
              : "It takes no new requests; those that it has go on."}
          </p>
          {reason}
          <div>
            <button
              class="main"
              name="action"
              value={relay.drained ? "undrain" : "drain"}
              type="submit"
            >
              {relay.drained ? "Undrain" : "Drain"}
            </button>
          </div>
        </form>
        <form method="post" action={action}>
          {hidden}
          <h3>Weight</h3>
          <label>
            0 to 16, on every hashed route that names it
            <input
              class="short"
              name="weight"
              type="number"
              min="0"
              max="16"
              required
              value={relay.weights.length === 1 ? `${relay.weights[0]}` : ""}
            />
          </label>
          {reason}
          <div>
            <button name="action" value="weight" type="submit">
              Set weight
            </button>
          </div>
        </form>
        <form method="post" action={action}>
          {hidden}
          <h3>Health</h3>
          <label>
            Overrides what probes say
            <select name="health">
              {(["auto", "healthy", "unhealthy"] as const).map((health) => (
                <option value={health} selected={health === (relay.override ?? "auto")}>
                  {health === "auto" ? "as probes and reports say" : health}
                </option>
              ))}
            </select>
          </label>
          {reason}
          <div>
            <button name="action" value="health" type="submit">
              Set health
            </button>
          </div>
        </form>
      </div>
    </section>
  );
}
