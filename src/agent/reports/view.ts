/**
 * What the agent's reports come to: who follows which version, who is behind, since when, and who
 * went silent (LB-CONF-24, LB-CONF-25, LB-SEC-9).
 *
 * @module
 */

import type { InstanceReport } from "../../report/mod.ts";

/** One instance, as the agent knows it. Times are milliseconds of the Unix epoch. */
export interface InstanceView {
  readonly id: string;
  /** Its last report. */
  readonly report?: InstanceReport;
  readonly receivedAt?: number;
  /** Versions that it is behind the current one; 0 where it has that, or nothing is known. */
  readonly behind: number;
  readonly behindSince?: number;
  /** Versions that it is ahead: somebody else publishes too. */
  readonly ahead: number;
  /** It has another content under a version than the agent published (LB-S113). */
  readonly differs: boolean;
  /** Nothing came for longer than reports take. */
  readonly silent: boolean;
  /** When the last report came, where it is silent; the start of the agent if none ever did. */
  readonly silentSince?: number;
  /** Nothing came since this agent started. */
  readonly never: boolean;
  /** Milliseconds that the instance's clock was ahead when the last report came. */
  readonly clockOffset?: number;
  /** Why the last signed report that was refused was refused. */
  readonly refusal?: { readonly code: string; readonly at: number };
}

/** Something about the instances that an operator should see to. */
export interface InstanceAlarm {
  readonly code:
    | "INSTANCE_BEHIND"
    | "INSTANCE_SILENT"
    | "INSTANCE_AHEAD"
    | "INSTANCE_DIFFERS"
    | "POOL_MISMATCH";
  /** Milliseconds of the Unix epoch; absent where it is not known. */
  readonly since?: number;
  readonly message: string;
}

/** Instances, or relays, that an alarm names; more are counted. */
const named = 10;

/**
 * The alarms of `views`: one for each kind that there is.
 *
 * @param patience milliseconds that an instance may be behind before it is an alarm
 */
export function instanceAlarms(
  views: readonly InstanceView[],
  now: number,
  patience: number,
): InstanceAlarm[] {
  const late = views.filter(
    ({ behind, behindSince = now, silent }) =>
      behind > 0 && !silent && now - behindSince > patience,
  );
  return [
    ...alarm("INSTANCE_DIFFERS", "other contents under the same version", views, (v) => v.differs),
    ...alarm("INSTANCE_AHEAD", "a version above the current one", views, (v) => v.ahead > 0),
    ...alarm("INSTANCE_BEHIND", "behind the current version", late, () => true),
    ...alarm("INSTANCE_SILENT", "no report", views, (v) => v.silent),
    ...mismatchAlarm(views.filter(({ silent }) => !silent)),
  ];
}

/** Names relays, by RID: they are what has to be set right (LB-PSETUP-12). */
function mismatchAlarm(views: readonly InstanceView[]): InstanceAlarm[] {
  const mismatches = views.flatMap(({ report }) => report?.mismatches ?? []);
  const rids = [...new Set(mismatches.map(({ rid }) => rid))];
  if (rids.length === 0) return [];
  const what = "relays that do not speak what their pool promises";
  return [{ code: "POOL_MISMATCH", message: `${what}: ${enumerated(rids)}` }];
}

function enumerated(names: readonly string[]): string {
  const more = names.length > named ? ` and ${names.length - named} more` : "";
  return `${names.slice(0, named).join(", ")}${more}`;
}

function alarm(
  code: InstanceAlarm["code"],
  what: string,
  views: readonly InstanceView[],
  applies: (view: InstanceView) => boolean,
): InstanceAlarm[] {
  const found = views.filter(applies);
  if (found.length === 0) return [];
  const since = found.flatMap(({ silentSince, behindSince }) => {
    const time = code === "INSTANCE_SILENT" ? silentSince : behindSince;
    return time === undefined ? [] : [time];
  });
  return [
    {
      code,
      ...(since.length > 0 && { since: Math.min(...since) }),
      message: `${what}: ${enumerated(found.map(({ id }) => id))}`,
    },
  ];
}
