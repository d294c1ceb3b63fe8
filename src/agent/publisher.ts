/**
 * Publishes one version, step by step, so that whoever looks at the store at any moment, or goes on
 * after a crash at any moment, finds the version before or this one.
 *
 *     record -> create version -> set current -> look whether it is -> confirm
 *
 * The version exists once it is created, which one of many can do; until then nothing has happened
 * that counts. From then on it is published, whoever completes it.
 *
 * @module
 */

import { equalBytes } from "../bytes.ts";
import {
  currentKey,
  DEFAULT_MAXIMUM_BYTES,
  type SigningKey,
  type Snapshot,
  SnapshotError,
  signSnapshot,
  type TrustedKeys,
  verifySnapshot,
  versionKey,
} from "../snapshot/mod.ts";
import type { WritableStore } from "../store/writable.ts";
import { recordBytes, type StoredVersion } from "./archive.ts";
import { signConfirmation } from "./confirmation.ts";
import { AgentError } from "./errors.ts";
import { type PublicationRecord, signRecord } from "./record.ts";
import { confirmationKey, recordKey } from "./store-keys.ts";

/** How often the current item is written at most where the store gives back another. */
const ATTEMPTS = 3;

export interface PublisherOptions {
  readonly store: WritableStore;
  readonly signingKey: SigningKey;
  readonly trustedKeys: TrustedKeys;
  /** Called between two steps each of which may take long. What it throws ends the publication. */
  readonly onStep: () => Promise<void>;
}

/** What of a record is known before the snapshot is signed. */
export type RecordDraft = Omit<PublicationRecord, "at" | "digest" | "kid" | "version">;

/** A version that was published, with its record. */
export interface Publication extends StoredVersion {
  readonly record: PublicationRecord;
}

export class Publisher {
  readonly #options: PublisherOptions;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Signs and checks, without a word in the store: nothing is published that those who trust the
   * trusted keys would refuse.
   *
   * @param draft validated here in full (LB-CONF-14)
   * @param at time of signing in milliseconds of the Unix epoch
   * @throws {SnapshotError} `INVALID_SNAPSHOT`, `UNTRUSTED_KEY`; or whatever `onStep` throws
   */
  async sign(draft: Snapshot, at: number, about: RecordDraft): Promise<Publication> {
    const { signingKey, trustedKeys, onStep } = this.#options;
    const envelope = await signSnapshot(draft, signingKey, { issuedAt: at });
    await onStep();
    const verified = await verifySnapshot(envelope, trustedKeys, { now: at });
    const { snapshot, digest, kid, signedAt } = verified;
    const record = { ...about, version: snapshot.version, at: signedAt, digest, kid };
    return { envelope, verified, record };
  }

  /**
   * Puts a signed version into the store.
   *
   * @returns `false` where there is such a version already: then nothing was published
   * @throws {AgentError} `STORE_FAILED`; the version may be published all the same
   */
  async publish({ envelope, verified, record }: Publication): Promise<boolean> {
    const { store, signingKey } = this.#options;
    const { version } = verified.snapshot;
    const jws = await signRecord(record, signingKey);
    await store.set(recordKey(version, verified.digest), recordBytes(jws));
    if (!(await store.create(versionKey(version), envelope))) return false;
    await this.makeCurrent(envelope);
    return true;
  }

  /**
   * Makes `envelope` the current one, and looks whether it is: a store may give back an older item,
   * or part of one.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async makeCurrent(envelope: Uint8Array): Promise<void> {
    const { store } = this.#options;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await store.set(currentKey, envelope);
      if (await this.isCurrent(envelope)) return;
    }
    throw new AgentError("STORE_FAILED", "the store does not give back what was written");
  }

  /** @throws {AgentError} `STORE_FAILED` */
  async isCurrent(envelope: Uint8Array): Promise<boolean> {
    const present = await this.#options.store.get(currentKey, DEFAULT_MAXIMUM_BYTES);
    return present !== undefined && equalBytes(present, envelope);
  }

  /**
   * Writes down that `version` is the current one.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async confirm(version: number): Promise<void> {
    const { store, signingKey } = this.#options;
    await store.set(confirmationKey, recordBytes(await signConfirmation(version, signingKey)));
  }

  /**
   * Puts a version back that the store has lost, as it was.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async putBack({ envelope, verified }: StoredVersion, record?: PublicationRecord): Promise<void> {
    const { store, signingKey } = this.#options;
    const { version } = verified.snapshot;
    if (record !== undefined && record.kid === signingKey.kid) {
      const jws = await signRecord(record, signingKey);
      await store.set(recordKey(version, verified.digest), recordBytes(jws));
    }
    if (!(await store.create(versionKey(version), envelope))) {
      const present = await store.get(versionKey(version), DEFAULT_MAXIMUM_BYTES);
      if (present === undefined || !equalBytes(present, envelope)) {
        if (present !== undefined && (await this.#isTrusted(present))) {
          throw new AgentError("STORE_FAILED", `version ${version} is another one in the store`);
        }
        await store.set(versionKey(version), envelope);
      }
    }
    await this.makeCurrent(envelope);
  }

  async #isTrusted(envelope: Uint8Array): Promise<boolean> {
    try {
      const now = Number.POSITIVE_INFINITY;
      await verifySnapshot(envelope, this.#options.trustedKeys, { now });
      return true;
    } catch (error) {
      if (error instanceof SnapshotError) return false;
      throw error;
    }
  }
}
