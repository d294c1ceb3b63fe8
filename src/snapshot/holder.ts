/**
 * Holds the active snapshot of one instance: decides which envelopes become active, keeps the last
 * good one through restarts and looks for newer ones in the background.
 *
 * @module
 */

import { equalBytes } from "../bytes.ts";
import { type ActiveSnapshot, configurationAge, isStale } from "./active.ts";
import { type VerifiedSnapshot, verifySnapshot } from "./envelope.ts";
import { SnapshotError } from "./errors.ts";
import {
  type HolderSettings,
  holderSettings,
  type SnapshotHolderOptions,
} from "./holder-options.ts";
import {
  asSnapshotError,
  type Outcome,
  type OutcomeReason,
  type OutcomeSource,
  outcomeLevel,
  refusalReason,
} from "./outcome.ts";
import { currentKey, lastKnownGoodKey, type SnapshotStore } from "./store.ts";
import { encodeSnapshot } from "./wire.ts";

/** What an instance knows of its configuration, for those who watch it. */
export interface HolderStatus {
  /** Absent until a snapshot is active; so are the next three. */
  readonly version?: number;
  readonly digest?: string;
  /** Milliseconds of the Unix epoch. */
  readonly signedAt?: number;
  /** Configuration age in whole milliseconds. */
  readonly age?: number;
  /** Whether requests that depend on relay health are rejected now; true without a snapshot. */
  readonly stale: boolean;
  /** Looks into the source since the last one that found the active version or a newer one. */
  readonly failures: number;
  readonly lastOutcome?: Outcome;
}

/** An envelope that was looked at, with what came of it whatever the active version is. */
interface Considered {
  readonly envelope: Uint8Array;
  readonly result: VerifiedSnapshot | SnapshotError;
}

/**
 * The active snapshot and everything that may change it.
 *
 * Activation is the swap of one reference, so that no request sees routes of one version with
 * health of another (LB-CONF-22). Versions only go up (LB-ROT-1, LB-ROT-3), also over a restart,
 * where the last-known-good one is the floor (LB-S118, LB-SEC-8). What is refused changes nothing:
 * neither the active snapshot, nor its age, nor the floor (LB-S111, LB-S112).
 *
 * A newer snapshot is activated even if it is past the maximum age already: its table is the more
 * recent one, and being stale it places nothing.
 */
export class SnapshotHolder {
  readonly #settings: HolderSettings;
  #active: ActiveSnapshot | undefined;
  /** The envelope of the active snapshot, and the one in the last-known-good store. */
  #activeEnvelope: Uint8Array | undefined;
  #keptEnvelope: Uint8Array | undefined;
  #lastConsidered: Considered | undefined;
  #lastOutcome: Outcome | undefined;
  #restoring: Promise<Outcome> | undefined;
  #refreshing: Promise<Outcome> | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #failures = 0;
  /** Present while refreshing in the background; its identity tells one start from the next. */
  #schedule: { timer?: unknown } | undefined;

  /**
   * @throws {SnapshotError} `MISSING_MAXIMUM_AGE` (LB-CONF-26), `INVALID_CONFIGURATION`
   */
  constructor(options: SnapshotHolderOptions) {
    this.#settings = holderSettings(options);
  }

  /** The snapshot that decides now. Reading it never waits. */
  get active(): ActiveSnapshot | undefined {
    return this.#active;
  }

  /** Version and age of the configuration, and how the last looks for a newer one went. */
  status(): HolderStatus {
    const active = this.#active;
    const looks = {
      failures: this.#failures,
      ...(this.#lastOutcome && { lastOutcome: this.#lastOutcome }),
    };
    if (active === undefined) return { stale: true, ...looks };
    const { snapshot, digest, signedAt } = active;
    const now = this.#settings.now();
    const age = Math.round(configurationAge(active, now));
    const stale = isStale(active, now);
    return { version: snapshot.version, digest, signedAt, age, stale, ...looks };
  }

  /** Verifies `envelope` and activates its snapshot if that is newer. Never rejects. */
  async offer(envelope: Uint8Array): Promise<Outcome> {
    await this.restore();
    return this.#consider(envelope, "offer");
  }

  /**
   * Activates the last-known-good envelope after a restart: its signature is verified again, and
   * its age goes on from the time of signing (LB-S110). The first look into the source and the
   * first offer wait for it, since it sets the floor. Never rejects.
   */
  restore(): Promise<Outcome> {
    this.#restoring ??= this.#restore();
    return this.#restoring;
  }

  /**
   * Looks into the source once. Calls during a look share it. Never rejects: a source that fails
   * leaves the active snapshot as it is.
   */
  refresh(): Promise<Outcome> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Restores, looks into the source, and goes on looking in the background until {@link stop}.
   *
   * @returns the outcome of the first look
   */
  start(): Promise<Outcome> {
    if (this.#schedule !== undefined) return this.refresh();
    this.#schedule = {};
    return this.#look(this.#schedule);
  }

  /** Ends the background refresh; a look under way still counts. */
  stop(): void {
    this.#settings.timers.clearTimeout(this.#schedule?.timer);
    this.#schedule = undefined;
  }

  async #look(schedule: { timer?: unknown }): Promise<Outcome> {
    const outcome = await this.refresh();
    // Stopped, or stopped and started again, while it took its time.
    if (this.#schedule === schedule) {
      const delay = this.#nextDelay();
      schedule.timer = this.#settings.timers.setTimeout(() => void this.#look(schedule), delay);
    }
    return outcome;
  }

  /**
   * Milliseconds to the next look: the interval, a tenth more or less; after failures twice as
   * long each time, up to eight intervals or a quarter of the maximum age, at least half of it.
   */
  #nextDelay(): number {
    const { refreshInterval, maximumAge, random } = this.#settings;
    if (this.#failures === 0) return refreshInterval * (0.9 + 0.2 * random());
    const longest = Math.max(refreshInterval, Math.min(8 * refreshInterval, maximumAge / 4));
    const delay = Math.min(longest, refreshInterval * 2 ** this.#failures);
    return delay * (0.5 + 0.5 * random());
  }

  async #refresh(): Promise<Outcome> {
    await this.restore();
    const outcome = await this.#fetch(this.#settings.source, currentKey, "store");
    const found = outcome.reason === "activated" || outcome.reason === "unchanged";
    this.#failures = found ? 0 : this.#failures + 1;
    return outcome;
  }

  async #restore(): Promise<Outcome> {
    const { lastKnownGood } = this.#settings;
    if (lastKnownGood === undefined) return this.#outcome("missing", "last-known-good");
    const outcome = await this.#fetch(lastKnownGood, lastKnownGoodKey, "last-known-good");
    // Unread, or read by a clock that is not set yet, the floor is unknown: try again next time.
    const { reason } = outcome;
    if (reason === "store-error" || reason === "signed-in-future") this.#restoring = undefined;
    return outcome;
  }

  async #fetch(store: SnapshotStore, key: string, from: OutcomeSource): Promise<Outcome> {
    let envelope: Uint8Array | undefined;
    try {
      envelope = await this.#inTime(store.get(key, this.#settings.maximumBytes));
    } catch (cause) {
      const error = asSnapshotError(cause, "the store could not be read");
      return this.#report(refusalReason(error), from, { error });
    }
    if (envelope !== undefined && envelope !== null) return this.#consider(envelope, from);
    const error = new SnapshotError("NOT_IN_STORE", `the store has nothing under ${key}`);
    return this.#report("missing", from, { error });
  }

  async #consider(envelope: Uint8Array, from: OutcomeSource): Promise<Outcome> {
    const { envelope: bytes, result } = await this.#verify(envelope);
    if (result instanceof SnapshotError) {
      return this.#report(refusalReason(result), from, { error: result });
    }
    // From here to the swap nothing waits: two offers cannot overtake each other.
    const { version } = result.snapshot;
    const reason = this.#compare(result);
    if (reason === "activated") {
      const { snapshot, signedAt, digest } = result;
      this.#active = { snapshot, signedAt, maximumAge: this.#settings.maximumAge, digest };
      this.#activeEnvelope = bytes;
      if (from === "last-known-good") this.#keptEnvelope = bytes;
    }
    const outcome = this.#report(reason, from, { version });
    await this.#keep();
    return outcome;
  }

  /** Verifies, unless the same bytes were verified last time: most looks find nothing new. */
  async #verify(envelope: Uint8Array): Promise<Considered> {
    const last = this.#lastConsidered;
    if (last !== undefined && equalBytes(last.envelope, envelope)) return last;
    // A copy of its own: what is verified now is compared, and kept, later.
    const bytes = new Uint8Array(envelope);
    const result = await this.#verifyOnce(bytes);
    const considered = { envelope: bytes, result };
    // Waiting makes an envelope of the future good; one that is too large is not worth keeping.
    const passing =
      result instanceof SnapshotError &&
      (result.code === "SIGNED_IN_FUTURE" || result.code === "ENVELOPE_TOO_LARGE");
    if (!passing) this.#lastConsidered = considered;
    return considered;
  }

  async #verifyOnce(envelope: Uint8Array): Promise<VerifiedSnapshot | SnapshotError> {
    const { trustedKeys, maximumBytes, maximumSkew, ownServiceUris, now } = this.#settings;
    const options = { now: now(), maximumBytes, maximumSkew, ownServiceUris };
    try {
      return await verifySnapshot(envelope, trustedKeys, options);
    } catch (cause) {
      if (cause instanceof SnapshotError) return cause;
      const message = "the envelope could not be verified";
      return new SnapshotError("MALFORMED_ENVELOPE", message, { cause });
    }
  }

  #compare({ snapshot, digest }: VerifiedSnapshot): OutcomeReason {
    const active = this.#active;
    if (active === undefined || snapshot.version > active.snapshot.version) return "activated";
    if (snapshot.version < active.snapshot.version) return "older-version";
    // Another encoder may have spelled out defaults: then bytes differ where content does not.
    const same =
      digest === active.digest ||
      equalBytes(encodeSnapshot(snapshot), encodeSnapshot(active.snapshot));
    return same ? "unchanged" : "equal-version-different-content";
  }

  /** Writes the active envelope as last-known-good, unless it is there already. */
  #keep(): Promise<void> {
    // One write after another: a slow one of an older version must not land on a newer one.
    this.#keeping = this.#keeping.then(async () => {
      const { lastKnownGood } = this.#settings;
      const envelope = this.#activeEnvelope;
      if (lastKnownGood === undefined || envelope === undefined) return;
      if (envelope === this.#keptEnvelope) return;
      try {
        await this.#inTime(lastKnownGood.set(lastKnownGoodKey, envelope));
        this.#keptEnvelope = envelope;
      } catch (cause) {
        const error = asSnapshotError(cause, "the last-known-good store could not be written to");
        this.#report("not-kept", "last-known-good", { error });
      }
    });
    return this.#keeping;
  }

  /** What `work` comes to, or a rejection once it takes longer than a store may take. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { timers, storeTimeout } = this.#settings;
    let timer: unknown;
    const late = new Promise<never>((_, reject) => {
      const message = `the store took more than ${storeTimeout} ms`;
      timer = timers.setTimeout(
        () => reject(new SnapshotError("STORE_TIMEOUT", message)),
        storeTimeout,
      );
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      timers.clearTimeout(timer);
    }
  }

  #outcome(
    reason: OutcomeReason,
    from: OutcomeSource,
    details: Pick<Outcome, "version" | "error"> = {},
  ): Outcome {
    const at = this.#settings.now();
    const active = this.#active && {
      activeVersion: this.#active.snapshot.version,
      activeAge: Math.round(configurationAge(this.#active, at)),
    };
    const level = outcomeLevel(reason);
    return { reason, level, from, at: Math.round(at), ...details, ...active };
  }

  #report(
    reason: OutcomeReason,
    from: OutcomeSource,
    details: Pick<Outcome, "version" | "error">,
  ): Outcome {
    const outcome = this.#outcome(reason, from, details);
    this.#lastOutcome = outcome;
    // Whatever a listener does, now or in a promise, is no business of the snapshot's.
    (async () => this.#settings.onEvent(outcome))().catch(() => {});
    return outcome;
  }
}
