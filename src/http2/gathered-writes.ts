/**
 * Frames on their way to a socket.
 *
 * @module
 */

import type { Duplex } from "node:stream";

/** Octets from which on a write is worth a system call of its own, and joining it a copy too many. */
const large = 4096;

/**
 * node:http2 of Bun writes each frame by itself to a socket that is not the runtime's own, and each
 * write becomes a TLS record and a system call: with small messages, a fifth of what they cost. Deno
 * gains nothing by the same.
 */
const gathers = "Bun" in globalThis;

/** Writes small frames of one turn of the event loop together, in their order. */
export class GatheredWrites {
  readonly #socket: Duplex;
  #gathering = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** @returns false where the socket has enough, until its `drain` */
  write(bytes: Uint8Array): boolean {
    if (!gathers || bytes.length >= large) this.flush();
    else this.#gather();
    const hasRoom = this.#socket.write(bytes);
    if (!hasRoom) this.flush();
    return hasRoom;
  }

  /** What was written goes now: before the end of the socket, and before anything else is done to it. */
  flush(): void {
    if (!this.#gathering) return;
    this.#gathering = false;
    this.#socket.uncork();
  }

  #gather(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    this.#socket.cork();
    setImmediate(() => this.flush());
  }
}
