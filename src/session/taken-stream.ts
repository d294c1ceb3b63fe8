/**
 * A stream of the peer that its application reads, from its first byte on, although the session
 * has read the start of it to see what it is.
 *
 * @module
 */

import type { TransportStream, TransportStreamKind } from "../transport/transport.ts";

const noBytes = new Uint8Array(0);

export class TakenStream implements TransportStream {
  readonly #stream: TransportStream;
  /** What has been read and not been handed out. */
  #bytes: Uint8Array;
  #fin: boolean;
  /** A read that was under way when the stream changed hands. */
  #read: Promise<Uint8Array | null> | undefined;

  constructor(
    stream: TransportStream,
    bytes: Uint8Array,
    fin: boolean,
    read: Promise<Uint8Array | null> | undefined,
  ) {
    this.#stream = stream;
    this.#bytes = bytes;
    this.#fin = fin;
    this.#read = read;
  }

  get id(): bigint {
    return this.#stream.id;
  }

  get kind(): TransportStreamKind {
    return this.#stream.kind;
  }

  get local(): boolean {
    return this.#stream.local;
  }

  get stopped(): Promise<bigint> {
    return this.#stream.stopped;
  }

  get wasReset(): Promise<bigint> | undefined {
    return this.#stream.wasReset;
  }

  read(max = Number.POSITIVE_INFINITY): Promise<Uint8Array | null> {
    if (this.#bytes.length > 0) return Promise.resolve(this.#cut(max));
    if (this.#fin) return Promise.resolve(null);
    const pending = this.#read;
    if (pending === undefined) return this.#stream.read(max);
    this.#read = undefined;
    return pending.then((bytes) => {
      this.#fin = bytes === null;
      if (bytes === null) return null;
      this.#bytes = bytes;
      return this.#cut(max);
    });
  }

  write(bytes: Uint8Array, fin?: boolean): Promise<void> {
    return this.#stream.write(bytes, fin);
  }

  end(): Promise<void> {
    return this.#stream.end();
  }

  reset(code: bigint): void {
    this.#stream.reset(code);
  }

  stopSending(code: bigint): void {
    if (this.#fin) return;
    this.#bytes = noBytes;
    this.#stream.stopSending(code);
  }

  #cut(max: number): Uint8Array {
    const bytes = this.#bytes.subarray(0, max);
    this.#bytes = this.#bytes.subarray(bytes.length);
    return bytes;
  }
}
