/**
 * One QUIC connection, whatever stack carries it: streams with FIN, reset code and stop code told
 * apart, datagrams, close code and reason.
 *
 * Web streams are kept out on purpose: they are where codes get lost.
 *
 * @module
 */

/** How a connection ended. */
export interface QuicClose {
  /** Who ended it; `"idle"` where nothing was heard for the idle timeout. */
  readonly by: "local" | "remote" | "idle";
  /** Whether `code` is one of the application, else of the transport (RFC 9000 §20). */
  readonly app: boolean;
  readonly code: bigint;
  readonly reason: string;
}

/** What the stack behind a connection can put on the wire. */
export interface QuicCapabilities {
  /** `reset(code)` arrives as RESET_STREAM with that code; where false, it arrives as a FIN. */
  readonly resetOut: boolean;
  /** `stopSending(code)` arrives with that code; where false, it arrives with code 0. */
  readonly stopCodeOut: boolean;
}

export type QuicStreamKind = "bidi" | "uni";

export interface QuicConnection {
  /** The protocol that the handshake chose. */
  readonly alpn: string;
  /** Server side: the name that the client asked for. Client side: the name it asked with. */
  readonly sni: string | undefined;
  /** DER, leaf first; empty where the peer showed none or the stack does not tell. */
  readonly peerCertificates: readonly Uint8Array[];
  readonly remote: { readonly address: string; readonly port: number };
  readonly capabilities: QuicCapabilities;
  /** Bytes that one datagram can carry now; 0 where the peer takes none. */
  readonly maxDatagramSize: number;
  /** Resolves once the connection has ended; never rejects. */
  readonly closed: Promise<QuicClose>;

  /**
   * Opens a stream, waiting until the peer grants one.
   *
   * @throws QuicClosed where the connection ends first
   */
  openBidi(): Promise<QuicStream>;
  openUni(): Promise<QuicStream>;
  /** Whether the peer grants a stream of that kind right now. */
  canOpen(kind: QuicStreamKind): boolean;
  /** The next stream of the peer, of either kind, in order of arrival; `null` once closed. */
  accept(): Promise<QuicStream | null>;

  /** Sends `bytes` unreliably. Returns false where they were dropped here: too long, no room. */
  sendDatagram(bytes: Uint8Array): boolean;
  /** Receives datagrams; those that come while it is unset are dropped. */
  onDatagram: ((bytes: Uint8Array) => void) | undefined;

  /**
   * Closes the connection with `code` and `reason`. Data that was written is given a short chance
   * to arrive first. Later calls do nothing.
   *
   * @param app whether `code` is the application's; default true
   */
  close(code: bigint, reason: string, app?: boolean): void;
}

/**
 * A stream. One read and one write may be pending at a time; each direction ends on its own. Every
 * promise but `stopped` rejects with {@link QuicClosed} once the connection has ended.
 */
export interface QuicStream {
  readonly id: bigint;
  readonly kind: QuicStreamKind;
  /** Whether this side opened it. */
  readonly local: boolean;

  /**
   * The next bytes in order, at least one; `null` at the FIN and only there.
   *
   * @param max most bytes to return
   * @throws StreamReset where the peer reset the stream; QuicError "STREAM_ABANDONED" after
   *   `stopSending`
   */
  read(max?: number): Promise<Uint8Array | null>;
  /**
   * Sends `bytes`, with FIN after them where `fin` is set. Resolves when the stack has taken them
   * all, which waits for the peer to read; the caller must leave `bytes` alone until then.
   *
   * @throws StreamStopped where the peer stopped the stream; QuicError "STREAM_ABANDONED" after
   *   `reset`, "STREAM_ENDED" after FIN
   */
  write(bytes: Uint8Array, fin?: boolean): Promise<void>;
  /** Sends FIN; the same as `write(empty, true)`. Does nothing after a FIN. */
  end(): Promise<void>;
  /**
   * Gives up sending, with RESET_STREAM (see {@link QuicCapabilities}). Nothing after FIN.
   *
   * @throws QuicError "INVALID_OPTION" where the code is negative or over 2^53 - 1; so do the two
   *   others that take a code
   */
  reset(code: bigint): void;
  /**
   * Says when its bytes go out, where the peer or the path takes less than there is to send: before
   * those of streams with a larger `urgency`, and of those with the same and a larger `rank`.
   * Equals share. Streams of which it was never said come before all others. What the stack has
   * handed on already stays where it is. Absent where the stack knows no order.
   *
   * @param urgency 0 to 255; so is `rank`
   * @throws QuicError "INVALID_OPTION" for other numbers
   */
  prioritise?(urgency: number, rank: number): void;
  /** Gives up reading, with STOP_SENDING (see {@link QuicCapabilities}). Nothing after FIN. */
  stopSending(code: bigint): void;
  /** Resolves with the code when the peer sends STOP_SENDING; otherwise never settles. */
  readonly stopped: Promise<bigint>;
  /**
   * Resolves with the code when the peer resets the stream, whether or not anybody reads; otherwise
   * never settles. Absent where the stack tells readers alone.
   */
  readonly wasReset?: Promise<bigint> | undefined;
}

/** A bound UDP port that takes connections. */
export interface QuicServer {
  readonly address: { readonly hostname: string; readonly port: number };
  /** The next connection whose handshake is done; `null` once the server is closed. */
  accept(): Promise<QuicConnection | null>;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
  /** Shows `certificate` to connections from now on; open ones keep theirs. */
  reload(certificate: Certificate): void;
}

/** A certificate chain and its private key, both as PEM. */
export interface Certificate {
  /** Leaf first. */
  readonly certificatePem: string;
  readonly keyPem: string;
}
