/**
 * How many client groups a connection carries at a time.
 *
 * @module
 */

import { ClientGroupError } from "./errors.ts";
import type { IntermediarySettings } from "./settings.ts";

export interface GroupAdmissionOptions {
  /**
   * Whether a connection to an origin that does not implement the draft is shared all the same; true
   * by default (CG-PROC-7).
   */
  readonly shareUnsupported?: boolean;
}

/**
 * Which groups may have a request sent on one connection, by its policy. Stream limits and LIMIT
 * are for others to watch (CG-S11).
 *
 * @typeParam Group what stands for a client group, compared as keys of a `Map`
 */
export class GroupAdmission<Group> {
  readonly #settings: Pick<IntermediarySettings, "support" | "policy">;
  readonly #shareUnsupported: boolean;
  /** The group whose request was the first here: it holds a reserved connection for life. */
  #first: { readonly group: Group } | undefined;
  /** Whether a request of another group than the first was ever started here. */
  #mixed = false;
  /** Whether the first group has the connection for itself. */
  #reserved = false;
  /** Requests in progress by group; groups without any are not there. */
  readonly #inProgress = new Map<Group, number>();

  constructor(
    settings: Pick<IntermediarySettings, "support" | "policy">,
    { shareUnsupported = true }: GroupAdmissionOptions = {},
  ) {
    this.#settings = settings;
    this.#shareUnsupported = shareUnsupported;
  }

  /** How many groups have a request in progress. */
  get groupsInProgress(): number {
    return this.#inProgress.size;
  }

  /** Whether the first group has the connection for itself, by {@link reserve}. */
  get reserved(): boolean {
    return this.#reserved;
  }

  /** Whether a group that never had a request here may have one. */
  get admitsNewcomers(): boolean {
    if (this.#reserved) return false;
    const { support, policy } = this.#settings;
    if (support === "not-offered") return true;
    if (support === "unsupported" && this.#shareUnsupported) return true;
    if (support !== "supported" || policy === 1n) return this.#first === undefined;
    return policy === undefined || policy === 0n || BigInt(this.#inProgress.size) < policy;
  }

  /** The group whose request was the first here. */
  get first(): Group | undefined {
    return this.#first?.group;
  }

  /** The groups that have requests in progress, with how many. */
  get groups(): Iterable<readonly [group: Group, inProgress: number]> {
    return this.#inProgress;
  }

  /** How many requests of `group` are in progress. */
  inProgress(group: Group): number {
    return this.#inProgress.get(group) ?? 0;
  }

  /**
   * Whether a request of `group` may be sent now.
   *
   * Before the origin's first SETTINGS frame that is the first group ever and no other, even if its
   * requests have ended (CG-PROC-4, CG-S5). Under policy 1 it stays so for life (CG-SET-11, CG-A1);
   * under policy N, groups in progress are counted (CG-PROC-8); under 0, anyone (CG-SET-10).
   */
  admits(group: Group): boolean {
    if (this.#reserved) return this.#isFirst(group);
    const { support, policy } = this.#settings;
    if (support === "not-offered") return true;
    if (support === "awaited") return this.#isFirst(group);
    if (support === "unsupported") return this.#shareUnsupported || this.#isFirst(group);
    if (policy === undefined || policy === 0n) return true;
    if (policy === 1n) return this.#isFirst(group);
    return this.#inProgress.has(group) || BigInt(this.#inProgress.size) < policy;
  }

  /**
   * A request of `group` is sent.
   *
   * @returns whether it was admitted; where not, nothing has changed
   */
  start(group: Group): boolean {
    if (!this.admits(group)) return false;
    this.#first ??= { group };
    if (this.#first.group !== group) this.#mixed = true;
    this.#inProgress.set(group, (this.#inProgress.get(group) ?? 0) + 1);
    return true;
  }

  /**
   * A request of `group` that was started has ended.
   *
   * @throws {ClientGroupError} OUT_OF_ORDER where it has none in progress
   */
  end(group: Group): void {
    const count = this.#inProgress.get(group);
    if (count === undefined) {
      throw new ClientGroupError("OUT_OF_ORDER", "the group has no request in progress here");
    }
    if (count === 1) this.#inProgress.delete(group);
    else this.#inProgress.set(group, count - 1);
  }

  /** Whether no other group ever had a request here. */
  isFreeOfOthers(group: Group): boolean {
    return !this.#mixed && this.#isFirst(group);
  }

  /**
   * Keeps the connection for `group` alone, for life (CG-GOAWAY-4).
   *
   * @returns whether it could be: no other group ever had a request here
   */
  reserve(group: Group): boolean {
    if (!this.isFreeOfOthers(group)) return false;
    this.#first ??= { group };
    this.#reserved = true;
    return true;
  }

  #isFirst(group: Group): boolean {
    return this.#first === undefined || this.#first.group === group;
  }
}
