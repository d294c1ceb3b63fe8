/**
 * The streams of one session that its core steers, by the handles that the core knows them by.
 *
 * @module
 */

import { type StreamHandle, type StreamKind, streamResetCodes } from "../moqt/mod.ts";
import { CoreStream, type StreamOwner } from "./core-stream.ts";

/** What the session learns of its streams. */
export interface StreamEvents extends Omit<StreamOwner, "halfEnded" | "ended"> {
  /** Whether a request is open on a stream. */
  isRequestOpen(handle: StreamHandle): boolean;
}

/** Well below the hundred streams that transports grant a peer at a time. */
const mostLingering = 64;

export class CoreStreams {
  readonly #isRequestOpen: (handle: StreamHandle) => boolean;
  readonly #owner: StreamOwner;
  readonly #streams = new Map<StreamHandle, CoreStream>();
  /** Streams of requests that are over, whose peers have not sent FIN; oldest first. */
  readonly #lingering = new Set<CoreStream>();
  /** Streams that ended before SETUP: only with it the core says what becomes of them. */
  readonly #endedEarly = new Set<CoreStream>();
  #isSetUp = false;
  /** Streams of the peer that have come so far. */
  #accepted = 0;

  constructor({ isRequestOpen, ...events }: StreamEvents) {
    this.#isRequestOpen = isRequestOpen;
    this.#owner = {
      ...events,
      halfEnded: (stream) => this.#linger(stream),
      ended: (stream) => this.#forget(stream),
    };
  }

  get(handle: StreamHandle): CoreStream | undefined {
    return this.#streams.get(handle);
  }

  /** A stream that the peer has opened. */
  accept(kind: StreamKind): CoreStream {
    return this.#add(this.#accepted++, { receives: true, sends: kind === "bidi" });
  }

  /** A stream that is to be opened here. */
  open(handle: StreamHandle, kind: StreamKind): CoreStream {
    return this.#add(handle, { receives: kind === "bidi", sends: true });
  }

  /** Lets go of a stream, which may live on in other hands. */
  delete(handle: StreamHandle): void {
    this.#streams.delete(handle);
  }

  /** SETUP is there, and the core has said what becomes of the streams that came before it. */
  settle(): void {
    if (this.#isSetUp) return;
    this.#isSetUp = true;
    for (const { handle } of this.#endedEarly) this.#streams.delete(handle);
    this.#endedEarly.clear();
  }

  /** The session is over. */
  abandon(): void {
    for (const stream of this.#streams.values()) stream.abandon();
    this.#streams.clear();
    this.#lingering.clear();
    this.#endedEarly.clear();
  }

  #add(handle: StreamHandle, directions: { receives: boolean; sends: boolean }): CoreStream {
    const stream = new CoreStream(handle, this.#owner, directions);
    this.#streams.set(handle, stream);
    return stream;
  }

  #forget(stream: CoreStream): void {
    this.#lingering.delete(stream);
    if (this.#isSetUp) this.#streams.delete(stream.handle);
    else this.#endedEarly.add(stream);
  }

  /**
   * A requester should send FIN once it has its answer. Those that do not would use up the streams
   * that the transport grants, so that of many the oldest is stopped: its answer is long read.
   */
  #linger(stream: CoreStream): void {
    if (this.#isRequestOpen(stream.handle)) return;
    this.#lingering.add(stream);
    if (this.#lingering.size <= mostLingering) return;
    const [oldest] = this.#lingering;
    oldest?.stop(streamResetCodes.CANCELLED);
  }
}
