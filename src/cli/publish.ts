/**
 * Publishing into the local store: the Configuration Agent's part on one machine.
 *
 * @module
 */

import { type Agent, AgentError, createAgent } from "../agent/mod.ts";
import { parseSnapshot } from "../snapshot/mod.ts";
import { type Current, readCurrent } from "./current.ts";
import { InputError } from "./errors.ts";
import {
  createSigningKey,
  type Home,
  hasSigningKey,
  readSigningKey,
  readTrustedKeys,
} from "./home.ts";
import { withLock } from "./lock.ts";
import { meetingExample } from "./meeting.ts";

/** A version counts, whenever it was signed: the clock may have been wrong. */
const ANY_TIME = Number.POSITIVE_INFINITY;

export interface PublishOptions {
  readonly home: Home;
  /** Time of signing in milliseconds of the Unix epoch. */
  readonly now: number;
}

export interface PublishLocallyOptions extends PublishOptions {
  /** Take the version after the current one instead of the snapshot's own. */
  readonly next?: boolean;
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
 * Signs a snapshot with the home's key and publishes it in the home's store, under its version and
 * as the current one.
 *
 * @param snapshot JSON text, a parsed JSON value or a validated snapshot
 * @throws {SnapshotError} MALFORMED_SNAPSHOT or INVALID_SNAPSHOT with every problem (LB-CONF-16)
 * @throws {InputError} the version is not above the current one (LB-ROT-3), or a key is missing
 */
export async function publishLocally(
  snapshot: unknown,
  { home, now, next = false, source = "snapshot" }: PublishLocallyOptions,
): Promise<Published> {
  const valid = parseSnapshot(snapshot);
  const trusted = await readTrustedKeys(home.keys);
  return withLock(home.lock, async () => {
    const current = await readCurrent(home, trusted, ANY_TIME);
    const { version } = valid;
    if (!next && version <= current.floor) throw notAbove(source, version, current.floor, home);
    return withAgent(home, now, current, async (agent) => {
      try {
        const options = next ? {} : { version };
        return await agent.publish(valid, { kind: "local" }, options);
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "VERSION_MOVED") throw error;
        throw notAbove(source, version, error.currentVersion ?? current.floor, home);
      }
    });
  });
}

function notAbove(source: string, version: number, floor: number, home: Home): InputError {
  return new InputError(
    `${source}: version: ${version} is not above ${floor}, the current version of ` +
      `${home.directory} [LB-ROT-3]; raise it, or take the next one with --next`,
  );
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
    return withAgent(home, now, current, (agent) => agent.republish());
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

/** Milliseconds; only how long an agent keeps a version fresh depends on it, which this one ends before. */
const MAXIMUM_AGE = 3_600_000;

/**
 * Runs `body` with an agent on the home's store, which publishes as long as that takes.
 *
 * @throws {InputError} a key is missing or not trusted, or another agent publishes from the store
 */
async function withAgent(
  home: Home,
  now: number,
  { fault }: Current,
  body: (agent: Agent) => ReturnType<Agent["republish"]>,
): Promise<Published> {
  const [signingKey, trustedKeys] = await Promise.all([
    readSigningKey(home.keys),
    readTrustedKeys(home.keys),
  ]);
  if (!trustedKeys.has(signingKey.kid)) {
    throw new InputError(
      `${home.keys.signing}: this key is not among ${home.keys.trusted}; yard keygen --rotate ` +
        "makes one that is",
    );
  }
  const agent = createAgent({
    agentId: "yard",
    store: home.store,
    signingKey,
    trustedKeys,
    maximumAge: MAXIMUM_AGE,
    operators: new Map(),
    operatorSignatures: new Set(),
    oneShot: true,
    now: () => now,
  });
  try {
    await agent.start();
    const { version, digest, kid } = await body(agent);
    return { version, digest, kid, ...(fault !== undefined && { replaced: fault }) };
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    throw new InputError(`${home.directory}: ${error.message}`, error);
  } finally {
    await agent.stop();
  }
}
