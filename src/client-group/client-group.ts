/**
 * A client group as the application of an origin has it.
 *
 * @module
 */

import type { GoawayOptions } from "./origin-groups.ts";

/** What a {@link ClientGroup} acts on; each throws as the method of that name. */
export interface GroupPort {
  streams(): number;
  isOverLimit(): boolean;
  block(seconds: number): void;
  limit(requests: number): void;
  clear(): void;
  goaway(options: GoawayOptions): void;
  resetStreams(keepCurrent: boolean): number;
}

/**
 * The client group of one request, as the application sees it. Whom it stands for only the
 * intermediary knows; the identifier means nothing on any other connection (CG-FIELD-14, CG-PRIV-2).
 *
 * What is said of it is for the intermediary to do (CG-FRAME2-1). `block`, `limit`, `clear` and
 * `goaway` throw ClientGroupError NOT_NEGOTIATED, with nothing sent, where the origin sent no POLICY
 * on the connection (CG-FRAME2-3), and CONNECTION_CLOSED once it has ended.
 */
export class ClientGroup {
  /** What Client-Group says, 0..2^32-1. */
  readonly id: number;
  /** The same text for each request of the group on this connection, and for no other. */
  readonly key: string;
  readonly #port: GroupPort;

  /** Only `OriginConnection` makes it. */
  constructor(id: number, key: string, port: GroupPort) {
    this.id = id;
    this.key = key;
    this.#port = port;
  }

  /** How many requests of the group are in progress on this connection, this one included. */
  get streams(): number {
    return this.#port.streams();
  }

  /**
   * Whether more of them are in progress than the last {@link limit} allows, and were all the time since:
   * the intermediary may have kept to it. Where not, and more are in progress again, the LIMIT has lapsed
   * (CG-LIMIT-5).
   */
  get isOverLimit(): boolean {
    return this.#port.isOverLimit();
  }

  /**
   * BLOCK: no request of the client for this long (CG-ACT-2). Those in progress go on; use
   * {@link resetStreams} to stop them. Those that arrive late on this connection, within some seconds, are
   * refused before the application sees them (CG-STOP-7).
   *
   * @param seconds 1..86400
   * @throws {ClientGroupError} INVALID_FRAME for any other time, and see above
   */
  block(seconds: number): void {
    this.#port.block(seconds);
  }

  /**
   * LIMIT: at most this many requests of the client in progress (CG-ACT-3), until {@link clear} or
   * until it has none left.
   *
   * @throws {ClientGroupError} INVALID_FRAME below 1, and see above
   */
  limit(requests: number): void {
    this.#port.limit(requests);
  }

  /** CLEAR: ends BLOCK and LIMIT (CG-ACT-4), not GOAWAY. */
  clear(): void {
    this.#port.clear();
  }

  /**
   * GOAWAY for this group alone (CG-ACT-1): the client's later requests come on another connection,
   * one without other groups where `alone` says so (CG-GOAWAY-4). Its boundary is the last of its
   * requests that was delivered; what arrives beyond it is refused.
   */
  goaway({ alone = false }: Pick<GoawayOptions, "alone"> = {}): void {
    this.#port.goaway({ alone });
  }

  /**
   * Resets the group's requests in progress on this connection with CANCEL, since each might have been
   * processed (CG-STOP-5, CG-SEC-9), and aborts the signals of their `Request`s. It needs no
   * agreement, and says nothing of later ones.
   *
   * @returns how many were reset
   */
  resetStreams({ keepCurrent = false }: { readonly keepCurrent?: boolean } = {}): number {
    return this.#port.resetStreams(keepCurrent);
  }
}

/** Groups by the `Request` that was made for the application. */
const groupsOfRequests = new WeakMap<Request, ClientGroup>();

/** Notes whose a request is; for adapters that make `Request`s. */
export function setGroupOf(request: Request, group: ClientGroup): void {
  groupsOfRequests.set(request, group);
}

/**
 * The client group of a request that an adapter of this package made: `undefined` for an ungrouped
 * one, for any other, and for copies.
 */
export function groupOf(request: Request): ClientGroup | undefined {
  return groupsOfRequests.get(request);
}
