/**
 * One data stream of a publisher on its way to its subscribers: nearly always one.
 *
 * What is read is written, and no more is read before that is taken. So a stream costs a chunk, and
 * a subscriber that does not read stops its publisher by flow control, stream by stream
 * (LB-PDATA-13, LB-SEC-30).
 *
 * @module
 */

import { streamResetCodes } from "../../../moqt/mod.ts";
import { largestCode } from "../../../quic/code.ts";
import { StreamReset, StreamStopped } from "../../../quic/errors.ts";
import type { IncomingDataStream } from "../../../session/mod.ts";
import { clampedCode, type TransportStream } from "../../../transport/transport.ts";
import type { GroupStream } from "./delivery.ts";
import { withId } from "./header.ts";
import type { IdKind } from "./id-kind.ts";
import type { Attachment, ObjectStream, OutgoingStream, Outlet, SubscriberSide } from "./outlet.ts";
import { passageOf } from "./passage.ts";

/** Most bytes that are read at a time. */
const chunkSize = 0x1_0000;

const noBytes = new Uint8Array(0);

const { CANCELLED, SESSION_CLOSED } = streamResetCodes;

/** The stream towards one subscriber. */
class Branch implements OutgoingStream {
  readonly leg: SubscriberSide;
  readonly idBytes: Uint8Array;
  attachments: readonly Attachment[];
  /** Set from when a stream is waited for. */
  opening: Promise<void> | undefined;
  out: TransportStream | undefined;
  isOver = false;
  /** What it ended with; a stream that is granted too late is reset with that. */
  code = CANCELLED as bigint;
  readonly #flow: Flow;

  constructor(flow: Flow, { leg, idBytes, attachments }: Outlet) {
    this.#flow = flow;
    this.leg = leg;
    this.idBytes = idBytes;
    this.attachments = attachments;
  }

  end(code: bigint): void {
    this.#flow.endBranch(this, code);
  }

  /**
   * By subscriber, then by publisher; of several subscriptions to one stream the first one counts.
   *
   * @param publisherPriority of the stream, where its header says it
   */
  prioritise(publisherPriority: number | undefined): void {
    if (this.out?.prioritise === undefined) return;
    let [urgency, rank] = [255, 255];
    for (const { delivery, priority = delivery.subscriberPriority } of this.attachments) {
      urgency = Math.min(urgency, priority);
      rank = Math.min(rank, publisherPriority ?? delivery.publisherPriority);
    }
    this.out.prioritise(urgency, rank);
  }
}

export class Flow implements ObjectStream, GroupStream {
  readonly groupId: bigint | undefined;
  readonly subgroupId: bigint | undefined;
  readonly #header: IncomingDataStream["header"];
  readonly #stream: TransportStream;
  readonly #publisherPriority: number | undefined;
  readonly #onOver: (flow: Flow) => void;
  #branches: readonly Branch[];
  /**
   * A stream is "opening" until its header is written: up to then it can still be held, and nobody
   * has been told of its group.
   */
  #state: "held" | "opening" | "running" | "over" = "held";
  /** What follows the first chunk; `null`: FIN; `undefined`: not there yet. */
  #second: Uint8Array | null | undefined;
  /** Reads the first chunk, and the second one: kept where it is held once more before its start. */
  #reading: { readonly first: Promise<Uint8Array>; second?: Promise<void> } | undefined;
  /** Whether a pump is at work, which goes on where it was held for a moment only. */
  #isPumping = false;

  /**
   * Does nothing before {@link reconsider}.
   *
   * @param onOver called once when nothing more happens on it
   */
  constructor(
    { header, stream }: IncomingDataStream,
    outlets: readonly Outlet[],
    onOver: (flow: Flow) => void,
  ) {
    const isSubgroup = header.type === "SUBGROUP";
    this.groupId = isSubgroup ? header.groupId : undefined;
    this.subgroupId = isSubgroup ? header.subgroupId : undefined;
    this.#publisherPriority = isSubgroup ? header.publisherPriority : undefined;
    this.#header = header;
    this.#stream = stream;
    this.#onOver = onOver;
    this.#branches = outlets.map((outlet) => new Branch(this, outlet));
    for (const branch of this.#branches) {
      branch.leg.outgoing.add(branch);
      for (const attachment of branch.attachments) attachment.add(this);
    }
    // A reset overtakes what waits, and shows while nothing is read (LB-PDATA-17).
    void stream.wasReset?.then((code) => this.end(code));
  }

  get isUnderWay(): boolean {
    return this.#state === "opening" || this.#state === "running";
  }

  /** Whether it came under this ID of its publisher. */
  hasId(kind: IdKind, id: bigint): boolean {
    const header = this.#header;
    return header.type === "SUBGROUP"
      ? kind === "track" && header.trackAlias === id
      : kind === "fetch" && header.requestId === id;
  }

  /** As long as it is held, it may be for one more subscription of a subscriber that it has. */
  join(attachment: Attachment): void {
    if (this.#state !== "held") return;
    const { leg } = attachment.delivery;
    const branch = this.#branches.find(
      (each) => each.leg === leg && each.attachments.some(({ id }) => id === attachment.id),
    );
    if (branch === undefined) return;
    branch.attachments = [...branch.attachments, attachment];
    attachment.add(this);
    this.reconsider();
  }

  reconsider(): void {
    let isHeld = false;
    for (const branch of this.#branches) {
      const passage = passageOf(branch.attachments, this.groupId, this);
      if (passage === "drop") this.endBranch(branch, CANCELLED);
      else if (passage === "hold") isHeld = true;
    }
    if (this.#state === "over" || this.#state === "running") return;
    if (!isHeld) {
      if (this.#state === "held") void this.#begin();
    } else if (this.#state === "opening") {
      this.#state = "held";
      for (const { attachments } of this.#branches) {
        for (const { delivery } of attachments) delivery.check();
      }
    }
  }

  prioritise(): void {
    for (const branch of this.#branches) branch.prioritise(this.#publisherPriority);
  }

  leave(isLeaving: (attachment: Attachment) => boolean, code: bigint): void {
    for (const branch of this.#branches) {
      const leaving = branch.attachments.filter(isLeaving);
      if (leaving.length === branch.attachments.length) this.endBranch(branch, code);
      else if (leaving.length > 0) {
        branch.attachments = branch.attachments.filter((other) => !leaving.includes(other));
        for (const attachment of leaving) attachment.delete(this);
      }
    }
  }

  endBranch(branch: Branch, code: bigint): void {
    if (branch.isOver) return;
    branch.code = clampedCode(code, largestCode);
    branch.out?.reset(branch.code);
    const isLast = this.#branches.length === 1;
    // Before anybody hears of the end, and starts something else.
    if (isLast) this.#stream.stopSending(branch.code);
    this.#forget(branch);
  }

  /** Ends it at all its subscribers, and at its publisher. */
  end(code: bigint): void {
    for (const branch of this.#branches) this.endBranch(branch, code);
  }

  /** How many wait to be opened is bounded by the streams that publishers are granted. */
  async #begin(): Promise<void> {
    this.#state = "opening";
    for (const branch of this.#branches) {
      branch.opening ??= this.#open(branch);
      await branch.opening;
    }
    // Held again, over, or begun by another call.
    if (this.#state === "opening" && !this.#isPumping) await this.#pump();
  }

  async #open(branch: Branch): Promise<void> {
    let out: TransportStream;
    try {
      out = await branch.leg.session.openDataStream();
    } catch {
      this.endBranch(branch, SESSION_CLOSED);
      return;
    }
    if (branch.isOver) {
      out.reset(branch.code);
      return;
    }
    branch.out = out;
    branch.prioritise(this.#publisherPriority);
    void out.stopped.then((code) => this.endBranch(branch, code));
  }

  /** Never rejects. */
  async #pump(): Promise<void> {
    this.#isPumping = true;
    try {
      // The session has read it to see what the stream is: it is there, and has the whole header.
      this.#reading ??= { first: this.#stream.read(chunkSize) as Promise<Uint8Array> };
      const first = await this.#reading.first;
      if (this.#isOver) return;
      this.#reading.second ??= this.#readSecond();
      const { second } = this.#reading;
      // A FIN that has come already goes along: most streams of small objects are one write.
      await undefined;
      if (this.#isOver) return;
      if (this.#state === "held") {
        this.#isPumping = false;
        return;
      }
      this.#state = "running";
      this.#reading = undefined;
      this.#tellOfStart();
      let fin = this.#second === null;
      await this.#write(first, fin, true);
      if (!fin) await second;
      for (let bytes = this.#second; !fin && !this.#isOver && bytes !== undefined; ) {
        fin = bytes === null;
        await this.#write(bytes ?? noBytes, fin, false);
        if (!fin && !this.#isOver) bytes = await this.#stream.read(chunkSize);
      }
    } catch (error) {
      this.#fail(error);
    }
    for (const branch of this.#branches) this.#forget(branch);
  }

  get #isOver(): boolean {
    return this.#state === "over";
  }

  #tellOfStart(): void {
    for (const { leg, attachments } of this.#branches) {
      leg.countStream();
      for (const { delivery } of attachments) {
        delivery.opened();
        if (this.groupId !== undefined) delivery.reached(this.groupId);
      }
    }
  }

  #readSecond(): Promise<void> {
    return this.#stream.read(chunkSize).then(
      (bytes) => {
        this.#second = bytes;
      },
      (error) => this.#fail(error),
    );
  }

  /** Resolves when every subscriber's stack has taken the bytes. */
  #write(bytes: Uint8Array, fin: boolean, hasHeader: boolean): Promise<unknown> {
    const [branch] = this.#branches;
    if (this.#branches.length === 1) return writeTo(branch as Branch, bytes, fin, hasHeader);
    return Promise.all(
      this.#branches.map((each) =>
        writeTo(each, bytes, fin, hasHeader).catch((error) => this.endBranch(each, codeOf(error))),
      ),
    );
  }

  /** The publisher has reset the stream, its subscriber has stopped it, or a session has ended. */
  #fail(error: unknown): void {
    this.end(codeOf(error));
  }

  #forget(branch: Branch): void {
    branch.isOver = true;
    this.#branches = this.#branches.filter((other) => other !== branch);
    branch.leg.outgoing.delete(branch);
    if (this.#branches.length === 0) {
      this.#state = "over";
      this.#onOver(this);
    }
    for (const attachment of branch.attachments) attachment.delete(this);
  }
}

function writeTo(
  { leg, out, idBytes }: Branch,
  bytes: Uint8Array,
  fin: boolean,
  hasHeader: boolean,
): Promise<void> {
  const own = hasHeader ? withId(bytes, idBytes) : bytes;
  leg.countBytes(own.length);
  return (out as TransportStream).write(own, fin);
}

/** The code of a peer; anything else is the end of a session. */
function codeOf(error: unknown): bigint {
  const isOfPeer = error instanceof StreamReset || error instanceof StreamStopped;
  return isOfPeer ? error.applicationCode : SESSION_CLOSED;
}
