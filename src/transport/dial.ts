/**
 * Connecting to a MOQT server by its URI, over whatever that names and the network lets through.
 *
 * Each carrier is loaded when it is first needed, so that a bundle that dials WebSockets alone does
 * not start QUIC.
 *
 * @module
 */

import { messageOf } from "../errors.ts";
import { SessionRefused } from "../http3/webtransport-refused.ts";
import { drafts as allDrafts, type Draft, draftName } from "../moqt/mod.ts";
import { noCommonProtocol, QuicError } from "../quic/errors.ts";
import type { QuicBackend } from "../quic/options.ts";
import type { Transport } from "./transport.ts";

export interface DialOptions {
  /** MOQT drafts to offer, most preferred first; default all. */
  readonly drafts?: readonly Draft[];
  /**
   * SHA-256 of the DER of acceptable certificates. Where given, nothing else of a certificate is
   * checked; WebSockets, which cannot do that, check it as ever.
   */
  readonly certificateHashes?: readonly Uint8Array[];
  /** PEM of the authorities to trust in place of the runtime's own; not for HTTP/2. */
  readonly ca?: string;
  /** Token for the `Authorization: Bearer` of the request; raw QUIC has none. */
  readonly bearerToken?: string;
  /** Milliseconds until a session has to be open, on each carrier; default 10,000. */
  readonly connectTimeout?: number;
  /** Milliseconds after which HTTP/2 is tried beside HTTP/3; default 1,500. */
  readonly fallbackDelay?: number;
  /** Whether HTTP/2 is tried at all; default true. */
  readonly fallback?: boolean;
  /** Milliseconds of silence after which the server counts as gone, while it is pinged; default 30,000. */
  readonly idleTimeout?: number;
  /** Which QUIC stack to use; default the runtime's. */
  readonly backend?: QuicBackend;
  /** Streams of each kind that the server may have open at a time, on QUIC; default 100. */
  readonly streams?: number;
  /** Gives the attempt up: `dial` rejects with its reason, and a session that still opens is closed. */
  readonly signal?: AbortSignal;
}

/** The options with their defaults, and what is derived from them. */
interface Dialling {
  readonly url: URL;
  readonly protocols: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly options: DialOptions;
  readonly connectTimeout: number;
  readonly idleTimeout: number;
}

/**
 * Opens a session.
 *
 * - `moqt:` is raw QUIC; AUTHORITY and PATH of the URI belong in SETUP then.
 * - `https:` is WebTransport over HTTP/3. Where that gets no answer for a while, or fails, HTTP/2
 *   is tried as well, and the first session counts; where the server refuses, the refusal counts.
 * - `wss:` and `ws:` are QMux over a WebSocket.
 *
 * @throws QuicError "INVALID_OPTION" for another URI, "CERTIFICATE_REFUSED", "CONNECT_FAILED"
 */
export async function dial(uri: string, options: DialOptions = {}): Promise<Transport> {
  const {
    drafts = allDrafts,
    bearerToken,
    connectTimeout = 10_000,
    idleTimeout = 30_000,
  } = options;
  const dialling: Dialling = {
    url: parse(uri),
    protocols: drafts.map(draftName),
    headers: bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` },
    options,
    connectTimeout,
    idleTimeout,
  };
  options.signal?.throwIfAborted();
  return await unlessAborted(open(dialling), options.signal);
}

function open(dialling: Dialling): Promise<Transport> {
  switch (dialling.url.protocol) {
    case "moqt:":
      return dialQuic(dialling);
    case "https:":
      return dialWebTransport(dialling);
    case "wss:":
    case "ws:":
      return dialQmux(dialling);
    default:
      throw new QuicError("INVALID_OPTION", "a URI of MOQT begins with moqt:, https:, wss: or ws:");
  }
}

/** The session of `attempt`, unless `signal` comes first; then it is closed when it opens. */
async function unlessAborted(
  attempt: Promise<Transport>,
  signal: AbortSignal | undefined,
): Promise<Transport> {
  if (signal === undefined) return await attempt;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => {
    reject(signal.reason);
    attempt.then(
      (session) => session.close(0n, ""),
      () => {},
    );
  };
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([attempt, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function parse(uri: string): URL {
  const url = URL.parse(uri);
  if (url !== null && url.hostname !== "") return url;
  throw new QuicError("INVALID_OPTION", "the URI cannot be read, or names no host");
}

async function dialQuic(dialling: Dialling): Promise<Transport> {
  const { quicTransport } = await import("./quic.ts");
  return quicTransport(await connectQuic(dialling, dialling.protocols));
}

/** A QUIC connection to the host of the URI. */
async function connectQuic(dialling: Dialling, alpn: readonly string[]) {
  const { connectQuic: connect } = await import("../quic/open.ts");
  const { url, options, connectTimeout, idleTimeout } = dialling;
  const { certificateHashes, ca, backend, streams, signal } = options;
  return await connect({
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 443 : Number(url.port),
    alpn,
    connectTimeout,
    idleTimeout,
    keepAlive: true,
    ...(certificateHashes && { certificateHashes }),
    ...(ca !== undefined && { ca }),
    ...(backend && { backend }),
    ...(streams !== undefined && { maxBidiStreams: streams, maxUniStreams: streams }),
    ...(signal && { signal }),
  });
}

async function dialQmux({ url, protocols, headers, options, ...times }: Dialling) {
  const { connectQmux } = await import("./qmux.ts");
  return await connectQmux(url.href, {
    protocols,
    handshakeTimeout: times.connectTimeout,
    idleTimeout: times.idleTimeout,
    ...(options.bearerToken !== undefined && { headers }),
    ...(options.ca !== undefined && { ca: options.ca }),
  });
}

/** HTTP/3, and HTTP/2 some time later or after a failure; the first session that opens counts. */
async function dialWebTransport(dialling: Dialling): Promise<Transport> {
  const { fallbackDelay = 1_500, fallback = true, ca } = dialling.options;
  const http3 = dialHttp3(dialling);
  // Authorities cannot be named over HTTP/2.
  if (ca !== undefined || !fallback) return await http3;
  const early = await within(fallbackDelay, http3);
  if (early !== undefined && "session" in early) return early.session;
  if (early !== undefined && isRefusal(early.error)) throw early.error;
  const http2 = dialHttp2(dialling);
  try {
    const first = await Promise.any([http3, http2]);
    // Whichever comes second is not needed any more.
    for (const attempt of [http3, http2]) {
      const close = (session: Transport) => session !== first && session.close(0n, "");
      attempt.then(close, () => {});
    }
    return first;
  } catch (cause) {
    const reasons = (cause as AggregateError).errors.map(({ message }: Error) => message);
    const { host } = dialling.url;
    const [overHttp3, overHttp2] = reasons;
    const message = `no WebTransport session with ${host}: HTTP/3: ${overHttp3}; HTTP/2: ${overHttp2}`;
    throw new QuicError("CONNECT_FAILED", message, { cause });
  }
}

type Outcome = { readonly session: Transport } | { readonly error: unknown };

/** What became of `attempt` within `delay` ms, if anything. */
async function within(delay: number, attempt: Promise<Transport>): Promise<Outcome | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), delay);
  });
  const outcome = attempt.then(
    (session) => ({ session }),
    (error: unknown) => ({ error }),
  );
  const first = await Promise.race([outcome, pause]);
  clearTimeout(timer);
  return first;
}

/** Whether the server was reached and said no, so that another way to it would not help. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof QuicError &&
    (error.code === "CERTIFICATE_REFUSED" || error.cause instanceof SessionRefused)
  );
}

async function dialHttp3(dialling: Dialling): Promise<Transport> {
  const { Http3ClientConnection } = await import("../http3/mod.ts");
  const { webTransportTransport } = await import("./webtransport.ts");
  const { url, protocols, headers, options, connectTimeout } = dialling;
  const quic = await connectQuic(dialling, ["h3"]);
  const connection = new Http3ClientConnection(quic, { webTransport: true });
  const giveUp = () => connection.close();
  const timer = setTimeout(giveUp, connectTimeout);
  options.signal?.addEventListener("abort", giveUp);
  if (options.signal?.aborted) giveUp();
  try {
    const session = await connection.connect({
      authority: url.host,
      path: url.pathname + url.search,
      protocols,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
    });
    if (session.protocol === undefined) throw noCommonProtocol();
    void session.closed.then(() => connection.close());
    return webTransportTransport(session);
  } catch (cause) {
    connection.close();
    const why = messageOf(cause);
    throw new QuicError("CONNECT_FAILED", `no session with ${url.host}: ${why}`, { cause });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", giveUp);
  }
}

async function dialHttp2(dialling: Dialling): Promise<Transport> {
  const { connectWebTransportH2 } = await import("./webtransport-h2.ts");
  const { url, protocols, headers, options, connectTimeout, idleTimeout } = dialling;
  return await connectWebTransportH2(url.href, {
    protocols,
    headers,
    connectTimeout,
    idleTimeout,
    ...(options.certificateHashes && { certificateHashes: options.certificateHashes }),
  });
}
