/**
 * SETTINGS_SHARED_CONNECTION and SETTINGS_SHARED_CONNECTION_POLICY: what each side sends, and what
 * the two of one connection make of it.
 *
 * @module
 */

import { type CodePoints, defaultCodePoints, type VersionCodePoints } from "./code-points.ts";
import type { HttpVersion } from "./error-codes.ts";
import { ClientGroupError, GroupConnectionError } from "./errors.ts";

/** Pairs of identifier and value in the order they were in one SETTINGS frame. */
export type SettingPairs = Iterable<readonly [id: bigint | number, value: bigint | number]>;

/** The largest policy: values have 32 bits in HTTP/2 and 62 in HTTP/3 (CG-S3). */
const largestPolicy = { h2: 0xffff_ffffn, h3: 0x3fff_ffff_ffff_ffffn } as const;

/** What an intermediary puts in its first SETTINGS frame so that it may share (CG-PROC-1). */
export function offerSettings(
  version: HttpVersion,
  points: CodePoints = defaultCodePoints,
): readonly (readonly [bigint, bigint])[] {
  return [[points[version].sharedConnection, 1n]];
}

/**
 * The intermediary's view of one connection to an origin.
 *
 * `offered` says whether its own first SETTINGS frame had SHARED_CONNECTION = 1; without that, what
 * the origin says of sharing means nothing to it (CG-SET-17).
 */
export class IntermediarySettings {
  readonly version: HttpVersion;
  readonly offered: boolean;
  readonly #points: VersionCodePoints;
  #received = false;
  #policy: bigint | undefined;

  constructor(
    version: HttpVersion,
    { offered = true, points = defaultCodePoints }: IntermediarySettingsOptions = {},
  ) {
    this.version = version;
    this.offered = offered;
    this.#points = points[version];
  }

  /**
   * Takes a SETTINGS frame of the origin. The first one settles the matter (CG-PROC-9): a later one
   * may repeat the policy or leave it out, not change it, nor be the first to name it (CG-S10).
   * SHARED_CONNECTION from a server is ignored, whatever its value (CG-SET-6, CG-A2).
   *
   * @throws {GroupConnectionError} PROTOCOL_ERROR for a change (CG-PROC-10); H3_FRAME_UNEXPECTED for
   *   a second frame in HTTP/3, H3_SETTINGS_ERROR for a policy that occurs twice there (CG-S4)
   */
  receive(settings: SettingPairs): void {
    const policy = settingIn(settings, this.#points.sharedConnectionPolicy, this.version);
    if (this.#received) {
      refuseSecondFrame(this.version);
      // Without an offer the setting is unknown to this connection, and not looked at.
      if (this.offered && policy !== undefined && policy !== this.#policy) throw changed();
      return;
    }
    this.#received = true;
    this.#policy = policy;
  }

  /**
   * `awaited` until the first SETTINGS frame of the origin, which alone counts: what an earlier
   * connection said does not (CG-S6). Then `supported` where it had POLICY, `unsupported` where not
   * (CG-SET-12, CG-PROC-5). `not-offered` where this side did not offer to share.
   */
  get support(): "not-offered" | "awaited" | "supported" | "unsupported" {
    if (!this.offered) return "not-offered";
    if (!this.#received) return "awaited";
    return this.#policy === undefined ? "unsupported" : "supported";
  }

  /**
   * The most client groups that the origin accepts at a time; 0 is any number (CG-SET-10).
   * `undefined`, which is not 0 (CG-S2), where the origin said nothing or nothing that counts.
   */
  get policy(): bigint | undefined {
    return this.offered ? this.#policy : undefined;
  }

  /** Whether requests carry Client-Group: from the first one on, until it is known to be useless. */
  get tags(): boolean {
    return this.support === "awaited" || this.support === "supported";
  }
}

export interface IntermediarySettingsOptions {
  /** Whether SHARED_CONNECTION = 1 was sent; true by default. */
  readonly offered?: boolean;
  readonly points?: CodePoints;
}

export interface OriginSettingsOptions {
  /**
   * The most client groups accepted at a time on the connection: 0 is any number, 1 forbids sharing.
   * None where the origin does not take part.
   */
  readonly policy?: bigint | undefined;
  readonly points?: CodePoints;
}

/** The origin's view of one connection from a client, which may be an intermediary. */
export class OriginSettings {
  readonly version: HttpVersion;
  readonly policy: bigint | undefined;
  readonly #points: VersionCodePoints;
  #received = false;
  #shared = false;
  #sent = false;

  /** @throws {ClientGroupError} INVALID_CONFIGURATION where the policy does not fit the version */
  constructor(
    version: HttpVersion,
    { policy, points = defaultCodePoints }: OriginSettingsOptions = {},
  ) {
    if (policy !== undefined && (policy < 0n || policy > largestPolicy[version])) {
      throw new ClientGroupError(
        "INVALID_CONFIGURATION",
        `a policy has to be an integer in 0..${largestPolicy[version]} in ${version}`,
      );
    }
    this.version = version;
    this.policy = policy;
    this.#points = points[version];
  }

  /**
   * Takes a SETTINGS frame of the client. POLICY from a client is ignored (CG-SET-14).
   *
   * @throws {GroupConnectionError} PROTOCOL_ERROR or H3_SETTINGS_ERROR where SHARED_CONNECTION is
   *   neither 0 nor 1 (CG-SET-3, CG-SET-4); PROTOCOL_ERROR where a later frame changes it
   *   (CG-PROC-10); H3_FRAME_UNEXPECTED for a second frame in HTTP/3, H3_SETTINGS_ERROR for a
   *   setting that occurs twice there (CG-S4)
   */
  receive(settings: SettingPairs): void {
    const value = settingIn(settings, this.#points.sharedConnection, this.version, 1n);
    if (this.#received) {
      refuseSecondFrame(this.version);
      if (value !== undefined && (value === 1n) !== this.#shared) throw changed();
      return;
    }
    this.#received = true;
    this.#shared = value === 1n;
  }

  /** Whether the client said that it shares the connection (CG-SET-2). */
  get shared(): boolean {
    return this.#shared;
  }

  /**
   * What goes into the origin's own first SETTINGS frame, to be asked for when that frame is made.
   * A client that has not said it shares gets no POLICY (CG-SET-15), save in HTTP/2 where the server's
   * frame may come first (CG-SET-16). In HTTP/3 an origin that wants to take part sends its SETTINGS
   * after the client's.
   */
  settingsToSend(): readonly (readonly [bigint, bigint])[] {
    const early = this.version === "h2" && !this.#received;
    if (this.policy === undefined || !(this.#shared || early)) return [];
    this.#sent = true;
    return [[this.#points.sharedConnectionPolicy, this.policy]];
  }

  /**
   * Whether GROUP_CONTROL may be sent: SHARED_CONNECTION = 1 was received (CG-FRAME2-2) and POLICY
   * was sent (CG-FRAME2-3).
   */
  get mayControl(): boolean {
    return this.#shared && this.#sent;
  }
}

/**
 * The value of one setting in a frame. In HTTP/2 the last of several counts, though each has to be
 * legal; in HTTP/3 there must be one (CG-S4).
 */
function settingIn(
  settings: SettingPairs,
  wanted: bigint,
  version: HttpVersion,
  largestValue?: bigint,
): bigint | undefined {
  let found: bigint | undefined;
  for (const [id, value] of settings) {
    if (BigInt(id) !== wanted) continue;
    if (version === "h3" && found !== undefined) {
      throw new GroupConnectionError("H3_SETTINGS_ERROR", "a setting of sharing occurs twice");
    }
    found = BigInt(value);
    if (largestValue !== undefined && found > largestValue) {
      throw new GroupConnectionError(
        version === "h2" ? "PROTOCOL_ERROR" : "H3_SETTINGS_ERROR",
        "SHARED_CONNECTION is not 0 or 1",
      );
    }
  }
  return found;
}

function refuseSecondFrame(version: HttpVersion): void {
  if (version === "h2") return;
  throw new GroupConnectionError("H3_FRAME_UNEXPECTED", "a second SETTINGS frame");
}

function changed(): GroupConnectionError {
  return new GroupConnectionError(
    "PROTOCOL_ERROR",
    "a later SETTINGS frame changes a setting of sharing, which the first one fixed",
  );
}
