import { steadyClock } from "./clock.ts";
import { DEFAULT_MAXIMUM_BYTES, DEFAULT_MAXIMUM_SKEW } from "./envelope.ts";
import { SnapshotError } from "./errors.ts";
import type { TrustedKeys } from "./keys.ts";
import type { Outcome } from "./outcome.ts";
import type { SnapshotStore } from "./store.ts";
import { uriFault } from "./uri.ts";

/** The timers of the platform, or of a test. */
export interface Timers {
  setTimeout(callback: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
}

export interface SnapshotHolderOptions {
  /** Where new snapshots are looked for, under `moq-lb:snapshot:current`. */
  readonly source: SnapshotStore;
  /**
   * Where the active envelope is kept through a restart, under
   * `moq-lb:snapshot:last-known-good` (LB-CONF-23). It has to be writable. Best it is this
   * instance's own: where several share one, the last to write sets the floor for all.
   */
  readonly lastKnownGood?: SnapshotStore;
  /** Whose signatures count. */
  readonly trustedKeys: TrustedKeys;
  /** Milliseconds after signing until a snapshot no longer places requests (LB-CONF-26). */
  readonly maximumAge: number;
  /** Service URIs of the fleet; snapshots with such a relay are invalid (LB-S104). */
  readonly ownServiceUris?: readonly string[];
  /** Larger envelopes are refused unread, in bytes; 16 MiB by default. */
  readonly maximumBytes?: number;
  /** How far a signer's clock may be ahead, in milliseconds; 30 s by default. */
  readonly maximumSkew?: number;
  /**
   * Milliseconds between two looks into the source; a tenth of the maximum age by default, but
   * at most 10 s. A tenth more or less is random, so that a fleet does not come all at once.
   */
  readonly refreshInterval?: number;
  /** Milliseconds that reading or writing a store may take; 10 s by default. */
  readonly storeTimeout?: number;
  /** Milliseconds of the Unix epoch that never run backwards; `steadyClock()` by default. */
  readonly now?: () => number;
  /** Numbers in [0, 1) for jitter; `Math.random` by default. */
  readonly random?: () => number;
  /** `setTimeout` and `clearTimeout` of the platform by default. */
  readonly timers?: Timers;
  /** Hears every outcome. What it throws is ignored. */
  readonly onEvent?: (outcome: Outcome) => unknown;
}

/** The options with every default filled in. */
export type HolderSettings = Required<Omit<SnapshotHolderOptions, "lastKnownGood">> & {
  readonly lastKnownGood: Required<SnapshotStore> | undefined;
};

const DEFAULT_STORE_TIMEOUT = 10_000;
const LONGEST_DEFAULT_INTERVAL = 10_000;

/**
 * Checks `options` and fills in defaults.
 *
 * @throws {SnapshotError} `MISSING_MAXIMUM_AGE` (LB-CONF-26), `INVALID_CONFIGURATION`
 */
export function holderSettings(options: SnapshotHolderOptions): HolderSettings {
  const { maximumAge, lastKnownGood, ownServiceUris = [] } = options;
  // From JavaScript or a configuration file it may be missing all the same.
  if ((maximumAge as unknown) === undefined || maximumAge === null) {
    const message = "maximumAge is missing: a deployment has to define how old a snapshot may get";
    throw new SnapshotError("MISSING_MAXIMUM_AGE", message);
  }
  requirePositive("maximumAge", maximumAge);
  const settings: HolderSettings = {
    source: options.source,
    lastKnownGood: lastKnownGood && requireWritable(lastKnownGood),
    trustedKeys: options.trustedKeys,
    maximumAge,
    ownServiceUris,
    maximumBytes: options.maximumBytes ?? DEFAULT_MAXIMUM_BYTES,
    maximumSkew: options.maximumSkew ?? DEFAULT_MAXIMUM_SKEW,
    refreshInterval: options.refreshInterval ?? Math.min(maximumAge / 10, LONGEST_DEFAULT_INTERVAL),
    storeTimeout: options.storeTimeout ?? DEFAULT_STORE_TIMEOUT,
    now: options.now ?? steadyClock(),
    random: options.random ?? Math.random,
    timers: options.timers ?? platformTimers,
    onEvent: options.onEvent ?? (() => {}),
  };
  requirePositive("maximumBytes", settings.maximumBytes);
  requirePositive("refreshInterval", settings.refreshInterval);
  requirePositive("storeTimeout", settings.storeTimeout);
  if (!(Number.isFinite(settings.maximumSkew) && settings.maximumSkew >= 0)) {
    throw invalidConfiguration("maximumSkew has to be a number of milliseconds, 0 or more");
  }
  if (settings.trustedKeys.size === 0) {
    throw invalidConfiguration("trustedKeys is empty: no snapshot could ever be accepted");
  }
  for (const [i, uri] of ownServiceUris.entries()) {
    const fault = uriFault(uri);
    if (fault !== undefined) throw invalidConfiguration(`ownServiceUris[${i}] ${fault}`);
  }
  return settings;
}

const platformTimers: Timers = {
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

function requirePositive(name: string, value: unknown): void {
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return;
  throw invalidConfiguration(`${name} has to be a number above 0`);
}

function requireWritable(store: SnapshotStore): Required<SnapshotStore> {
  if (store.set !== undefined) return store as Required<SnapshotStore>;
  throw invalidConfiguration("lastKnownGood has to be a store that can be written to");
}

function invalidConfiguration(message: string): SnapshotError {
  return new SnapshotError("INVALID_CONFIGURATION", message);
}
