/**
 * The streams of a connection that are open on the wire, whatever node:http2 thinks of them.
 *
 * @module
 */

const LOCAL = 1;
const REMOTE = 2;

export class StreamLedger {
  /** By stream, which sides have said their last. */
  readonly #ends = new Map<number, number>();

  get open(): ReadonlyMap<number, unknown> {
    return this.#ends;
  }

  /** Whether this side has not ended it. */
  isOpenHere(streamId: number): boolean {
    const ends = this.#ends.get(streamId);
    return ends !== undefined && (ends & LOCAL) === 0;
  }

  begin(streamId: number): void {
    this.#ends.set(streamId, 0);
  }

  /** This side has ended it. @returns whether that was the last of the stream */
  endLocal(streamId: number): boolean {
    return this.#end(streamId, LOCAL);
  }

  /** The peer has ended it. @returns whether that was the last of the stream */
  endRemote(streamId: number): boolean {
    return this.#end(streamId, REMOTE);
  }

  /** It was reset. @returns whether it was open */
  close(streamId: number): boolean {
    return this.#ends.delete(streamId);
  }

  #end(streamId: number, side: number): boolean {
    const before = this.#ends.get(streamId);
    if (before === undefined) return false;
    const after = before | side;
    if (after === (LOCAL | REMOTE)) return this.#ends.delete(streamId);
    this.#ends.set(streamId, after);
    return false;
  }
}
