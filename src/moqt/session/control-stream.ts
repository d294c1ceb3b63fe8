/**
 * The control streams: SETUP, then at most one GOAWAY, each way.
 *
 * @module
 */

import { encodeControlMessage } from "../codec.ts";
import { draftFacts } from "../draft-facts.ts";
import { MoqtError } from "../errors.ts";
import type { Goaway, MessageType, RequestContext, Setup } from "../message.ts";
import { checkReceivedByServer, checkRequestId, type Endpoint } from "../peer-checks.ts";
import { StreamBuffer } from "../stream-buffer.ts";
import { type GoawayDetails, goawayMessage } from "./goaway.ts";
import type { SessionContext } from "./session-context.ts";
import { type PeerSetup, readPeerSetup } from "./setup.ts";
import type { StreamHandle } from "./stream-handle.ts";
import { takeMessage } from "./take-message.ts";
import { SessionUseError } from "./use-error.ts";

/** Ours and the peer's. */
export class ControlStreams {
  readonly #context: SessionContext;
  readonly #peer: Endpoint;
  #own: StreamHandle | undefined;
  #theirs: StreamHandle | undefined;
  #buffer = new StreamBuffer();
  #peerSetup: PeerSetup | undefined;
  #goawaySent = false;
  #goawayReceived = false;

  constructor(context: SessionContext) {
    this.#context = context;
    this.#peer = context.options.role === "client" ? "server" : "client";
  }

  /** Bytes of an incomplete message. They are held even where other streams use up all room. */
  get bufferedBytes(): number {
    return this.#buffer.length;
  }

  get isOpen(): boolean {
    return this.#own !== undefined;
  }

  get peerSetup(): PeerSetup | undefined {
    return this.#peerSetup;
  }

  get goawayReceived(): boolean {
    return this.#goawayReceived;
  }

  clear(): void {
    this.#buffer.clear();
  }

  /** Whether `stream` is one of the two. */
  has(stream: StreamHandle): boolean {
    return stream === this.#own || stream === this.#theirs;
  }

  /** Whether `stream` is the peer's. */
  isTheirs(stream: StreamHandle): boolean {
    return stream === this.#theirs;
  }

  /** Opens ours with our SETUP. */
  open(stream: StreamHandle): void {
    const { out, options } = this.#context;
    const { setupOptions, draft } = options;
    this.#own = stream;
    out.open(stream, "uni");
    out.send(stream, encodeControlMessage({ type: "SETUP", options: setupOptions }, draft));
  }

  /**
   * @param requestId the first one that may not have been processed; draft 18 tells it
   * @throws {SessionUseError} OUT_OF_PLACE
   */
  sendGoaway(details: GoawayDetails, requestId: bigint): void {
    const { out, options } = this.#context;
    const { draft, role } = options;
    if (this.#own === undefined || this.#goawaySent) {
      throw new SessionUseError("OUT_OF_PLACE", "GOAWAY goes out once, after SETUP");
    }
    const message = goawayMessage(details, role);
    const whole = draftFacts[draft].goawayRequestId ? { ...message, requestId } : message;
    out.send(this.#own, encodeControlMessage(whole, draft));
    this.#goawaySent = true;
  }

  /**
   * `stream` turned out to be a control stream; `buffer` has all of it so far.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION where there is one already
   */
  accept(stream: StreamHandle, buffer: StreamBuffer, fin: boolean, now: number): void {
    if (this.#theirs !== undefined) {
      throw new MoqtError("PROTOCOL_VIOLATION", "a second control stream was opened");
    }
    this.#theirs = stream;
    this.#buffer = buffer;
    this.#read(fin, now);
  }

  receive(bytes: Uint8Array, fin: boolean, now: number): void {
    this.#buffer.push(bytes);
    this.#read(fin, now);
  }

  /**
   * A control stream was ended, reset or stopped.
   *
   * @throws {MoqtError} PROTOCOL_VIOLATION: both live as long as the session
   */
  closed(): never {
    throw new MoqtError("PROTOCOL_VIOLATION", "a control stream was closed");
  }

  #read(fin: boolean, now: number): void {
    const { deadlines, options } = this.#context;
    const rules = {
      draft: options.draft,
      maximumBytes: options.limits.messageBytes,
      place: (type: MessageType) => this.#place(type),
    };
    const stream = this.#theirs as StreamHandle;
    while (this.#buffer.length > 0) {
      const taken = takeMessage(this.#buffer, rules);
      if (taken === "INCOMPLETE") break;
      if (taken === "TOO_LONG") {
        throw new MoqtError("INTERNAL_ERROR", "a message on the control stream is too long here");
      }
      deadlines.delete(stream);
      const { message } = taken;
      if (message.type === "SETUP") this.#receivedSetup(message);
      else if (message.type === "GOAWAY") this.#receivedGoaway(message);
    }
    if (fin) this.closed();
    this.#buffer.keep();
    if (this.#buffer.length > 0 && !deadlines.has(stream)) {
      deadlines.set(stream, now + options.limits.messageTime);
    }
  }

  #place(type: MessageType): RequestContext | string {
    if (this.#peerSetup === undefined) {
      return type === "SETUP" ? {} : `${type} comes before SETUP`;
    }
    if (type !== "GOAWAY") return `${type} comes on the control stream, after SETUP`;
    return this.#goawayReceived ? "GOAWAY is repeated" : {};
  }

  #receivedSetup(message: Setup): void {
    const { options, tokens, out } = this.#context;
    const setup = readPeerSetup(message, this.#peer, options.transport, tokens);
    const refusal = options.judgeSetup(setup);
    if (refusal !== undefined) throw new MoqtError(refusal.code, refusal.reason);
    this.#peerSetup = setup;
    out.emit({ type: "setup", setup });
  }

  #receivedGoaway(message: Goaway): void {
    if (this.#peer === "client") checkReceivedByServer(message);
    checkRequestId(message, this.#peer);
    this.#goawayReceived = true;
    const { newSessionUri, timeout, requestId } = message;
    this.#context.out.emit({
      type: "goaway",
      newSessionUri,
      timeout,
      ...(requestId === undefined ? {} : { requestId }),
    });
  }
}
