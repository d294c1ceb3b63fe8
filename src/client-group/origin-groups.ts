/**
 * The client groups of one connection as the origin has them: what it delivered of each, and what it
 * may tell the intermediary about them.
 *
 * @module
 */

import { isUnprocessed } from "./boundary.ts";
import { ClientGroupError } from "./errors.ts";
import { controlOf, type GroupAction } from "./group-action.ts";
import { encodeGroupControl, type GroupControl } from "./group-control.ts";
import type { OriginSettings } from "./settings.ts";

export interface OriginGroupsOptions {
  readonly settings: Pick<OriginSettings, "version" | "mayControl">;
  /** How many groups are told apart by what was delivered of them, 65,536 by default. */
  readonly maximum?: number;
}

export interface GoawayOptions {
  /** The client is to have a connection free of other groups. */
  readonly alone?: boolean;
  /** Boundary; by default the lowest that holds what was delivered of the group. */
  readonly boundary?: bigint;
}

/**
 * A stream is delivered when the application gets its request. No boundary lies below a stream that
 * was, and none of a group is ever raised (CG-GOAWAY-9).
 */
export class OriginGroups {
  readonly #settings: Pick<OriginSettings, "version" | "mayControl">;
  readonly #maximum: number;
  /** The least boundary that holds all streams delivered of a group; the group heard of last is last. */
  readonly #floors = new Map<number, bigint>();
  /** One that holds all streams delivered of the groups that made room for others. */
  #forgottenFloor = 0n;
  /** Groups that were told to leave, with their boundaries. */
  readonly #departed = new Map<number, bigint>();

  /** @throws {ClientGroupError} INVALID_CONFIGURATION where `maximum` is no positive integer */
  constructor({ settings, maximum = 65_536 }: OriginGroupsOptions) {
    if (!Number.isSafeInteger(maximum) || maximum < 1) {
      throw new ClientGroupError(
        "INVALID_CONFIGURATION",
        "the maximum of groups on a connection has to be a positive integer",
      );
    }
    this.#settings = settings;
    this.#maximum = maximum;
  }

  /**
   * A request is about to be delivered.
   *
   * @param group what its Client-Group says; `undefined` where it names none
   * @returns whether it may be: one beyond the boundary of a group that was told to leave is to be
   *   refused instead, with REFUSED_STREAM or H3_REQUEST_REJECTED (CG-S34)
   */
  deliver(group: number | undefined, streamId: bigint): boolean {
    if (group === undefined) return true;
    const { version } = this.#settings;
    const boundary = this.#departed.get(group);
    if (boundary !== undefined && isUnprocessed(version, streamId, boundary)) return false;
    // Client-initiated bidirectional streams are four apart in HTTP/3, whose boundary excludes.
    const floor = version === "h2" ? streamId : streamId + 4n;
    const before = this.#floor(group);
    this.#floors.delete(group);
    this.#floors.set(group, before > floor ? before : floor);
    if (this.#floors.size > this.#maximum) this.#makeRoom();
    return true;
  }

  /**
   * GOAWAY for a group; it may be sent again, with the same boundary or a lower one (CG-GOAWAY-8).
   * From now on {@link deliver} keeps to the boundary.
   *
   * @throws {ClientGroupError} NOT_NEGOTIATED (CG-FRAME2-2, CG-FRAME2-3); OUT_OF_ORDER for a boundary
   *   above an earlier one (CG-GOAWAY-9) or below a stream that was delivered; and as
   *   `encodeGroupControl`
   */
  goaway(group: number, { alone = false, boundary }: GoawayOptions = {}): GroupControl {
    const floor = this.#floor(group);
    const said = boundary ?? floor;
    if (said < floor) {
      throw new ClientGroupError("OUT_OF_ORDER", "a stream beyond the boundary was delivered");
    }
    const earlier = this.#departed.get(group);
    if (earlier !== undefined && said > earlier) {
      throw new ClientGroupError("OUT_OF_ORDER", "an earlier boundary of the group was lower");
    }
    const control = this.#control({ type: "GOAWAY", group, alone, boundary: said });
    this.#departed.set(group, said);
    return control;
  }

  /**
   * BLOCK for 1 to 86400 seconds (CG-ACT-2).
   *
   * @throws {ClientGroupError} NOT_NEGOTIATED, INVALID_FRAME or INVALID_IDENTIFIER
   */
  block(group: number, seconds: number): GroupControl {
    return this.#control({ type: "BLOCK", group, seconds });
  }

  /**
   * LIMIT to at least one request in progress (CG-ACT-3).
   *
   * @throws {ClientGroupError} NOT_NEGOTIATED, INVALID_FRAME or INVALID_IDENTIFIER
   */
  limit(group: number, requests: number): GroupControl {
    return this.#control({ type: "LIMIT", group, requests });
  }

  /**
   * CLEAR of BLOCK and LIMIT (CG-CLEAR-2).
   *
   * @throws {ClientGroupError} NOT_NEGOTIATED or INVALID_IDENTIFIER
   */
  clear(group: number): GroupControl {
    return this.#control({ type: "CLEAR", group });
  }

  #floor(group: number): bigint {
    return this.#floors.get(group) ?? this.#departed.get(group) ?? this.#forgottenFloor;
  }

  #control(action: GroupAction): GroupControl {
    const { mayControl, version } = this.#settings;
    if (!mayControl) {
      throw new ClientGroupError(
        "NOT_NEGOTIATED",
        "GROUP_CONTROL needs SHARED_CONNECTION = 1 received and SHARED_CONNECTION_POLICY sent",
      );
    }
    const control = controlOf(action);
    // Nothing is noted of a frame that cannot be sent.
    encodeGroupControl(version, control);
    return control;
  }

  /** Forgets what was delivered of the group that was silent for longest, to the safe side. */
  #makeRoom(): void {
    const [oldest] = this.#floors;
    if (oldest === undefined) return;
    const [group, floor] = oldest;
    this.#floors.delete(group);
    if (floor > this.#forgottenFloor) this.#forgottenFloor = floor;
  }
}
