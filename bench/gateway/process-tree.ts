/** What a process and all that it started have used, as Linux counts it. */

import { readdirSync, readFileSync } from "node:fs";

export interface Usage {
  /** Of the processors, user and system. */
  readonly seconds: number;
  /** Largest resident set since the start, in bytes, of each process, added up. */
  readonly peak: number;
}

/** Clock ticks per second in /proc, the same on every Linux that we know of. */
const ticks = 100;

/** The fields of /proc/PID/stat after the name, which may hold spaces and parentheses itself. */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    // It ended between the listing and the reading.
    return undefined;
  }
}

function tree(root: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = statOf(Number(name))?.[1];
    if (parent === undefined) continue;
    const siblings = children.get(Number(parent));
    if (siblings === undefined) children.set(Number(parent), [Number(name)]);
    else siblings.push(Number(name));
  }
  const members = [root];
  for (const member of members) members.push(...(children.get(member) ?? []));
  return members;
}

function peakOf(pid: number): number {
  try {
    const kib = readFileSync(`/proc/${pid}/status`, "utf8").match(/^VmHWM:\s+(\d+) kB$/m)?.[1];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}

export function usageOf(root: number): Usage {
  let seconds = 0;
  let peak = 0;
  for (const pid of tree(root)) {
    const stat = statOf(pid);
    if (stat === undefined) continue;
    seconds += (Number(stat[11]) + Number(stat[12])) / ticks;
    peak += peakOf(pid);
  }
  return { seconds, peak };
}
