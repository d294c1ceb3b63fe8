/**
 * The agent itself: takes the lease, keeps the current version fresh and true, does what operators
 * ask. All that publishes runs one after another.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import { sha256Hex } from "../digest.ts";
import { messageOf } from "../errors.ts";
import { encodeSnapshot, SnapshotError, verifySnapshot } from "../snapshot/mod.ts";
import type { ActionType, Authority, OperatorAction } from "./action.ts";
import { claimedSigner, claimedType, type VerifiedAction, verifyAction } from "./action.ts";
import type {
  Agent,
  AgentRole,
  AgentSettings,
  HistoryOptions,
  Published,
  PublishOptions,
  RelayState,
} from "./agent.ts";
import { agentSettings, type FullSettings } from "./agent-options.ts";
import type { Alarm } from "./alarm.ts";
import { AlarmBoard } from "./alarm-board.ts";
import { contentsDigest } from "./archive.ts";
import { authorize, type Grant } from "./authorization.ts";
import { afterPool, afterRequest, afterRollback } from "./change.ts";
import { type SigningClock, signingClock } from "./clock.ts";
import { AgentError } from "./errors.ts";
import type { AgentEvent } from "./event.ts";
import type { Cause, HistoryEntry, Refusal } from "./history.ts";
import { Lease, type LeaseHolder } from "./lease.ts";
import { Ledger, type Occasion } from "./ledger.ts";
import { Loop } from "./loop.ts";
import { type Contents, isTakenOut, withFindings } from "./marks.ts";
import { parsePool, probeOf } from "./pool.ts";
import { Refusals } from "./refusals.ts";
import { relayStates } from "./relay-states.ts";
import { Serial } from "./serial.ts";
import { timedStore } from "./timed-store.ts";

/** Published again when a version has been current for this share of the maximum age. */
const FRESH_SHARE = 1 / 4;
/** Up to this share of that sooner, at random. */
const JITTER = 0.2;
/** Milliseconds by which a wall clock may be set before anybody is told. */
const CLOCK_TOLERANCE = 5_000;
/** How many next versions are tried at once. */
const VERSION_ATTEMPTS = 3;
/** Characters of a reason that no signature covers. */
const LONGEST_REASON = 500;

const causeOf: Readonly<Record<ActionType, Cause>> = {
  publish: "publish",
  rollback: "rollback",
  drain: "drain",
  undrain: "undrain",
  weight: "weight",
  health: "health-override",
};

type Event = AgentEvent extends infer E
  ? E extends { at: number }
    ? Omit<E, "at">
    : never
  : never;

class ConfigurationAgent implements Agent {
  readonly #settings: FullSettings;
  readonly #clock: SigningClock;
  readonly #alarms: AlarmBoard;
  readonly #lease: Lease;
  readonly #ledger: Ledger;
  readonly #refusals: Refusals;
  readonly #serial = new Serial();
  readonly #listeners = new Set<() => void>();
  readonly #leaseLoop: Loop;
  readonly #upkeepLoop: Loop;
  readonly #started = Promise.withResolvers<void>();
  #role: AgentRole = "starting";
  #holder: LeaseHolder | undefined;
  #hasStarted = false;
  /** Whether a version has to be published, so that none of the last holder's can be any more. */
  #fence = false;
  #freshFor: number;
  #healthAt = Number.NEGATIVE_INFINITY;
  #healthTimer: unknown;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(settings: AgentSettings) {
    const full = agentSettings(settings);
    this.#settings = full;
    const { monotonic, now, timers, maximumAge, leaseTtl, agentId, url } = full;
    this.#clock = signingClock({ wall: now, monotonic, patience: maximumAge * FRESH_SHARE });
    this.#alarms = new AlarmBoard(now, (alarm, raised) => this.#onAlarm(alarm, raised));
    const store = timedStore(full.store, {
      timers,
      timeout: full.storeTimeout,
      onResult: (fault) => {
        if (fault !== undefined) this.#alarms.raise("STORE_FAILED", `the store failed: ${fault}`);
      },
    });
    this.#lease = new Lease({
      store,
      agentId,
      ttl: leaseTtl,
      monotonic,
      onLost: () => this.#leaseLoop.now(),
      ...(url !== undefined && { url }),
    });
    this.#refusals = new Refusals(store);
    this.#ledger = new Ledger({
      store,
      agentId,
      lease: this.#lease,
      signingKey: full.signingKey,
      trustedKeys: full.trustedKeys,
      history: full.history,
      now: () => this.#clock.now(),
      findings: {
        isDown: (rid) => this.#isDown(rid),
        isDrainingByHint: (rid) => full.health?.hintOf(rid)?.state === "draining",
      },
      onCurrent: (published, own) => this.#onCurrent(published, own),
      onRepair: (version, message) => this.#tell({ event: "repaired", version, message }),
    });
    this.#freshFor = this.#nextFreshness();
    this.#leaseLoop = new Loop(
      timers,
      () => this.#lease.pause,
      () => this.#keepLease(),
    );
    this.#upkeepLoop = new Loop(
      timers,
      () => Math.min(leaseTtl / 4, maximumAge / 16),
      () => this.#serial.run(() => this.#keepUp()),
    );
    if (full.health !== undefined) full.health.onChange = () => this.#onHealth();
  }

  get role(): AgentRole {
    // Whoever did not renew in time cannot know that nobody else publishes.
    return this.#role === "publishing" && !this.#lease.held ? "waiting" : this.#role;
  }

  get holder(): LeaseHolder | undefined {
    return this.role === "waiting" ? this.#holder : undefined;
  }

  get current(): Published | undefined {
    return this.#ledger.current;
  }

  get refusals(): readonly Refusal[] {
    return this.#refusals.list;
  }

  get alarms(): readonly Alarm[] {
    return this.#alarms.list;
  }

  setAlarm(code: "POOL_FILE", message: string | undefined): void {
    this.#alarms.set(code, message);
  }

  get relays(): readonly RelayState[] {
    const { contents } = this.#ledger;
    return contents === undefined ? [] : relayStates(contents, this.#settings.health);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async start(): Promise<void> {
    if (this.#hasStarted) return this.#started.promise;
    this.#hasStarted = true;
    // Whoever waits hears of it; nobody else has to.
    this.#started.promise.catch(() => {});
    if (this.#settings.oneShot) return this.#startOnce();
    this.#refusals.load();
    this.#settings.health?.start();
    this.#leaseLoop.now();
    await this.#started.promise;
  }

  async stop(): Promise<void> {
    if (this.#role === "stopped") return;
    this.#setRole("stopped");
    const { timers, health } = this.#settings;
    timers.clearTimeout(this.#healthTimer);
    await Promise.all([this.#leaseLoop.stop(), this.#upkeepLoop.stop()]);
    await this.#serial.run(async () => {});
    await this.#refusals.settled();
    // A store that fails now leaves the lease to its time to live.
    await this.#lease.release().catch(() => {});
    await health?.stop();
    this.#started.reject(new AgentError("NOT_PUBLISHING", "the agent was stopped"));
    this.#listeners.clear();
  }

  publish(pool: unknown, authority: Authority, options: PublishOptions = {}): Promise<Published> {
    return this.#asked("publish", authority, options.reason, async (grant) => {
      const { version } = options;
      const { ownServiceUris } = this.#settings;
      const parsed = parsePool(pool, ownServiceUris === undefined ? {} : { ownServiceUris });
      if (grant.action?.type === "publish") {
        this.#requireNext(grant.action.newVersion);
        const signedFor = { ...parsed.snapshot, version: grant.action.newVersion };
        await requireDigest(grant.action.digest, await sha256Hex(encodeSnapshot(signedFor)));
      } else if (version !== undefined && authority.kind !== "local") {
        this.#requireNext(version);
      }
      if (version !== undefined && !this.#ledger.accepts(version)) throw this.#ledger.moved();
      const wanted = afterPool(parsed, this.#ledger.marks);
      const cause = this.#isNew ? "first" : "publish";
      const published = await contentsDigest(parsed.snapshot);
      const file = options.fromFile ? published : this.#ledger.pools?.file;
      const pools = { published, ...(file !== undefined && { file }) };
      return { wanted, occasion: { cause, pools }, ...(version !== undefined && { version }) };
    });
  }

  async isLoaded(pool: unknown): Promise<boolean | undefined> {
    const { ownServiceUris } = this.#settings;
    const parsed = parsePool(pool, ownServiceUris === undefined ? {} : { ownServiceUris });
    const digest = await contentsDigest(parsed.snapshot);
    const { pools } = this.#ledger;
    return pools && (pools.published === digest || pools.file === digest);
  }

  act(action: OperatorAction, authority: Authority): Promise<Published> {
    return this.#asked(action.type, authority, action.reason, async (grant) => {
      if (grant.action !== undefined && !sameAction(grant.action, action)) {
        throw new AgentError("BAD_SIGNATURE", "the action is not the one that was signed");
      }
      this.#requireNext(action.newVersion);
      const occasion: Occasion = { cause: causeOf[action.type] };
      if (action.type === "publish") {
        throw new AgentError("INVALID_ACTION", "a pool to publish is missing");
      }
      if (action.type === "rollback") return this.#rollback(action, occasion);
      return { wanted: afterRequest(this.#requireContents(), action), occasion };
    });
  }

  async submit(jws: string, pool?: unknown): Promise<Published> {
    const authority: Authority = { kind: "signed", jws };
    const { action, operator } = await this.#proved(authority);
    if (action.type !== "publish") return this.act(action, authority);
    if (pool === undefined) {
      const error = new AgentError("INVALID_ACTION", "a publish action needs a pool");
      this.#refuse("publish", authority, error, { operator }, action.reason);
      throw error;
    }
    return this.publish(pool, authority, { reason: action.reason });
  }

  /** Outside of the queue: nobody has to wait for what strangers send. */
  async #proved(authority: Extract<Authority, { kind: "signed" }>): Promise<VerifiedAction> {
    const { operators, now } = this.#settings;
    try {
      return await verifyAction(authority.jws, operators, now());
    } catch (error) {
      const type = claimedType(authority.jws);
      if (isRefusal(error)) this.#refuse(type, authority, error, {}, undefined);
      throw error;
    }
  }

  republish(): Promise<Published> {
    return this.#serial.run(async () => {
      await this.#requirePublishing();
      return this.#tryVersions(() =>
        this.#ledger.commit(this.#requireContents(), { cause: "republish" }),
      );
    });
  }

  history({ before = Number.POSITIVE_INFINITY, limit = 50 }: HistoryOptions = {}) {
    return this.#ledger.history(before, limit) as Promise<readonly HistoryEntry[]>;
  }

  async snapshotAt(version: number) {
    return (await this.#ledger.snapshotAt(version))?.verified;
  }

  /** Something that an authority asks for: allowed or refused, and written down in both cases. */
  #asked(
    type: ActionType,
    authority: Authority,
    reason: string | undefined,
    plan: (grant: Grant) => Promise<{ wanted: Contents; occasion: Occasion; version?: number }>,
  ): Promise<Published> {
    return this.#serial.run(async () => {
      await this.#requirePublishing();
      let grant: Grant = {};
      try {
        grant = await this.#authorize(type, authority);
        const { wanted, occasion, version } = await plan(grant);
        const about = { ...occasion, ...provenance(grant, reason) };
        if (type !== "publish" || grant.action !== undefined || version !== undefined) {
          return await this.#ledger.commit(wanted, about, version);
        }
        // Whoever asked for no version in particular gets the next one there is.
        return await this.#tryVersions(() => this.#ledger.commit(wanted, about));
      } catch (error) {
        const why = grant.action?.reason ?? reason;
        if (isRefusal(error)) this.#refuse(type, authority, error, grant, why);
        throw error;
      }
    });
  }

  #authorize(type: ActionType, authority: Authority): Promise<Grant> {
    const { operators, operatorSignatures, now } = this.#settings;
    // The first pool is the deployer's own: there is nothing yet that a signature could protect.
    const first = authority.kind === "local" && type === "publish" && this.#isNew;
    const signatures = first ? new Set<never>() : operatorSignatures;
    return authorize(type, authority, { operators, signatures, now: now() });
  }

  async #rollback(
    { oldVersion, digest }: Extract<OperatorAction, { type: "rollback" }>,
    occasion: Occasion,
  ): Promise<{ wanted: Contents; occasion: Occasion }> {
    if (this.#isNew) throw this.#nothing();
    const old = await this.#ledger.contentsAt(oldVersion);
    if (old === undefined) {
      const message = `the history has no version ${oldVersion} that can be verified`;
      throw new AgentError("UNKNOWN_VERSION", message);
    }
    await requireDigest(digest, old.verified.digest);
    const { ownServiceUris, trustedKeys } = this.#settings;
    if (ownServiceUris !== undefined) {
      // What was allowed then may be one of the fleet's own services by now.
      const anyTime = Number.POSITIVE_INFINITY;
      await verifySnapshot(old.envelope, trustedKeys, { now: anyTime, ownServiceUris });
    }
    const wanted = afterRollback(old.contents, this.#ledger.marks);
    return { wanted, occasion: { ...occasion, rolledBackTo: oldVersion } };
  }

  #requireContents(): Contents {
    const { contents } = this.#ledger;
    if (contents !== undefined) return contents;
    throw this.#nothing();
  }

  #nothing(): AgentError {
    const { lostVersion } = this.#ledger;
    const message =
      lostVersion === undefined
        ? "nothing is published yet: publish a pool first"
        : `version ${lostVersion} cannot be read: publish a pool or roll back first`;
    return new AgentError("UNKNOWN_VERSION", message);
  }

  /** Whether nothing was ever published that anybody who trusts our keys took. */
  get #isNew(): boolean {
    return this.current === undefined && this.#ledger.lostVersion === undefined;
  }

  #requireNext(version: number): void {
    if (version !== this.#ledger.floor + 1) throw this.#ledger.moved();
  }

  async #requirePublishing(): Promise<void> {
    if (this.#role !== "publishing" || !(await this.#stillHolds())) {
      throw new AgentError("NOT_PUBLISHING", "this agent does not publish now");
    }
    if (!this.#ledger.settled) await this.#ledger.settle();
  }

  /** Whoever was too busy to renew in time looks whether anybody took over meanwhile. */
  async #stillHolds(): Promise<boolean> {
    try {
      return await this.#lease.keep();
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      return this.#lease.held;
    }
  }

  async #startOnce(): Promise<void> {
    const { leaseTtl, timers } = this.#settings;
    for (;;) {
      const attempt = await this.#lease.attempt();
      if (attempt.taken) break;
      const { holder, alive } = attempt;
      if (alive) {
        const where = holder.url === undefined ? "" : ` at ${holder.url}`;
        const message = `the agent ${holder.agentId}${where} publishes from this store`;
        throw new AgentError("NOT_PUBLISHING", message);
      }
      await new Promise<void>((resolve) => {
        timers.setTimeout(resolve, leaseTtl / 4);
      });
    }
    await this.#refusals.load();
    this.#leaseLoop.now();
    await this.#serial.run(() => this.#ledger.settle());
    this.#setRole("publishing");
    this.#started.resolve();
  }

  /** One turn of the lease's loop: renews it, or tries to take it. Never rejects. */
  async #keepLease(): Promise<void> {
    try {
      const holds = this.#lease.held || this.#role === "publishing";
      if (holds && (await this.#lease.renew())) {
        this.#alarms.clear("STORE_FAILED");
        return;
      }
      this.#loseLease();
      if (this.#settings.oneShot) return;
      const attempt = await this.#lease.attempt();
      this.#holder = !attempt.taken && attempt.alive ? attempt.holder : undefined;
      this.#alarms.clear("STORE_FAILED");
      if (attempt.taken) {
        this.#fence ||= attempt.abandoned;
        this.#ledger.unsettle();
      } else if (this.#role !== "stopped") {
        this.#setRole("waiting", attempt.holder);
      }
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      // The store's alarm is raised already; what is held runs out by itself.
      this.#holder = undefined;
      if (!this.#lease.held) this.#loseLease();
    }
    if (!this.#settings.oneShot) this.#upkeepLoop.now();
  }

  #loseLease(): void {
    if (this.#role !== "publishing") return;
    this.#ledger.unsettle();
    this.#alarms.raise(
      "LEASE_LOST",
      "another agent publishes from this store, or the store is away",
    );
    this.#setRole("waiting");
  }

  /** One turn of upkeep. Never rejects. */
  async #keepUp(): Promise<void> {
    if (this.#role === "stopped") return;
    try {
      if (this.#lease.held) await this.#hold();
      else await this.#follow();
      this.#alarms.clear("PUBLISHING_FAILED");
    } catch (error) {
      this.#onFault(error);
    }
    this.#watch();
  }

  /** What the holder of the lease sees to. */
  async #hold(): Promise<void> {
    if (!this.#ledger.settled) await this.#ledger.settle();
    else await this.#lookAgain();
    this.#watchStore();
    await this.#tryVersions(() => this.#freshen());
    this.#alarms.clear("LEASE_LOST");
    if (this.#role === "publishing" || this.#role === "stopped") return;
    this.#setRole("publishing");
    this.#started.resolve();
  }

  /** Somebody may have written over the current item, or the store lost it. */
  async #lookAgain(): Promise<void> {
    const { monotonic, leaseTtl } = this.#settings;
    if (monotonic() - this.#lookedAt < leaseTtl) return;
    this.#lookedAt = monotonic();
    if (!(await this.#ledger.isIntact())) await this.#ledger.settle();
  }

  async #follow(): Promise<void> {
    const { monotonic, leaseTtl } = this.#settings;
    if (monotonic() - this.#lookedAt < leaseTtl) return;
    this.#lookedAt = monotonic();
    await this.#ledger.follow();
  }

  /**
   * Does `work`, which publishes the next version, again where somebody else published that:
   * whoever held the lease before, or we ourselves, through a store that answered late.
   */
  async #tryVersions<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const moved = error instanceof AgentError && error.code === "VERSION_MOVED";
        if (!moved || attempt === VERSION_ATTEMPTS) throw error;
      }
    }
  }

  /** Publishes where what is published is not what is true, or not fresh. */
  async #freshen(): Promise<void> {
    const { contents, current, floor } = this.#ledger;
    if (contents === undefined || current === undefined) return;
    const cause = this.#healthChanged(contents) ? this.#healthTurn() : undefined;
    const due =
      this.#fence ||
      floor > current.version ||
      current.kid !== this.#settings.signingKey.kid ||
      this.#isDue(current);
    if (cause === undefined && !due) return;
    await this.#ledger.commit(contents, { cause: cause ?? "republish" });
    this.#fence = false;
  }

  #healthChanged(contents: Contents): boolean {
    const wanted = withFindings(contents, 0, {
      isDown: (rid) => this.#isDown(rid),
      isDrainingByHint: (rid) => this.#settings.health?.hintOf(rid)?.state === "draining",
    });
    return wanted.snapshot.relays.some(
      ({ health }, i) => health !== contents.snapshot.relays[i]?.health,
    );
  }

  /** Changes of health that come close together are one version; a later one has its turn. */
  #healthTurn(): "health" | undefined {
    const { monotonic, publishPause } = this.#settings;
    if (monotonic() - this.#healthAt < publishPause) {
      this.#onHealth();
      return undefined;
    }
    this.#healthAt = monotonic();
    return "health";
  }

  /** Also where it is signed in what is now the future: load balancers refuse that. */
  #isDue({ signedAt }: Published): boolean {
    const age = this.#clock.now() - signedAt;
    return age >= this.#freshFor || age < -1000;
  }

  #nextFreshness(): number {
    const { maximumAge, random } = this.#settings;
    return maximumAge * FRESH_SHARE * (1 - JITTER * random());
  }

  #isDown(rid: string): boolean {
    const { health } = this.#settings;
    // Where nothing probes, what the last agent's probes found stands.
    if (health === undefined) return this.#ledger.marks.get(rid)?.probe === "down";
    return health.down.has(rid);
  }

  #onHealth(): void {
    this.#notify();
    const { timers, monotonic, publishPause, health } = this.#settings;
    const held = health?.heldByCap.size ?? 0;
    const message = `${held} relays fail beyond the share that probes may take out: check them`;
    this.#alarms.set("PROBE_CAP", held === 0 ? undefined : message);
    if (this.#role !== "publishing") return;
    timers.clearTimeout(this.#healthTimer);
    const pause = Math.max(0, publishPause - (monotonic() - this.#healthAt));
    this.#healthTimer = timers.setTimeout(() => this.#upkeepLoop.now(), pause);
  }

  #onCurrent(published: Published, own: boolean): void {
    this.#freshFor = this.#nextFreshness();
    const { contents } = this.#ledger;
    if (contents !== undefined) this.#watchRelays(contents);
    const { version, cause, digest } = published;
    this.#tell({ event: own ? "published" : "adopted", version, cause, digest });
    this.#watch();
    this.#notify();
  }

  #watchRelays({ snapshot, marks }: Contents): void {
    this.#settings.health?.setRelays(
      snapshot.relays.map((relay) => {
        const mark = marks.get(toHex(relay.rid)) ?? {};
        return {
          rid: relay.rid,
          uri: relay.uri,
          target: probeOf(relay),
          out: isTakenOut(mark),
          ...(mark.probe && { verdict: mark.probe }),
        };
      }),
    );
  }

  #watchStore(): void {
    const { lostVersion } = this.#ledger;
    const message =
      `version ${lostVersion} was published and cannot be read: nothing is published until the ` +
      "store gives it back, or an operator publishes a pool or rolls back";
    this.#alarms.set("STORE_DAMAGED", lostVersion === undefined ? undefined : message);
  }

  /** What is wrong for as long as it is. */
  #watch(): void {
    const { maximumAge, now, oneShot } = this.#settings;
    if (oneShot) return;
    this.#watchStore();
    const { current, fault } = this.#ledger;
    const age = current === undefined ? 0 : now() - current.signedAt;
    const old = age > maximumAge / 2;
    const seconds = Math.round(age / 1000);
    this.#alarms.set(
      "AGE_AT_RISK",
      old
        ? `version ${current?.version} is ${seconds} s old, over half of its maximum age`
        : undefined,
    );
    const { jumped } = this.#clock;
    this.#alarms.set(
      "CLOCK_JUMPED",
      Math.abs(jumped) > CLOCK_TOLERANCE ? clockMessage(jumped) : undefined,
    );
    this.#alarms.set(
      "NOTHING_PUBLISHED",
      this.#isNew && this.#role === "publishing"
        ? (fault ?? "the store has no snapshot yet: publish a pool")
        : undefined,
    );
  }

  #onFault(error: unknown): void {
    // That the lease is gone, and that the store does not answer, has alarms of its own.
    if (error instanceof AgentError && error.code === "NOT_PUBLISHING") return;
    if (error instanceof AgentError && error.cause !== undefined) return;
    const message = messageOf(error);
    this.#alarms.raise("PUBLISHING_FAILED", message);
  }

  #refuse(
    type: ActionType | "unknown",
    authority: Authority,
    error: AgentError | SnapshotError,
    grant: Grant,
    reason: string | undefined,
  ): void {
    const operator = grant.operator ?? (error instanceof AgentError ? error.operator : undefined);
    const claimed = authority.kind === "signed" ? claimedSigner(authority.jws) : undefined;
    const kid = operator?.kid ?? claimed?.slice(0, 100);
    const refusal: Refusal = {
      at: Math.round(this.#settings.now()),
      type,
      code: error.code,
      ...(operator && { operator: operator.name }),
      ...(kid !== undefined && { kid }),
      ...(operator && reason && { reason: reason.slice(0, LONGEST_REASON) }),
    };
    // The list in the store is the publisher's: one who waits would write over it.
    if (this.role === "publishing") this.#refusals.add(refusal);
    this.#tell({
      event: "refused",
      type,
      code: error.code,
      ...(operator && { operator: operator.name }),
    });
    this.#notify();
  }

  #setRole(role: AgentRole, holder?: { agentId: string; epoch: number }): void {
    if (this.#role === role || this.#role === "stopped") return;
    this.#role = role;
    const epoch = this.#lease.epoch ?? holder?.epoch;
    this.#tell({
      event: "role",
      role,
      ...(epoch !== undefined && { epoch }),
      ...(holder && { holder: holder.agentId }),
    });
    this.#notify();
  }

  #onAlarm({ code, message }: Alarm, raised: boolean): void {
    this.#tell({ event: raised ? "alarm" : "alarm-over", code, message });
    this.#notify();
  }

  #tell(event: Event): void {
    try {
      this.#settings.onEvent({ at: Math.round(this.#settings.now()), ...event } as AgentEvent);
    } catch {
      // A log that fails is no reason to publish nothing.
    }
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch {
        // It is the listener's own fault.
      }
    }
  }
}

/**
 * Makes an agent; `start` sets it going.
 *
 * @throws {AgentError} `INVALID_CONFIGURATION`, naming every setting that is wrong
 */
export function createAgent(settings: AgentSettings): Agent {
  return new ConfigurationAgent(settings);
}

function clockMessage(jumped: number): string {
  const [where, and] =
    jumped < 0
      ? ["back", "snapshots go on being signed by the time before, for a while"]
      : ["ahead", "load balancers refuse what is signed ahead of time"];
  const seconds = Math.round(Math.abs(jumped) / 1000);
  return `the clock of this machine was set ${where} by ${seconds} s: ${and}; set it right, or restart the agent where it is right now`;
}

function provenance(grant: Grant, reason: string | undefined): Partial<Occasion> {
  const { operator, action, jws, login } = grant;
  if (operator === undefined) return {};
  const { name, kid } = operator;
  const why = action?.reason ?? reason?.slice(0, LONGEST_REASON) ?? "";
  return {
    operator: { name, kid, reason: why, signed: jws !== undefined },
    ...(jws !== undefined && { action: jws }),
    ...(login !== undefined && { login }),
  };
}

/** Whether an error says no to somebody, rather than that something does not work. */
function isRefusal(error: unknown): error is AgentError | SnapshotError {
  if (error instanceof SnapshotError) return true;
  return (
    error instanceof AgentError && error.code !== "STORE_FAILED" && error.code !== "NOT_PUBLISHING"
  );
}

async function requireDigest(signed: string, digest: string): Promise<void> {
  if (signed === digest) return;
  throw new AgentError("DIGEST_MISMATCH", "the contents are not those that were signed for");
}

/** Whether both ask for the same, in whatever order their members stand. */
function sameAction(a: OperatorAction, b: OperatorAction): boolean {
  const members = (action: OperatorAction) =>
    JSON.stringify(
      Object.entries(action)
        .filter(([, value]) => value !== undefined)
        .sort(),
    );
  return members(a) === members(b);
}
