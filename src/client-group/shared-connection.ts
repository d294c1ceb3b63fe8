/**
 * One connection to an origin as the intermediary has it: its state, the groups on it, and what the
 * origin has said of them.
 *
 * @module
 */

import { isUnprocessed, lowerBoundary } from "./boundary.ts";
import { ClientGroupError, GroupConnectionError } from "./errors.ts";
import { actionOf } from "./group-action.ts";
import { GroupAdmission, type GroupAdmissionOptions } from "./group-admission.ts";
import { receiveGroupControl } from "./group-control.ts";
import { IdentifierTable, type IdentifierTableOptions } from "./identifier-table.ts";
import type { OriginKey, RestrictionScope } from "./origin-key.ts";
import type { Restrictions, Verdict } from "./restrictions.ts";
import type { IntermediarySettings } from "./settings.ts";

export interface SharedConnectionOptions<Client>
  extends GroupAdmissionOptions,
    IdentifierTableOptions {
  readonly settings: IntermediarySettings;
  /** Equal for all requests on the connection. */
  readonly key: OriginKey;
  /** Where a BLOCK or LIMIT that comes on it holds. */
  readonly scope: RestrictionScope;
  /** One for all connections of the intermediary. */
  readonly restrictions: Restrictions<Client>;
}

/** ACTIVE takes requests (CG-STATE-1), DRAINING finishes them (CG-STATE-2), CLOSED has none. */
export type ConnectionState = "ACTIVE" | "DRAINING" | "CLOSED";

/** Whether a request was placed, and if not, why. */
export type Placing =
  | {
      readonly placed: true;
      /** What its Client-Group says; `undefined` where it has none (CG-PROC-6). */
      readonly identifier: number | undefined;
    }
  | {
      readonly placed: false;
      /**
       * `not-active`, `departed` (GOAWAY for the group), `not-alone` (it needs a connection free of
       * others), `policy` and `exhausted` (no identifiers left): another connection may do. `blocked`
       * and `limited`: none will, for now.
       */
      readonly because:
        | "not-active"
        | "departed"
        | "not-alone"
        | "policy"
        | "exhausted"
        | Exclude<Verdict, "free">;
    };

/** What a GROUP_CONTROL frame has changed. */
export type GroupEffect<Client> =
  | { readonly type: "ignored" }
  | {
      readonly type: "GOAWAY";
      readonly client: Client;
      readonly alone: boolean;
      /** The lowest so far, to be held against the group's streams in progress. */
      readonly boundary: bigint;
    }
  | { readonly type: "BLOCK" | "LIMIT" | "CLEAR"; readonly client: Client };

/** @typeParam Client what stands for a client group, the same on all connections */
export class SharedConnection<Client> {
  readonly settings: IntermediarySettings;
  readonly key: OriginKey;
  readonly scope: RestrictionScope;
  readonly #restrictions: Restrictions<Client>;
  readonly #identifiers: IdentifierTable<Client>;
  readonly #admission: GroupAdmission<Client>;
  /** Groups that were told to leave, with the lowest boundary of each. */
  readonly #departed = new Map<Client, bigint>();
  #state: ConnectionState = "ACTIVE";
  #boundary: bigint | undefined;

  constructor(options: SharedConnectionOptions<Client>) {
    this.settings = options.settings;
    this.key = options.key;
    this.scope = options.scope;
    this.#restrictions = options.restrictions;
    this.#identifiers = new IdentifierTable(options);
    this.#admission = new GroupAdmission(options.settings, options);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** How many groups have a request in progress here. */
  get groupsInProgress(): number {
    return this.#admission.groupsInProgress;
  }

  /** Whether it is one client's own, because the origin said so (CG-GOAWAY-4). */
  get reserved(): boolean {
    return this.#admission.reserved;
  }

  /** Whether the client's group was told to leave it (CG-GOAWAY-1). */
  hasDeparted(client: Client): boolean {
    return this.#departed.has(client);
  }

  /** Whether a client that never had a request here may have one, as far as its policy goes. */
  get admitsNewcomers(): boolean {
    return this.#state === "ACTIVE" && this.#admission.admitsNewcomers;
  }

  /** The client whose request was the first here; it is admitted where others are not. */
  get firstClient(): Client | undefined {
    return this.#admission.first;
  }

  /** The groups with requests in progress here, as a page shows them. */
  *groups(): Iterable<{
    readonly client: Client;
    readonly identifier: number | undefined;
    readonly inProgress: number;
  }> {
    for (const [client, inProgress] of this.#admission.groups) {
      yield { client, identifier: this.#identifiers.identifierOf(client), inProgress };
    }
  }

  /** The client's identifier on this connection, where it has one. */
  identifierOf(client: Client): number | undefined {
    return this.#identifiers.identifierOf(client);
  }

  /**
   * Places a request of the client here if everything allows it: one step, so that nothing comes in
   * between (CG-STATE-5). Where it is not placed, nothing has changed.
   *
   * @param from `queue` where the restrictions count it as queued
   */
  place(client: Client, from: "fresh" | "queue" = "fresh"): Placing {
    if (this.#state !== "ACTIVE") return { placed: false, because: "not-active" };
    if (this.#departed.has(client)) return { placed: false, because: "departed" };
    const verdict = this.#restrictions.judge(client, this.scope);
    if (verdict !== "free") return { placed: false, because: verdict };
    const alone = this.#restrictions.isAlone(client, this.key);
    if (alone && !this.#admission.isFreeOfOthers(client)) {
      return { placed: false, because: "not-alone" };
    }
    if (!this.#admission.admits(client)) return { placed: false, because: "policy" };
    const identifier = this.settings.tags ? this.#identifiers.assign(client) : undefined;
    if (this.settings.tags && identifier === undefined) {
      return { placed: false, because: "exhausted" };
    }
    this.#restrictions.start(client, this.scope, from);
    this.#admission.start(client);
    if (alone) this.#admission.reserve(client);
    return { placed: true, identifier };
  }

  /**
   * A request that was placed here has ended, in whatever way.
   *
   * @throws {ClientGroupError} OUT_OF_ORDER where the client has none in progress here
   */
  end(client: Client): void {
    this.#admission.end(client);
    this.#restrictions.end(client, this.scope);
  }

  /**
   * Takes a GROUP_CONTROL frame, in any state but CLOSED (CG-S68). One that names no identifier in
   * use here, or no action or value that we know, is ignored (CG-ACT-7, CG-ACT-8).
   *
   * @param inPlace whether it was on stream 0, or on the control stream in HTTP/3
   * @throws {GroupConnectionError} as {@link receiveGroupControl}
   */
  receive(payload: Uint8Array, inPlace: boolean): GroupEffect<Client> {
    const control = receiveGroupControl({ settings: this.settings, inPlace, payload });
    const action = control && actionOf(control);
    const holder = action && this.#identifiers.holderOf(action.group);
    if (holder === undefined || this.#state === "CLOSED") return { type: "ignored" };
    const { client } = holder;
    switch (action?.type) {
      case "GOAWAY": {
        // A boundary that is raised is not (CG-A8).
        const boundary = lowerBoundary(this.#departed.get(client), action.boundary) as bigint;
        this.#departed.set(client, boundary);
        if (action.alone) this.#restrictions.setAlone(client, this.key);
        return { type: "GOAWAY", client, alone: action.alone, boundary };
      }
      case "BLOCK":
        this.#restrictions.block(client, this.scope, action.seconds);
        return { type: "BLOCK", client };
      case "LIMIT":
        this.#restrictions.limit(client, this.scope, action.requests);
        return { type: "LIMIT", client };
      case "CLEAR":
        this.#restrictions.clear(client, this.scope);
        return { type: "CLEAR", client };
      default:
        return { type: "ignored" };
    }
  }

  /**
   * Takes a GOAWAY frame for the whole connection: it drains from now on (CG-CGOAWAY-1). A second one
   * may lower the boundary (CG-S69).
   *
   * @throws {GroupConnectionError} PROTOCOL_ERROR or H3_ID_ERROR where it raises it (RFC 9113 §6.8,
   *   RFC 9114 §5.2)
   */
  goaway(boundary: bigint): void {
    if (this.#boundary !== undefined && boundary > this.#boundary) {
      throw new GroupConnectionError(
        this.settings.version === "h2" ? "PROTOCOL_ERROR" : "H3_ID_ERROR",
        "a GOAWAY frame raises the boundary of an earlier one",
      );
    }
    this.#boundary = boundary;
    this.drain();
  }

  /** Retires the connection by our own decision, which sets no boundary (CG-S67). */
  drain(): void {
    if (this.#state === "ACTIVE") this.#state = "DRAINING";
  }

  /** The connection has ended. Its requests still have to be ended one by one (CG-STATE-4). */
  close(): void {
    this.#state = "CLOSED";
  }

  /**
   * Whether a stream of the client on this connection is known not to have been processed, by the
   * boundary of its group or of the connection, the lower of the two (CG-S36). Boundaries of other
   * groups do not touch it (CG-BOUND-1).
   */
  isUnprocessed(client: Client, streamId: bigint): boolean {
    const boundary = lowerBoundary(this.#departed.get(client), this.#boundary);
    return boundary !== undefined && isUnprocessed(this.settings.version, streamId, boundary);
  }

  /**
   * Releases what is known of a client that is gone for good.
   *
   * @throws {ClientGroupError} OUT_OF_ORDER where it has a request in progress here
   */
  forget(client: Client): void {
    if (this.#admission.inProgress(client) > 0) {
      throw new ClientGroupError("OUT_OF_ORDER", "the client has a request in progress here");
    }
    this.#identifiers.forget(client);
    this.#departed.delete(client);
  }
}
