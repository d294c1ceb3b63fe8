import type { Snapshot } from "../snapshot/mod.ts";
import { describeChange, diffSnapshots } from "./diff.ts";

/** Sentences of a record; a count stands for the others. */
const LISTED = 20;

/** What `to` changes of `from`, in at most 21 short sentences that are safe to print. */
export function changesBetween(from: Snapshot, to: Snapshot): readonly string[] {
  const changes = diffSnapshots(from, to);
  const listed = changes.slice(0, LISTED).map(describeChange);
  const more = changes.length - listed.length;
  return more === 0 ? listed : [...listed, `and ${more} more`];
}
