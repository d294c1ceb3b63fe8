/**
 * One request stream: an HTTP message in, an HTTP message out (RFC 9114 §4.1).
 *
 * @module
 */

import type { QuicStream } from "../quic/connection.ts";
import { StreamReset } from "../quic/errors.ts";
import type { ByteSource } from "./byte-source.ts";
import { frameTypes, reservedFrameTypes } from "./code-points.ts";
import { http3ErrorCodes } from "./error-codes.ts";
import { Http3CallError, Http3ConnectionError, Http3StreamError, malformed } from "./errors.ts";
import { type Field, fieldSectionSize } from "./field.ts";
import { encodeFrame, FrameReader } from "./frame.ts";
import { checkTrailers } from "./message.ts";
import { decodeFieldSection, encodeFieldSection } from "./qpack.ts";

/** What the connection knows and a stream has to obey. */
export interface MessageStreamContext {
  readonly role: "client" | "server";
  readonly maxFieldSectionSize: number;
  /** Frame types of extensions, which belong on the control stream alone. */
  readonly controlFrames: ReadonlyMap<bigint, number>;
  /** Whether WT_STREAM means something, which it may at the start of a stream alone. */
  readonly webTransport: boolean;
  /** Largest field section that the peer is known to accept. */
  readonly peerMaxFieldSectionSize: bigint | undefined;
  /** Ends the connection. */
  fail(error: Http3ConnectionError): void;
}

/** Frames that belong on a control stream. */
const controlOnly: ReadonlySet<bigint> = new Set([
  frameTypes.CANCEL_PUSH,
  frameTypes.SETTINGS,
  frameTypes.GOAWAY,
  frameTypes.MAX_PUSH_ID,
]);

/** How much of a body that nobody wants is read before the peer is asked to stop. */
const DISCARD_LIMIT = 0x1_0000;

const nothing = new Uint8Array(0);

export class MessageStream {
  readonly id: bigint;
  /** Resolves with the code when the peer no longer reads what we send. */
  readonly stopped: Promise<bigint>;
  /** Resolves once both directions have ended, in whatever way. */
  readonly finished: Promise<void>;
  /** Whether only DATA may follow the head (§4.4); `undefined` until the request is known. */
  tunnel: boolean | undefined;

  readonly #stream: QuicStream;
  readonly #frames: FrameReader;
  readonly #context: MessageStreamContext;
  readonly #finish: () => void;
  #received: "nothing" | "head" | "trailers" | "end" = "nothing";
  /** A read is under way. */
  #reading = false;
  #doneReceiving = false;
  #sent: "nothing" | "head" | "end" = "nothing";
  /** Settles when everything handed over so far has been sent. */
  #sending = Promise.resolve();
  #doneSending = false;
  #trailers: readonly Field[] | undefined;
  #bodyLeft: number | undefined;
  /** What ended receiving early; later reads get it too. */
  #receiveFault: unknown;
  #refused: Error | undefined;

  /** @param source what `stream` carries, of which nothing but a look at its start was taken */
  constructor(stream: QuicStream, source: ByteSource, context: MessageStreamContext) {
    this.id = stream.id;
    this.stopped = stream.stopped;
    this.#stream = stream;
    this.#frames = new FrameReader(source);
    this.#context = context;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.#finish = resolve;
    void stream.stopped.then(() => this.#sendingEnded());
  }

  /** The trailer section, once `read` has answered `null`; `undefined` where there was none. */
  get trailers(): readonly Field[] | undefined {
    return this.#trailers;
  }

  /**
   * The fields of the next HEADERS frame, which has to come next. `null` at the end of the stream,
   * `undefined` where the section is larger than we accept.
   */
  receiveFields(): Promise<readonly Field[] | null | undefined> {
    return this.#receive(async () => {
      const frame = await this.#nextFrame();
      if (frame === null) {
        this.#receivedEnd();
        return null;
      }
      if (frame.type === frameTypes.DATA) throw unexpected("a body comes before its head");
      return this.#fields(frame.length);
    });
  }

  /**
   * Says that the head is complete, and how many bytes its content-length announces.
   *
   * @param length `undefined` where it announces nothing
   */
  expectBody(length: number | undefined): void {
    this.#received = "head";
    this.#bodyLeft = length;
  }

  /** The next bytes of the body, at most `max`; `null` after the last and the trailers. */
  read(max?: number): Promise<Uint8Array | null> {
    return this.#receive(async () => {
      while (this.#received !== "end") {
        const bytes = await this.#frames.read(max);
        if (bytes !== null) {
          this.#count(bytes.length);
          return bytes;
        }
        await this.#advance();
      }
      return null;
    });
  }

  /** Reads no further: the rest is dropped, or stopped with H3_NO_ERROR where there is much. */
  async discard(): Promise<void> {
    if (this.#reading || this.#doneReceiving) return;
    try {
      for (let dropped = 0; dropped < DISCARD_LIMIT; ) {
        const bytes = await this.read();
        if (bytes === null) return;
        dropped += bytes.length;
      }
      this.stopSending(http3ErrorCodes.H3_NO_ERROR);
    } catch {
      // Whatever came instead of the rest has been dealt with where it was found.
    }
  }

  /**
   * Sends a HEADERS frame.
   *
   * @throws {Http3CallError} FIELD_SECTION_TOO_LARGE where the peer accepts less
   */
  async sendFields(fields: readonly Field[], end = false): Promise<void> {
    this.#mustBeOpen();
    const maximum = this.#context.peerMaxFieldSectionSize;
    if (maximum !== undefined && fieldSectionSize(fields) > maximum) {
      throw new Http3CallError("FIELD_SECTION_TOO_LARGE", `the peer accepts ${maximum} bytes`);
    }
    if (this.#sent === "nothing") this.#sent = "head";
    await this.#send(encodeFrame(frameTypes.HEADERS, encodeFieldSection(fields)), end);
  }

  /**
   * Sends a piece of the body. Resolves when the transport has taken it.
   *
   * @throws {Http3CallError} OUT_OF_ORDER before the head or after the end
   */
  async write(bytes: Uint8Array, end = false): Promise<void> {
    this.#mustBeOpen();
    if (this.#sent === "nothing") {
      throw new Http3CallError("OUT_OF_ORDER", "a body cannot be sent before its head");
    }
    await this.#send(bytes.length === 0 ? nothing : encodeFrame(frameTypes.DATA, bytes), end);
  }

  /**
   * Ends what we send, with `trailers` if there are any.
   *
   * @throws {Http3CallError} INVALID_MESSAGE where trailers break a rule
   */
  async end(trailers?: readonly Field[]): Promise<void> {
    if (this.#sent === "end" && trailers === undefined) return;
    if (trailers === undefined) await this.write(nothing, true);
    else {
      checkTrailers(trailers, (message) => new Http3CallError("INVALID_MESSAGE", message));
      await this.sendFields(trailers, true);
    }
  }

  /** Ends both directions with `code`, as far as they have not ended. */
  abort(code: bigint): void {
    this.reset(code);
    this.stopSending(code);
  }

  /** Gives up sending. */
  reset(code: bigint): void {
    this.#stream.reset(code);
    this.#sendingEnded();
  }

  /** Gives up reading. */
  stopSending(code: bigint): void {
    this.#stream.stopSending(code);
    this.#receivingEnded();
  }

  /** Ends the stream because the peer will not answer: pending calls and later ones get `error`. */
  refuse(error: Error): void {
    this.#refused ??= error;
    this.abort(http3ErrorCodes.H3_REQUEST_CANCELLED);
  }

  /** Runs one receiving step and gives what it throws its consequence. */
  async #receive<T>(step: () => Promise<T>): Promise<T> {
    if (this.#refused !== undefined) throw this.#refused;
    if (this.#receiveFault !== undefined) throw this.#receiveFault;
    this.#reading = true;
    try {
      return await step();
    } catch (error) {
      this.#receiveFault = error;
      if (error instanceof Http3ConnectionError) this.#context.fail(error);
      if (error instanceof Http3StreamError) this.abort(error.numericCode);
      // A request whose response will not come need not be sent to its end.
      const pointless = error instanceof StreamReset && this.#context.role === "client";
      if (pointless && this.tunnel === false) this.reset(http3ErrorCodes.H3_REQUEST_CANCELLED);
      this.#receivingEnded();
      throw this.#refused ?? error;
    } finally {
      this.#reading = false;
    }
  }

  /** The next HEADERS or DATA frame; others are ignored or not allowed here (§7.2, §9). */
  async #nextFrame(): Promise<{ type: bigint; length: number } | null> {
    for (let frame = await this.#frames.next(); frame !== null; frame = await this.#frames.next()) {
      const { type } = frame;
      if (type === frameTypes.HEADERS || type === frameTypes.DATA) return frame;
      if (type === frameTypes.WT_STREAM && this.#context.webTransport) {
        throw new Http3ConnectionError("H3_FRAME_ERROR", "a WebTransport stream begins in another");
      }
      if (type === frameTypes.PUSH_PROMISE) throw promised(this.#context.role);
      if (
        controlOnly.has(type) ||
        reservedFrameTypes.has(type) ||
        this.#context.controlFrames.has(type)
      ) {
        throw unexpected(`a frame of type 0x${type.toString(16)} stands on a request stream`);
      }
    }
    return null;
  }

  /** Moves on to the next piece of the body, to the trailers or to the end. */
  async #advance(): Promise<void> {
    const frame = await this.#nextFrame();
    if (frame === null) {
      if ((this.#bodyLeft ?? 0) > 0) throw malformed("the body is shorter than content-length");
      this.#receivedEnd();
      return;
    }
    if (this.#received === "trailers") throw unexpected("a message goes on after its trailers");
    if (frame.type === frameTypes.DATA) return;
    if (this.tunnel) throw unexpected("a tunnel has trailers");
    const fields = await this.#fields(frame.length);
    if (fields === undefined) {
      throw new Http3StreamError("H3_EXCESSIVE_LOAD", "the trailer section is too large");
    }
    checkTrailers(fields, malformed);
    this.#trailers = fields;
    this.#received = "trailers";
  }

  async #fields(length: number): Promise<readonly Field[] | undefined> {
    // A section never counts less than the bytes that encode it, so these need not be read.
    if (length > this.#context.maxFieldSectionSize) return undefined;
    return decodeFieldSection(await this.#frames.payload(), this.#context.maxFieldSectionSize);
  }

  #count(bytes: number): void {
    if (this.#bodyLeft === undefined) return;
    this.#bodyLeft -= bytes;
    if (this.#bodyLeft < 0) throw malformed("the body is longer than content-length");
  }

  #mustBeOpen(): void {
    if (this.#refused !== undefined) throw this.#refused;
    if (this.#sent === "end") {
      throw new Http3CallError("OUT_OF_ORDER", "the message has ended");
    }
  }

  /** Sends one piece after the other, whether or not the caller waits between them. */
  #send(bytes: Uint8Array, end: boolean): Promise<void> {
    if (end) this.#sent = "end";
    const sent = this.#sending.then(async () => {
      if (this.#refused !== undefined) throw this.#refused;
      await this.#stream.write(bytes, end);
      if (end) this.#sendingEnded();
    });
    this.#sending = sent.catch(() => {});
    return sent;
  }

  #receivedEnd(): void {
    this.#received = "end";
    this.#receivingEnded();
  }

  #receivingEnded(): void {
    this.#doneReceiving = true;
    if (this.#doneSending) this.#finish();
  }

  #sendingEnded(): void {
    this.#doneSending = true;
    if (this.#doneReceiving) this.#finish();
  }
}

function unexpected(message: string): Http3ConnectionError {
  return new Http3ConnectionError("H3_FRAME_UNEXPECTED", message);
}

/** We never allow a push, so no server may promise one, and a client never may (§7.2.5). */
function promised(role: "client" | "server"): Http3ConnectionError {
  return role === "client"
    ? new Http3ConnectionError("H3_ID_ERROR", "a push is promised that was never allowed")
    : unexpected("a client promises a push");
}
