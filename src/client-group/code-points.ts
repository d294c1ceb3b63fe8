/**
 * The one table of numbers on the wire. The draft has none assigned yet, so that each can be set.
 *
 * @module
 */

import type { HttpVersion } from "./error-codes.ts";
import { ClientGroupError } from "./errors.ts";

/** The numbers of one HTTP version. */
export interface VersionCodePoints {
  /** Setting: this connection may carry more than one client group (CG-SET-2). */
  readonly sharedConnection: bigint;
  /** Setting: how many client groups the origin accepts on it (CG-SET-9). */
  readonly sharedConnectionPolicy: bigint;
  /** Frame type (CG-FRAME2-4, CG-FRAME3-1). */
  readonly groupControl: bigint;
}

export type CodePoints = { readonly [version in HttpVersion]: VersionCodePoints };

const provisional: VersionCodePoints = {
  sharedConnection: 0xf0c1n,
  sharedConnectionPolicy: 0xf0c2n,
  groupControl: 0xf7n,
};

/** What both versions use until the numbers are assigned (CG-SET-1, CG-FRAME2-12, CG-FRAME3-8). */
export const defaultCodePoints: CodePoints = { h2: provisional, h3: provisional };

/** Setting identifiers have 16 bits and frame types 8 in HTTP/2; both have 62 in HTTP/3. */
const largest = {
  h2: { setting: 0xffffn, frame: 0xffn },
  h3: { setting: 0x3fff_ffff_ffff_ffffn, frame: 0x3fff_ffff_ffff_ffffn },
} as const;

/** Below these are the settings and frame types of the versions themselves. */
const smallest = {
  h2: { setting: 0x7n, frame: 0xan },
  h3: { setting: 0x7n, frame: 0xen },
} as const;

/**
 * The default table with other numbers in some places.
 *
 * @throws {ClientGroupError} INVALID_CONFIGURATION where a number is out of its range, belongs to
 *   the version itself, or stands for both settings
 */
export function codePointsWith(
  overrides: { readonly [version in HttpVersion]?: Partial<VersionCodePoints> },
): CodePoints {
  const points = {
    h2: { ...defaultCodePoints.h2, ...overrides.h2 },
    h3: { ...defaultCodePoints.h3, ...overrides.h3 },
  };
  for (const version of ["h2", "h3"] as const) {
    const { sharedConnection, sharedConnectionPolicy, groupControl } = points[version];
    const within = (value: bigint, kind: "setting" | "frame") =>
      value >= smallest[version][kind] && value <= largest[version][kind];
    const legal =
      within(sharedConnection, "setting") &&
      within(sharedConnectionPolicy, "setting") &&
      within(groupControl, "frame") &&
      sharedConnection !== sharedConnectionPolicy;
    if (legal) continue;
    throw new ClientGroupError(
      "INVALID_CONFIGURATION",
      `the code points of ${version} have to be two settings and a frame type in their ranges`,
    );
  }
  return points;
}

/**
 * The registered name of a setting of the draft: HTTP/2 registers it without the prefix that HTTP/3
 * has (CG-SET-18, CG-SET-19).
 *
 * @returns `undefined` for any other setting
 */
export function settingName(
  version: HttpVersion,
  id: bigint | number,
  points: CodePoints = defaultCodePoints,
): string | undefined {
  const { sharedConnection, sharedConnectionPolicy } = points[version];
  const prefix = version === "h3" ? "SETTINGS_" : "";
  if (BigInt(id) === sharedConnection) return `${prefix}SHARED_CONNECTION`;
  if (BigInt(id) === sharedConnectionPolicy) return `${prefix}SHARED_CONNECTION_POLICY`;
  return undefined;
}
