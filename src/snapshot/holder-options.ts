import { steadyClock } from "./clock.ts";
import { DEFAULT_MAXIMUM_BYTES, DEFAULT_MAXIMUM_SKEW } from "./envelope.ts";
import { SnapshotError } from "./errors.ts";
import type { TrustedKeys } from "./keys.ts";
import type { Outcome } from "./outcome.ts";
import type { SnapshotStore } from "./store.ts";
import { serviceUrisFault } from "./uri.ts";

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
  /**
   * Larger envelopes are refused, in bytes; 16 MiB by default. A store is told as well, and reads
   * no more than that where it can help it.
   */
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
  /** Milliseconds of the Unix epoch; `steadyClock()` by default. */
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
 * Checks `options`, of callers without types too, and fills in defaults.
 *
 * @throws {SnapshotError} `MISSING_MAXIMUM_AGE` (LB-CONF-26), `INVALID_CONFIGURATION`
 */
export function holderSettings(options: SnapshotHolderOptions): HolderSettings {
  if (typeof options !== "object" || options === null) {
    throw invalidConfiguration("options has to be an object");
  }
  const { maximumAge } = options;
  // From JavaScript or a configuration file it may be missing all the same.
  if ((maximumAge as unknown) === undefined || maximumAge === null) {
    const message = "maximumAge is missing: a deployment has to define how old a snapshot may get";
    throw new SnapshotError("MISSING_MAXIMUM_AGE", message);
  }
  requirePositive("maximumAge", maximumAge);
  const settings: HolderSettings = {
    source: requireReadable("source", options.source),
    lastKnownGood: options.lastKnownGood && requireWritable(options.lastKnownGood),
    trustedKeys: requireKeys(options.trustedKeys),
    maximumAge,
    ownServiceUris: requireServiceUris(options.ownServiceUris ?? []),
    maximumBytes: options.maximumBytes ?? DEFAULT_MAXIMUM_BYTES,
    maximumSkew: options.maximumSkew ?? DEFAULT_MAXIMUM_SKEW,
    refreshInterval: options.refreshInterval ?? Math.min(maximumAge / 10, LONGEST_DEFAULT_INTERVAL),
    storeTimeout: options.storeTimeout ?? DEFAULT_STORE_TIMEOUT,
    now: options.now ?? steadyClock(),
    random: options.random ?? Math.random,
    timers: options.timers ?? platformTimers,
    onEvent: options.onEvent ?? (() => {}),
  };
  for (const name of ["maximumBytes", "refreshInterval", "storeTimeout"] as const) {
    requirePositive(name, settings[name]);
  }
  if (!(Number.isFinite(settings.maximumSkew) && settings.maximumSkew >= 0)) {
    throw invalidConfiguration("maximumSkew has to be a number of milliseconds, 0 or more");
  }
  for (const name of ["now", "random", "onEvent"] as const) {
    requireFunction(name, settings[name]);
  }
  for (const name of ["setTimeout", "clearTimeout"] as const) {
    requireFunction(`timers.${name}`, settings.timers[name]);
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

function requireFunction(name: string, value: unknown): void {
  if (typeof value !== "function") throw invalidConfiguration(`${name} has to be a function`);
}

function requireReadable(name: string, store: SnapshotStore): SnapshotStore {
  if (typeof store?.get === "function") return store;
  throw invalidConfiguration(`${name} has to be a store of snapshots, with a get function`);
}

function requireWritable(store: SnapshotStore): Required<SnapshotStore> {
  requireReadable("lastKnownGood", store);
  if (typeof store.set === "function") return store as Required<SnapshotStore>;
  throw invalidConfiguration("lastKnownGood has to be a store that can be written to");
}

function requireKeys(keys: TrustedKeys): TrustedKeys {
  if (typeof keys?.get !== "function") {
    throw invalidConfiguration("trustedKeys has to be what importTrustedKeys or a Map gives");
  }
  if (keys.size > 0) return keys;
  throw invalidConfiguration("trustedKeys is empty: no snapshot could ever be accepted");
}

function requireServiceUris(uris: readonly string[]): readonly string[] {
  const fault = serviceUrisFault("ownServiceUris", uris);
  if (fault === undefined) return uris;
  throw invalidConfiguration(fault);
}

function invalidConfiguration(message: string): SnapshotError {
  return new SnapshotError("INVALID_CONFIGURATION", message);
}
