/**
 * Publishing into the local store: the Configuration Agent's part on one machine.
 *
 * @module
 */

import {
  DEFAULT_MAXIMUM_BYTES,
  parseSnapshot,
  publishSnapshot,
  type Snapshot,
  SnapshotError,
  signSnapshot,
  snapshotToJson,
  type VerifiedSnapshot,
  verifySnapshot,
  versionKey,
} from "../snapshot/mod.ts";
import { type Current, readCurrent, storedVersions } from "./current.ts";
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
    const version = next ? current.floor + 1 : valid.version;
    if (version <= current.floor) {
      throw new InputError(
        `${source}: version: ${version} is not above ${current.floor}, the current version of ` +
          `${home.directory} [LB-ROT-3]; raise it, or take the next one with --next`,
      );
    }
    return signAndStore(withVersion(valid, version), current, home, now);
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
    const again = withVersion(verified.snapshot, current.floor + 1);
    const published = await signAndStore(again, current, home, now);
    await forgetRepetition(home, verified, now);
    return published;
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

async function signAndStore(
  snapshot: Snapshot,
  current: Current,
  home: Home,
  now: number,
): Promise<Published> {
  const envelope = await signSnapshot(snapshot, await readSigningKey(home.keys), { issuedAt: now });
  const { digest, kid } = await verifyOwn(envelope, home, now);
  await publishSnapshot(home.store, envelope, snapshot.version);
  const { fault } = current;
  return {
    version: snapshot.version,
    digest,
    kid,
    ...(fault === undefined ? {} : { replaced: fault }),
  };
}

/** Nothing is published that the trusted keys would refuse. */
async function verifyOwn(envelope: Uint8Array, home: Home, now: number): Promise<VerifiedSnapshot> {
  try {
    return await verifySnapshot(envelope, await readTrustedKeys(home.keys), { now });
  } catch (error) {
    if (!(error instanceof SnapshotError) || error.code !== "UNTRUSTED_KEY") throw error;
    throw new InputError(
      `${home.keys.signing}: this key is not among ${home.keys.trusted}; yard keygen --rotate ` +
        "makes one that is",
      error,
    );
  }
}

/**
 * Removes the item of a version that only repeated the one stored before it: a timer that keeps a
 * snapshot fresh would fill the disk otherwise.
 */
async function forgetRepetition(home: Home, superseded: VerifiedSnapshot, now: number) {
  const { version } = superseded.snapshot;
  const earlier = (await storedVersions(home)).filter((stored) => stored < version);
  if (earlier.length === 0) return;
  const trusted = await readTrustedKeys(home.keys);
  const before = await home.store
    .get(versionKey(Math.max(...earlier)), DEFAULT_MAXIMUM_BYTES)
    .then((envelope) => envelope && verifySnapshot(envelope, trusted, { now }))
    .catch(() => undefined);
  if (before === undefined) return;
  const contents = (snapshot: Snapshot) =>
    JSON.stringify({ ...snapshotToJson(snapshot), version: 0 });
  if (contents(before.snapshot) === contents(superseded.snapshot)) {
    await home.store.remove(versionKey(version));
  }
}

function withVersion(snapshot: Snapshot, version: number): Snapshot {
  return parseSnapshot({ ...snapshot, version });
}
