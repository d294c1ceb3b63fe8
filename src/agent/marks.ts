/**
 * What is known of relays beside their snapshot, and which health they are published with.
 *
 * @module
 */

import { toHex } from "../bytes.ts";
import type { Health, Relay, Snapshot } from "../snapshot/mod.ts";

/** What a snapshot cannot tell of a relay. What is absent is as it is by default. */
export interface RelayMark {
  /** What the pool says of its health; `healthy` by default. */
  readonly intent?: "draining" | "unhealthy";
  /** An operator drained it. */
  readonly drained?: true;
  /** An operator fixed its health. */
  readonly override?: "healthy" | "unhealthy";
  /** Probes have taken it out. */
  readonly probe?: "down";
}

/** By RID in lower-case hexadecimal; a relay of which there is nothing to say has none. */
export type Marks = ReadonlyMap<string, RelayMark>;

/** What probes and instances say now of relays, by RID in lower-case hexadecimal. */
export interface Findings {
  isDown(rid: string): boolean;
  isDrainingByHint(rid: string): boolean;
}

/** A pool as it is wanted: its health in the snapshot is whatever was published last. */
export interface Contents {
  readonly snapshot: Snapshot;
  readonly marks: Marks;
}

/**
 * The health that a relay is published with: what an operator fixed, else unhealthy by intent or
 * probes, else draining by intent, operator or hint, else healthy (LB-HEALTH-1, LB-HEALTH-2).
 */
export function publishedHealth(rid: string, mark: RelayMark, findings: Findings): Health {
  const { intent, drained, override } = mark;
  if (override !== undefined) return override;
  if (intent === "unhealthy" || findings.isDown(rid)) return "unhealthy";
  if (intent === "draining" || drained || findings.isDrainingByHint(rid)) return "draining";
  return "healthy";
}

/** Whether an operator took the relay out, whatever probes say. */
export function isTakenOut({ intent, drained, override }: RelayMark): boolean {
  if (override !== undefined) return override === "unhealthy";
  return intent !== undefined || drained === true;
}

/**
 * `contents` with the health and the probe marks that `findings` call for, and as `version`. It is
 * a draft: the rules of snapshots are checked before it is published, not here.
 */
export function withFindings(contents: Contents, version: number, findings: Findings): Contents {
  const marks = new Map<string, RelayMark>();
  const relays = contents.snapshot.relays.map((relay): Relay => {
    const rid = toHex(relay.rid);
    const { probe: _, ...mark } = contents.marks.get(rid) ?? {};
    const found: RelayMark = findings.isDown(rid) ? { ...mark, probe: "down" } : mark;
    if (Object.keys(found).length > 0) marks.set(rid, found);
    const health = publishedHealth(rid, found, findings);
    return health === relay.health ? relay : { ...relay, health };
  });
  return { snapshot: { ...contents.snapshot, version, relays }, marks };
}

/** The marks of a snapshot of which nothing else is known: its health is taken for the intent. */
export function marksOfHealth({ relays }: Snapshot): Marks {
  const marks = new Map<string, RelayMark>();
  for (const { rid, health } of relays) {
    if (health !== "healthy") marks.set(toHex(rid), { intent: health });
  }
  return marks;
}

/** `marks` with `mark` for one relay. */
export function withMark(marks: Marks, rid: string, mark: RelayMark): Marks {
  const changed = new Map(marks);
  if (Object.keys(mark).length === 0) changed.delete(rid);
  else changed.set(rid, mark);
  return changed;
}
