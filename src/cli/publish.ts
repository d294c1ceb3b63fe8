/**
 * Publishing into the local store: the Configuration Agent's part on one machine.
 *
 * @module
 */

import { type Agent, AgentError, parsePool } from "../agent/mod.ts";
import { readJson } from "../snapshot/mod.ts";
import { type Current, readCurrent } from "./current.ts";
import { InputError } from "./errors.ts";
import { createSigningKey, type Home, hasSigningKey, readTrustedKeys } from "./home.ts";
import { actLocally, publishAction, withLocalAgent } from "./local-agent.ts";
import { withLock } from "./lock.ts";
import { meetingExample } from "./meeting.ts";
import { notAbove } from "./not-above.ts";

/** A version counts, whenever it was signed: the clock may have been wrong. */
const ANY_TIME = Number.POSITIVE_INFINITY;

export interface PublishOptions {
  readonly home: Home;
  /** Time of signing in milliseconds of the Unix epoch. */
  readonly now: number;
}

export interface PublishLocallyOptions extends PublishOptions {
  /** Take the version after the current one instead of the snapshot's own, if it has any. */
  readonly next?: boolean;
  /** Why, for the history. */
  readonly reason?: string;
  /** What messages call the snapshot, such as its file. */
  readonly source?: string;
}

/** What was published. */
export interface Published {
  readonly version: number;
  /** SHA-256 of the signed payload, lower-case hexadecimal. */
  readonly digest: string;
  /** The key that signed it. */
  readonly kid: string;
  /** Set where what the store held before could not be verified, and why. */
  readonly replaced?: string;
}

/**
 * Signs a pool with the home's key and publishes it in the home's store, under its version and as
 * the current one. Where the home has an operator, the operator signs for it if that is the next
 * version, as with an agent; one further ahead makes up for a store that was lost.
 *
 * @param pool JSON text, a parsed JSON value or a validated snapshot
 * @throws {SnapshotError} MALFORMED_SNAPSHOT or INVALID_SNAPSHOT with every problem (LB-CONF-16)
 * @throws {InputError} the version is not above the current one (LB-ROT-3), or a key is missing
 */
export async function publishLocally(
  pool: unknown,
  { home, now, next = false, source = "snapshot", reason = "" }: PublishLocallyOptions,
): Promise<Published> {
  const valid = parsePool(pool).snapshot;
  const { version } = (typeof pool === "string" ? readJson(pool) : pool) as { version?: number };
  const trusted = await readTrustedKeys(home.keys);
  return withLock(home.lock, async () => {
    const current = await readCurrent(home, trusted, ANY_TIME);
    const isTaken = (floor: number) => !next && version !== undefined && version <= floor;
    const refusal = (floor: number) => notAbove(source, version ?? 0, floor, home.directory);
    if (isTaken(current.floor)) throw refusal(current.floor);
    const time = () => now;
    return withLocalAgent(home, time, async (local) => {
      const { agent, operator } = local;
      const isNext = next || version === undefined || version === current.floor + 1;
      if (operator !== undefined && isNext) {
        const published = await actLocally(local, time, reason, publishAction(valid), (_, by) =>
          agent.publish(valid, by, { reason }),
        );
        return publishedOf(published, current);
      }
      try {
        const options = next || version === undefined ? {} : { version };
        return publishedOf(await agent.publish(valid, { kind: "local" }, options), current);
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "VERSION_MOVED") throw error;
        throw refusal(error.currentVersion ?? current.floor);
      }
    });
  });
}

/**
 * Publishes what the store holds once more, as the next version with a fresh time of signing, so
 * that a quiet deployment does not go stale. Of such repetitions the history keeps the latest.
 *
 * @throws {InputError} the store holds no snapshot that a trusted key vouches for
 */
export function republish({ home, now }: PublishOptions): Promise<Published> {
  return withLock(home.lock, async () => {
    const current = await readCurrent(home, await readTrustedKeys(home.keys), ANY_TIME);
    const { verified } = current;
    if (verified === undefined) {
      throw new InputError(`${home.directory}: ${current.fault ?? "the store has no snapshot"}`);
    }
    return withLocalAgent(
      home,
      () => now,
      async ({ agent }) => {
        return publishedOf(await agent.republish(), current);
      },
    );
  });
}

/** What {@link ensureDevelopmentHome} found or made. */
export interface DevelopmentHome {
  readonly createdKey: boolean;
  /** Whether the store holds the meeting example anew, or what it held before. */
  readonly contents: "example" | "kept";
  readonly published: Published;
}

/**
 * Makes a home ready for a development instance: creates the key where there is none, publishes
 * the meeting example where the store has no snapshot that can be verified, and signs what it has
 * once more otherwise, so that it is fresh.
 *
 * @throws {InputError} a key file is broken
 */
export async function ensureDevelopmentHome({
  home,
  now,
}: PublishOptions): Promise<DevelopmentHome> {
  const createdKey = !(await hasSigningKey(home.keys));
  if (createdKey) await createSigningKey(home.keys);
  const { verified } = await readCurrent(home, await readTrustedKeys(home.keys), ANY_TIME);
  const published =
    verified === undefined
      ? await publishLocally(meetingExample, { home, now, next: true })
      : await republish({ home, now });
  return { createdKey, contents: verified === undefined ? "example" : "kept", published };
}

function publishedOf(
  { version, digest, kid }: Awaited<ReturnType<Agent["republish"]>>,
  { fault }: Current,
): Published {
  return { version, digest, kid, ...(fault !== undefined && { replaced: fault }) };
}
