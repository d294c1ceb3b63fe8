/**
 * Packets on their way to the socket.
 *
 * @module
 */

import type { Address, PacketBatch } from "../messages.ts";

/** Longest UDP payload that we send; every path takes it that QUIC can use at all, and Ethernet. */
export const MAX_PACKET = 1350;
const BATCH_BYTES = 64 * 1024;

/** Gathers packets into batches that cross to the main thread in one piece. */
export class PacketWriter {
  readonly #buffer = new Uint8Array(BATCH_BYTES);
  #used = 0;
  #lengths: number[] = [];
  #addresses: Address[] = [];
  #batches: PacketBatch[] = [];

  /** Room for one packet, to be written from its start and then told to {@link push}. */
  get room(): Uint8Array {
    if (this.#used + MAX_PACKET > BATCH_BYTES) this.#seal();
    return this.#buffer.subarray(this.#used, this.#used + MAX_PACKET);
  }

  /** Takes the first `length` bytes of {@link room} as a packet for `to`. */
  push(length: number, to: Address): void {
    this.#lengths.push(length);
    this.#addresses.push(to);
    this.#used += length;
  }

  #seal(): void {
    if (this.#used === 0) return;
    this.#batches.push({
      bytes: this.#buffer.slice(0, this.#used),
      lengths: this.#lengths,
      addresses: this.#addresses,
    });
    this.#used = 0;
    this.#lengths = [];
    this.#addresses = [];
  }

  /** Removes and returns everything gathered. */
  take(): PacketBatch[] {
    this.#seal();
    const batches = this.#batches;
    this.#batches = [];
    return batches;
  }
}
