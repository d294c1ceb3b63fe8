/**
 * What the data plane of one client session has carried.
 *
 * @module
 */

import type { DataCounts } from "./delivery.ts";

/** Towards whom something goes. */
export type Direction = "toClient" | "toRelay";

type Writable<T> = {
  -readonly [Key in keyof T]: { -readonly [Inner in keyof T[Key]]: T[Key][Inner] };
};

export type Counting = Writable<DataCounts>;

/** Adds `more` to `counts`. */
export function addCounts(counts: Counting, more: DataCounts): void {
  for (const kind of ["streams", "bytes", "datagrams"] as const) {
    counts[kind].toClient += more[kind].toClient;
    counts[kind].toRelay += more[kind].toRelay;
  }
  counts.dropped.datagrams += more.dropped.datagrams;
  counts.dropped.streams += more.dropped.streams;
}

export function noCounts(): Counting {
  const none = () => ({ toClient: 0, toRelay: 0 });
  return {
    streams: none(),
    bytes: none(),
    datagrams: none(),
    dropped: { datagrams: 0, streams: 0 },
  };
}
