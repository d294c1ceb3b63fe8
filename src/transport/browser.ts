/**
 * MOQT on the WebTransport class of a browser.
 *
 * The class tells less than a stack of our own: streams have no ids, and whether the peer grants
 * one more shows only when it is opened.
 *
 * @module
 */

import { QuicClosed, QuicError } from "../quic/errors.ts";
import { BrowserStream, largestStreamCode, type StreamHalves } from "./browser/stream.ts";
import { shortReason } from "./reason.ts";
import {
  clampedCode,
  exact,
  type Fidelity,
  hasExactCodes,
  largestWebTransportCode,
  type Transport,
  type TransportClose,
  type TransportKind,
  type TransportStream,
  type TransportStreamKind,
} from "./transport.ts";

export interface ConnectBrowserOptions {
  /** Application protocols in order of preference, such as `moqt-22`. */
  readonly protocols: readonly string[];
  /** SHA-256 of the DER of acceptable certificates; default what the browser trusts. */
  readonly certificateHashes?: readonly Uint8Array[];
}

/** What newer browsers have and the types do not know yet. */
interface NewerWebTransport extends WebTransport {
  /** The application protocol that was agreed on; empty where none was. */
  readonly protocol?: string;
  readonly reliability?: "pending" | "reliable-only" | "supports-unreliable";
}

interface NewerDatagrams extends Omit<WebTransportDatagramDuplexStream, "writable"> {
  readonly writable?: WritableStream<Uint8Array>;
  createWritable?(): WritableStream<Uint8Array>;
}

/** WebTransport over HTTP/3 §3.4: the server chose no protocol that was offered. */
const alpnError = 0x0817_b3dd;

/**
 * Connects to an `https:` `url`.
 *
 * @returns once the session is there and a protocol is agreed on
 * @throws QuicError "CONNECT_FAILED"
 */
export async function connectBrowser(
  url: string,
  { protocols, certificateHashes = [] }: ConnectBrowserOptions,
): Promise<Transport> {
  const options = {
    protocols: [...protocols],
    ...(certificateHashes.length > 0 && {
      serverCertificateHashes: certificateHashes.map((value) => ({
        algorithm: "sha-256",
        value: value as BufferSource,
      })),
    }),
  };
  const session: NewerWebTransport = new WebTransport(url, options);
  session.closed.catch(() => {});
  try {
    await session.ready;
  } catch (cause) {
    throw new QuicError("CONNECT_FAILED", `no WebTransport session with ${url}`, { cause });
  }
  if (protocols.includes(session.protocol ?? "")) return browserTransport(session, url);
  session.close({ closeCode: alpnError, reason: "no common protocol" });
  throw new QuicError("CONNECT_FAILED", `${url} speaks none of ${protocols.join(", ")}`);
}

/** A session that is `ready`, as a transport. It belongs to the transport from now on. */
export function browserTransport(session: WebTransport, url: string): Transport {
  return new BrowserTransport(session, url);
}

class BrowserTransport implements Transport {
  readonly kind: TransportKind;
  readonly protocol: string;
  readonly path: string;
  readonly authority: string;
  readonly origin = undefined;
  readonly bearerToken = undefined;
  readonly remote: string;
  readonly fidelity: Fidelity = {
    ...exact,
    largestResetCode: largestStreamCode(),
    largestStopCode: largestStreamCode(),
    largestCloseCode: largestWebTransportCode,
  };
  readonly exactCodes = hasExactCodes(this.fidelity);
  readonly closed: Promise<TransportClose>;
  onDatagram: ((bytes: Uint8Array) => void) | undefined;

  readonly #session: NewerWebTransport;
  /** The kind that comes first where both have a stream is in front. */
  readonly #incoming: Arrivals[];
  readonly #datagrams: WritableStreamDefaultWriter<Uint8Array> | undefined;
  /** Streams so far, by who opened them and of which kind; ids are numbered as QUIC numbers them. */
  readonly #counts = { localBidi: 0n, peerBidi: 0n, localUni: 0n, peerUni: 0n };
  #isOver = false;
  #closedHere: TransportClose | undefined;

  constructor(session: NewerWebTransport, url: string) {
    const { host, pathname, search } = new URL(url);
    this.#session = session;
    this.kind = session.reliability === "reliable-only" ? "webtransport-h2" : "webtransport-h3";
    this.protocol = session.protocol ?? "";
    this.path = pathname + search;
    this.authority = host;
    this.remote = host;
    this.closed = session.closed.then(
      ({ closeCode = 0, reason = "" }) => this.#ended(true, BigInt(closeCode), reason),
      () => this.#ended(false, 0n, "the connection was lost"),
    );
    this.#incoming = [
      new Arrivals(session.incomingBidirectionalStreams, (halves) =>
        this.#stream("bidi", false, halves),
      ),
      new Arrivals(session.incomingUnidirectionalStreams, (readable) =>
        this.#stream("uni", false, { readable }),
      ),
    ];
    const datagrams = session.datagrams as NewerDatagrams;
    this.#datagrams = (datagrams.writable ?? datagrams.createWritable?.())?.getWriter();
    // Its failures are those of the session.
    this.#datagrams?.closed.catch(() => {});
    void this.#receiveDatagrams(datagrams.readable);
  }

  get maxDatagramSize(): number {
    if (this.#isOver || this.#datagrams === undefined) return 0;
    return this.#session.datagrams.maxDatagramSize;
  }

  async accept(): Promise<TransportStream | null> {
    const { stream, from } = await Promise.race(this.#incoming.map((kind) => kind.next()));
    from.take();
    // Kinds take turns, so that neither keeps the other waiting.
    this.#incoming.reverse();
    if (stream !== null) return stream;
    await this.closed;
    return null;
  }

  openBidi(): Promise<TransportStream> {
    return this.#open("bidi");
  }

  openUni(): Promise<TransportStream> {
    return this.#open("uni");
  }

  /** Always true before the end: a browser does not tell what the peer grants. */
  canOpen(_: TransportStreamKind): boolean {
    return !this.#isOver;
  }

  sendDatagram(bytes: Uint8Array): boolean {
    if (bytes.length > this.maxDatagramSize || this.#isOver) return false;
    const writer = this.#datagrams;
    if (writer === undefined || (writer.desiredSize ?? 0) <= 0) return false;
    writer.write(bytes).catch(() => {});
    return true;
  }

  close(code: bigint, reason: string): void {
    if (this.#isOver) return;
    const clamped = clampedCode(code, largestWebTransportCode);
    const cut = shortReason(reason);
    this.#isOver = true;
    this.#closedHere = { by: "local", app: true, code: clamped, reason: cut };
    this.#session.close({ closeCode: Number(clamped), reason: cut });
  }

  async #open(kind: TransportStreamKind): Promise<TransportStream> {
    if (this.#isOver) throw new QuicClosed(await this.closed);
    const options = { waitUntilAvailable: true } as WebTransportSendStreamOptions;
    try {
      const halves =
        kind === "bidi"
          ? await this.#session.createBidirectionalStream(options)
          : { writable: await this.#session.createUnidirectionalStream(options) };
      return this.#stream(kind, true, halves);
    } catch {
      // With `waitUntilAvailable` there is no other way to fail.
      throw new QuicClosed(await this.closed);
    }
  }

  #stream(kind: TransportStreamKind, local: boolean, halves: StreamHalves): TransportStream {
    const count = `${local ? "local" : "peer"}${kind === "bidi" ? "Bidi" : "Uni"}` as const;
    const id = 4n * this.#counts[count]++ + (kind === "uni" ? 2n : 0n) + (local ? 0n : 1n);
    return new BrowserStream({ id, kind, local }, halves, this.closed);
  }

  async #receiveDatagrams(readable: ReadableStream<Uint8Array>): Promise<void> {
    const reader = readable.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        this.onDatagram?.(value);
      }
    } catch {
      // The session has ended, which `closed` tells.
    }
  }

  #ended(app: boolean, code: bigint, reason: string): TransportClose {
    this.#isOver = true;
    return this.#closedHere ?? { by: "remote", app, code, reason };
  }
}

interface Arrival {
  /** `null` once the session has ended. */
  readonly stream: TransportStream | null;
  readonly from: Arrivals;
}

/** The streams of one kind that the peer opens. */
class Arrivals {
  readonly #reader: ReadableStreamDefaultReader;
  readonly #wrap: (stream: never) => TransportStream;
  #next: Promise<Arrival> | undefined;

  constructor(streams: ReadableStream, wrap: (stream: never) => TransportStream) {
    this.#reader = streams.getReader();
    this.#wrap = wrap;
  }

  /** The next one, and the same again until it is taken. */
  next(): Promise<Arrival> {
    this.#next ??= this.#reader.read().then(
      ({ done, value }) => ({ stream: done ? null : this.#wrap(value as never), from: this }),
      () => ({ stream: null, from: this }),
    );
    return this.#next;
  }

  take(): void {
    this.#next = undefined;
  }
}
