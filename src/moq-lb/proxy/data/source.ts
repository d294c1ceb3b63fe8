/**
 * The objects of one subscription from one publisher's session.
 *
 * @module
 */

import { streamResetCodes } from "../../../moqt/mod.ts";
import { varint } from "../../../varint.ts";
import type { GroupGate, Source } from "./delivery.ts";
import type { IdKind } from "./id-kind.ts";
import type { Leg } from "./leg.ts";
import type { Attachment, ObjectStream, OutgoingDatagram, Subscriber } from "./outlet.ts";
import { QuietWaiters } from "./quiet.ts";
import { forwardDatagram } from "./route.ts";

export interface SourceFacts {
  readonly delivery: Subscriber;
  readonly publisher: Leg;
  readonly kind: IdKind;
  /** Track Alias or Request ID at the publisher. */
  readonly theirs: bigint;
  /** Track Alias or Request ID at the subscriber. */
  readonly ours: bigint;
  readonly gate: GroupGate | undefined;
  readonly priority: number | undefined;
}

export class TrackSource implements Source, Attachment {
  readonly delivery: Subscriber;
  readonly gate: GroupGate | undefined;
  readonly priority: number | undefined;
  readonly id: bigint;
  readonly idBytes: Uint8Array;
  readonly #facts: SourceFacts;
  readonly #flows = new Set<ObjectStream>();
  readonly #waiters = new QuietWaiters();
  #begun = 0;
  #held: OutgoingDatagram[] = [];
  #isDetached = false;

  constructor(facts: SourceFacts) {
    this.#facts = facts;
    this.delivery = facts.delivery;
    this.gate = facts.gate;
    this.priority = facts.priority;
    this.id = facts.ours;
    this.idBytes = varint(facts.ours);
  }

  get streams(): bigint {
    return BigInt(this.#begun);
  }

  begun(count: bigint): Promise<void> {
    return this.#waiters.until(() => this.streams >= count);
  }

  reconsider(): void {
    for (const flow of [...this.#flows]) flow.reconsider();
    for (const datagram of this.#held.splice(0)) forwardDatagram(datagram);
  }

  quiet(groupId?: bigint): Promise<void> {
    const concerns = (flow: ObjectStream) =>
      groupId === undefined || flow.groupId === undefined || flow.groupId < groupId;
    return this.#waiters.until(() => ![...this.#flows].some(concerns));
  }

  end(code: bigint): void {
    this.#close();
    this.#leave([...this.#flows], code);
  }

  detach(): void {
    this.#close();
    const held = [...this.#flows].filter((flow) => !flow.isUnderWay);
    this.#leave(held, streamResetCodes.CANCELLED);
  }

  add(stream: ObjectStream): void {
    this.#begun++;
    this.#flows.add(stream);
    this.delivery.add(stream);
    this.#waiters.check();
  }

  delete(stream: ObjectStream): void {
    this.#flows.delete(stream);
    this.delivery.delete(stream);
    this.#waiters.check();
  }

  hold(datagram: OutgoingDatagram): void {
    const { counts, limits } = this.#facts.publisher.context;
    if (this.#held.length < limits.maximumHeld) this.#held.push(datagram);
    else counts.dropped.datagrams++;
  }

  #close(): void {
    this.#held = [];
    if (this.#isDetached) return;
    this.#isDetached = true;
    const { publisher, kind, theirs } = this.#facts;
    publisher.detach(kind, theirs, this);
    this.delivery.forget(this);
  }

  #leave(flows: readonly ObjectStream[], code: bigint): void {
    for (const flow of flows) flow.leave((attachment) => attachment === this, code);
  }
}
