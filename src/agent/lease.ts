/**
 * One publisher for each store. No clocks are compared: the holder rewrites its item again and
 * again, and a challenger that has seen it unchanged for its time to live, by the challenger's own
 * monotonic clock, creates the item of the next epoch, which one of many can. The highest epoch is
 * the publisher.
 *
 * A lease keeps honest agents apart. What keeps one apart that slept through its own is that a
 * version can be created but once. So a holder that was too busy to renew in time need not give up:
 * it looks, and where there is no higher epoch the lease is its own as before.
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import type { WritableStore } from "../store/writable.ts";
import { Serial } from "./serial.ts";
import { leaseKey, leasePrefix, numberAfter } from "./store-keys.ts";

/** What stands in the store. */
interface LeaseItem {
  readonly agentId: string;
  readonly url?: string;
  /** Tells two holders of one name apart. */
  readonly nonce: string;
  readonly renewals: number;
  /** Milliseconds without a renewal after which others may take over. */
  readonly ttl: number;
  /** Whether the holder is gone for good, so that nobody has to wait. */
  readonly released?: true;
}

export interface LeaseOptions {
  readonly store: WritableStore;
  readonly agentId: string;
  readonly url?: string;
  /** Milliseconds. */
  readonly ttl: number;
  readonly monotonic: () => number;
  /** The store says that the lease, which was ours, is not any more. */
  readonly onLost?: () => void;
}

/** Who holds a lease. */
export interface LeaseHolder {
  readonly agentId: string;
  readonly url?: string;
  readonly epoch: number;
}

/** What came of one attempt to take the lease. */
export type Attempt =
  /** It is ours; `abandoned` where the one before did not release it. */
  | { readonly taken: true; readonly epoch: number; readonly abandoned: boolean }
  /** Another has it; `alive` once it was seen to renew it. */
  | { readonly taken: false; readonly holder: LeaseHolder; readonly alive: boolean };

/** Older than this share of its time to live, a renewal is followed by another. */
const RENEWED_SHARE = 1 / 4;

/** Items of former holders that stay, so that one that slept finds the epoch after its own. */
const KEPT_EPOCHS = 8;

/** However long a holder asks for, in milliseconds. */
const LONGEST_TTL = 300_000;

/** A lease item is small; more bytes are none. */
const LARGEST_ITEM = 4096;

export class Lease {
  readonly #options: LeaseOptions;
  readonly #nonce = crypto.randomUUID();
  /** Of two renewals at once, the older count of them might be written last. */
  readonly #renewing = new Serial();
  #epoch: number | undefined;
  #renewals = 0;
  #renewedAt = 0;
  /** The highest item as it was seen last, and since when it has been so. */
  #seen: { readonly epoch: number; readonly text: string; readonly since: number } | undefined;
  #changes = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** The epoch that is held, as far as is known without asking. */
  get epoch(): number | undefined {
    return this.#epoch;
  }

  /** Whether it is held and was renewed in time: no other can have taken it by the rules. */
  get held(): boolean {
    return this.#renewedWithin(this.#options.ttl);
  }

  /** Milliseconds between renewals, where nothing comes in between. */
  get pause(): number {
    return this.#options.ttl * RENEWED_SHARE;
  }

  /**
   * Takes the lease where nobody has it, where it was released, or where it was not renewed for its
   * time to live. To be called again and again.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async attempt(): Promise<Attempt> {
    const { store, monotonic, ttl } = this.#options;
    const epochs = (await store.keys(leasePrefix))
      .map((key) => numberAfter(leasePrefix, key))
      .filter((epoch) => epoch !== undefined);
    const highest = Math.max(0, ...epochs);
    if (highest === 0) return this.#create(1, false);
    const text = await this.#text(highest);
    const item = readItem(text);
    if (item?.nonce === this.#nonce) {
      // Ours still: the store was away, or it answered too late that we had created it.
      this.#epoch = highest;
      if (await this.renew()) return { taken: true, epoch: highest, abandoned: true };
    }
    if (item?.released) return this.#create(highest + 1, false);
    const seen = this.#seen;
    if (seen?.epoch !== highest || seen.text !== text) {
      this.#changes = seen?.epoch === highest ? this.#changes + 1 : 0;
      this.#seen = { epoch: highest, text, since: monotonic() };
    } else if (monotonic() - seen.since >= Math.max(ttl, item?.ttl ?? 0)) {
      return this.#create(highest + 1, true);
    }
    const holder = { agentId: item?.agentId ?? "", epoch: highest };
    const url = item?.url;
    return {
      taken: false,
      holder: url === undefined ? holder : { ...holder, url },
      alive: this.#changes > 0,
    };
  }

  /**
   * Renews the lease unless that was done just now: to be called before and after whatever takes
   * long.
   *
   * @returns whether the lease is still ours
   * @throws {AgentError} `STORE_FAILED`: that is not known
   */
  async keep(): Promise<boolean> {
    return this.#renewedWithin(this.pause) || (await this.renew());
  }

  /**
   * Rewrites the item, so that others see that its holder lives; also where that was not done in
   * time, as long as nobody has taken the lease.
   *
   * @returns whether the lease is still ours
   * @throws {AgentError} `STORE_FAILED`: that is not known
   */
  renew(): Promise<boolean> {
    return this.#renewing.run(() => this.#renew());
  }

  async #renew(): Promise<boolean> {
    const epoch = this.#epoch;
    if (epoch === undefined) return false;
    const { monotonic } = this.#options;
    const at = monotonic();
    if (!(await this.check())) return false;
    this.#renewals++;
    await this.#options.store.set(leaseKey(epoch), this.#item());
    if (!(await this.check())) return false;
    this.#renewedAt = at;
    return true;
  }

  /**
   * Asks the store whether the lease is still ours.
   *
   * @throws {AgentError} `STORE_FAILED`: that is not known
   */
  async check(): Promise<boolean> {
    const epoch = this.#epoch;
    if (epoch === undefined) return false;
    const own = readItem(await this.#text(epoch));
    const next = await this.#options.store.get(leaseKey(epoch + 1), LARGEST_ITEM);
    if (own?.nonce === this.#nonce && next === undefined) return true;
    if (this.#epoch === epoch) {
      this.#epoch = undefined;
      this.#options.onLost?.();
    }
    return false;
  }

  /** Forgets the lease, without a word in the store. */
  drop(): void {
    this.#epoch = undefined;
  }

  /** Marks the lease as free, so that the next one need not wait. */
  async release(): Promise<void> {
    const epoch = this.#epoch;
    if (epoch === undefined || !(await this.check())) return;
    this.#epoch = undefined;
    await this.#options.store.set(leaseKey(epoch), this.#item({ released: true }));
  }

  #renewedWithin(milliseconds: number): boolean {
    const age = this.#options.monotonic() - this.#renewedAt;
    return this.#epoch !== undefined && age < milliseconds;
  }

  async #create(epoch: number, abandoned: boolean): Promise<Attempt> {
    const { store, monotonic } = this.#options;
    const at = monotonic();
    this.#renewals = 0;
    if (!(await store.create(leaseKey(epoch), this.#item()))) {
      // Another was faster.
      return { taken: false, holder: { agentId: "", epoch }, alive: false };
    }
    this.#epoch = epoch;
    this.#renewedAt = at;
    this.#seen = undefined;
    await this.#tidy(epoch);
    return { taken: true, epoch, abandoned };
  }

  /** Items of long ago; that they stay is no harm. */
  async #tidy(epoch: number): Promise<void> {
    const { store } = this.#options;
    try {
      const epochs = (await store.keys(leasePrefix))
        .map((key) => numberAfter(leasePrefix, key))
        .filter((other) => other !== undefined && other < epoch - KEPT_EPOCHS);
      for (const other of epochs) await store.remove(leaseKey(other as number));
    } catch {
      // The next holder tries again.
    }
  }

  #item(more: { released?: true } = {}): Uint8Array {
    const { agentId, url, ttl } = this.#options;
    const item: LeaseItem = {
      agentId,
      ...(url !== undefined && { url }),
      nonce: this.#nonce,
      renewals: this.#renewals,
      ttl,
      ...more,
    };
    return utf8(JSON.stringify(item));
  }

  async #text(epoch: number): Promise<string> {
    return textOf(await this.#options.store.get(leaseKey(epoch), LARGEST_ITEM));
  }
}

/**
 * Who holds the lease of `store`, if anybody does: it may have died since.
 *
 * @throws whatever the store throws
 */
export async function leaseHolder(store: WritableStore): Promise<LeaseHolder | undefined> {
  const epochs = (await store.keys(leasePrefix)).map((key) => numberAfter(leasePrefix, key) ?? 0);
  const epoch = Math.max(0, ...epochs);
  if (epoch === 0) return undefined;
  const item = readItem(textOf(await store.get(leaseKey(epoch), LARGEST_ITEM)));
  if (item === undefined || item.released) return undefined;
  const { agentId, url } = item;
  return url === undefined ? { agentId, epoch } : { agentId, url, epoch };
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : new TextDecoder().decode(bytes);
}

/** `undefined` where the text is no lease, half of one, or one that was removed. */
function readItem(text: string): LeaseItem | undefined {
  try {
    const item = JSON.parse(text) as Partial<LeaseItem> | null;
    if (typeof item?.agentId !== "string" || typeof item.nonce !== "string") return undefined;
    if (typeof item.renewals !== "number" || typeof item.ttl !== "number") return undefined;
    if (item.url !== undefined && typeof item.url !== "string") return undefined;
    return { ...(item as LeaseItem), ttl: Math.min(item.ttl, LONGEST_TTL) };
  } catch {
    return undefined;
  }
}
