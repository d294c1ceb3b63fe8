/**
 * The objects of one subscription on their way from publisher to subscriber, whichever of them is
 * the client: what requests and moves need of the data plane.
 *
 * @module
 */

import type { ObjectDatagram } from "../../../moqt/mod.ts";
import type { IncomingDataStream, MoqtSession } from "../../../session/mod.ts";

/** What becomes of a group from one source. */
export type Passage = "forward" | "hold" | "drop";

/** Which groups a source may deliver; asked for each stream and datagram when it begins. */
export interface GroupGate {
  /** @param stream the same object each time that one stream asks; absent for a datagram */
  passageOf(groupId: bigint, stream?: GroupStream): Passage;
}

/** A stream with objects of one subgroup. */
export interface GroupStream {
  /** Absent: the ID of its first object. */
  readonly subgroupId: bigint | undefined;
}

/** The objects of one subscription from one publisher's session. */
export interface Source {
  /** Streams that this source has begun, held and dropped ones included. */
  readonly streams: bigint;
  /**
   * Resolves when that many streams have begun from it, as a PUBLISH_DONE says: late ones are still
   * to be delivered (LB-PMAP-14). Never, where streams were reset before their header arrived.
   */
  begun(count: bigint): Promise<void>;
  /** Asks the gate again about what is held, and about streams under way: those to drop are cut. */
  reconsider(): void;
  /**
   * Resolves when no stream of a group below `groupId` is under way from this source; at once where
   * none is. `undefined`: no stream at all.
   */
  quiet(groupId?: bigint): Promise<void>;
  /** Nothing more is taken from it. Streams under way are stopped and, at the subscriber, reset. */
  end(code: bigint): void;
  /** Nothing more begins; what is under way goes on to its end. */
  detach(): void;
}

/** The subscriber's leg of one subscription. */
export interface Delivery {
  /** Streams that were opened towards the subscriber: the Stream Count of its leg (LB-S52). */
  readonly streams: bigint;
  /** Largest Group ID of which anything was forwarded (LB-S93). */
  readonly largestGroup: bigint | undefined;
  /** SUBSCRIBER_PRIORITY, 0 to 255, lower ones first; counts for streams that are open too. */
  subscriberPriority: number;
  /** Publisher Priority, 0 to 255, of streams whose header has none; for those that are opened. */
  publisherPriority: number;
  /** Objects of the publisher at the other end of `session` under `alias` are its objects. */
  attach(session: MoqtSession, alias: bigint, gate?: GroupGate): Source;
  /**
   * Streams of a FETCH, or a fill, with this Request ID there; here they have `ownRequestId`.
   *
   * @param priority SUBSCRIBER_PRIORITY of a fill; absent: that of the subscription
   */
  attachFetch(
    session: MoqtSession,
    requestId: bigint,
    ownRequestId: bigint,
    priority?: number,
  ): Source;
  /** Resolves when no stream towards the subscriber is open. */
  quiet(): Promise<void>;
  /** Resets the streams towards the subscriber of groups below `groupId`; `undefined`: all. */
  cut(code: bigint, groupId?: bigint): void;
  /** Ends the subscription's data: its sources are detached. */
  end(): void;
}

/** The data plane of one client session, all its sessions to relays included. */
export interface DataPlane {
  /**
   * @param subscriber the session at whose other end the subscriber is
   * @param alias Track Alias of the subscription on that session; absent for a FETCH
   * @param track what tells its track from others: a publisher may give the alias of one that has
   *   ended to another one, and what is still on its way under it is not that one's
   */
  deliver(subscriber: MoqtSession, alias?: bigint, track?: string): Delivery;
  /** A Track Alias on `session`, or a Request ID of a FETCH, is about to get a meaning (LB-S72). */
  expect(session: MoqtSession): () => void;
  /** Something came from `session`. */
  onDataStream(session: MoqtSession, stream: IncomingDataStream): void;
  onDatagram(session: MoqtSession, datagram: ObjectDatagram, bytes: Uint8Array): void;
  /** `session` is over: what it had under way is reset at the other leg with SESSION_CLOSED. */
  forget(session: MoqtSession): void;
  readonly counts: DataCounts;
}

/** Since the session began. */
export interface DataCounts {
  readonly streams: { readonly toClient: number; readonly toRelay: number };
  readonly bytes: { readonly toClient: number; readonly toRelay: number };
  readonly datagrams: { readonly toClient: number; readonly toRelay: number };
  /** Datagrams that the other leg did not take, and streams and datagrams that belonged to nobody. */
  readonly dropped: { readonly datagrams: number; readonly streams: number };
}
