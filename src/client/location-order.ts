/**
 * Objects of a track in the order of their Locations, whatever order they arrive in.
 *
 * @module
 */

import type { ReceivedObject } from "./object-feed.ts";

export interface LocationOrderOptions {
  /** Milliseconds that an object waits, at most, for those before it. */
  readonly patience: number;
  /** Bytes of payload that wait, beyond which the first of them waits no more. */
  readonly waitingBytes: number;
  /** The ID of the last object of a group, where it is known. */
  readonly lastObjectOf: (groupId: bigint) => bigint | undefined;
}

interface Waiting {
  readonly object: ReceivedObject;
  readonly since: number;
}

/**
 * Holds objects back until all before them have come, or have been waited for long enough. What
 * comes after a later object was given out is dropped.
 */
export class LocationOrder {
  readonly #options: LocationOrderOptions;
  /** In order. */
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  /** What was given out last. */
  #last: ReceivedObject | undefined;
  #late = 0;

  constructor(options: LocationOrderOptions) {
    this.#options = options;
  }

  /** Objects that came too late, and were dropped. */
  get late(): number {
    return this.#late;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(object: ReceivedObject, now: number): void {
    if (this.#last !== undefined && compare(object, this.#last) <= 0) {
      this.#late++;
      return;
    }
    let at = this.#waiting.length;
    while (at > 0 && compare((this.#waiting[at - 1] as Waiting).object, object) > 0) at--;
    this.#waiting.splice(at, 0, { object, since: now });
    this.#bytes += object.payload.length;
  }

  /**
   * The next object, if its turn has come.
   *
   * @param isOver nothing is added any more
   */
  take(now: number, isOver = false): ReceivedObject | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const { patience, waitingBytes } = this.#options;
    const isDue = now >= first.since + patience || this.#bytes > waitingBytes;
    if (!isOver && !isDue && !this.#follows(first.object)) return undefined;
    this.#waiting.shift();
    this.#bytes -= first.object.payload.length;
    this.#last = first.object;
    return first.object;
  }

  /** Whether nothing can come between what was given out last and `object`. */
  #follows({ groupId, objectId }: ReceivedObject): boolean {
    const last = this.#last;
    if (last === undefined) return false;
    if (groupId === last.groupId) return objectId === last.objectId + 1n;
    const isNextGroup = groupId === last.groupId + 1n && objectId === 0n;
    return isNextGroup && this.#options.lastObjectOf(last.groupId) === last.objectId;
  }
}

function compare(a: ReceivedObject, b: ReceivedObject): number {
  const difference = a.groupId === b.groupId ? a.objectId - b.objectId : a.groupId - b.groupId;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
