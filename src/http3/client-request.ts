/**
 * A request as the client has it.
 *
 * @module
 */

import { http3ErrorCodes } from "./error-codes.ts";
import { Http3StreamError, malformed } from "./errors.ts";
import type { Field } from "./field.ts";
import { declaredLength } from "./field-rules.ts";
import { type RequestHead, type ResponseHead, readResponseHead } from "./message.ts";
import type { MessageStream } from "./message-stream.ts";

export class ClientRequest {
  /** ID of the stream. */
  readonly id: bigint;
  readonly #stream: MessageStream;
  readonly #method: string;
  readonly #onInterim: ((head: ResponseHead) => void) | undefined;
  #response: Promise<ResponseHead> | undefined;

  constructor(
    stream: MessageStream,
    head: RequestHead,
    onInterim: ((head: ResponseHead) => void) | undefined,
  ) {
    this.id = stream.id;
    this.#stream = stream;
    this.#method = head.method;
    this.#onInterim = onInterim;
  }

  /** Resolves with the code when the server does not want the rest of the request. */
  get stopped(): Promise<bigint> {
    return this.#stream.stopped;
  }

  /** Resolves once request and response have ended, in whatever way. */
  get finished(): Promise<void> {
    return this.#stream.finished;
  }

  /** The trailers of the response, once `read` has answered `null`. */
  get trailers(): readonly Field[] | undefined {
    return this.#stream.trailers;
  }

  /**
   * Sends a piece of the body. Resolves when the transport has taken it, so that awaiting each call
   * keeps to the pace of the server.
   *
   * @throws {StreamStopped} the server does not want it, with its code
   */
  write(bytes: Uint8Array, end = false): Promise<void> {
    return this.#stream.write(bytes, end);
  }

  /** Ends the request. */
  end(trailers?: readonly Field[]): Promise<void> {
    return this.#stream.end(trailers);
  }

  /**
   * The head of the final response; the same one at every call.
   *
   * @throws {StreamReset} the server gave up, with its code
   * @throws {Http3Error} what came breaks a rule; H3_REQUEST_REJECTED where GOAWAY says that the
   *   request will not be processed, so that it can be sent again elsewhere
   */
  response(): Promise<ResponseHead> {
    this.#response ??= this.#receiveHead();
    return this.#response;
  }

  /** The next bytes of the response's body, at most `max`; `null` at its end. Throws likewise. */
  async read(max?: number): Promise<Uint8Array | null> {
    await this.response();
    return await this.#stream.read(max);
  }

  /** Gives the request up in both directions with exactly `code`. */
  reset(code: bigint = http3ErrorCodes.H3_REQUEST_CANCELLED): void {
    this.#stream.abort(code);
  }

  /** Reads no further, and tells the server so. */
  stopSending(code: bigint = http3ErrorCodes.H3_REQUEST_CANCELLED): void {
    this.#stream.stopSending(code);
  }

  async #receiveHead(): Promise<ResponseHead> {
    for (;;) {
      const fields = await this.#stream.receiveFields();
      const head = this.#checkHead(fields);
      if (head.status >= 200) {
        this.#stream.expectBody(this.#bodyLength(head));
        return head;
      }
      this.#tellInterim(head);
    }
  }

  /** What the caller's own callback throws is what the caller gets. */
  #tellInterim(head: ResponseHead): void {
    try {
      this.#onInterim?.(head);
    } catch (error) {
      this.#stream.abort(http3ErrorCodes.H3_INTERNAL_ERROR);
      throw error;
    }
  }

  /** Ends the stream where there is no head to be had. */
  #checkHead(fields: readonly Field[] | null | undefined): ResponseHead {
    try {
      if (fields === null) throw malformed("the stream ends before a final response");
      if (fields === undefined) {
        throw new Http3StreamError("H3_EXCESSIVE_LOAD", "the header section is too large");
      }
      return readResponseHead(fields, malformed);
    } catch (error) {
      if (error instanceof Http3StreamError) this.#stream.abort(error.numericCode);
      throw error;
    }
  }

  /** What the body has to have; content-length says nothing of it where there is none. */
  #bodyLength({ status, headers }: ResponseHead): number | undefined {
    if (this.#method === "CONNECT" && status < 300) return undefined;
    if (this.#method === "HEAD" || status === 204 || status === 304) return 0;
    return declaredLength(headers);
  }
}
