/** Several processes of one intermediary in one: a clock that is moved, a store that can be lost. */

import {
  FleetRestrictions,
  type FleetStore,
  Restrictions,
  restrictionScope,
} from "../../../src/client-group/mod.ts";
import { memoryStore } from "../../../src/store/memory.ts";

export interface TestClient {
  readonly key: string;
}

export const scope = restrictionScope({
  scheme: "https",
  host: "api.example",
  port: 443,
  validationPolicy: "public",
  protocol: "h2",
});

/** Lets everything run that waits for no timer. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** The time of all processes. */
export class Clock {
  now = 1_000_000;
  readonly #timers = new Map<number, { readonly at: number; readonly callback: () => void }>();
  #last = 0;

  readonly timers = {
    setTimeout: (callback: () => void, milliseconds: number) => {
      this.#timers.set(++this.#last, { at: this.now + milliseconds, callback });
      return this.#last;
    },
    clearTimeout: (timer: unknown) => void this.#timers.delete(timer as number),
  };

  /** Moves the time on, timer by timer. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.now + milliseconds;
    for (;;) {
      await settled();
      const due = [...this.#timers].filter(([, { at }]) => at <= end);
      const [first] = due.sort(([, a], [, b]) => a.at - b.at);
      if (first === undefined) break;
      this.#timers.delete(first[0]);
      this.now = Math.max(this.now, first[1].at);
      first[1].callback();
    }
    this.now = end;
    await settled();
  }
}

/** A store in memory that can be out of reach. */
export class TestStore implements FleetStore {
  readonly #items = memoryStore();
  mode: "answers" | "fails" | "hangs" = "answers";
  calls = 0;

  readonly get = (key: string) => this.#do(() => this.#items.get(key));
  readonly set = (key: string, bytes: Uint8Array) => this.#do(() => this.#items.set(key, bytes));
  readonly create = (key: string, bytes: Uint8Array) =>
    this.#do(() => this.#items.create(key, bytes));
  readonly keys = (prefix: string) => this.#do(() => this.#items.keys(prefix));
  readonly remove = (key: string) => this.#do(() => this.#items.remove(key));

  /** Everything that is in it, as text. */
  async text(): Promise<string> {
    const keys = await this.#items.keys("");
    const values = await Promise.all(keys.map((key) => this.#items.get(key)));
    return keys.map((key, i) => `${key} ${new TextDecoder().decode(values[i])}`).join("\n");
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    this.calls++;
    if (this.mode === "fails") throw new Error("out of reach");
    if (this.mode === "hangs") await new Promise(() => {});
    return work();
  }
}

export interface TestProcess {
  readonly fleet: FleetRestrictions<TestClient>;
  readonly restrictions: Restrictions<TestClient>;
  /** What the process was told of its store. */
  readonly states: string[];
  /** Clients whose waiting requests are to be looked at again. */
  readonly changed: string[];
  /** This process's own object for a client. */
  client(key: string): TestClient;
  close(): Promise<void>;
}

export async function startProcess(
  name: string,
  clock: Clock,
  store: FleetStore,
  /** By how much its wall clock differs. */
  skew = 0,
): Promise<TestProcess> {
  const states: string[] = [];
  const changed: string[] = [];
  const fleet = new FleetRestrictions<TestClient>({
    store,
    process: name,
    wallClock: () => clock.now + skew,
    now: () => clock.now - 999_000,
    timers: clock.timers,
    keyOf: ({ key }) => key,
    isShared: ({ key }) => !key.startsWith("connection"),
    onChange: ({ key }) => changed.push(key),
    onState: (state) => states.push(state),
  });
  const restrictions = new Restrictions<TestClient>({
    now: () => clock.now - 999_000,
    elsewhere: fleet,
  });
  const starting = fleet.start(restrictions);
  await clock.advance(0);
  if (store instanceof TestStore && store.mode === "hangs") await clock.advance(1_000);
  await starting;
  const clients = new Map<string, TestClient>();
  return {
    fleet,
    restrictions,
    states,
    changed,
    client(key) {
      const client = clients.get(key) ?? { key };
      clients.set(key, client);
      return client;
    },
    async close() {
      await fleet.close();
    },
  };
}
