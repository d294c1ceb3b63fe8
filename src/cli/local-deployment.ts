/**
 * The store of a home as a deployment: read as it is, and changed by an agent that lives for one
 * command.
 *
 * @module
 */

import { Archive } from "../agent/archive.ts";
import { ShareMeter } from "../agent/http/shares.ts";
import { type Status, statusOf } from "../agent/http/status.ts";
import { marksOfHealth } from "../agent/marks.ts";
import type { OperatorRequest, Published } from "../agent/mod.ts";
import { relayStates } from "../agent/relay-states.ts";
import { simulate } from "../agent/simulate.ts";
import type { Deployment } from "./deployment.ts";
import { InputError } from "./errors.ts";
import { type Home, readTrustedKeys } from "./home.ts";
import { actLocally, withLocalAgent } from "./local-agent.ts";
import { withLock } from "./lock.ts";
import { publishLocally } from "./publish.ts";

/** Entries of the history where nobody says how many. */
const HISTORY_LIMIT = 50;

/** @param now milliseconds of the Unix epoch */
export function localDeployment(home: Home, now: () => number): Deployment {
  const archive = async () => new Archive(home.store, await readTrustedKeys(home.keys));
  const storedAt = async (version: number) => {
    const stored = await (await archive()).snapshotAt(version);
    if (stored !== undefined) return stored.verified;
    const message = `the history has no version ${version}`;
    throw new InputError(`${home.directory}: ${message} (UNKNOWN_VERSION)`);
  };
  const act = (request: OperatorRequest, reason: string) =>
    withLock(home.lock, () =>
      withLocalAgent(home, now, (local) => {
        const perform: Parameters<typeof actLocally>[4] = (action, by) =>
          local.agent.act(action, by);
        return actLocally(local, now, reason, () => Promise.resolve(request), perform);
      }),
    );
  return {
    where: home.directory,
    live: false,
    status: async () => statusIn(await archive(), now()),
    async history({ before = Number.POSITIVE_INFINITY, limit = HISTORY_LIMIT } = {}) {
      const stored = await archive();
      const versions = (await stored.versions()).filter((version) => version < before);
      const entries = versions.slice(0, limit).map((version) => stored.entry(version));
      return (await Promise.all(entries)).filter((entry) => entry !== undefined);
    },
    snapshotAt: async (version) => (await storedAt(version)).snapshot,
    publish: ({ json }, options) => publishLocally(json, { home, now: now(), ...options }),
    async rollback(oldVersion, reason) {
      const { digest } = await storedAt(oldVersion);
      return act({ type: "rollback", oldVersion, digest }, reason);
    },
    act,
  };
}

/** What the store tells: nobody probes, and nobody is known to follow. */
async function statusIn(archive: Archive, now: number): Promise<Status> {
  const { newest } = await archive.look();
  if (newest === undefined) {
    return statusOf(
      { role: "stopped", current: undefined, relays: [], alarms: [] },
      undefined,
      undefined,
      now,
    );
  }
  const { snapshot, digest, kid, signedAt } = newest.verified;
  const record = await archive.record(snapshot.version, digest);
  const current: Published = {
    version: snapshot.version,
    digest,
    kid,
    signedAt,
    envelope: newest.envelope,
    snapshot,
    cause: record?.cause ?? "publish",
    since: record?.since ?? snapshot.version,
  };
  const marks = record?.marks ?? marksOfHealth(snapshot);
  const relays = relayStates({ snapshot, marks }, undefined);
  const meter = new ShareMeter(simulate, (error) => {
    throw error;
  });
  const shares = await meter.of(current);
  return statusOf({ role: "stopped", current, relays, alarms: [] }, undefined, shares, now);
}
