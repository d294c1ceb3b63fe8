/** What tests of the agent share: clocks that are moved by hand, stores that misbehave, observers. */

import assert from "node:assert/strict";
import {
  type Agent,
  type AgentEvent,
  type AgentSettings,
  createAgent,
  type Operator,
  type OperatorAction,
  type OperatorRequest,
  type Role,
  signAction,
} from "../../src/agent/mod.ts";
import {
  currentKey,
  exportPublicKey,
  generateSigningKey,
  importTrustedKeys,
  type SigningKey,
  SnapshotHolder,
  type TrustedKeys,
  trustSigningKeys,
  verifySnapshot,
  versionKey,
} from "../../src/snapshot/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { WritableStore } from "../../src/store/writable.ts";
import { ManualClock } from "../support/manual-clock.ts";

export const hour = 3_600_000;
/** When the tests begin, in milliseconds of the Unix epoch. */
export const epoch = Date.UTC(2026, 10, 5);
export const maximumAge = 600_000;
export const leaseTtl = 10_000;

/** A pool of `count` relays that are all on one hashed route. */
export function pool(count = 3, more: Readonly<Record<string, unknown>> = {}) {
  const rids = Array.from({ length: count }, (_, i) => `r${i + 1}`);
  return {
    relays: rids.map((rid) => ({ rid, uri: `https://${rid}.example/moq`, probe: "none" })),
    routes: [{ prefix: ["example.com"], kind: "hashed", rids }],
    ...more,
  };
}

/** The hexadecimal RID of relay `r<number>`. */
export const rid = (number: number) => `72${(0x30 + number).toString(16)}`;

/** A machine's time: a monotonic clock with timers, and a wall clock that can be set. */
export class Machine {
  readonly clock = new ManualClock();
  /** What the wall clock is off by, in milliseconds. */
  offset = 0;
  /** Milliseconds that went by while the process did nothing but one thing: no timer ran in them. */
  busy = 0;

  readonly time = {
    now: () => epoch + this.clock.now() + this.busy + this.offset,
    monotonic: () => this.clock.now() + this.busy,
    random: () => 0.5,
    timers: {
      setTimeout: (callback: () => void, milliseconds: number) =>
        this.clock.after(milliseconds, callback),
      clearTimeout: (timer: unknown) => (timer as (() => void) | undefined)?.(),
    },
  };

  /** Lets time pass in steps, each with time for what real cryptography takes. */
  async pass(milliseconds: number, step = 500): Promise<void> {
    await turn();
    for (let left = milliseconds; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await turn();
    }
  }

  /** Lets time pass until `holds`; fails where that takes more than ten simulated minutes. */
  async until(holds: () => boolean, what: string): Promise<void> {
    for (let steps = 0; !holds(); steps++) {
      assert.ok(steps < 2400, `never came about: ${what}`);
      this.clock.advance(250);
      await turn();
    }
  }

  /** Lets time pass until `work` is done. */
  async during<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const mark = () => {
      done = true;
    };
    work.then(mark, mark);
    await this.until(() => done, "the end of some work");
    return work;
  }
}

/** Lets everything happen that is ready to, threads of the platform's cryptography included. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Somebody with a key, as the configuration lists them. */
export interface Person {
  readonly key: SigningKey;
  readonly operator: Operator;
}

export async function person(name: string, roles: readonly Role[]): Promise<Person> {
  const key = await generateSigningKey();
  return { key, operator: { name, roles, key: key.publicKey, kid: key.kid } };
}

export interface Bed {
  readonly store: WritableStore;
  readonly signingKey: SigningKey;
  readonly trustedKeys: TrustedKeys;
  readonly ann: Person;
  readonly bob: Person;
  /** What a load balancer made of each item that was ever the current one. */
  readonly seen: readonly { readonly reason: string; readonly version?: number }[];
  /** Waits until the load balancer has looked at everything. */
  looked(): Promise<void>;
}

/**
 * A store that a load balancer watches, keys, and two operators: ann has the role `routes`, bob
 * `pool`.
 */
export async function bed(base: WritableStore = memoryStore()): Promise<Bed> {
  const signingKey = await generateSigningKey();
  const trustedKeys = trustSigningKeys(signingKey);
  const seen: { reason: string; version?: number }[] = [];
  const holder = new SnapshotHolder({
    source: base,
    trustedKeys,
    maximumAge: 24 * hour,
    now: () => epoch + 24 * hour,
  });
  let looking = Promise.resolve();
  const store: WritableStore = {
    ...base,
    async set(key, bytes) {
      await base.set(key, bytes);
      if (key !== currentKey) return;
      looking = looking.then(async () => {
        const { reason, version } = await holder.offer(new Uint8Array(bytes));
        seen.push(version === undefined ? { reason } : { reason, version });
      });
    },
  };
  return {
    store,
    signingKey,
    trustedKeys,
    ann: await person("ann", ["routes"]),
    bob: await person("bob", ["pool"]),
    seen,
    looked: () => looking,
  };
}

export interface Running {
  readonly agent: Agent;
  readonly machine: Machine;
  readonly events: AgentEvent[];
}

/** An agent on a machine of its own; nothing runs yet. */
export function agentOn(
  { store, signingKey, trustedKeys, ann, bob }: Bed,
  settings: Partial<AgentSettings> = {},
  machine = new Machine(),
): Running {
  const events: AgentEvent[] = [];
  const operators = new Map([ann, bob].map(({ operator }) => [operator.kid, operator]));
  const agent = createAgent({
    agentId: "a",
    store,
    signingKey,
    trustedKeys,
    maximumAge,
    leaseTtl,
    operators,
    operatorSignatures: new Set(),
    onEvent: (event) => events.push(event),
    ...machine.time,
    ...settings,
  });
  return { agent, machine, events };
}

/** An agent that publishes already. */
export async function startedOn(
  on: Bed,
  settings: Partial<AgentSettings> = {},
  machine = new Machine(),
): Promise<Running> {
  const running = agentOn(on, settings, machine);
  await machine.during(running.agent.start());
  return running;
}

export const local = { kind: "local" } as const;

/** Does what `request` asks for as the next version, signed by `by`. */
export async function signed(
  { agent, machine }: Running,
  by: Person,
  request: OperatorRequest,
  changes: { newVersion?: number; at?: number } = {},
) {
  const newVersion = changes.newVersion ?? (agent.current?.version ?? 0) + 1;
  const action = { ...request, newVersion, reason: "a reason" } as OperatorAction;
  const jws = await signAction(action, by.key, changes.at ?? machine.time.now());
  return { action, jws, authority: { kind: "signed", jws } as const };
}

/** As {@link signed}, and done. */
export async function act(running: Running, by: Person, request: OperatorRequest) {
  const { action, authority } = await signed(running, by, request);
  return running.machine.during(running.agent.act(action, authority));
}

/** Every version that the store has, oldest first. */
export async function versionsIn(store: WritableStore): Promise<number[]> {
  const keys = await store.keys("moq-lb:snapshot:");
  return keys
    .map((key) => Number(key.split(":")[2]))
    .filter((version) => Number.isSafeInteger(version))
    .sort((a, b) => a - b);
}

/**
 * What has to hold of a store whatever happened: the newest version is the current one, each
 * verifies, each is in the history of `agent` with its digest, and a load balancer that looked at
 * every item it was ever shown never went back.
 */
export async function assertWhole(on: Bed, agent: Agent, except: readonly number[] = []) {
  const { store, trustedKeys } = on;
  const anyTime = { now: Number.POSITIVE_INFINITY };
  const versions = (await versionsIn(store)).filter((version) => !except.includes(version));
  const current = await verifySnapshot(
    (await store.get(currentKey)) as Uint8Array,
    trustedKeys,
    anyTime,
  );
  assert.equal(current.snapshot.version, versions.at(-1), "the newest version is the current one");
  const entries = (await agent.history({ limit: 1000 })).filter(
    ({ version }) => !except.includes(version),
  );
  assert.deepEqual(
    entries.map(({ version }) => version),
    versions.toReversed(),
    "the history has every version",
  );
  for (const { version, digest, agentId } of entries) {
    const envelope = (await store.get(versionKey(version))) as Uint8Array;
    const verified = await verifySnapshot(envelope, trustedKeys, anyTime);
    assert.equal(verified.snapshot.version, version);
    assert.equal(verified.digest, digest);
    assert.notEqual(agentId, "", `version ${version} has its record`);
  }
  await on.looked();
  const activated = on.seen.filter(({ reason }) => reason === "activated");
  const order = activated.map(({ version }) => version as number);
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
    "versions only rise",
  );
  assert.equal(order.at(-1), versions.at(-1));
}

/** What can be done to an operation of a store. */
export type StoreOperation = "get" | "set" | "create" | "keys" | "remove";

/** What an operation is, to whoever meddles with it. */
export interface Call {
  readonly operation: StoreOperation;
  readonly key: string;
  readonly bytes?: Uint8Array;
}

/** `store`, each operation of which goes through `meddle`, which may do it, or not, or late. */
export function meddled(
  store: WritableStore,
  meddle: <T>(call: Call, proceed: () => Promise<T>) => Promise<T>,
): WritableStore {
  return {
    get: (key, maximumBytes) =>
      meddle({ operation: "get", key }, () => store.get(key, maximumBytes)),
    set: (key, bytes) => meddle({ operation: "set", key, bytes }, () => store.set(key, bytes)),
    create: (key, bytes) =>
      meddle({ operation: "create", key, bytes }, () => store.create(key, bytes)),
    keys: (prefix) => meddle({ operation: "keys", key: prefix }, () => store.keys(prefix)),
    remove: (key) => meddle({ operation: "remove", key }, () => store.remove(key)),
  };
}

/** Trust in both keys, as a deployment has it while it rotates them. */
export async function trustBoth(...keys: readonly SigningKey[]): Promise<TrustedKeys> {
  return importTrustedKeys(await Promise.all(keys.map(exportPublicKey)));
}
