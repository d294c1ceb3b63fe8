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

export function noCounts(): Counting {
  const none = () => ({ toClient: 0, toRelay: 0 });
  return {
    streams: none(),
    bytes: none(),
    datagrams: none(),
    dropped: { datagrams: 0, streams: 0 },
  };
}
