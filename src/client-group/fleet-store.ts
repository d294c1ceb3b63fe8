/**
 * The store that the processes of one intermediary share, with a time limit on each operation.
 *
 * @module
 */

/** A store; the ones of `src/store` are. Keys are segments of `[A-Za-z0-9._-]` joined by `:`. */
export interface FleetStore {
  get(key: string, maximumBytes?: number): Promise<Uint8Array | undefined>;
  set(key: string, bytes: Uint8Array): Promise<void>;
  /** Puts the item where none is; of many that do at once, one is told `true`. */
  create(key: string, bytes: Uint8Array): Promise<boolean>;
  keys(prefix: string): Promise<string[]>;
  remove(key: string): Promise<void>;
  /** Gives up what it holds open, if anything; nothing is asked of it any more. */
  close?(): Promise<void>;
}

export interface FleetTimers {
  setTimeout(callback: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** What comes too late may still happen in the store: whoever asked has to look again. */
export async function inTime<T>(
  timers: FleetTimers,
  milliseconds: number,
  work: () => Promise<T>,
): Promise<T> {
  let timer: unknown;
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error(`the store took more than ${milliseconds} ms`));
    timer = timers.setTimeout(fail, milliseconds);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    timers.clearTimeout(timer);
  }
}

export function timedFleetStore(
  store: FleetStore,
  timers: FleetTimers,
  milliseconds: number,
): FleetStore {
  const timed = <T>(work: () => Promise<T>) => inTime(timers, milliseconds, work);
  return {
    get: (key, maximumBytes) => timed(() => store.get(key, maximumBytes)),
    set: (key, bytes) => timed(() => store.set(key, bytes)),
    create: (key, bytes) => timed(() => store.create(key, bytes)),
    keys: (prefix) => timed(() => store.keys(prefix)),
    remove: (key) => timed(() => store.remove(key)),
  };
}
