/**
 * The two ways of a report to the agent: over HTTP, which answers, and through the store, which
 * edge workers share with it.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import type { SnapshotStore, TrustedKeys } from "../snapshot/mod.ts";
import { agentBase, type Fetch } from "./address.ts";
import { discard, readBody } from "./body.ts";
import { ReportError } from "./errors.ts";
import { claimedTime, isInstanceId, maximumReportLength } from "./instance-report.ts";
import { maximumReceiptLength, type ReceiptClaims, verifyReceipt } from "./receipt.ts";

/** Takes signed reports. */
export interface ReportChannel {
  readonly kind: "agent" | "store";
  /**
   * Hands a signed report over.
   *
   * @param isNews whether it tells of something that just happened, which no other report has
   * @returns what the agent answered, where the channel has answers
   * @throws {ReportError}
   */
  send(jws: string, isNews: boolean): Promise<ReceiptClaims | undefined>;
}

/** Milliseconds that the agent has to answer in. */
const patience = 10_000;

/**
 * Reports over HTTP: `POST /v1/reports`. Redirects are not followed, since a report is for nobody
 * else.
 *
 * @throws {ReportError} `INVALID_CONFIGURATION`
 */
export function agentChannel(options: {
  readonly url: string;
  readonly trustedKeys: TrustedKeys;
  /** A bearer token for one request: the agent makes room for those it knows. */
  readonly token: () => Promise<string>;
  readonly fetch?: Fetch;
}): ReportChannel {
  const { trustedKeys, token, fetch = globalThis.fetch } = options;
  const address = `${agentBase(options.url)}/v1/reports`;
  return {
    kind: "agent",
    async send(jws) {
      const { ok, status, body } = await post(fetch, address, jws, await token());
      if (!ok) throw refusal(status, body);
      return await verifyReceipt(body, jws, trustedKeys);
    },
  };
}

async function post(
  fetch: Fetch,
  address: string,
  jws: string,
  token: string,
): Promise<{ readonly ok: boolean; readonly status: number; readonly body: string }> {
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/jose", authorization: `Bearer ${token}` },
      body: jws,
      redirect: "manual",
      signal: AbortSignal.timeout(patience),
    });
    const { ok, status } = response;
    const body = await readBody(response, maximumReceiptLength);
    if (body === undefined) discard(response);
    return { ok, status, body: new TextDecoder().decode(body ?? new Uint8Array(0)) };
  } catch (cause) {
    throw new ReportError("AGENT_UNREACHABLE", "the agent could not be reached", cause);
  }
}

/** What an agent says that takes no report is not signed: it is told, and nothing follows from it. */
function refusal(status: number, body: string): ReportError {
  let code: unknown;
  try {
    code = (JSON.parse(body) as { readonly code?: unknown } | null)?.code;
  } catch {
    // Not a problem of RFC 9457: the status has to do.
  }
  const reason = typeof code === "string" && /^[A-Z][A-Z_]{0,63}$/.test(code) ? ` (${code})` : "";
  return new ReportError("AGENT_REFUSED", `the agent answered ${status}${reason}`);
}

/** Where an instance leaves its report for the agent to find. */
export function reportKey(instanceId: string): string {
  if (!isInstanceId(instanceId)) {
    throw new ReportError("INVALID_CONFIGURATION", "this cannot name an instance");
  }
  return `moq-lb:report:${instanceId}`;
}

export interface StoreChannelOptions {
  readonly instanceId: string;
  readonly store: SnapshotStore;
  /** A report of another that is younger than this many milliseconds is left alone. */
  readonly freshFor: number;
  readonly now: () => number;
}

/**
 * Reports through the store. The agent's side is proven by the snapshots that it puts there; it
 * writes no answer.
 *
 * All isolates of an edge worker are one instance and have one place in the store, which takes few
 * writes: whoever comes first speaks for all of them. News is written whoever came first, be it the
 * process that this one has replaced.
 *
 * @throws {ReportError} `INVALID_CONFIGURATION`: the store is read-only
 */
export function storeChannel(options: StoreChannelOptions): ReportChannel {
  const { store, instanceId, freshFor, now } = options;
  const key = reportKey(instanceId);
  if (store.set === undefined) {
    throw new ReportError("INVALID_CONFIGURATION", "the store of reports cannot be written to");
  }
  let own: string | undefined;
  const hasFreshOfAnother = async () => {
    const present = await storedReport(store, instanceId).catch(() => undefined);
    const at = present === undefined || present === own ? undefined : claimedTime(present);
    const age = at === undefined ? undefined : now() - at;
    return age !== undefined && age >= 0 && age < freshFor;
  };
  return {
    kind: "store",
    async send(jws, isNews) {
      try {
        if (!isNews && (await hasFreshOfAnother())) return undefined;
        await store.set?.(key, utf8(jws));
        own = jws;
      } catch (cause) {
        throw new ReportError("STORE_FAILED", "the store did not take the report", cause);
      }
      return undefined;
    },
  };
}

/** The signed report of an instance in the store, if there is one. */
export async function storedReport(
  store: SnapshotStore,
  instanceId: string,
): Promise<string | undefined> {
  const bytes = await store.get(reportKey(instanceId), maximumReportLength);
  return bytes && new TextDecoder().decode(bytes);
}
