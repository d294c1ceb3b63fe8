/**
 * The versions that are published: which one is current, what its relays are marked with, and how
 * the next one comes after it. Nothing here decides what to publish.
 *
 * @module
 */

import type { Snapshot } from "../snapshot/mod.ts";
import type { WritableStore } from "../store/writable.ts";
import type { Published } from "./agent.ts";
import { Archive, contentsDigest, type Damage, type Found, type StoredVersion } from "./archive.ts";
import { changesBetween } from "./changes.ts";
import { AgentError } from "./errors.ts";
import type { Cause, HistoryEntry, HistoryOperator } from "./history.ts";
import type { Lease } from "./lease.ts";
import { type Contents, type Findings, type Marks, marksOfHealth, withFindings } from "./marks.ts";
import { type Publication, Publisher, type PublisherOptions } from "./publisher.ts";
import type { Pools, PublicationRecord } from "./record.ts";

export interface LedgerOptions extends Omit<PublisherOptions, "onStep"> {
  readonly agentId: string;
  readonly store: WritableStore;
  readonly lease: Lease;
  /** Versions that are kept. */
  readonly history: number;
  /** Time of signing in milliseconds of the Unix epoch. */
  readonly now: () => number;
  readonly findings: Findings;
  /** A version became the current one that was not before; `own` where it was published here. */
  readonly onCurrent: (published: Published, own: boolean) => void;
  readonly onRepair: (version: number, message: string) => void;
}

/** Why a version is published. */
export interface Occasion {
  readonly cause: Cause;
  readonly operator?: HistoryOperator;
  readonly action?: string;
  readonly login?: string;
  readonly rolledBackTo?: number;
  /** Where a pool is published: those that came last, this one included. */
  readonly pools?: Pools;
}

/** The newest version with everything that is known of it. */
interface Head extends StoredVersion {
  /** Absent where the version was published without one, or its key is trusted no longer. */
  readonly record?: PublicationRecord;
  readonly contents: Contents;
  readonly contentsDigest: string;
  readonly published: Published;
}

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #archive: Archive;
  readonly #publisher: Publisher;
  #head: Head | undefined;
  #floor = 0;
  /** Newest first. */
  #versions: readonly number[] = [];
  #replaceable: readonly number[] = [];
  #damage: Damage | undefined;
  #fault: string | undefined;
  #settled = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#archive = new Archive(options.store, options.trustedKeys);
    this.#publisher = new Publisher({ ...options, onStep: () => this.#step() });
  }

  get current(): Published | undefined {
    return this.#head?.published;
  }

  /** What is published now; the base of the next version. None where a newer one is lost. */
  get contents(): Contents | undefined {
    return this.#damage === undefined ? this.#head?.contents : undefined;
  }

  /** What is known of relays beside the contents: also where those are lost. */
  get marks(): Marks {
    return this.#damage?.marks ?? this.#head?.contents.marks ?? new Map();
  }

  /** The highest version that was published, where it cannot be read. */
  get lostVersion(): number | undefined {
    return this.#damage?.version;
  }

  /** Which pools came last; absent where no record tells. */
  get pools(): Pools | undefined {
    return this.#head?.record?.pools;
  }

  /** The next version is the one after this. */
  get floor(): number {
    return this.#floor;
  }

  /**
   * Whether `version` can be published: none that load balancers may have activated is at or above
   * it (LB-ROT-3).
   */
  accepts(version: number): boolean {
    if (version > this.#floor) return true;
    const sound = this.#versions.filter((other) => !this.#replaceable.includes(other));
    const { lostVersion } = this;
    const lost = lostVersion !== undefined && !this.#replaceable.includes(lostVersion);
    const taken = [this.#head?.published.version ?? 0, lost ? lostVersion : 0, ...sound];
    return version > Math.max(...taken);
  }

  /** Whether the store holds what is known here, as far as can be told without asking. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Why what the store held as current could not be used, at the last look. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** The store has to be looked at before anything is published. */
  unsettle(): void {
    this.#settled = false;
  }

  /**
   * Looks into the store and completes what is half-done there: the newest version that a trusted
   * key vouches for becomes the current one, whoever began to publish it, and one that the store
   * has lost is put back. To be called by the holder of the lease alone.
   *
   * Where the newest version cannot be read nothing is changed: to publish the one before would
   * undo what operators did, without a signature (LB-ROT-5). The next look may find it; otherwise
   * operators have to publish or to roll back, which goes on above it.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async settle(): Promise<void> {
    const found = await this.#archive.look(this.#head);
    this.#fault = found.fault;
    this.#versions = found.versions;
    this.#replaceable = found.replaceable;
    this.#damage = found.damage;
    this.#floor = Math.max(this.#floor, found.versions[0] ?? 0, found.damage?.version ?? 0);
    if (found.damage !== undefined) return this.unsettle();
    await this.#complete(found);
    const version = this.#head?.published.version ?? 0;
    if (found.confirmed !== version) await this.#publisher.confirm(version);
    // What they tell of did not happen.
    for (const unpublished of found.unpublished) await this.#archive.forget(unpublished);
    await this.#archive.removeOrphans(this.#versions);
    this.#settled = true;
  }

  async #complete({ newest, isCurrent, isKept, fault }: Found): Promise<void> {
    const head = this.#head;
    if (head !== undefined && (newest?.verified.snapshot.version ?? -1) < head.published.version) {
      await this.#publisher.putBack(head, head.record);
      this.#know(head.published.version);
      this.#options.onRepair(head.published.version, "the store had lost it, and has it again");
    } else if (newest !== undefined) {
      const { version } = newest.verified.snapshot;
      if (newest.verified.digest !== head?.verified.digest) await this.#adopt(newest);
      // Where a higher version has an item that does not count, the next one goes above that and
      // becomes current by itself: what is current never steps back meanwhile (LB-ROT-3).
      if (!isKept || (!isCurrent && this.#floor <= version)) {
        await this.#publisher.putBack(newest);
        this.#options.onRepair(version, repairOf(isKept, fault));
      }
      this.#know(version);
    }
  }

  /**
   * Takes over what is current in the store, without changing anything there: for an agent that
   * waits.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async follow(): Promise<void> {
    if (this.#head !== undefined && (await this.#publisher.isCurrent(this.#head.envelope))) return;
    const { newest, damage } = await this.#archive.look(this.#head);
    if (
      damage !== undefined ||
      newest === undefined ||
      newest.verified.digest === this.#head?.verified.digest
    )
      return;
    if (newest.verified.snapshot.version > (this.#head?.published.version ?? -1)) {
      await this.#adopt(newest);
      this.#know(newest.verified.snapshot.version);
    }
  }

  /**
   * Whether the store still gives back what is current.
   *
   * @throws {AgentError} `STORE_FAILED`
   */
  async isIntact(): Promise<boolean> {
    return this.#head === undefined || (await this.#publisher.isCurrent(this.#head.envelope));
  }

  /**
   * Publishes the next version, with the health of its relays as it is found now.
   *
   * @param version another one above the floor, or one whose item is no envelope at all
   * @throws {SnapshotError} `INVALID_SNAPSHOT` with every problem, `UNTRUSTED_KEY`
   * @throws {AgentError} `NOT_PUBLISHING` where the lease is lost, `VERSION_MOVED` where somebody
   *   else published that version, `STORE_FAILED`, after which it may be published or not: the next
   *   look tells
   */
  async commit(
    wanted: Contents,
    occasion: Occasion,
    version: number = this.#floor + 1,
  ): Promise<Published> {
    this.#requireHeld(await this.#options.lease.keep());
    const draft = withFindings(wanted, version, this.#options.findings);
    const publication = await this.#sign(draft, occasion);
    // All that took its time, and somebody may have taken over in it.
    await this.#requireLease();
    this.#settled = false;
    if (this.#replaceable.includes(version)) await this.#archive.remove(version);
    if (!(await this.#publisher.publish(publication))) {
      await this.#requireLease();
      await this.settle();
      throw this.moved();
    }
    const before = this.#head;
    await this.#take(publication, draft.marks);
    this.#damage = undefined;
    this.#know(version);
    this.#settled = true;
    const published = (this.#head as Head).published;
    this.#options.onCurrent(published, true);
    await this.#afterwards(before);
    return published;
  }

  /** The error for an action that is for another version than the next. */
  moved(): AgentError {
    const message = `the current version is ${this.#floor}: the next one is ${this.#floor + 1}`;
    return new AgentError("VERSION_MOVED", message, { currentVersion: this.#floor });
  }

  /** What was published under `version`, with the marks of its relays. */
  async contentsAt(version: number): Promise<(StoredVersion & { contents: Contents }) | undefined> {
    const stored = await this.#archive.snapshotAt(version);
    if (stored === undefined) return undefined;
    const { snapshot, digest } = stored.verified;
    const record = await this.#archive.record(version, digest);
    return { ...stored, contents: { snapshot, marks: record?.marks ?? marksOfHealth(snapshot) } };
  }

  snapshotAt(version: number): Promise<StoredVersion | undefined> {
    return this.#archive.snapshotAt(version);
  }

  /** Newest first; versions of which nothing can be verified are left out. */
  async history(before: number, limit: number): Promise<readonly HistoryEntry[]> {
    const versions = (await this.#archive.versions()).filter((version) => version < before);
    const entries = await Promise.all(
      versions.slice(0, limit).map((version) => this.#archive.entry(version)),
    );
    return entries.filter((entry) => entry !== undefined);
  }

  async #requireLease(): Promise<void> {
    this.#requireHeld(await this.#options.lease.renew());
  }

  /**
   * Between two steps that may take long: whatever waits has its turn, timers and connections, and
   * the lease is renewed where that is due, so that nobody takes this agent for dead.
   */
  async #step(): Promise<void> {
    await nextTurn();
    this.#requireHeld(await this.#options.lease.keep());
  }

  #requireHeld(held: boolean): void {
    if (held) return;
    this.#settled = false;
    throw new AgentError("NOT_PUBLISHING", "another agent publishes from this store");
  }

  async #sign(draft: Contents, occasion: Occasion): Promise<Publication> {
    const { agentId, now } = this.#options;
    const head = this.#head;
    // A large pool takes seconds to encode, and most versions only repeat the one before.
    const contents =
      head !== undefined && isSame(head.contents.snapshot, draft.snapshot)
        ? head.contentsDigest
        : await contentsDigest(draft.snapshot);
    const repeats = head !== undefined && contents === head.contentsDigest;
    await this.#step();
    const changes =
      head === undefined || repeats ? [] : changesBetween(head.contents.snapshot, draft.snapshot);
    await this.#step();
    const { pools } = this;
    return this.#publisher.sign(draft.snapshot, now(), {
      agentId,
      ...(pools && { pools }),
      ...occasion,
      changes,
      contents,
      since: repeats ? head.published.since : draft.snapshot.version,
      marks: draft.marks,
    });
  }

  /**
   * What has to be done once a version is published. Nothing of it can undo that, so nothing of it
   * is an error to whoever asked for the version.
   */
  async #afterwards(before: Head | undefined): Promise<void> {
    try {
      if (!(await this.#options.lease.check())) {
        // The lease went to another while we published: what is newest has to be current.
        await this.settle();
        this.#settled = false;
        return;
      }
      await this.#publisher.confirm((this.#head as Head).published.version);
      await this.#prune(before);
    } catch {
      this.#settled = false;
    }
  }

  /**
   * Of versions that only repeat the one before, the history keeps the latest: a quiet deployment
   * would fill the store otherwise. What operators did stays, until there are too many versions.
   */
  async #prune(before: Head | undefined): Promise<void> {
    const head = this.#head as Head;
    const repeated =
      before?.published.cause === "republish" &&
      head.published.cause === "republish" &&
      before.contentsDigest === head.contentsDigest;
    const surplus = this.#versions.slice(this.#options.history);
    const removed = repeated ? [before.published.version, ...surplus] : surplus;
    for (const version of removed) await this.#archive.remove(version);
    this.#versions = this.#versions.filter((version) => !removed.includes(version));
  }

  async #adopt(stored: StoredVersion): Promise<void> {
    const { snapshot, digest } = stored.verified;
    const record = await this.#archive.record(snapshot.version, digest);
    const marks = record?.marks ?? marksOfHealth(snapshot);
    this.#head = await headOf(stored, { snapshot, marks }, record);
    this.#options.onCurrent(this.#head.published, false);
  }

  async #take(
    { envelope, verified, record }: Publication,
    marks: Contents["marks"],
  ): Promise<void> {
    const contents = { snapshot: verified.snapshot, marks };
    this.#archive.remember(record);
    this.#head = await headOf({ envelope, verified }, contents, record);
  }

  #know(version: number): void {
    if (!this.#versions.includes(version)) {
      this.#versions = [...this.#versions, version].sort((a, b) => b - a);
    }
    this.#replaceable = this.#replaceable.filter((other) => other !== version);
    this.#floor = Math.max(this.#floor, version);
  }
}

function repairOf(isKept: boolean, fault: string | undefined): string {
  if (!isKept) return "its own item was lost, and is there again";
  return fault === undefined
    ? "it was published half-way, or an older one was put in its place"
    : `it is current again: ${fault}`;
}

async function headOf(
  stored: StoredVersion,
  contents: Contents,
  record: PublicationRecord | undefined,
): Promise<Head> {
  const { envelope, verified } = stored;
  const { snapshot, digest, kid, signedAt } = verified;
  return {
    envelope,
    verified,
    ...(record && { record }),
    contents,
    contentsDigest: record?.contents ?? (await contentsDigest(snapshot)),
    published: {
      version: snapshot.version,
      digest,
      kid,
      signedAt,
      envelope,
      snapshot,
      cause: record?.cause ?? "publish",
      since: record?.since ?? snapshot.version,
    },
  };
}

/** Resolves once timers that are due and what came from outside have had their turn. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Whether both have the very same parts: quick to tell, and `false` says nothing. */
function isSame(a: Snapshot, b: Snapshot): boolean {
  return (
    a.routes === b.routes &&
    a.attributes === b.attributes &&
    a.relays.length === b.relays.length &&
    a.relays.every((relay, i) => relay === b.relays[i])
  );
}
