/**
 * Connecting with Deno's own QUIC stack (quinn).
 *
 * @module
 */

import { isIP } from "node:net";
import { messageOf } from "../../errors.ts";
import type { QuicConnection } from "../connection.ts";
import { NO_APPLICATION_PROTOCOL, noCommonProtocol, QuicError } from "../errors.ts";
import { type ConnectQuicOptions, checkAlpn } from "../options.ts";
import { DenoConnection } from "./connection.ts";
import {
  type DenoConnectOptions,
  type DenoQuicConnection,
  type DenoQuicEndpoint,
  denoQuic,
} from "./runtime.ts";
import { nativeTransport } from "./transport.ts";

/** One for all connections of the process: each endpoint costs a socket and most of a megabyte. */
let sharedEndpoint: DenoQuicEndpoint | undefined;

function clientEndpoint(): DenoQuicEndpoint {
  if (sharedEndpoint !== undefined) return sharedEndpoint;
  const { QuicEndpoint } = denoQuic();
  try {
    sharedEndpoint = new QuicEndpoint({ hostname: "::", port: 0 });
  } catch {
    // A machine without IPv6.
    sharedEndpoint = new QuicEndpoint({ hostname: "0.0.0.0", port: 0 });
  }
  return sharedEndpoint;
}

/** Connects with Deno's stack. @throws QuicError as `connectQuic` does */
export async function connectDeno(options: ConnectQuicOptions): Promise<QuicConnection> {
  checkAlpn(options.alpn);
  const serverName = options.serverName ?? options.hostname;
  const native = await withinTime(attempt(nativeOptions(options, serverName)), options);
  return new DenoConnection(native, "client", isIP(serverName) === 0 ? serverName : undefined);
}

/** Async, since Deno throws some faults at once. */
async function attempt(options: DenoConnectOptions): Promise<DenoQuicConnection> {
  return await denoQuic().connectQuic(options);
}

function nativeOptions(options: ConnectQuicOptions, serverName: string): DenoConnectOptions {
  const hashes = options.certificateHashes?.map((value) => {
    return { algorithm: "sha-256" as const, value };
  });
  return {
    hostname: options.hostname,
    port: options.port,
    serverName,
    alpnProtocols: options.alpn,
    endpoint: clientEndpoint(),
    ...nativeTransport(options),
    ...(hashes === undefined ? {} : { serverCertificateHashes: hashes }),
    ...(options.ca === undefined ? {} : { caCerts: [options.ca] }),
  };
}

async function withinTime(
  connecting: Promise<DenoQuicConnection>,
  options: ConnectQuicOptions,
): Promise<DenoQuicConnection> {
  const { connectTimeout: limit = 10_000, signal } = options;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limit);
  });
  const { promise: aborted, resolve: abort } = Promise.withResolvers<undefined>();
  const giveUp = () => abort(undefined);
  signal?.addEventListener("abort", giveUp);
  if (signal?.aborted) giveUp();
  try {
    const native = await Promise.race([connecting, late, aborted]);
    if (native !== undefined) return native;
  } catch (cause) {
    throw cause instanceof QuicError ? cause : connectError(cause, options);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
  // Deno cannot give an attempt up; one that comes through after all is closed.
  connecting.then(
    (native) => {
      native.closed.catch(() => {});
      native.close({ closeCode: 0, reason: "" });
    },
    () => {},
  );
  signal?.throwIfAborted();
  throw new QuicError("CONNECT_FAILED", `${target(options)} did not answer in ${limit} ms`);
}

function connectError(cause: unknown, options: ConnectQuicOptions): QuicError {
  const message = messageOf(cause);
  if (/invalid peer certificate/.test(message)) {
    return new QuicError("CERTIFICATE_REFUSED", `${target(options)}: ${message}`, { cause });
  }
  const alert = new RegExp(`handshake failed: error ${NO_APPLICATION_PROTOCOL}\\b`);
  const reason = alert.test(message) ? noCommonProtocol(cause) : cause;
  return new QuicError("CONNECT_FAILED", `${target(options)}: ${message}`, { cause: reason });
}

function target({ hostname, port }: ConnectQuicOptions): string {
  return `UDP port ${port} of ${hostname}`;
}
