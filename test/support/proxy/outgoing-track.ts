/**
 * One subscription as its publisher serves it: a stream for each group, as far as the subscriber
 * asked for it.
 *
 * @module
 */

import { concatBytes } from "../../../src/bytes.ts";
import {
  isInRange,
  type LocationRange,
  locationRange,
} from "../../../src/client/location-range.ts";
import { parameter } from "../../../src/client/parameters.ts";
import {
  encodeDataStreamHeader,
  type Location,
  type MessageParameter,
  type PublishDoneName,
  publishDoneCodes,
  type SubgroupHeader,
  SubgroupWriter,
  streamResetCodes,
} from "../../../src/moqt/mod.ts";
import { QuicError, StreamStopped } from "../../../src/quic/errors.ts";
import type { MoqtSession, SessionRequest } from "../../../src/session/mod.ts";
import type { TransportStream } from "../../../src/transport/transport.ts";
import type { OriginTrack } from "./origin.ts";

export class OutgoingTrack {
  readonly track: OriginTrack;
  readonly alias: bigint;
  readonly request: SessionRequest;
  readonly parameters: readonly MessageParameter[];
  /** Codes with which the subscriber stopped streams. */
  readonly stops: bigint[] = [];
  /** Groups that were sent to their end. */
  finished = 0;
  readonly #session: MoqtSession;
  #range: LocationRange;
  readonly #groups = new Map<number, Promise<void>>();
  readonly #open = new Set<TransportStream>();
  /** Nobody wants it any more. */
  readonly #over: Promise<unknown>;
  #streams = 0n;
  #isDone = false;

  constructor(
    session: MoqtSession,
    request: SessionRequest,
    alias: bigint,
    track: OriginTrack,
    parameters: readonly MessageParameter[],
  ) {
    this.#session = session;
    this.request = request;
    this.alias = alias;
    this.track = track;
    this.parameters = parameters;
    const filter = parameter(parameters, "LOCATION_FILTER")?.filter;
    // Without a filter a subscriber gets what begins from now on, to keep scenarios simple.
    const next = { group: BigInt(track.groups.length), object: 0n };
    this.#range = filter === undefined ? { start: next } : locationRange(filter, largestOf(track));
    this.#over = Promise.race([request.ended, session.closed]);
    void this.#over.then(() => this.reset());
    void this.#serve();
  }

  /** Streams that were begun. */
  get streams(): bigint {
    return this.#streams;
  }

  /** The first Group ID that it serves. */
  get start(): bigint {
    return this.#range.start.group;
  }

  /** Takes another filter over. */
  refilter(parameters: readonly MessageParameter[]): void {
    const filter = parameter(parameters, "LOCATION_FILTER")?.filter;
    if (filter !== undefined) this.#range = locationRange(filter, largestOf(this.track));
  }

  /** Ends the subscription once what was begun has been sent. */
  async done(status: PublishDoneName = "TRACK_ENDED"): Promise<void> {
    this.#isDone = true;
    await Promise.all(this.#groups.values());
    if (this.request.isOver) return;
    this.request.send({
      type: "PUBLISH_DONE",
      statusCode: publishDoneCodes[status],
      streamCount: this.#streams,
      errorReason: "",
    });
  }

  /** Resets every stream that is open, and begins no more. */
  reset(code: bigint = streamResetCodes.CANCELLED): void {
    this.#isDone = true;
    for (const stream of this.#open) stream.reset(code);
    this.#open.clear();
  }

  async #serve(): Promise<void> {
    while (!this.#isDone && !this.#session.isOver) {
      const { changed, groups } = this.track;
      for (let group = 0; group < groups.length; group++) {
        if (this.#groups.has(group) || !isInRange(this.#range, BigInt(group), 0n)) continue;
        this.#groups.set(group, this.#send(group));
      }
      await Promise.race([changed, this.#over]);
    }
  }

  async #send(group: number): Promise<void> {
    try {
      const stream = await this.#session.openDataStream();
      if (this.#isDone && this.request.isOver) return stream.reset(streamResetCodes.CANCELLED);
      this.#open.add(stream);
      await this.#write(stream, group);
      this.#open.delete(stream);
    } catch (error) {
      if (error instanceof StreamStopped) this.stops.push(error.applicationCode);
      else if (!(error instanceof QuicError)) throw error;
    }
  }

  async #write(stream: TransportStream, id: number): Promise<void> {
    const header: SubgroupHeader = {
      type: "SUBGROUP",
      trackAlias: this.alias,
      groupId: BigInt(id),
      subgroupId: 0n,
      publisherPriority: 7,
      hasProperties: false,
      endOfGroup: true,
      firstObject: true,
    };
    const writer = new SubgroupWriter(header);
    this.#streams++;
    const parts = [encodeDataStreamHeader(header)];
    const stopped = stream.stopped.then((code) => {
      throw new StreamStopped(code);
    });
    stopped.catch(() => {});
    for (let sent = 0; ; ) {
      const { changed } = this.track;
      const group = this.track.groups[id];
      if (group === undefined) throw new TypeError("a group that is not published");
      for (; sent < group.objects.length; sent++) {
        const payload = group.objects[sent] as Uint8Array;
        const object = { objectId: BigInt(sent), status: "NORMAL", payload } as const;
        parts.push(writer.encode(object));
      }
      const { isEnded } = group;
      if (parts.length > 0 || isEnded) {
        await stream.write(concatBytes(...parts.splice(0)), isEnded);
      }
      if (isEnded) {
        this.finished++;
        return;
      }
      await Promise.race([changed, stopped, this.#over]);
      if (!this.#open.has(stream)) return;
    }
  }
}

/** The largest object of a track, for LARGEST_OBJECT. */
export function largestOf({ groups }: OriginTrack): Location | undefined {
  const group = groups.findLastIndex(({ objects }) => objects.length > 0);
  const last = groups[group];
  if (last === undefined) return undefined;
  return { group: BigInt(group), object: BigInt(last.objects.length - 1) };
}
