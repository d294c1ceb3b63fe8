/**
 * Streams that are over here and that quiche 0.18 has not forgotten.
 *
 * It looks whether a stream is complete at two moments only: when the application reads its end, and
 * when the peer confirms something sent on it. One whose last event is another stays for ever, and
 * so does the place that it takes among the streams that the peer may open:
 *
 * - A reset that was read before the own direction was confirmed. Reading it again later helps.
 * - A bidirectional stream that was stopped, where the peer's end comes after the confirmation of
 *   ours. A FIN that is sent, and confirmed, once more helps.
 * - A unidirectional stream that was stopped, always; and any other that the peer ends with bytes
 *   that it sent after it was stopped, or that this side has reset. Nothing helps: such stops are
 *   rationed. Where half of those for unidirectional streams are gone, what comes of one is read
 *   and dropped for a while first, since most end by themselves where their reader is no longer
 *   interested; where none is left, it is read and dropped to its end.
 *
 * @module
 */

import type { QuicStreamKind } from "../../connection.ts";
import type { NativeConnection } from "./native.ts";
import { type EngineStream, isLocal, kindOf } from "./stream.ts";

/** Looks at a stream, each after twice the time of the one before, until it is taken for lost. */
const MAX_LOOKS = 10;

const nothing = new Uint8Array(0);
const scratch = new Uint8Array(1);

interface Leaving {
  /** Whether it ended here with FIN, which may be sent again. */
  readonly finished: boolean;
  /** Whether it counts among those that were stopped. */
  readonly rationed: boolean;
  /** When to look at it; unset until that is known. */
  at: number | undefined;
  /** Milliseconds since the look before. */
  wait: number;
  looks: number;
}

export class LeavingStreams {
  readonly #quic: NativeConnection;
  readonly #isServer: boolean;
  /** How many streams of the peer may be stopped still, which may cost their places. */
  readonly #stops: Record<QuicStreamKind, number>;
  /** Where no more of those are left, a stop is for a stream that does not end without. */
  readonly #scarceUni: number;
  readonly #leaving = new Map<number, Leaving>();
  #mayReclaim = true;

  /** @param limits streams that the peer may have open at once */
  constructor(
    quic: NativeConnection,
    isServer: boolean,
    limits: Readonly<Record<QuicStreamKind, number>>,
  ) {
    this.#quic = quic;
    this.#isServer = isServer;
    // At least half of the places stay with the peer, whatever becomes of the streams.
    this.#stops = { bidi: Math.floor(limits.bidi / 2), uni: Math.floor(limits.uni / 2) };
    this.#scarceUni = Math.floor(this.#stops.uni / 2);
  }

  /** Whether to wait, before a stream is stopped, for an end that its peer may give it anyway. */
  isScarce(id: number): boolean {
    return kindOf(id) === "uni" && this.#stops.uni <= this.#scarceUni;
  }

  /** Whether a stream can be stopped; where not, what comes on it is to be dropped. */
  mayStop(id: number): boolean {
    if (!this.#isRationed(id)) return true;
    const kind = kindOf(id);
    if (this.#stops[kind] === 0 && this.#mayReclaim) this.#reclaim();
    if (this.#stops[kind] === 0) return false;
    this.#stops[kind]--;
    return true;
  }

  #isRationed(id: number): boolean {
    return !isLocal(id, this.#isServer);
  }

  /** Looks at once for those that are gone, at most once between two calls of {@link look}. */
  #reclaim(): void {
    this.#mayReclaim = false;
    for (const [id, { rationed }] of this.#leaving) if (rationed) this.#forgetIfGone(id);
  }

  /** Takes a stream that is over here, if quiche may keep it. */
  add(stream: EngineStream): void {
    if (!stream.stopped && !stream.wasReset) return;
    this.#add(stream.id, stream.finished, stream.stopped && this.#isRationed(stream.id));
  }

  /** Takes a stream that was over here before, and that the peer has reset since. */
  addReset(id: number): void {
    if (!this.#leaving.has(id)) this.#add(id, false, false);
  }

  #add(id: number, finished: boolean, rationed: boolean): void {
    if (kindOf(id) === "uni") return;
    this.#leaving.set(id, { finished, rationed, at: undefined, wait: 0, looks: 0 });
  }

  /** When to look next. */
  get nextTime(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { at } of this.#leaving.values()) next = Math.min(next, at ?? next);
    return next;
  }

  /**
   * Looks at those whose time has come.
   *
   * @param firstWait milliseconds before a new one is looked at
   * @returns whether there may be packets to send
   */
  look(now: number, firstWait: number): boolean {
    this.#mayReclaim = true;
    let touched = false;
    for (const [id, stream] of this.#leaving) {
      if (stream.at === undefined) {
        stream.wait = firstWait;
        stream.at = now + firstWait;
      }
      if (now < stream.at) continue;
      touched = true;
      if (this.#forgetIfGone(id)) continue;
      if (stream.finished) this.#finishAgain(id);
      stream.wait *= 2;
      stream.looks++;
      stream.at = stream.looks < MAX_LOOKS ? now + stream.wait : Number.POSITIVE_INFINITY;
    }
    return touched;
  }

  #forgetIfGone(id: number): boolean {
    if (!this.#isGone(id)) return false;
    if (this.#leaving.get(id)?.rationed) this.#stops.bidi++;
    this.#leaving.delete(id);
    return true;
  }

  #isGone(id: number): boolean {
    try {
      this.#quic.streamRecv(id, scratch);
    } catch {
      // Its reset once more, or it is gone.
    }
    try {
      this.#quic.streamCapacity(id);
      return false;
    } catch (error) {
      // One that the peer has stopped is there still.
      return error instanceof Error && error.message.startsWith("InvalidStreamState");
    }
  }

  #finishAgain(id: number): void {
    try {
      this.#quic.streamSend(id, nothing, true);
    } catch {
      // The peer has stopped it since.
    }
  }

  /** Forgets all of them. */
  clear(): void {
    this.#leaving.clear();
  }
}
