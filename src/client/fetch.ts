/**
 * Fetching objects that were published before. A fetch ends where it began: it is not moved to
 * another relay (LB-PMOVE-14); whoever wants the rest asks again.
 *
 * @module
 */

import {
  type Draft,
  draftFacts,
  type FetchItem,
  type FetchOk,
  FetchReader,
  type GroupOrder,
  type Location,
  type MessageParameter,
  MoqtError,
  type NewRequest,
  ObjectTooLargeError,
  streamResetCodes,
} from "../moqt/mod.ts";
import { QuicError } from "../quic/errors.ts";
import type { Clock, IncomingDataStream, RequestEnd } from "../session/mod.ts";
import { BoundedQueue } from "./bounded-queue.ts";
import type { ClientContext } from "./client-context.ts";
import type { ClientSession } from "./client-session.ts";
import { ClientError } from "./errors.ts";
import type { Leg } from "./leg.ts";
import type { FeedLimits } from "./object-feed.ts";
import { Attempts, type PlacedRequest } from "./placing.ts";
import type { RequestName, Target } from "./target.ts";

export interface FetchOptions extends Required<RequestName> {
  /** Default: the beginning of the track. */
  readonly start?: Location;
  /** Inclusive. Default: the largest object so far. */
  readonly end?: GroupEnd;
  /** Default ascending. */
  readonly groupOrder?: GroupOrder;
  /** 0..255, lower goes first; default 128. */
  readonly priority?: number;
  /** Ends the fetch, and the wait for it. */
  readonly signal?: AbortSignal;
}

/** The last object of a range; `object` absent: the last one of the group. */
export interface GroupEnd {
  readonly group: bigint;
  readonly object?: bigint;
}

/** What was fetched, in the order of the groups. Iterate it once. */
export interface FetchedObjects extends AsyncIterable<FetchItem, undefined> {
  /** Where the range really ends. */
  readonly end: GroupEnd;
  /** Whether the track ends there too. */
  readonly endOfTrack: boolean;
  /** Key-Value-Pairs of the track. */
  readonly trackProperties: Uint8Array;
  /** Gives up what has not arrived. */
  cancel(): void;
}

/**
 * Fetches objects of a track.
 *
 * @returns once a relay has granted it and knows its end
 * @throws as `Placer.place`; iterating throws {@link ClientError} REQUEST_FAILED where the relay
 *   breaks off
 */
export async function fetchObjects(
  { placer, clock, limits, signal }: ClientContext,
  options: FetchOptions,
): Promise<FetchedObjects> {
  const { trackNamespace, trackName, groupOrder = "ASCENDING" } = options;
  let transfer: Transfer | undefined;
  const request: PlacedRequest<ClientSession> = {
    request: "FETCH",
    name: { trackNamespace, trackName },
    send: (session, target) => {
      const leg = session.send(fetchMessage(target, options, session.draft), target);
      transfer = new Transfer(session, leg, groupOrder, limits, clock);
      return leg;
    },
  };
  const both = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]);
  const { grant, session } = await placer.place(request, new Attempts(), both);
  if (transfer === undefined || grant.type !== "FETCH_OK") {
    throw new TypeError("a FETCH is granted otherwise");
  }
  const { queue } = transfer;
  const cancel = () => transfer?.cancel();
  both.addEventListener("abort", cancel, { once: true });
  return {
    end: inclusiveEnd(grant, session.draft),
    endOfTrack: grant.endOfTrack,
    trackProperties: grant.trackProperties,
    cancel,
    [Symbol.asyncIterator]: () => queue,
  };
}

/** A range without an end, for the drafts that have to name one. */
const furthestGroup = 2n ** 62n - 1n;

function fetchMessage(target: Target, options: FetchOptions, draft: Draft): NewRequest {
  const { trackNamespace, trackName = options.trackName } = target;
  const { start = { group: 0n, object: 0n }, end, groupOrder, priority } = options;
  const common: (MessageParameter | false)[] = [
    priority !== undefined && { type: "SUBSCRIBER_PRIORITY", value: priority },
    groupOrder !== undefined && { type: "GROUP_ORDER", value: groupOrder },
  ];
  const parameters = common.filter((each) => each !== false);
  const name = { type: "FETCH", trackNamespace, trackName } as const;
  if (draftFacts[draft].typedFetch) {
    const { group, object } = end ?? { group: furthestGroup };
    return {
      ...name,
      fetchType: "STANDALONE",
      startLocation: start,
      endLocation: { group, object: object === undefined ? 0n : object + 1n },
      parameters,
    };
  }
  const isWhole = start.group === 0n && start.object === 0n;
  if (end === undefined && isWhole) return { ...name, parameters };
  const filter =
    end === undefined
      ? ({ kind: "START", start } as const)
      : ({
          kind: "RANGE",
          start,
          endGroup: end.group,
          ...(end.object === undefined ? {} : { endObject: end.object }),
        } as const);
  return { ...name, parameters: [...parameters, { type: "LOCATION_FILTER", filter }] };
}

/** Drafts 18 and 19 name the object after the last one, or none for the whole group. */
function inclusiveEnd({ endLocation: { group, object } }: FetchOk, draft: Draft): GroupEnd {
  if (!draftFacts[draft].exclusiveEnd) return { group, object };
  return object === 0n ? { group } : { group, object: object - 1n };
}

/** Milliseconds in which the objects have to start coming once the request is over. */
const latestStream = 10_000;

/** What a queued item costs besides its bytes. */
const itemOverhead = 128;

/** The data stream of one FETCH, which may come before the answer to it. */
class Transfer {
  readonly queue: BoundedQueue<FetchItem>;
  readonly #session: ClientSession;
  readonly #leg: Leg;
  readonly #reader: FetchReader;
  readonly #unbind: () => void;
  #stream: IncomingDataStream | undefined;
  #cancelTimer: () => void = () => {};

  constructor(
    session: ClientSession,
    leg: Leg,
    groupOrder: GroupOrder,
    { queuedBytes, objectBytes }: FeedLimits,
    clock: Clock,
  ) {
    this.queue = new BoundedQueue(queuedBytes, () => this.cancel());
    this.#session = session;
    this.#leg = leg;
    this.#reader = new FetchReader({ draft: session.draft, groupOrder }, objectBytes);
    const { requestId } = leg.request.message;
    this.#unbind = session.streams.bindFetch(requestId, (stream) => void this.#receive(stream));
    void leg.ended.then((end) => this.#requestEnded(end, clock));
  }

  cancel(): void {
    this.#leg.cancel();
    this.#stream?.stream.stopSending(streamResetCodes.CANCELLED);
    this.#finish();
  }

  #requestEnded(end: RequestEnd, clock: Clock): void {
    if (end.how !== "finished") this.#finish(brokenOff());
    else if (this.#stream === undefined) {
      this.#cancelTimer = clock.after(latestStream, () => this.#finish(brokenOff()));
    }
  }

  async #receive(incoming: IncomingDataStream): Promise<void> {
    this.#stream = incoming;
    this.#cancelTimer();
    const { stream } = incoming;
    let toSkip = incoming.headerLength;
    try {
      for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
        const skipped = Math.min(toSkip, bytes.length);
        toSkip -= skipped;
        for (const item of this.#reader.push(bytes.subarray(skipped))) {
          await this.queue.push(item, itemOverhead + sizeOf(item));
        }
      }
      this.#reader.end();
      this.#finish();
    } catch (error) {
      if (error instanceof MoqtError) this.#session.close(error.code, "a fetch stream is wrong");
      if (error instanceof ObjectTooLargeError) stream.stopSending(streamResetCodes.EXCESSIVE_LOAD);
      this.#finish(error instanceof QuicError ? brokenOff(error) : error);
    }
  }

  #finish(error?: unknown): void {
    this.#cancelTimer();
    this.#unbind();
    this.queue.end(error);
  }
}

function sizeOf(item: FetchItem): number {
  return item.type === "OBJECT" ? item.payload.length + (item.properties?.length ?? 0) : 0;
}

function brokenOff(cause?: unknown): ClientError {
  return new ClientError("REQUEST_FAILED", "the fetch was broken off", { cause });
}
