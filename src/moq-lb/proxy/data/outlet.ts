/**
 * The parts of the data plane as they know each other: streams of objects, where these come from,
 * and where they go.
 *
 * @module
 */

import type { MoqtSession } from "../../../session/mod.ts";
import type { GroupGate } from "./delivery.ts";

/** A data stream of a publisher, as those know it that it concerns. */
export interface ObjectStream {
  /** Absent for a fetch. */
  readonly groupId: bigint | undefined;
  /** Whether something of it is, or soon will be, at a subscriber: neither held nor over. */
  readonly isUnderWay: boolean;
  /** Asks the gates again. */
  reconsider(): void;
  /** Asks its subscribers for its priority again. */
  prioritise(): void;
  /** Those attachments want nothing of it any more. `code`: for both ends, where no other does. */
  leave(isLeaving: (attachment: Attachment) => boolean, code: bigint): void;
}

/** A stream towards one subscriber. */
export interface OutgoingStream {
  /** Resets it, and stops the publisher where that was the last of its subscribers. */
  end(code: bigint): void;
}

/** A session that objects go to. */
export interface SubscriberSide {
  readonly session: MoqtSession;
  /** Those that wait to be opened included. */
  readonly outgoing: Set<OutgoingStream>;
  countStream(): void;
  countBytes(count: number): void;
  /** Returns false where it was dropped. */
  sendDatagram(bytes: Uint8Array): boolean;
}

/** A subscription at its subscriber. */
export interface Subscriber {
  readonly leg: SubscriberSide;
  /** Which track it is to, where that is known. */
  readonly track: string | undefined;
  readonly subscriberPriority: number;
  readonly publisherPriority: number;
  add(stream: ObjectStream): void;
  delete(stream: ObjectStream): void;
  /** A stream to the subscriber is open. */
  opened(): void;
  /** Something of the group is on its way to the subscriber. */
  reached(groupId: bigint): void;
  /** Nothing begins from there any more. */
  forget(attachment: Attachment): void;
  /** A stream went back from being under way to being held. */
  check(): void;
}

/** A subscription to what comes under one ID of one publisher. */
export interface Attachment {
  readonly delivery: Subscriber;
  readonly gate: GroupGate | undefined;
  /** SUBSCRIBER_PRIORITY, where it has one of its own. */
  readonly priority: number | undefined;
  /** Track Alias or Request ID at the subscriber, */
  readonly id: bigint;
  /** and as it is written. */
  readonly idBytes: Uint8Array;
  /** A stream has begun, */
  add(stream: ObjectStream): void;
  /** and has ended, or is not of this attachment any more. */
  delete(stream: ObjectStream): void;
  /** Keeps a datagram until the gate is asked again. */
  hold(datagram: OutgoingDatagram): void;
  detach(): void;
  end(code: bigint): void;
}

/** Where objects leave: a subscriber's session, and the ID that they have there. */
export interface Outlet {
  readonly leg: SubscriberSide;
  readonly id: bigint;
  readonly idBytes: Uint8Array;
  /** Several where subscriptions share the ID (LB-S71). */
  readonly attachments: readonly Attachment[];
}

/** A datagram for one outlet. */
export interface OutgoingDatagram {
  readonly outlet: Outlet;
  readonly groupId: bigint;
  readonly bytes: Uint8Array;
}
