/**
 * What a server does with a packet of no connection that it knows.
 *
 * @module
 */

import { concatBytes } from "../../../bytes.ts";
import { Admission } from "../../admission.ts";
import type { QuicEvent } from "../../options.ts";
import { RefusalReport } from "../../refusal-report.ts";
import type { Address, ServerEngineSettings } from "../messages.ts";
import {
  ID_LENGTH,
  MIN_INITIAL_LENGTH,
  mayBegin,
  type PacketHeader,
  VERSION_1,
  versionNegotiation,
} from "./header.ts";
import type { Native } from "./native.ts";
import type { PacketWriter } from "./packet-writer.ts";
import { refusalPacket } from "./refusal.ts";
import { openRetryToken, resetToken, retryToken } from "./tokens.ts";

/** Answers per second to packets of unknown connections, after which they get none. */
const MAX_ANSWERS = 200;
/** A stateless reset looks like a short packet, and is shorter than what it answers (§10.3). */
const MAX_RESET_LENGTH = 42;
const MIN_RESET_LENGTH = 21;

/** How to begin a handshake. */
export interface Beginning {
  /** Connection ID for our side. */
  readonly sourceId: Uint8Array;
  /** The client's first Destination Connection ID where it came back after a Retry. */
  readonly firstId: Uint8Array | null;
}

/** Keeps no state of a client before it begins a handshake, and few answers of any kind. */
export class Doorkeeper {
  readonly #native: Native;
  readonly #settings: ServerEngineSettings;
  readonly #out: PacketWriter;
  readonly #admission: Admission;
  readonly #report: RefusalReport;
  #answers = 0;
  #answersSince = 0;

  constructor(
    native: Native,
    settings: ServerEngineSettings,
    out: PacketWriter,
    onEvent: (event: QuicEvent) => void,
  ) {
    this.#native = native;
    this.#settings = settings;
    this.#out = out;
    this.#admission = new Admission(settings.admission);
    this.#report = new RefusalReport(onEvent);
  }

  /**
   * Decides on a packet, and writes the answer to one that begins nothing, if it gets any.
   *
   * @returns `undefined` where no handshake is to begin
   */
  judge(
    datagram: Uint8Array,
    header: PacketHeader,
    from: Address,
    now: number,
  ): Beginning | undefined {
    switch (header.type) {
      case "initial":
        if (!mayBegin(datagram, header.destinationId)) return undefined;
        return this.#judgeInitial(header, from, now);
      case "unknown-version":
        if (datagram.length >= MIN_INITIAL_LENGTH && this.#mayAnswer(now)) {
          this.#write(versionNegotiation(header.destinationId, header.sourceId), from);
        }
        return undefined;
      case "short":
        this.#reset(datagram.length, header.destinationId, from, now);
        return undefined;
      case "long":
        return undefined;
    }
  }

  #judgeInitial(
    header: Extract<PacketHeader, { type: "initial" }>,
    from: Address,
    now: number,
  ): Beginning | undefined {
    const { retry, secret } = this.#settings;
    const { destinationId, token } = header;
    const firstId =
      token.length > 0 ? openRetryToken(secret, from, token, destinationId, Date.now()) : undefined;
    const wantsProof =
      retry === "always" || (retry === "under-load" && this.#admission.underLoad(now));
    if (firstId === undefined && wantsProof) {
      this.#retry(header, from);
      return undefined;
    }
    const refusal = this.#admission.enter(from.host, now);
    if (refusal === undefined) {
      // After a Retry, our ID has to be the one that the Retry gave (RFC 9000 §7.3).
      const sourceId = firstId === undefined ? randomId() : destinationId.slice();
      return { sourceId, firstId: firstId ?? null };
    }
    this.#report.refused(refusal);
    if (refusal !== "handshake-rate") {
      this.#write(refusalPacket(destinationId, header.sourceId, "too many connections"), from);
    }
    return undefined;
  }

  #retry(header: Extract<PacketHeader, { type: "initial" }>, from: Address): void {
    const { destinationId, sourceId } = header;
    const retryId = randomId();
    const token = retryToken(this.#settings.secret, from, destinationId, retryId, Date.now());
    const length = this.#native.retry(
      sourceId,
      destinationId,
      retryId,
      token,
      VERSION_1,
      this.#out.room,
    );
    this.#out.push(length, from);
    this.#report.retried();
  }

  /**
   * Tells a peer that its connection is gone, as after a restart of the Worker. Only the holder of
   * the secret can make the token, and nobody else can tell the packet from a short one.
   */
  #reset(length: number, id: Uint8Array, from: Address, now: number): void {
    if (length <= MIN_RESET_LENGTH || !this.#mayAnswer(now)) return;
    const token = resetToken(this.#settings.secret, id);
    const noise = new Uint8Array(Math.min(length - 1, MAX_RESET_LENGTH) - token.length);
    crypto.getRandomValues(noise);
    noise[0] = ((noise[0] as number) & 0x3f) | 0x40;
    this.#write(concatBytes(noise, token), from);
  }

  #write(packet: Uint8Array, to: Address): void {
    this.#out.room.set(packet);
    this.#out.push(packet.length, to);
  }

  #mayAnswer(now: number): boolean {
    if (now - this.#answersSince >= 1000) {
      this.#answersSince = now;
      this.#answers = 0;
    }
    this.#answers++;
    return this.#answers <= MAX_ANSWERS;
  }

  close(): void {
    this.#report.close();
  }

  /** Ends the counting of a connection that was let in. */
  leave(address: Address): void {
    this.#admission.leave(address.host);
  }
}

export function randomId(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(ID_LENGTH));
}
