import type { RawClient } from "../../test/support/http2/raw-client.ts";
import { type BehaviourBed, connectionFate, type Outcome, type Sent, worded } from "./bed.ts";

/** What one proxy made of an event. */
export interface Seen {
  readonly saw: string;
  /** Whether that is what the standards and the draft want. */
  readonly holds: boolean;
}

/** An event of shared/cases, played to a proxy. */
export interface Happening {
  /** The case it comes from. */
  readonly of: string;
  readonly event: string;
  readonly wanted: string;
  /** Whose want it is: that of HTTP, or of the client-group draft, which others need not know. */
  readonly by: "HTTP" | "draft";
  play(bed: BehaviourBed): Promise<Seen>;
}

/** Joins what several requests saw; equal ones are told once. */
export function together(parts: readonly (readonly [who: string, what: string])[]): string {
  const groups = Map.groupBy(parts, ([, what]) => what);
  return [...groups]
    .map(([what, members]) => `${members.map(([who]) => who).join(", ")}: ${what}`)
    .join("; ");
}

/** What a request saw, and whether the origin got it more than once. */
export function told(bed: BehaviourBed, { path }: Pick<Sent, "path">, outcome: Outcome): string {
  const times = bed.occurrences(path);
  return times > 1 ? `${worded(outcome)} (sent ${times} times)` : worded(outcome);
}

/** A verdict with whatever happened to the connections of clients, none of which may be touched. */
export function seen(saw: string, holds: boolean, clients: readonly RawClient[]): Seen {
  const fate = connectionFate(clients);
  return fate === "" ? { saw, holds } : { saw: `${saw}; ${fate}`, holds: false };
}

/** Answered by another connection of the origin, or refused in a way that lets the client do that. */
export function isSafelyUnprocessed({ kind, status, code }: Outcome): boolean {
  return (kind === "response" && status === 200) || (kind === "reset" && code === 0x7);
}
