/**
 * What an instance needs to report: its key, the reporter, a line in the log where something
 * changes.
 *
 * @module
 */

import { ConfigurationError, type RedirectServer, type SessionServer } from "../moq-lb/mod.ts";
import {
  createReporter,
  instanceToken,
  type ReportEvent,
  type Reporter,
  type Tally,
} from "../report/mod.ts";
import {
  importSigningKey,
  type SigningKey,
  SnapshotError,
  type SnapshotHolder,
  type SnapshotStore,
  steadyClock,
  type TrustedKeys,
} from "../snapshot/mod.ts";
import type { ReportSettings } from "./report-settings.ts";
import type { InstanceSettings } from "./settings.ts";

/**
 * Tokens for what the instance reads from its agent.
 *
 * @throws {ConfigurationError} there is no key, or it cannot be used
 */
export async function tokenSource({
  instanceId,
  reports,
}: InstanceSettings): Promise<() => Promise<string>> {
  if (reports === undefined) throw new ConfigurationError("YARDMASTER_INSTANCE_KEY is missing");
  const key = await instanceKey(reports);
  const now = steadyClock();
  return () => instanceToken(instanceId, key, now());
}

export interface ReportingParts {
  readonly instanceId: string;
  readonly settings: ReportSettings;
  readonly holder: SnapshotHolder;
  readonly sessions: RedirectServer;
  /** Where sessions are served in proxy mode too. */
  readonly proxy?: SessionServer | undefined;
  readonly tally: Tally;
  readonly trustedKeys: TrustedKeys;
  /** Where reports go that no agent's address is set for. */
  readonly store: SnapshotStore;
  readonly now: () => number;
  readonly log: (line: string) => void;
  readonly onReport?: ((event: ReportEvent) => void) | undefined;
}

/** @throws {ConfigurationError} the key cannot be used, or the store cannot be written to */
export async function createReporting(parts: ReportingParts): Promise<Reporter> {
  const { instanceId, settings, holder, sessions, proxy, tally, trustedKeys, store, now, log } =
    parts;
  const { url, interval } = settings;
  if (url === undefined && store.set === undefined) {
    throw new ConfigurationError("YARDMASTER_REPORT: the store cannot be written to");
  }
  let last: string | undefined;
  return createReporter({
    instanceId,
    key: await instanceKey(settings),
    holder,
    tally,
    ...(url === undefined ? { store } : { url }),
    trustedKeys,
    interval,
    sessions: () => sessions.status().sessions,
    ...(proxy && {
      mode: "proxy",
      health: () => proxy.localHealth,
      mismatches: () => proxy.mismatches,
    }),
    now,
    onEvent(event) {
      parts.onReport?.(event);
      const state = event.error?.message ?? event.outcome;
      if (state !== last && (last !== undefined || event.error !== undefined)) {
        log(JSON.stringify(reportRecord(event)));
      }
      last = state;
    },
  });
}

/** @throws {ConfigurationError} naming the setting, and nothing of the key */
async function instanceKey({ key }: ReportSettings): Promise<SigningKey> {
  let jwk: unknown;
  try {
    jwk = JSON.parse(key);
  } catch {
    throw new ConfigurationError("YARDMASTER_INSTANCE_KEY is not JSON");
  }
  try {
    return await importSigningKey(jwk);
  } catch (cause) {
    if (!(cause instanceof SnapshotError)) throw cause;
    throw new ConfigurationError(`YARDMASTER_INSTANCE_KEY: ${cause.message}`, { cause });
  }
}

/** Messages of report errors are safe to print. */
function reportRecord({ at, error, ...rest }: ReportEvent): Record<string, unknown> {
  return {
    time: new Date(at).toISOString(),
    event: "report",
    ...rest,
    ...(error && { code: error.code, error: error.message }),
  };
}
