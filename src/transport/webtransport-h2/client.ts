/**
 * The client of WebTransport over HTTP/2.
 *
 * @module
 */

import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import { parseStringItem } from "../../http3/structured-strings.ts";
import { noCommonProtocol, QuicError } from "../../quic/errors.ts";
import type { Transport } from "../transport.ts";
import { endBetweenTurns } from "./connection-end.ts";
import { type Client, loadLibrary } from "./library.ts";
import { H2Session } from "./session.ts";

export interface ConnectWebTransportH2Options {
  /** Application protocols in order of preference, such as `moqt-22`. */
  readonly protocols: readonly string[];
  /** Further header fields of the request, such as Authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * SHA-256 of the DER of acceptable certificates, valid for at most 14 days; where given, nothing
   * else of the certificate is checked. Else it has to chain to an authority of the runtime.
   */
  readonly certificateHashes?: readonly Uint8Array[];
  /** Milliseconds until the session has to be open; default 10,000. */
  readonly connectTimeout?: number;
  /** Silence after which the server counts as gone, in milliseconds; default 30,000. */
  readonly idleTimeout?: number;
}

const defaultTimeout = 10_000;

/**
 * Opens a session at an `https:` URL over HTTP/2.
 *
 * @throws QuicError "CONNECT_FAILED" where there is none, in time, with one of the protocols
 */
export async function connectWebTransportH2(
  url: string,
  options: ConnectWebTransportH2Options,
): Promise<Transport> {
  const { host, pathname, search } = new URL(url);
  const session = new H2Session({
    role: "client",
    path: pathname + search,
    authority: host,
    origin: undefined,
    bearerToken: undefined,
    remote: host,
    idleTimeout: options.idleTimeout ?? 30_000,
  });
  const giveUp = await connect(url, session, options);
  const timer = setTimeout(
    () => session.readyReject(new Error("no answer in time")),
    options.connectTimeout ?? defaultTimeout,
  );
  const failed = await Promise.race([session.ready, session.closed]);
  clearTimeout(timer);
  if (failed !== undefined) {
    giveUp();
    throw new QuicError("CONNECT_FAILED", `no WebTransport session with ${host}: ${failed.reason}`);
  }
  session.protocol = parseStringItem(session.protocol) ?? "";
  if (options.protocols.includes(session.protocol)) return session;
  session.close(0n, "");
  const message = `${host} chose none of the protocols that were offered`;
  throw new QuicError("CONNECT_FAILED", message, { cause: noCommonProtocol() });
}

/**
 * Starts to connect, with `session` in place of the library's own.
 *
 * @returns how to give up
 */
async function connect(
  url: string,
  session: H2Session,
  options: ConnectWebTransportH2Options,
): Promise<() => void> {
  const { WebTransport } = await loadLibrary();
  let giveUp = () => {};
  class Connection extends WebTransport {
    override createClient(given: object) {
      const { client } = super.createClient(given);
      giveUp = () => client.closeHookSession();
      return { client, sessionint: session };
    }

    override startUpConnection({ client, ourl }: Parameters<Client["startUpConnection"]>[0]) {
      const path = ourl.pathname + ourl.search;
      const start = async () => {
        const connected = client.handleConnection({ createTransport: true, path });
        endBetweenTurns(client.transportInt.clientInt);
        await connected;
        addHeaders(client.transportInt.clientInt, options.headers);
        await client.createWTSession(session, path);
      };
      start().catch((error) => session.readyReject(error));
    }
  }
  const hashes = options.certificateHashes?.map(
    (value) => ({ algorithm: "sha-256", value }) as const,
  );
  const timeout = options.connectTimeout ?? defaultTimeout;
  new Connection(url, {
    forceReliable: true,
    protocols: options.protocols,
    quicConnectTimeout: timeout,
    webTransportConnectTimeout: timeout,
    ...(hashes && { serverCertificateHashes: hashes }),
  });
  return giveUp;
}

/** Adds to the one request of a connection, less `authority` and `origin`, which are wrong. */
function addHeaders(connection: ClientHttp2Session, headers: OutgoingHttpHeaders = {}): void {
  const request = connection.request.bind(connection);
  connection.request = (own, ...rest) => {
    const { authority: _, origin: __, ...fields } = own as OutgoingHttpHeaders;
    return request({ ...fields, ...headers }, ...rest);
  };
}
