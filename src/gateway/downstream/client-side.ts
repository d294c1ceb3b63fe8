/**
 * A request of a client, and the way back to it, whatever version of HTTP it speaks.
 *
 * @module
 */

import type { GatewayClient } from "../types.ts";
import type { BoundClients } from "./authentication.ts";
import type { ContentSource } from "./content.ts";
import type { Fields } from "./fields.ts";

/** A response that is made here. */
export interface Answer {
  readonly status: number;
  readonly fields: Fields;
  readonly body: string;
}

/** What an exchange needs of the client's stream, or of its turn on an HTTP/1.1 connection. */
export interface ClientSide {
  readonly version: "h2" | "http/1.1";
  readonly stream: number | undefined;
  /** None where the request ended with its header section. */
  readonly content: ContentSource | undefined;
  /** Trailers of the request, once its content has ended. */
  readonly trailers: Fields | undefined;
  /** An interim response. */
  inform(status: number, fields: Fields): void;
  /**
   * The header section of the final response.
   *
   * @param sensitive names of fields that go out as never-indexed literals
   * @param content whether any may follow
   * @param trailers whether any may follow that
   * @returns false where it cannot be said in the client's version
   */
  respond(
    status: number,
    fields: Fields,
    sensitive: readonly string[],
    content: boolean,
    trailers: boolean,
  ): boolean;
  /**
   * @param last whether it is known that nothing follows; `finish` comes all the same
   * @returns false where the client should be waited for: `drained` tells when it was
   */
  write(chunk: Uint8Array, last: boolean): boolean;
  /** The response is whole. */
  finish(trailers: Fields | undefined): void;
  /** Answers in place of the origin. Nothing but interim responses went before. */
  answer(answer: Answer): void;
  /**
   * Ends it so that nothing that went before can pass for a whole response: a reset with this code in
   * HTTP/2, the end of the connection in HTTP/1.1 (B07, B10).
   */
  abort(code: number): void;
}

/** What the client's side tells of its request. */
export interface ClientSideListener {
  /** There is room again. */
  drained(): void;
  /** The client has reset its stream, or its connection has ended (B08). */
  gone(): void;
  /**
   * The content of the request, or its framing, is not what it says (RFC 9112 §7.1): the origin hears of
   * a reset, and the client gets `answer` unless a response has begun.
   */
  malformed(answer: Answer): void;
}

/** What an exchange needs of the connection that its request came on. */
export interface ClientConnection {
  /** As the stream map shows it. */
  readonly id: string;
  readonly scheme: "https" | "http";
  readonly address: string | undefined;
  /** The client group of requests that name no other. */
  readonly client: GatewayClient;
  /** Clients of it that have to be alone, since they authenticate themselves by connection (CG-KEY-9). */
  readonly bound: BoundClients;
  /**
   * What its client has sent has ended a request that an origin had: it costs the client no more than a
   * reset (CVE-2025-8671), and counts as one.
   */
  countReset(): void;
}
