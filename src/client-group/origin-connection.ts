/**
 * One connection as the origin has it: which requests go to the application, and what the application
 * may do about the client groups that they belong to.
 *
 * @module
 */

import { ClientGroup } from "./client-group.ts";
import { type CodePoints, defaultCodePoints } from "./code-points.ts";
import { errorCodes, type HttpVersion } from "./error-codes.ts";
import { ClientGroupError } from "./errors.ts";
import { parseClientGroup } from "./field.ts";
import { encodeGroupControlFrame, type GroupControl } from "./group-control.ts";
import { OriginGroups } from "./origin-groups.ts";
import { OriginSettings, type SettingPairs } from "./settings.ts";

/**
 * For how long requests of a blocked group are taken for ones that were sent before the intermediary
 * knew of the BLOCK, in milliseconds. Those that come later it has let through, so that the BLOCK was
 * lifted, perhaps by CLEAR on another connection, which nothing here can tell (CG-S47).
 */
const LATE = 5_000;

/** What the connection does on the wire. */
export interface OriginWire {
  /** Sends a whole frame, on stream 0 in HTTP/2, on the control stream in HTTP/3. */
  send(frame: Uint8Array): void;
  /** Resets a stream with exactly this code, and tells whoever works on its request. */
  reset(streamId: bigint, code: bigint): void;
}

export interface OriginConnectionOptions {
  readonly version?: HttpVersion;
  /** As `OriginSettingsOptions.policy`: none where the origin does not take part. */
  readonly policy?: bigint | undefined;
  readonly points?: CodePoints;
  readonly wire: OriginWire;
  /** Milliseconds on a clock that never goes back. */
  readonly now: () => number;
  /** Tells this connection from others in {@link ClientGroup.key}. */
  readonly name: string;
  /** How many groups are told apart by what was delivered of them, 65,536 by default. */
  readonly maximumGroups?: number;
}

/** What becomes of a request that arrived. */
export type Admission =
  | { readonly do: "deliver"; readonly group: ClientGroup | undefined }
  /** Reset it with REFUSED_STREAM or H3_REQUEST_REJECTED: the application never gets it. */
  | { readonly do: "refuse"; readonly because: "retired" | "departed" | "blocked" | "policy" };

/**
 * A request counts as delivered as soon as {@link admit} says so, so that each boundary computed
 * afterwards holds it (A11).
 */
export class OriginConnection {
  readonly settings: OriginSettings;
  readonly name: string;
  readonly #groups: OriginGroups;
  readonly #points: CodePoints;
  readonly #wire: OriginWire;
  readonly #now: () => number;
  readonly #maximumGroups: number;
  /** Streams in progress that were delivered, with their groups. */
  readonly #streams = new Map<bigint, number | undefined>();
  /** The same by group; groups without any are not there. */
  readonly #inProgress = new Map<number, Set<bigint>>();
  /** Until when requests of a blocked group are late ones, on the clock. */
  readonly #blocked = new Map<number, number>();
  /** The LIMIT of a group that has had more requests in progress than that ever since it was said. */
  readonly #limits = new Map<number, number>();
  /** The first group here, which holds a connection under policy 1 for life. */
  #first: number | undefined;
  #retired = false;
  #closed = false;

  /** @throws {ClientGroupError} INVALID_CONFIGURATION as `OriginSettings` and `OriginGroups` */
  constructor({
    version = "h2",
    policy,
    points = defaultCodePoints,
    wire,
    now,
    name,
    maximumGroups = 65_536,
  }: OriginConnectionOptions) {
    this.settings = new OriginSettings(version, { policy, points });
    this.name = name;
    this.#groups = new OriginGroups({ settings: this.settings, maximum: maximumGroups });
    this.#points = points;
    this.#wire = wire;
    this.#now = now;
    this.#maximumGroups = maximumGroups;
  }

  /** How many delivered requests are in progress. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Takes a SETTINGS frame of the client; throws as `OriginSettings.receive`. */
  receiveSettings(settings: SettingPairs): void {
    this.settings.receive(settings);
  }

  /**
   * Decides about a request whose header section has arrived.
   *
   * It belongs to a group only where the client said that it shares the connection: on any other
   * connection Client-Group is a field like any other, which whoever sent it made up.
   *
   * Refused are requests beyond the boundary of a group that was told to leave (CG-S34), those of a
   * group that was blocked a moment ago, which were sent before the intermediary knew (CG-STOP-7), those of a
   * group too many (CG-PROC-8, CG-A7), and all once the connection is retired.
   *
   * @param clientGroup the value of the field, several lines joined by commas
   */
  admit(streamId: bigint, clientGroup: string | null | undefined): Admission {
    if (this.#retired) return { do: "refuse", because: "retired" };
    const id = this.settings.shared ? parseClientGroup(clientGroup) : undefined;
    if (id !== undefined) {
      if (this.#isBlocked(id)) return { do: "refuse", because: "blocked" };
      if (!this.#withinPolicy(id)) return { do: "refuse", because: "policy" };
    }
    if (!this.#groups.deliver(id, streamId)) return { do: "refuse", because: "departed" };
    this.#begin(streamId, id);
    return { do: "deliver", group: id === undefined ? undefined : this.#handle(id, streamId) };
  }

  /** A stream has ended, in whatever way. One that was never delivered, or has ended, is none. */
  end(streamId: bigint): void {
    const id = this.#streams.get(streamId);
    this.#streams.delete(streamId);
    if (id === undefined) return;
    const streams = this.#inProgress.get(id);
    streams?.delete(streamId);
    const left = streams?.size ?? 0;
    if (left === 0) this.#inProgress.delete(id);
    if (left <= (this.#limits.get(id) ?? 0)) this.#limits.delete(id);
  }

  /** Nothing is delivered from now on, as the last GOAWAY of the connection says at the same time. */
  retire(): void {
    this.#retired = true;
  }

  /** The connection is gone, and what is left of it can send nothing. */
  close(): void {
    this.#closed = true;
    this.#streams.clear();
    this.#inProgress.clear();
    this.#blocked.clear();
    this.#limits.clear();
  }

  #begin(streamId: bigint, id: number | undefined): void {
    this.#streams.set(streamId, id);
    if (id === undefined) return;
    this.#first ??= id;
    const streams = this.#inProgress.get(id);
    if (streams === undefined) this.#inProgress.set(id, new Set([streamId]));
    else streams.add(streamId);
  }

  #isBlocked(id: number): boolean {
    const until = this.#blocked.get(id);
    if (until === undefined) return false;
    if (this.#now() < until) return true;
    this.#blocked.delete(id);
    return false;
  }

  #withinPolicy(id: number): boolean {
    const { policy, mayControl } = this.settings;
    // What was not said binds nobody.
    if (!mayControl || policy === undefined || policy === 0n) return true;
    if (policy === 1n) return this.#first === undefined || this.#first === id;
    return this.#inProgress.has(id) || BigInt(this.#inProgress.size) < policy;
  }

  #handle(id: number, streamId: bigint): ClientGroup {
    return new ClientGroup(id, `${this.name}/${id}`, {
      streams: () => this.#inProgress.get(id)?.size ?? 0,
      block: (seconds) => {
        this.#send(() => this.#groups.block(id, seconds));
        this.#noteBlock(id, seconds);
      },
      isOverLimit: () => this.#limits.has(id),
      limit: (requests) => {
        this.#send(() => this.#groups.limit(id, requests));
        if ((this.#inProgress.get(id)?.size ?? 0) > requests) this.#limits.set(id, requests);
        else this.#limits.delete(id);
      },
      clear: () => {
        this.#send(() => this.#groups.clear(id));
        this.#blocked.delete(id);
        this.#limits.delete(id);
      },
      goaway: (options) => this.#send(() => this.#groups.goaway(id, options)),
      resetStreams: (keepCurrent) => this.#resetStreams(id, keepCurrent ? streamId : undefined),
    });
  }

  /** Nothing is noted of a frame that cannot go out: {@link OriginGroups} checks before it notes. */
  #send(control: () => GroupControl): void {
    if (this.#closed) {
      throw new ClientGroupError("CONNECTION_CLOSED", "the connection of the group has ended");
    }
    const { version } = this.settings;
    this.#wire.send(encodeGroupControlFrame(version, control(), this.#points));
  }

  #noteBlock(id: number, seconds: number): void {
    this.#blocked.delete(id);
    if (this.#blocked.size >= this.#maximumGroups) {
      // What the oldest would still have refused is delivered: the safe side of the two.
      const [oldest] = this.#blocked.keys();
      if (oldest !== undefined) this.#blocked.delete(oldest);
    }
    this.#blocked.set(id, this.#now() + Math.min(seconds * 1_000, LATE));
  }

  #resetStreams(id: number, kept: bigint | undefined): number {
    const { version } = this.settings;
    const code = version === "h2" ? errorCodes.CANCEL : errorCodes.H3_REQUEST_CANCELLED;
    const streams = [...(this.#inProgress.get(id) ?? [])].filter((stream) => stream !== kept);
    for (const stream of streams) {
      this.end(stream);
      this.#wire.reset(stream, code);
    }
    return streams.length;
  }
}
