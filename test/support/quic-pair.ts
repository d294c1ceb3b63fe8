/**
 * Two ends of a QUIC connection in memory, for tests of what runs over `QuicConnection`: stream
 * credit, flow control, FIN, RESET_STREAM and STOP_SENDING told apart, datagrams, close. No
 * network, no timers, no runtime module.
 *
 * @module
 */

import type {
  QuicCapabilities,
  QuicClose,
  QuicConnection,
  QuicStream,
  QuicStreamKind,
} from "../../src/quic/connection.ts";
import { QuicClosed, QuicError } from "../../src/quic/errors.ts";
import { MemoryPipe } from "./memory-pipe.ts";

type Role = "client" | "server";

export interface MemoryQuicOptions {
  /** What ALPN chose; `h3` unless said otherwise. */
  readonly alpn?: string;
  readonly sni?: string;
  /** What `reset` and `stopSending` do to the wire; both exact unless said otherwise. */
  readonly capabilities?: Partial<QuicCapabilities>;
  /** Bytes of the largest datagram; 0 means that the connection has none. */
  readonly maxDatagramSize?: number;
  /** Bytes that one direction of a stream holds before its writer waits. */
  readonly streamWindow?: number;
  /** How many bidirectional streams each end may have open at once. */
  readonly bidiStreams?: number;
  /** How many unidirectional streams each end may have open at once. */
  readonly uniStreams?: number;
  /** Most bytes that one `read` returns, to cut messages anywhere. */
  readonly segment?: number;
}

type Settings = Required<Omit<MemoryQuicOptions, "capabilities">> & {
  readonly capabilities: QuicCapabilities;
};

/** One end of the pair; `expire` lets the connection end as by its idle timeout, on both ends. */
export interface MemoryQuicConnection extends QuicConnection {
  expire(): void;
}

/**
 * A connected pair.
 *
 * @returns the client's end and the server's end
 */
export function memoryQuicPair(
  options: MemoryQuicOptions = {},
): [client: MemoryQuicConnection, server: MemoryQuicConnection] {
  const settings: Settings = {
    alpn: options.alpn ?? "h3",
    sni: options.sni ?? "localhost",
    capabilities: { resetOut: true, stopCodeOut: true, ...options.capabilities },
    maxDatagramSize: options.maxDatagramSize ?? 1200,
    streamWindow: options.streamWindow ?? 0x1_0000,
    bidiStreams: options.bidiStreams ?? 100,
    uniStreams: options.uniStreams ?? 100,
    segment: options.segment ?? Number.POSITIVE_INFINITY,
  };
  const client = new MemoryConnection("client", settings);
  const server = new MemoryConnection("server", settings);
  client.peer = server;
  server.peer = client;
  return [client, server];
}

/** How many streams of one kind one end may still open, and who waits for that. */
class Credit {
  #left: number;
  #waiting: { grant: () => void; refuse: (error: unknown) => void }[] = [];

  constructor(streams: number) {
    this.#left = streams;
  }

  get available(): boolean {
    return this.#left > 0;
  }

  take(): Promise<void> {
    if (this.#left > 0) {
      this.#left--;
      return Promise.resolve();
    }
    return new Promise((grant, refuse) => {
      this.#waiting.push({ grant, refuse });
    });
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#left++;
    else next.grant();
  }

  refuseAll(error: unknown): void {
    for (const { refuse } of this.#waiting.splice(0)) refuse(error);
  }
}

class MemoryConnection implements MemoryQuicConnection {
  readonly peerCertificates: readonly Uint8Array[] = [];
  readonly remote: { address: string; port: number };
  readonly closed: Promise<QuicClose>;
  onDatagram: ((bytes: Uint8Array) => void) | undefined = undefined;
  declare peer: MemoryConnection;

  readonly #role: Role;
  readonly #settings: Settings;
  readonly #credit: Readonly<Record<QuicStreamKind, Credit>>;
  readonly #opened: Record<QuicStreamKind, bigint> = { bidi: 0n, uni: 0n };
  readonly #writing = new Set<MemoryPipe>();
  readonly #reading = new Set<MemoryPipe>();
  readonly #incoming: QuicStream[] = [];
  #accepting: ((stream: QuicStream | null) => void)[] = [];
  #closed: QuicClose | undefined;
  #resolveClosed: (close: QuicClose) => void;

  constructor(role: Role, settings: Settings) {
    this.#role = role;
    this.#settings = settings;
    this.remote = { address: "127.0.0.1", port: role === "client" ? 4433 : 50_000 };
    this.#credit = { bidi: new Credit(settings.bidiStreams), uni: new Credit(settings.uniStreams) };
    const { promise, resolve } = Promise.withResolvers<QuicClose>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  get alpn(): string {
    return this.#settings.alpn;
  }

  get sni(): string | undefined {
    return this.#settings.sni;
  }

  get capabilities(): QuicCapabilities {
    return this.#settings.capabilities;
  }

  get maxDatagramSize(): number {
    return this.#settings.maxDatagramSize;
  }

  openBidi(): Promise<QuicStream> {
    return this.#open("bidi");
  }

  openUni(): Promise<QuicStream> {
    return this.#open("uni");
  }

  canOpen(kind: QuicStreamKind): boolean {
    return this.#closed === undefined && this.#credit[kind].available;
  }

  async accept(): Promise<QuicStream | null> {
    const next = this.#incoming.shift();
    if (next !== undefined) return next;
    if (this.#closed !== undefined) return null;
    return await new Promise((resolve) => {
      this.#accepting.push(resolve);
    });
  }

  sendDatagram(bytes: Uint8Array): boolean {
    if (this.#closed !== undefined || bytes.length > this.maxDatagramSize) return false;
    const copy = bytes.slice();
    queueMicrotask(() => {
      if (this.peer.#closed === undefined) this.peer.onDatagram?.(copy);
    });
    return true;
  }

  close(code: bigint, reason: string, app = true): void {
    if (this.#closed !== undefined) return;
    this.end({ by: "local", app, code, reason });
    this.peer.end({ by: "remote", app, code, reason });
  }

  expire(): void {
    for (const end of [this, this.peer]) end.end({ by: "idle", app: false, code: 0n, reason: "" });
  }

  /** Ends this side alone. What has arrived stays readable, unless this side closed. */
  end(close: QuicClose): void {
    if (this.#closed !== undefined) return;
    this.#closed = close;
    if (close.by === "local") this.#incoming.length = 0;
    const error = new QuicClosed(close);
    for (const pipe of this.#writing) pipe.writerClosed(error);
    for (const pipe of this.#reading) pipe.readerClosed(error, close.by !== "local");
    for (const credit of Object.values(this.#credit)) credit.refuseAll(error);
    for (const accept of this.#accepting.splice(0)) accept(null);
    this.#resolveClosed(close);
  }

  /** A stream of the peer whose first frame has arrived. */
  arrive(stream: QuicStream): void {
    const accept = this.#accepting.shift();
    if (accept === undefined) this.#incoming.push(stream);
    else accept(stream);
  }

  #connect(pipe: MemoryPipe, reader: MemoryConnection): void {
    this.#writing.add(pipe);
    reader.#reading.add(pipe);
    void pipe.finished.then(() => {
      this.#writing.delete(pipe);
      reader.#reading.delete(pipe);
    });
  }

  async #open(kind: QuicStreamKind): Promise<QuicStream> {
    if (this.#closed !== undefined) throw new QuicClosed(this.#closed);
    await this.#credit[kind].take();
    // The connection may have ended between the grant and now.
    if (this.#closed !== undefined) throw new QuicClosed(this.#closed);
    const id =
      this.#opened[kind]++ * 4n + (kind === "uni" ? 2n : 0n) + (this.#role === "server" ? 1n : 0n);
    const { peer } = this;
    const { streamWindow: window, segment, capabilities } = this.#settings;
    const out = new MemoryPipe({ window, segment, ...capabilities });
    const back = kind === "bidi" ? new MemoryPipe({ window, segment, ...capabilities }) : undefined;
    this.#connect(out, peer);
    if (back !== undefined) peer.#connect(back, this);
    // The peer knows nothing of a stream until its first frame, of either direction.
    const pipes = back === undefined ? [out] : [out, back];
    void Promise.race(pipes.map((pipe) => pipe.firstFrame)).then(() => {
      peer.arrive(new MemoryStream(id, kind, false, back, out));
    });
    void Promise.all(pipes.map((pipe) => pipe.finished)).then(() => this.#credit[kind].giveBack());
    return new MemoryStream(id, kind, true, out, back);
  }
}

class MemoryStream implements QuicStream {
  readonly id: bigint;
  readonly kind: QuicStreamKind;
  readonly local: boolean;
  readonly stopped: Promise<bigint>;
  readonly #out: MemoryPipe | undefined;
  readonly #in: MemoryPipe | undefined;

  constructor(
    id: bigint,
    kind: QuicStreamKind,
    local: boolean,
    out: MemoryPipe | undefined,
    incoming: MemoryPipe | undefined,
  ) {
    this.id = id;
    this.kind = kind;
    this.local = local;
    this.#out = out;
    this.#in = incoming;
    this.stopped = out?.stopped ?? new Promise(() => {});
  }

  get wasReset(): Promise<bigint> | undefined {
    return this.#in?.wasReset;
  }

  async read(max?: number): Promise<Uint8Array | null> {
    if (this.#in === undefined) throw wrongDirection("written");
    return await this.#in.read(max);
  }

  async write(bytes: Uint8Array, fin = false): Promise<void> {
    if (this.#out === undefined) throw wrongDirection("read");
    await this.#out.write(bytes, fin);
  }

  end(): Promise<void> {
    return this.write(new Uint8Array(0), true);
  }

  reset(code: bigint): void {
    this.#out?.reset(code);
  }

  stopSending(code: bigint): void {
    this.#in?.stop(code);
  }
}

function wrongDirection(possible: string): QuicError {
  return new QuicError("WRONG_DIRECTION", `this stream can only be ${possible} here`);
}
