/**
 * A request as the server has it.
 *
 * @module
 */

import { http3ErrorCodes } from "./error-codes.ts";
import { Http3CallError } from "./errors.ts";
import type { Field } from "./field.ts";
import { type RequestHead, readResponseHead, responseFields } from "./message.ts";
import type { MessageStream } from "./message-stream.ts";

export class ServerRequest {
  /** ID of the stream. */
  readonly id: bigint;
  readonly method: string;
  readonly scheme: string | undefined;
  readonly authority: string | undefined;
  /** Path and query. */
  readonly path: string | undefined;
  /** `:protocol` of an extended CONNECT. */
  readonly protocol: string | undefined;
  readonly headers: readonly Field[];
  readonly #stream: MessageStream;
  /** Status of the final response, once it has begun. */
  #status: number | undefined;

  constructor(stream: MessageStream, head: RequestHead) {
    this.id = stream.id;
    this.method = head.method;
    this.scheme = head.scheme;
    this.authority = head.authority;
    this.path = head.path;
    this.protocol = head.protocol;
    this.headers = head.headers;
    this.#stream = stream;
  }

  /** Resolves with the code when the client no longer wants the response. */
  get stopped(): Promise<bigint> {
    return this.#stream.stopped;
  }

  /** Resolves once request and response have ended, in whatever way. */
  get finished(): Promise<void> {
    return this.#stream.finished;
  }

  /** The trailers of the request, once `read` has answered `null`. */
  get trailers(): readonly Field[] | undefined {
    return this.#stream.trailers;
  }

  /**
   * The next bytes of the body, at most `max`; `null` at its end.
   *
   * @throws {StreamReset} the client gave up, with its code
   * @throws {Http3Error} what came breaks a rule; the stream or the connection is over
   */
  read(max?: number): Promise<Uint8Array | null> {
    return this.#stream.read(max);
  }

  /**
   * Sends the head of a response: any number of interim ones (below 200), then a final one.
   *
   * @param end whether that is all, without a body
   * @throws {Http3CallError} INVALID_MESSAGE, OUT_OF_ORDER or FIELD_SECTION_TOO_LARGE
   * @throws {StreamStopped} the client no longer wants it, with its code
   */
  async respond(status: number, headers: readonly Field[] = [], end = false): Promise<void> {
    if (this.#status !== undefined)
      throw new Http3CallError("OUT_OF_ORDER", "the response has begun");
    const fields = responseFields({ status, headers });
    readResponseHead(fields, (message) => new Http3CallError("INVALID_MESSAGE", message));
    if (status >= 200) this.#status = status;
    else if (end) {
      throw new Http3CallError("INVALID_MESSAGE", "an interim response cannot be the last");
    }
    await this.#stream.sendFields(fields, end);
    if (end) this.#discardBody();
  }

  /**
   * Sends a piece of the body. Resolves when the transport has taken it, so that awaiting each call
   * keeps to the pace of the client.
   */
  async write(bytes: Uint8Array, end = false): Promise<void> {
    if (this.#status === undefined)
      throw new Http3CallError("OUT_OF_ORDER", "there is no response yet");
    await this.#stream.write(bytes, end);
    if (end) this.#discardBody();
  }

  /**
   * Ends the response. What is left of the request's body is not read any further, unless a read is
   * under way.
   */
  async end(trailers?: readonly Field[]): Promise<void> {
    if (this.#status === undefined)
      throw new Http3CallError("OUT_OF_ORDER", "there is no response yet");
    await this.#stream.end(trailers);
    this.#discardBody();
  }

  /**
   * Gives the request up in both directions with exactly `code`, such as H3_REQUEST_REJECTED where
   * nothing was done about it.
   */
  reset(code: bigint = http3ErrorCodes.H3_REQUEST_CANCELLED): void {
    this.#stream.abort(code);
  }

  /** Reads no further, and tells the client so. */
  stopSending(code: bigint = http3ErrorCodes.H3_NO_ERROR): void {
    this.#stream.stopSending(code);
  }

  /** A tunnel that stands goes on in one direction when the other has ended. */
  #discardBody(): void {
    if (this.#stream.tunnel !== true) void this.#stream.discard();
    else if ((this.#status as number) >= 300) this.stopSending();
  }
}
