/**
 * Streams of the peer from their opening until it is clear what they are, and until they may be
 * what they are: nothing but the control stream counts before the peer's SETUP.
 *
 * @module
 */

import { encodeControlMessage } from "../codec.ts";
import {
  type ReadDataStreamHeader,
  readDataStreamHeader,
  readUniStreamType,
} from "../data/data-stream.ts";
import { MoqtError } from "../errors.ts";
import {
  type MessageType,
  type RequestContext,
  type RoutableRequest,
  requestTypes,
} from "../message.ts";
import { StreamBuffer } from "../stream-buffer.ts";
import { overloadRefusal } from "./overload.ts";
import type { SessionContext } from "./session-context.ts";
import type { StreamHandle, StreamKind } from "./stream-handle.ts";
import { takeMessage } from "./take-message.ts";

/** Where streams go once it is clear what they are. */
export interface Destinations {
  /** `buffer` has all that has come, SETUP included. */
  control(stream: StreamHandle, buffer: StreamBuffer, fin: boolean, now: number): void;
  /** `buffer` has what follows `message`. */
  request(
    stream: StreamHandle,
    message: RoutableRequest,
    buffer: StreamBuffer,
    fin: boolean,
    now: number,
  ): void;
}

interface UnreadStream {
  readonly stream: StreamHandle;
  readonly kind: StreamKind;
  readonly buffer: StreamBuffer;
  fin: boolean;
  /** It counts towards `SessionLimits.unreadStreams`. */
  counted: boolean;
}

export class UnreadStreams {
  readonly #context: SessionContext;
  readonly #destinations: Destinations;
  readonly #streams = new Map<StreamHandle, UnreadStream>();
  /** How many of them count. */
  #counted = 0;
  #released = false;

  constructor(context: SessionContext, destinations: Destinations) {
    this.#context = context;
    this.#destinations = destinations;
  }

  clear(): void {
    for (const unread of this.#streams.values()) this.#forget(unread);
  }

  /**
   * The peer opened a stream. Before SETUP, a unidirectional one may be the control stream, and
   * counts only once it turns out to be another; as many may be of unknown type as may count.
   */
  open(stream: StreamHandle, kind: StreamKind, now: number): void {
    const unread = { stream, kind, buffer: new StreamBuffer(), fin: false, counted: false };
    this.#streams.set(stream, unread);
    const mayBeControl = kind === "uni" && !this.#released;
    const uncounted = this.#streams.size - this.#counted;
    if (mayBeControl ? uncounted > this.#maximum : !this.#count(unread)) this.#refuse(unread);
    else this.#await(unread, now);
  }

  receive(stream: StreamHandle, bytes: Uint8Array, fin: boolean, now: number): void {
    const unread = this.#streams.get(stream);
    if (unread === undefined) return;
    unread.buffer.push(bytes);
    unread.fin ||= fin;
    this.#read(unread, now);
  }

  /** The peer reset its direction. */
  reset(stream: StreamHandle): void {
    const unread = this.#streams.get(stream);
    if (unread === undefined) return;
    this.#forget(unread);
    if (unread.kind === "bidi") this.#context.out.reset(stream, "CANCELLED");
  }

  /** The peer does not want to hear of a request that it has not made yet. */
  stopped(stream: StreamHandle): void {
    const unread = this.#streams.get(stream);
    if (unread === undefined) return;
    this.#forget(unread);
    this.#context.out.reset(stream, "CANCELLED");
    if (!unread.fin) this.#context.out.stop(stream, "CANCELLED");
  }

  /** The peer's SETUP is there: reads what has waited for it, in the order of arrival. */
  release(now: number): void {
    this.#released = true;
    for (const unread of [...this.#streams.values()]) {
      if (!this.#streams.has(unread.stream)) continue;
      this.#await(unread, now);
      this.#read(unread, now);
    }
  }

  /** The error that closes the session for a stream that never said what it is. */
  overdue(stream: StreamHandle): MoqtError {
    return this.#streams.get(stream)?.kind === "uni"
      ? new MoqtError("DATA_STREAM_TIMEOUT", "the header of a data stream is overdue")
      : new MoqtError("CONTROL_MESSAGE_TIMEOUT", "a control message is overdue");
  }

  get #maximum(): number {
    return this.#context.options.limits.unreadStreams;
  }

  #await({ stream }: UnreadStream, now: number): void {
    if (!this.#released) return;
    this.#context.deadlines.set(stream, now + this.#context.options.limits.messageTime);
  }

  #read(unread: UnreadStream, now: number): void {
    if (unread.kind === "uni") this.#readUni(unread, now);
    else if (this.#released) this.#readBidi(unread, now);
    else this.#hold(unread);
  }

  #readBidi(unread: UnreadStream, now: number): void {
    const { stream, buffer, fin } = unread;
    const { draft, limits } = this.#context.options;
    const rules = { draft, maximumBytes: limits.messageBytes, place: placeFirst };
    const taken = takeMessage(buffer, rules);
    if (taken === "TOO_LONG") this.#refuse(unread);
    else if (taken !== "INCOMPLETE") {
      this.#handOver(unread);
      // `placeFirst` lets nothing else through.
      const message = taken.message as RoutableRequest;
      this.#destinations.request(stream, message, buffer, fin, now);
    } else if (fin) throw new MoqtError("PROTOCOL_VIOLATION", "a request is cut off by FIN");
    else this.#hold(unread);
  }

  #readUni(unread: UnreadStream, now: number): void {
    const { stream, buffer, fin } = unread;
    const type = readUniStreamType(buffer.bytes);
    if (type === "CONTROL") {
      this.#handOver(unread);
      this.#destinations.control(stream, buffer, fin, now);
    } else if (type === "PADDING") this.#forget(unread);
    else if (type !== undefined && !this.#count(unread)) this.#refuse(unread);
    else {
      const read = type === undefined ? undefined : readDataStreamHeader(buffer.bytes);
      if (read === undefined && fin) {
        throw new MoqtError("PROTOCOL_VIOLATION", "the header of a data stream is cut off by FIN");
      }
      if (read === undefined || !this.#released) this.#hold(unread);
      else this.#emit(unread, read);
    }
  }

  #emit(unread: UnreadStream, { header, length: headerLength }: ReadDataStreamHeader): void {
    const { stream, buffer, fin } = unread;
    const bytes = new Uint8Array(buffer.bytes);
    this.#forget(unread);
    this.#context.out.emit({ type: "dataStream", stream, header, bytes, headerLength, fin });
  }

  /** Keeps what has come, where there is room. */
  #hold(unread: UnreadStream): void {
    if (!this.#context.budget.keep(unread.buffer)) this.#refuse(unread);
  }

  /** Counts a stream; answers whether it may count. */
  #count(unread: UnreadStream): boolean {
    if (unread.counted) return true;
    if (this.#counted >= this.#maximum) return false;
    unread.counted = true;
    this.#counted++;
    return true;
  }

  /** There is no room for a stream; what may have become a request is answered as one. */
  #refuse(unread: UnreadStream): void {
    const { stream, kind, fin } = unread;
    this.#forget(unread);
    const { out, options } = this.#context;
    if (kind === "bidi") {
      const error = overloadRefusal(options, "the request takes too much room");
      out.send(stream, encodeControlMessage(error, options.draft), true);
    }
    if (!fin) out.stop(stream, "EXCESSIVE_LOAD");
  }

  #forget(unread: UnreadStream): void {
    this.#handOver(unread);
    unread.buffer.clear();
  }

  /** Forgets a stream, but not its bytes. */
  #handOver(unread: UnreadStream): void {
    this.#streams.delete(unread.stream);
    if (unread.counted) this.#counted--;
    this.#context.deadlines.delete(unread.stream);
    this.#context.budget.exempt(unread.buffer);
  }
}

const openingTypes: ReadonlySet<MessageType> = new Set(requestTypes);

function placeFirst(type: MessageType): RequestContext | string {
  return openingTypes.has(type) ? {} : `${type} cannot open a request stream`;
}
