/**
 * Which data stream of a session belongs to whom.
 *
 * @module
 */

import { type ObjectDatagram, streamResetCodes } from "../moqt/mod.ts";
import type { IncomingDataStream } from "../session/mod.ts";

/** Whoever receives the objects of a track. */
export interface TrackSink {
  onStream(stream: IncomingDataStream): void;
  onDatagram(datagram: ObjectDatagram): void;
}

/** Streams and datagrams that wait for the answer that says what their Track Alias means. */
const mostHeld = 64;

/**
 * The data streams that a peer opens. Objects may come before the SUBSCRIBE_OK or PUBLISH that gives
 * their alias a meaning (LB-S72); while such an answer is expected, a bounded number of them is held
 * unread. Whatever belongs to nobody is stopped.
 */
export class DataStreams {
  /** Of several subscriptions that share an alias, the latest gets what comes. */
  readonly #tracks = new Map<bigint, TrackSink[]>();
  readonly #fetches = new Map<bigint, (stream: IncomingDataStream) => void>();
  readonly #heldStreams: IncomingDataStream[] = [];
  readonly #heldDatagrams: ObjectDatagram[] = [];
  #expected = 0;

  /** A Track Alias is about to get a meaning. @returns it has, or will not */
  expect(): () => void {
    this.#expected++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#expected--;
      if (this.#expected === 0) this.#dropHeld();
    };
  }

  /** Objects with this alias go to `sink`, those that came before included. @returns ends that */
  bindTrack(alias: bigint, sink: TrackSink): () => void {
    const sinks = this.#tracks.get(alias) ?? [];
    this.#tracks.set(alias, sinks);
    sinks.push(sink);
    for (const stream of takeWhere(this.#heldStreams, (held) => aliasOf(held) === alias)) {
      sink.onStream(stream);
    }
    for (const held of takeWhere(this.#heldDatagrams, ({ trackAlias }) => trackAlias === alias)) {
      sink.onDatagram(held);
    }
    return () => {
      takeWhere(sinks, (each) => each === sink);
      if (sinks.length === 0 && this.#tracks.get(alias) === sinks) this.#tracks.delete(alias);
    };
  }

  /** The stream of the FETCH with this Request ID goes to `receive`. @returns ends that */
  bindFetch(requestId: bigint, receive: (stream: IncomingDataStream) => void): () => void {
    this.#fetches.set(requestId, receive);
    return () => this.#fetches.delete(requestId);
  }

  onStream(stream: IncomingDataStream): void {
    const { header } = stream;
    if (header.type === "FETCH") {
      const receive = this.#fetches.get(header.requestId);
      this.#fetches.delete(header.requestId);
      if (receive === undefined) stop(stream);
      else receive(stream);
      return;
    }
    const sink = this.#tracks.get(header.trackAlias)?.at(-1);
    if (sink !== undefined) sink.onStream(stream);
    else if (this.#expected === 0) stop(stream);
    else {
      this.#heldStreams.push(stream);
      const [oldest] = this.#heldStreams.length > mostHeld ? this.#heldStreams.splice(0, 1) : [];
      if (oldest !== undefined) stop(oldest);
    }
  }

  onDatagram(datagram: ObjectDatagram): void {
    const sink = this.#tracks.get(datagram.trackAlias)?.at(-1);
    if (sink !== undefined) sink.onDatagram(datagram);
    else if (this.#expected > 0 && this.#heldDatagrams.length < mostHeld) {
      this.#heldDatagrams.push(datagram);
    }
  }

  #dropHeld(): void {
    for (const stream of this.#heldStreams.splice(0)) stop(stream);
    this.#heldDatagrams.length = 0;
  }
}

function aliasOf({ header }: IncomingDataStream): bigint | undefined {
  return header.type === "SUBGROUP" ? header.trackAlias : undefined;
}

function stop({ stream }: IncomingDataStream): void {
  stream.stopSending(streamResetCodes.CANCELLED);
}

/** Removes what `matches` from `items`, and answers it. */
function takeWhere<Item>(items: Item[], matches: (item: Item) => boolean): Item[] {
  const taken = items.filter(matches);
  if (taken.length > 0) items.splice(0, items.length, ...items.filter((item) => !matches(item)));
  return taken;
}
