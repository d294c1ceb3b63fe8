/**
 * A subscription on one session: its data streams, and when the last of them has ended.
 *
 * @module
 */

import {
  MoqtError,
  type ObjectDatagram,
  type PublishDone,
  type SessionErrorName,
  streamResetCodes,
} from "../moqt/mod.ts";
import type { Clock, IncomingDataStream, RequestEnd, RequestNews } from "../session/mod.ts";
import type { DataStreams, TrackSink } from "./data-streams.ts";

/** How a subscription ended on its session: with PUBLISH_DONE, or without. */
export type SubscriptionLegEnd = { readonly done: PublishDone } | { readonly broken: RequestEnd };

/** What a leg needs of its request, whichever end made it. */
export interface SubscriptionRequest {
  readonly ended: Promise<RequestEnd>;
  listen(hear: (message: RequestNews) => void): void;
  cancel(): void;
}

/** What brings objects: a session. */
export interface ObjectSource {
  readonly streams: DataStreams;
  close(code: SessionErrorName, reason: string): void;
}

/** Where objects go. */
export interface ObjectSink {
  /** Reads a subgroup stream to its end, whatever that is; rejects where the peer broke a rule. */
  read(stream: IncomingDataStream): Promise<void>;
  take(datagram: ObjectDatagram): void;
}

/** Milliseconds that streams which PUBLISH_DONE counts may still take to arrive. */
const latestStream = 2_000;

/** Milliseconds that a leg which was replaced may take to end its groups. */
const longestRetirement = 5_000;

export class SubscriptionLeg implements TrackSink {
  readonly #session: ObjectSource;
  readonly #request: SubscriptionRequest;
  readonly #feed: ObjectSink;
  readonly #clock: Clock;
  readonly #over = Promise.withResolvers<SubscriptionLegEnd>();
  readonly #unbind: () => void;
  readonly #open = new Set<IncomingDataStream>();
  #streams = 0n;
  #done: PublishDone | undefined;
  /** Groups after this one come on another leg. */
  #lastGroup: bigint | undefined;
  #isOver = false;
  #cancelTimer: () => void = () => {};

  constructor(
    session: ObjectSource,
    request: SubscriptionRequest,
    alias: bigint,
    feed: ObjectSink,
    clock: Clock,
  ) {
    this.#session = session;
    this.#request = request;
    this.#feed = feed;
    this.#clock = clock;
    this.#unbind = session.streams.bindTrack(alias, this);
    request.listen((message) => {
      if (message.type !== "PUBLISH_DONE") return;
      this.#done = message;
      this.#settle();
    });
    void request.ended.then((end) => {
      // PUBLISH_DONE ends the request before its last streams may have come.
      if (this.#done === undefined || end.how === "closed") this.#finish(end);
    });
  }

  /** Resolves once nothing more comes; never rejects. */
  get over(): Promise<SubscriptionLegEnd> {
    return this.#over.promise;
  }

  onStream(stream: IncomingDataStream): void {
    this.#streams++;
    if (!this.#wants(stream)) {
      stop(stream);
      return;
    }
    this.#open.add(stream);
    this.#feed
      .read(stream)
      .catch((error) => {
        const code = error instanceof MoqtError ? error.code : "INTERNAL_ERROR";
        this.#session.close(code, "a data stream is wrong");
      })
      .finally(() => {
        this.#open.delete(stream);
        this.#settle();
      });
  }

  onDatagram(datagram: ObjectDatagram): void {
    this.#feed.take(datagram);
  }

  /** Another leg brings the groups after `lastGroup`: this one ends with those that it has begun. */
  retire(lastGroup: bigint): void {
    if (this.#isOver) return;
    this.#lastGroup = lastGroup;
    for (const stream of this.#open) if (!this.#wants(stream)) stop(stream);
    this.#cancelTimer = this.#clock.after(longestRetirement, () => this.cancel());
    this.#settle();
  }

  /** Gives the subscription up here, and what is on its way. */
  cancel(): void {
    for (const stream of this.#open) stop(stream);
    this.#request.cancel();
    this.#finish({ how: "cancelled", cause: "LOCAL" });
  }

  #wants({ header }: IncomingDataStream): boolean {
    if (this.#isOver || header.type !== "SUBGROUP") return false;
    return this.#lastGroup === undefined || header.groupId <= this.#lastGroup;
  }

  /** Whether it is over now that something has ended. */
  #settle(): void {
    if (this.#isOver || this.#open.size > 0) return;
    if (this.#lastGroup !== undefined) this.cancel();
    else if (this.#done === undefined) return;
    else if (this.#streams >= this.#done.streamCount) this.#finish();
    else {
      this.#cancelTimer();
      this.#cancelTimer = this.#clock.after(latestStream, () => this.#finish());
    }
  }

  #finish(end?: RequestEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#unbind();
    const done = this.#done;
    if (done !== undefined) this.#over.resolve({ done });
    else this.#over.resolve({ broken: end ?? { how: "finished" } });
  }
}

function stop({ stream }: IncomingDataStream): void {
  stream.stopSending(streamResetCodes.CANCELLED);
}
