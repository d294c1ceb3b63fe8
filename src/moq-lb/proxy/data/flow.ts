/**
 * One data stream of a publisher on its way to its subscribers: nearly always one.
 *
 * What is read is written, and nothing is read on before it is taken, but for one chunk: while a
 * write waits, that read tells of a reset, which has to overtake what waits (LB-PDATA-17). So a
 * stream costs two chunks at most, and a subscriber that does not read stops its publisher by flow
 * control, stream by stream (LB-PDATA-13, LB-SEC-30).
 *
 * @module
 */

import { streamResetCodes } from "../../../moqt/mod.ts";
import { StreamReset, StreamStopped } from "../../../quic/errors.ts";
import type { IncomingDataStream } from "../../../session/mod.ts";
import type { TransportStream } from "../../../transport/transport.ts";
import { withId } from "./header.ts";
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
}

export class Flow implements ObjectStream {
  readonly groupId: bigint | undefined;
  readonly #stream: TransportStream;
  readonly #onOver: (flow: Flow) => void;
  #branches: readonly Branch[];
  /** A stream is "opening" until its header is written: up to then it can still be held. */
  #state: "held" | "opening" | "running" | "over" = "held";
  /** The chunk that was read ahead; `null`: FIN; `undefined`: none yet. */
  #ahead: Uint8Array | null | undefined;
  #reading: Promise<void> | undefined;

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
    this.groupId = header.type === "SUBGROUP" ? header.groupId : undefined;
    this.#stream = stream;
    this.#onOver = onOver;
    this.#branches = outlets.map((outlet) => new Branch(this, outlet));
    for (const branch of this.#branches) {
      branch.leg.outgoing.add(branch);
      for (const attachment of branch.attachments) attachment.add(this);
    }
  }

  get isUnderWay(): boolean {
    return this.#state === "opening" || this.#state === "running";
  }

  reconsider(): void {
    let isHeld = false;
    for (const branch of this.#branches) {
      const passage = passageOf(branch.attachments, this.groupId);
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
    branch.code = code;
    branch.out?.reset(code);
    const isLast = this.#branches.length === 1;
    // Before anybody hears of the end, and starts something else.
    if (isLast) this.#stream.stopSending(code);
    this.#forget(branch);
  }

  /** Ends it at all its subscribers, and at its publisher. */
  end(code: bigint): void {
    for (const branch of this.#branches) this.endBranch(branch, code);
  }

  /** How many wait to be opened is bounded by the streams that publishers are granted. */
  async #begin(): Promise<void> {
    this.#state = "opening";
    const branches = this.#branches;
    for (const branch of branches) branch.opening ??= this.#open(branch);
    for (const branch of branches) await branch.opening;
    // Held again, over, or begun by a later call.
    if (this.#state === "opening") await this.#pump();
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
    void out.stopped.then((code) => this.endBranch(branch, code));
  }

  /** Never rejects. */
  async #pump(): Promise<void> {
    this.#state = "running";
    for (let isFirst = true, fin = false; !fin; isFirst = false) {
      const bytes = await this.#next();
      if (bytes === undefined) return;
      fin = bytes === null || (await this.#endsHere());
      if (this.#isOver) return;
      if (isFirst) this.#tellOfStart();
      await this.#write(bytes ?? noBytes, fin, isFirst);
      if (this.#isOver) return;
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

  /** What was read; `undefined` once it is over. */
  async #next(): Promise<Uint8Array | null | undefined> {
    if (this.#reading === undefined) this.#readAhead();
    if (this.#ahead === undefined) await this.#reading;
    return this.#isOver ? undefined : this.#ahead;
  }

  /**
   * Reads on, and tells whether FIN has come already, so that it goes along with what was read:
   * most streams of small objects are one write.
   */
  async #endsHere(): Promise<boolean> {
    this.#readAhead();
    await undefined;
    return this.#ahead === null;
  }

  #readAhead(): void {
    this.#ahead = undefined;
    this.#reading = this.#stream.read(chunkSize).then(this.#onRead, this.#onReadFailed);
  }

  readonly #onRead = (bytes: Uint8Array | null): void => {
    this.#ahead = bytes;
  };

  /** Anything but a reset is the end of the session, or was given up here. */
  readonly #onReadFailed = (error: unknown): void => {
    this.end(error instanceof StreamReset ? error.applicationCode : SESSION_CLOSED);
  };

  /** Resolves when every subscriber's stack has taken the bytes; never rejects. */
  async #write(bytes: Uint8Array, fin: boolean, hasHeader: boolean): Promise<void> {
    const writing = this.#branches.map(async (branch) => {
      const own = hasHeader ? withId(bytes, branch.idBytes) : bytes;
      branch.leg.countBytes(own.length);
      try {
        await branch.out?.write(own, fin);
      } catch (error) {
        const wasStopped = error instanceof StreamStopped;
        this.endBranch(branch, wasStopped ? error.applicationCode : SESSION_CLOSED);
      }
    });
    await Promise.all(writing);
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
