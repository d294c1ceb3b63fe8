/** What the suites of this room share: a valid snapshot, envelopes built by hand, fake platforms. */

import { concatBytes, fromHex, utf8 } from "../../../src/bytes.ts";
import { type CborValue, encodeCbor } from "../../../src/snapshot/cbor.ts";
import {
  generateSigningKey,
  type Outcome,
  parseSnapshot,
  type SigningKey,
  type Snapshot,
  SnapshotHolder,
  type SnapshotHolderOptions,
  type SnapshotStore,
  signSnapshot,
  type Timers,
  trustSigningKeys,
} from "../../../src/snapshot/mod.ts";

/** A snapshot in its JSON form that uses every field. */
export function validJson(version = 7): Record<string, unknown> {
  return {
    version,
    relays: [
      { rid: "r1", uri: "https://r1.example/moq", health: "healthy" },
      { rid: "r2", uri: "https://r2.example/moq", health: "draining", attributes: { zone: "a" } },
      { rid: { hex: "00ff10" }, uri: "https://r3.example/moq", health: "unhealthy" },
    ],
    routes: [
      {
        prefix: ["example.com"],
        kind: "hashed",
        key_fields: 2,
        profile: "HRW-SHA256-64",
        rids: ["r1", { rid: "r2", weight: 3 }, { rid: { hex: "00ff10" }, weight: 0 }],
      },
      { prefix: ["example.com", "ops"], kind: "static", rid: "r1", attributes: { owner: null } },
      { prefix: [], kind: "hashed", rids: ["r1"] },
    ],
    attributes: { made: "by hand" },
  };
}

/** {@link validJson} with other values at some paths, written as `routes[0].rids[1].weight`. */
export function jsonWith(changes: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const json = validJson();
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split(/[.[\]]+/).filter((key) => key !== "");
    const last = keys.pop() as string;
    let node = json;
    for (const key of keys) node = node[key] as Record<string, unknown>;
    node[last] = value;
  }
  return json;
}

export function snapshotOf(version: number): Snapshot {
  return parseSnapshot(validJson(version));
}

/** A JSON form, right or wrong, as the CBOR that would carry it: RIDs and fields as bytes. */
export function wireOf(json: Record<string, unknown>): Uint8Array {
  const bytes = (value: unknown): unknown => {
    if (typeof value === "string") return utf8(value);
    const hex = (value as { hex?: string } | null)?.hex;
    return hex === undefined ? value : fromHex(hex);
  };
  const list = (value: unknown, change: (item: never) => unknown) =>
    Array.isArray(value) ? value.map((item) => change(item as never)) : value;
  const named = <T extends object>(map: T) =>
    "rid" in map ? { ...map, rid: bytes(map.rid) } : map;
  return encodeCbor({
    ...json,
    relays: list(json.relays, named),
    routes: list(json.routes, (route: Record<string, unknown>) => ({
      ...named(route),
      prefix: list(route.prefix, bytes),
      ...("rids" in route && {
        rids: list(route.rids, (item: object | string) =>
          typeof item === "object" && "rid" in item ? named(item) : bytes(item),
        ),
      }),
    })),
  } as CborValue);
}

/** The head of a CBOR byte string or array, by hand. */
function cborHead(majorType: number, count: number): Uint8Array {
  const type = majorType << 5;
  if (count < 24) return Uint8Array.of(type | count);
  if (count < 0x100) return Uint8Array.of(type | 24, count);
  return Uint8Array.of(type | 25, count >> 8, count & 0xff);
}

export function cborBytes(bytes: Uint8Array): Uint8Array {
  return concatBytes(cborHead(2, bytes.length), bytes);
}

/** A protected header with alg EdDSA, `kid` and iat in seconds, below 2^32. */
export function headerOf(kid: string, seconds: number): Uint8Array {
  const iat = new Uint8Array(4);
  new DataView(iat.buffer).setUint32(0, seconds);
  return concatBytes(
    Uint8Array.of(0xa3, 0x01, 0x27, 0x04),
    cborBytes(utf8(kid)),
    Uint8Array.of(0x0f, 0xa1, 0x06, 0x1a),
    iat,
  );
}

/** Signs any header and payload, without a line of the code under test. */
export async function signRaw(
  key: SigningKey,
  header: Uint8Array,
  payload: Uint8Array,
  unprotected: Uint8Array = Uint8Array.of(0xa0),
): Promise<Uint8Array> {
  const message = concatBytes(
    Uint8Array.of(0x84, 0x6a),
    utf8("Signature1"),
    cborBytes(header),
    Uint8Array.of(0x40),
    cborBytes(payload),
  ) as Uint8Array<ArrayBuffer>;
  const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", key.privateKey, message));
  return concatBytes(
    Uint8Array.of(0xd2, 0x84),
    cborBytes(header),
    unprotected,
    cborBytes(payload),
    cborBytes(signature),
  );
}

/** A store in memory that can be made to fail, and to answer late. */
export class TestStore implements SnapshotStore {
  readonly items = new Map<string, Uint8Array>();
  readonly written: string[] = [];
  reads = 0;
  /** What the last read was limited to. */
  maximumBytes: number | undefined;
  fails = false;
  /** While set, reads wait for it. */
  gate: Promise<void> | undefined;

  async get(key: string, maximumBytes?: number): Promise<Uint8Array | undefined> {
    this.reads++;
    this.maximumBytes = maximumBytes;
    await this.gate;
    if (this.fails) throw new Error("connection refused");
    return this.items.get(key);
  }

  async set(key: string, bytes: Uint8Array): Promise<void> {
    if (this.fails) throw new Error("connection refused");
    this.written.push(key);
    this.items.set(key, bytes);
  }
}

/** Timers that fire when told to. */
export class TestTimers implements Timers {
  readonly pending = new Map<number, { callback: () => void; delay: number }>();
  #next = 1;

  setTimeout(callback: () => void, delay: number): number {
    this.pending.set(this.#next, { callback, delay });
    return this.#next++;
  }

  clearTimeout(timer: unknown): void {
    this.pending.delete(timer as number);
  }

  /** Delays of what is waiting, in the order it was set. */
  get delays(): number[] {
    return [...this.pending.values()].map(({ delay }) => delay);
  }

  /** Fires all that is waiting now. */
  fire(): void {
    const due = [...this.pending.values()];
    this.pending.clear();
    for (const { callback } of due) callback();
  }
}

/** Lets promises go on that wait for nothing but each other. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await undefined;
}

/** Lets the event loop turn, in which WebCrypto gives its results. */
export async function turn(): Promise<void> {
  await crypto.subtle.digest("SHA-256", new Uint8Array());
}

/** 2023-11-14 22:13:20 UTC: a whole second. */
export const T0 = 1_700_000_000_000;
export const HOUR = 3_600_000;

/** A holder with everything around it in the hands of the test. */
export interface Bench {
  readonly holder: SnapshotHolder;
  readonly source: TestStore;
  readonly lastKnownGood: TestStore;
  readonly timers: TestTimers;
  readonly clock: { now: number };
  readonly events: Outcome[];
  readonly key: SigningKey;
  /** The envelope of {@link snapshotOf} `version`, signed at the clock's time or at `issuedAt`. */
  envelope(version: number, issuedAt?: number): Promise<Uint8Array>;
  /** The same instance after a restart: the stores and the clock stay. */
  restarted(options?: Partial<SnapshotHolderOptions>): SnapshotHolder;
}

export async function bench(options: Partial<SnapshotHolderOptions> = {}): Promise<Bench> {
  const key = await generateSigningKey();
  const source = new TestStore();
  const lastKnownGood = new TestStore();
  const timers = new TestTimers();
  const clock = { now: T0 };
  const events: Outcome[] = [];
  const restarted = (more: Partial<SnapshotHolderOptions> = {}) =>
    new SnapshotHolder({
      source,
      lastKnownGood,
      trustedKeys: trustSigningKeys(key),
      maximumAge: HOUR,
      now: () => clock.now,
      random: () => 0.5,
      timers,
      onEvent: (outcome) => events.push(outcome),
      ...options,
      ...more,
    });
  return {
    holder: restarted(),
    source,
    lastKnownGood,
    timers,
    clock,
    events,
    key,
    envelope: (version, issuedAt = clock.now) =>
      signSnapshot(snapshotOf(version), key, { issuedAt }),
    restarted,
  };
}
