/**
 * Admission by client: the hook that is asked before anything else, and a ready token bucket.
 *
 * @module
 */

import { ConfigurationError, requireInteger, requireObject } from "./configuration-error.ts";

/**
 * Whether one more request of `client` is admitted at `now` (milliseconds). Only `true` admits;
 * `false` is answered with EXCESSIVE_LOAD (LB-REJECT-8), what it throws with INTERNAL_ERROR.
 *
 * `tenant` is as the deployment tells tenants apart, where it does: a quota for each is one bucket
 * for each (LB-SEC-12).
 *
 * @example
 * ```ts
 * const perClient = tokenBucket({ ratePerSecond: 50 });
 * const perTenant = tokenBucket({ ratePerSecond: 1000 });
 * const rateLimit: RateLimit = (client, now, tenant = "") =>
 *   perClient(client, now) && perTenant(tenant, now);
 * ```
 */
export interface RateLimit {
  (client: string, now: number, tenant?: string): boolean | Promise<boolean>;
  /** Requests per second of one client, for operators to see, where that says it. */
  readonly limit?: number;
}

export interface TokenBucketOptions {
  /** Requests per second that a client may make for ever. */
  readonly ratePerSecond: number;
  /** Requests that a client may make at once after a pause. Default: one second's worth. */
  readonly burst?: number;
  /** Clients told apart at a time; the memory bound. Default 10,000. */
  readonly maximumClients?: number;
}

/** A {@link RateLimit} that answers at once. */
export interface TokenBucket {
  (client: string, now: number): boolean;
  readonly limit: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/**
 * A token bucket per client, in the memory of this process. Where `maximumClients` are all busy,
 * every further client shares one bucket: a flood of invented clients slows down itself and other
 * newcomers, and frees nobody who is already held back.
 *
 * @throws {ConfigurationError} the rate is not positive, the burst less than 1, or the count not an
 *   integer of at least 1
 */
export function tokenBucket(options: TokenBucketOptions): TokenBucket {
  requireObject("options", options);
  const rate = options.ratePerSecond;
  if (typeof rate !== "number" || !(rate > 0 && rate < Number.POSITIVE_INFINITY)) {
    throw new ConfigurationError("ratePerSecond has to be a positive number");
  }
  const { burst = Math.max(1, rate) } = options;
  if (typeof burst !== "number" || !(burst >= 1 && burst < Number.POSITIVE_INFINITY)) {
    throw new ConfigurationError("burst has to be a number of at least 1");
  }
  const maximumClients = requireInteger("maximumClients", options.maximumClients ?? 10_000, 1);
  const millisecondsToFill = (burst / rate) * 1000;
  const shared: Bucket = { tokens: burst, filledAt: Number.NEGATIVE_INFINITY };
  /** Least recently seen first: a Map keeps the order of insertion. */
  const buckets = new Map<string, Bucket>();

  function bucketOf(client: string, now: number): Bucket {
    const known = buckets.get(client);
    if (known !== undefined) {
      buckets.delete(client);
      buckets.set(client, known);
      return known;
    }
    if (buckets.size >= maximumClients) {
      const [leastRecent, bucket] = buckets.entries().next().value as [string, Bucket];
      if (now - bucket.filledAt < millisecondsToFill) return shared;
      // Full again: it holds nothing worth keeping.
      buckets.delete(leastRecent);
    }
    const fresh = { tokens: burst, filledAt: now };
    buckets.set(client, fresh);
    return fresh;
  }

  const admit = function tokenBucket(client: string, now: number): boolean {
    const bucket = bucketOf(client, now);
    // A clock that steps back earns nothing and takes nothing.
    const elapsed = Math.max(0, now - bucket.filledAt);
    bucket.tokens = Math.min(burst, bucket.tokens + (elapsed * rate) / 1000);
    bucket.filledAt = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };
  return Object.assign(admit, { limit: rate });
}
