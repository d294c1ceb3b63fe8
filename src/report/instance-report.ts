/**
 * What an instance tells the Configuration Agent: which snapshot it acts on, how old that is, what
 * it sees of its relays and what it decided (LB-CONF-24, LB-CONF-25).
 *
 * A report is signed by the instance's own key, has a closed set of members and is bounded: there
 * are no names of namespaces in it, and no more than 16 KiB (LB-SEC-34).
 *
 * @module
 */

import { decodeJwt } from "jose";
import type { SigningKey } from "../snapshot/mod.ts";
import {
  ClaimsFault,
  digestPattern,
  readBoolean,
  readChoice,
  readInteger,
  readMembers,
  readText,
} from "./claims.ts";
import { ReportError, type ReportErrorCode } from "./errors.ts";
import { JwsError, type JwsFault, openJws, signJws } from "./jws.ts";

/** How an instance sees a relay by itself; what it has nothing to say of is not listed. */
export interface HealthView {
  /** Lower-case hexadecimal. */
  readonly rid: string;
  readonly state: "draining" | "unhealthy";
  /** Since when, in milliseconds of the Unix epoch on the instance's clock. */
  readonly at: number;
}

export interface InstanceReport {
  /** As in {@link isInstanceId}. */
  readonly instanceId: string;
  /** 1 for the first report of a run, and higher with each. */
  readonly sequence: number;
  /** When it was made, and when the run began, in milliseconds on the instance's clock. */
  readonly at: number;
  readonly startedAt: number;
  /** Version of the snapshot that decides; `null` before the first. */
  readonly activeVersion: number | null;
  /** SHA-256 of that snapshot's payload, lower-case hexadecimal. */
  readonly digest?: string;
  /** Its configuration age in whole seconds; `null` before the first. */
  readonly ageSeconds: number | null;
  readonly mode: "redirect" | "proxy";
  /** Whether requests that depend on relay health are rejected now. */
  readonly stale: boolean;
  /** At most {@link maximumHealthViews}, each relay once. */
  readonly health: readonly HealthView[];
  /** Decisions since the run began, by outcome; see {@link decisionOutcomes}. */
  readonly decisions: Readonly<Partial<Record<DecisionOutcome, number>>>;
  /** Live sessions now. */
  readonly sessions?: number;
  /**
   * Relays that do not fit into their pool (LB-PSETUP-12): at most {@link maximumMismatches}, each
   * once. Left out where there is none, so that an agent that knows nothing of it is not troubled.
   */
  readonly mismatches?: readonly Mismatch[];
}

/** A relay that refuses what clients were promised for its pool. */
export interface Mismatch {
  /** Lower-case hexadecimal. */
  readonly rid: string;
  /** Since when, in milliseconds of the Unix epoch on the instance's clock. */
  readonly at: number;
}

/**
 * What decisions are counted by: names of REQUEST_ERROR codes, one for what proxy mode carries, and
 * one for any other.
 */
export const decisionOutcomes = [
  "REDIRECT",
  "FORWARDED",
  "DOES_NOT_EXIST",
  "UNINTERESTED",
  "INTERNAL_ERROR",
  "UNAUTHORIZED",
  "EXCESSIVE_LOAD",
  "NOT_SUPPORTED",
  "INVALID_JOINING_REQUEST_ID",
  "OTHER",
] as const;

export type DecisionOutcome = (typeof decisionOutcomes)[number];

/** Characters of a signed report at most. */
export const maximumReportLength = 16 * 1024;

export const maximumHealthViews = 256;

export const maximumMismatches = 16;

/** 256 bytes in hexadecimal: relays with longer RIDs are left out of reports. */
const ridPattern = /^(?:[0-9a-f]{2}){1,256}$/;

const instanceIdPattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/;

/** Letters, digits, `.`, `_` and `-`, 1 to 64 of them, no `.` first: part of a store's keys. */
export function isInstanceId(value: unknown): value is string {
  return typeof value === "string" && instanceIdPattern.test(value);
}

const reportType = "moq-lb-report+jwt";

/**
 * Signs a report.
 *
 * @param key the instance's own
 * @throws {ReportError} `MALFORMED_REPORT` where it breaks a rule of its own, `REPORT_TOO_LARGE`
 */
export async function signReport(report: InstanceReport, key: SigningKey): Promise<string> {
  const jws = await signJws(reportType, parseReport(report), key);
  if (jws.length > maximumReportLength) throw tooLarge();
  return jws;
}

/**
 * The report that a text holds, signed by the instance that it names.
 *
 * @param keyOf the public key of an instance; `undefined` where there is no such instance
 * @throws {ReportError} `REPORT_TOO_LARGE`, `MALFORMED_REPORT`, `UNKNOWN_INSTANCE`, `BAD_SIGNATURE`
 */
export async function openReport(
  jws: unknown,
  keyOf: (instanceId: string) => CryptoKey | undefined,
): Promise<InstanceReport> {
  try {
    const claims = await openJws(jws, {
      typ: reportType,
      maximumLength: maximumReportLength,
      keyOf: ({ claims }) => {
        const instanceId = (claims as Partial<InstanceReport> | null)?.instanceId;
        return isInstanceId(instanceId) ? keyOf(instanceId) : undefined;
      },
    });
    return parseReport(claims);
  } catch (error) {
    if (!(error instanceof JwsError)) throw error;
    throw new ReportError(codeOf[error.code], `the report is refused: ${error.message}`, error);
  }
}

const codeOf: Readonly<Record<JwsFault, ReportErrorCode>> = {
  TOO_LARGE: "REPORT_TOO_LARGE",
  MALFORMED: "MALFORMED_REPORT",
  UNKNOWN_KEY: "UNKNOWN_INSTANCE",
  BAD_SIGNATURE: "BAD_SIGNATURE",
};

const reportNames: ReadonlySet<string> = new Set([
  "instanceId",
  "sequence",
  "at",
  "startedAt",
  "activeVersion",
  "digest",
  "ageSeconds",
  "mode",
  "stale",
  "health",
  "decisions",
  "sessions",
  "mismatches",
]);

/**
 * Checks every member of a report. Those that are unknown are refused, so that nothing passes
 * through an agent that does not know what it is.
 *
 * @throws {ReportError} `MALFORMED_REPORT`
 */
export function parseReport(value: unknown): InstanceReport {
  try {
    return readReport(value);
  } catch (error) {
    if (!(error instanceof ClaimsFault)) throw error;
    throw new ReportError("MALFORMED_REPORT", `not a report: ${error.message}`);
  }
}

function readReport(value: unknown): InstanceReport {
  const report = readMembers(value, "the report", reportNames);
  const { activeVersion, digest, ageSeconds, sessions, mismatches } = report;
  // All three tell of one snapshot: they are there together or not at all.
  const none = activeVersion === null;
  if ((ageSeconds === null) !== none || (digest !== undefined && none)) {
    throw new ClaimsFault("activeVersion, digest and ageSeconds have to belong together");
  }
  return {
    instanceId: readText(report.instanceId, "instanceId", instanceIdPattern),
    sequence: readInteger(report.sequence, "sequence", 1),
    at: readInteger(report.at, "at"),
    startedAt: readInteger(report.startedAt, "startedAt"),
    activeVersion: none ? null : readInteger(activeVersion, "activeVersion"),
    ...(digest !== undefined && { digest: readText(digest, "digest", digestPattern) }),
    ageSeconds: none ? null : readInteger(ageSeconds, "ageSeconds"),
    mode: readChoice(report.mode, "mode", ["redirect", "proxy"]),
    stale: readBoolean(report.stale, "stale"),
    health: readHealth(report.health),
    decisions: readDecisions(report.decisions),
    ...(sessions !== undefined && { sessions: readInteger(sessions, "sessions") }),
    ...(mismatches !== undefined && { mismatches: readMismatches(mismatches) }),
  };
}

const viewNames: ReadonlySet<string> = new Set(["rid", "state", "at"]);

function readHealth(value: unknown): readonly HealthView[] {
  if (!Array.isArray(value) || value.length > maximumHealthViews) {
    throw new ClaimsFault(`health has to be a list of at most ${maximumHealthViews}`);
  }
  const seen = new Set<string>();
  return value.map((item) => {
    const view = readMembers(item, "a view of health", viewNames);
    const rid = readText(view.rid, "rid", ridPattern);
    if (seen.has(rid)) throw new ClaimsFault("health has to name each relay once");
    seen.add(rid);
    const state = readChoice(view.state, "state", ["draining", "unhealthy"]);
    return { rid, state, at: readInteger(view.at, "at") };
  });
}

const mismatchNames: ReadonlySet<string> = new Set(["rid", "at"]);

function readMismatches(value: unknown): readonly Mismatch[] {
  if (!Array.isArray(value) || value.length > maximumMismatches) {
    throw new ClaimsFault(`mismatches has to be a list of at most ${maximumMismatches}`);
  }
  const seen = new Set<string>();
  return value.map((item) => {
    const mismatch = readMembers(item, "a mismatch", mismatchNames);
    const rid = readText(mismatch.rid, "rid", ridPattern);
    if (seen.has(rid)) throw new ClaimsFault("mismatches has to name each relay once");
    seen.add(rid);
    return { rid, at: readInteger(mismatch.at, "at") };
  });
}

const outcomeNames: ReadonlySet<string> = new Set(decisionOutcomes);

function readDecisions(value: unknown): InstanceReport["decisions"] {
  const decisions = readMembers(value, "decisions", outcomeNames);
  return Object.fromEntries(
    Object.entries(decisions).map(([outcome, count]) => [outcome, readInteger(count, outcome)]),
  );
}

/** When a signed report says that it was made; nothing vouches for it. */
export function claimedTime(jws: string): number | undefined {
  try {
    const { at } = decodeJwt(jws) as { readonly at?: unknown };
    return typeof at === "number" ? at : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The views that fit into one report: unhealthy relays first, then those seen last. A pool where
 * everything fails at once is told of by as many as there is room for.
 */
export function fittingViews(views: readonly HealthView[]): readonly HealthView[] {
  const ordered = views
    .filter(({ rid }) => ridPattern.test(rid))
    .map(inWholeMilliseconds)
    .sort(
      (a, b) => Number(b.state === "unhealthy") - Number(a.state === "unhealthy") || b.at - a.at,
    );
  let room = bytesForViews;
  const fitting: HealthView[] = [];
  for (const view of ordered) {
    room -= JSON.stringify(view).length + 1;
    if (room < 0 || fitting.length === maximumHealthViews) break;
    fitting.push(view);
  }
  return fitting;
}

/** The mismatches that fit into one report, those of short RIDs: the last ones first. */
export function fittingMismatches(mismatches: readonly Mismatch[]): readonly Mismatch[] {
  return mismatches
    .filter(({ rid }) => ridPattern.test(rid) && rid.length <= longestMismatch)
    .map(inWholeMilliseconds)
    .sort((a, b) => b.at - a.at)
    .slice(0, maximumMismatches);
}

/** As reports have times; clocks that neither jump nor stand still count fractions. */
function inWholeMilliseconds<T extends { readonly at: number }>(event: T): T {
  return { ...event, at: Math.round(event.at) };
}

/** Digits of an RID in a mismatch, so that all of them take less than 2 KiB. */
const longestMismatch = 64;

/** Base64url takes a third more; header, signature and the other members are below 2 KiB. */
const bytesForViews = ((maximumReportLength - 2048) * 3) / 4 - 2048;

function tooLarge(): ReportError {
  const message = `the signed report has more than ${maximumReportLength} characters`;
  return new ReportError("REPORT_TOO_LARGE", message);
}
