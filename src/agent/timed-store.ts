import { SnapshotError, type Timers } from "../snapshot/mod.ts";
import type { WritableStore } from "../store/writable.ts";
import { storeFailed } from "./errors.ts";

export interface TimedStoreOptions {
  readonly timers: Timers;
  /** Milliseconds that one operation may take. */
  readonly timeout: number;
  /** Hears of each operation whether it worked. */
  readonly onResult?: (fault: string | undefined) => void;
}

/**
 * `store` with a time limit on each operation, and with one kind of error: `STORE_FAILED`, or what
 * the store says of an item that is too large. An operation that comes too late may still happen:
 * whoever asked for it has to look again.
 */
export function timedStore(store: WritableStore, options: TimedStoreOptions): WritableStore {
  const { timers, timeout, onResult = () => {} } = options;
  const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    let timer: unknown;
    const late = new Promise<never>((_, reject) => {
      const fail = () => reject(new Error(`it took more than ${timeout} ms`));
      timer = timers.setTimeout(fail, timeout);
    });
    try {
      const result = await Promise.race([work(), late]);
      onResult(undefined);
      return result;
    } catch (cause) {
      if (cause instanceof SnapshotError && cause.code === "ENVELOPE_TOO_LARGE") throw cause;
      onResult(what);
      throw storeFailed(what, cause);
    } finally {
      timers.clearTimeout(timer);
    }
  };
  return {
    get: (key, maximumBytes) => timed("reading an item", () => store.get(key, maximumBytes)),
    set: (key, bytes) => timed("writing an item", () => store.set(key, bytes)),
    create: (key, bytes) => timed("creating an item", () => store.create(key, bytes)),
    keys: (prefix) => timed("listing items", () => store.keys(prefix)),
    remove: (key) => timed("removing an item", () => store.remove(key)),
  };
}
