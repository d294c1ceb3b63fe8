/**
 * Connecting with quiche.
 *
 * @module
 */

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { rootCertificates } from "node:tls";
import type { QuicClose, QuicConnection } from "../connection.ts";
import { NO_APPLICATION_PROTOCOL, noCommonProtocol, QuicClosed, QuicError } from "../errors.ts";
import { type ConnectQuicOptions, checkAlpn, transportSettings } from "../options.ts";
import type { QuicheConnection } from "./connection.ts";
import { QuicheEndpoint } from "./endpoint.ts";
import type { ConnectSettings } from "./messages.ts";
import { checkServerCertificate } from "./verify.ts";

/** Milliseconds that a socket and its engine outlive their last connection. */
const LINGER = 1_000;
/** A TLS alert is a transport error of this plus the alert (RFC 9001 §4.8). */
const CRYPTO_ERROR = 0x100n;
/** TLS alerts about certificates: bad_certificate to unknown_ca (RFC 8446 §6.2). */
const FIRST_CERTIFICATE_ALERT = 42n;
const LAST_CERTIFICATE_ALERT = 48n;
const CONNECTION_REFUSED = 2n;

/** Connects with quiche. @throws QuicError as `connectQuic` does */
export async function connectQuiche(options: ConnectQuicOptions): Promise<QuicConnection> {
  checkAlpn(options.alpn);
  const serverName = options.serverName ?? options.hostname;
  const { address, family } = await resolve(options.hostname);
  const settings: ConnectSettings = {
    remote: { host: address, port: options.port },
    serverName: isIP(serverName) === 0 ? serverName : undefined,
    alpn: [...options.alpn],
    ca: options.certificateHashes === undefined ? authorities(options) : undefined,
    transport: transportSettings(options),
  };
  const shared = sharedEndpoint(family, options);
  shared.users++;
  try {
    const endpoint = await shared.endpoint;
    const connection = await attempt(endpoint, settings, options);
    verify(connection, serverName, options);
    return connection;
  } finally {
    shared.users--;
    shared.checkIdle();
  }
}

function authorities(options: ConnectQuicOptions): string {
  return options.ca ?? rootCertificates.join("\n");
}

async function resolve(hostname: string): Promise<{ address: string; family: number }> {
  const family = isIP(hostname);
  if (family !== 0) return { address: hostname, family };
  try {
    return await lookup(hostname);
  } catch (cause) {
    throw new QuicError("CONNECT_FAILED", `${hostname}: no such name`, { cause });
  }
}

// One socket and engine for all client connections of an address family

interface SharedEndpoint {
  readonly endpoint: Promise<QuicheEndpoint>;
  /** Attempts that hold on to it. */
  users: number;
  checkIdle(): void;
}

const sharedEndpoints = new Map<number, SharedEndpoint>();

function sharedEndpoint(family: number, options: ConnectQuicOptions): SharedEndpoint {
  const existing = sharedEndpoints.get(family);
  if (existing !== undefined) return existing;
  const shared = new LingeringEndpoint(family, options);
  sharedEndpoints.set(family, shared);
  return shared;
}

class LingeringEndpoint implements SharedEndpoint {
  readonly endpoint: Promise<QuicheEndpoint>;
  users = 0;
  readonly #family: number;
  #opened: QuicheEndpoint | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;

  /** The watchdog and the event hook are those of the options that it is opened with. */
  constructor(family: number, options: ConnectQuicOptions) {
    this.#family = family;
    this.endpoint = QuicheEndpoint.open({
      local: { host: family === 6 ? "::" : "0.0.0.0", port: 0 },
      settings: (local) => ({ role: "client", local }),
      watchdogTimeout: transportSettings(options).watchdogTimeout,
      onEvent: options.onEvent,
      onIdle: () => this.checkIdle(),
    });
    this.endpoint.then(
      (endpoint) => {
        this.#opened = endpoint;
      },
      () => this.#forget(),
    );
  }

  /** Lets the process end while nothing is connected, and closes after a while of that. */
  checkIdle(): void {
    const endpoint = this.#opened;
    if (endpoint === undefined) return;
    const isIdle = this.users === 0 && endpoint.isIdle;
    endpoint.keepAlive(!isIdle);
    clearTimeout(this.#linger);
    if (!isIdle) return;
    this.#linger = setTimeout(() => {
      if (this.users > 0 || !endpoint.isIdle) return;
      this.#forget();
      endpoint.close();
    }, LINGER);
    (this.#linger as { unref?: () => void }).unref?.();
  }

  #forget(): void {
    if (sharedEndpoints.get(this.#family) === this) sharedEndpoints.delete(this.#family);
  }
}

// One attempt

async function attempt(
  endpoint: QuicheEndpoint,
  settings: ConnectSettings,
  options: ConnectQuicOptions,
): Promise<QuicheConnection> {
  const { connectTimeout: limit = 10_000, signal } = options;
  signal?.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const settled = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
    const giveUp = endpoint.connect(settings, {
      connected: (connection) => {
        settled();
        resolve(connection);
      },
      failed: (close) => {
        settled();
        reject(connectError(close, options));
      },
    });
    const giveUpFor = (reason: unknown) => {
      settled();
      giveUp();
      reject(reason);
    };
    const abort = () => giveUpFor(signal?.reason);
    signal?.addEventListener("abort", abort);
    const timer = setTimeout(() => {
      const message = `${target(options)} did not answer in ${limit} ms`;
      giveUpFor(new QuicError("CONNECT_FAILED", message));
    }, limit);
  });
}

function verify(
  connection: QuicheConnection,
  serverName: string,
  options: ConnectQuicOptions,
): void {
  try {
    checkServerCertificate(connection.peerCertificates, serverName, options.certificateHashes);
  } catch (error) {
    connection.close(CRYPTO_ERROR + FIRST_CERTIFICATE_ALERT, "", false);
    throw error;
  }
}

function connectError(close: QuicClose, options: ConnectQuicOptions): QuicError {
  const alert = close.code - CRYPTO_ERROR;
  const isOurs = close.by === "local" && !close.app;
  if (isOurs && alert >= FIRST_CERTIFICATE_ALERT && alert <= LAST_CERTIFICATE_ALERT) {
    const message = `${target(options)}: the certificate is not trusted (TLS alert ${alert})`;
    return new QuicError("CERTIFICATE_REFUSED", message);
  }
  const cause = alert === NO_APPLICATION_PROTOCOL ? noCommonProtocol() : new QuicClosed(close);
  return new QuicError("CONNECT_FAILED", `${target(options)}: ${describe(close, alert)}`, {
    cause,
  });
}

function describe(close: QuicClose, alert: bigint): string {
  if (close.by === "idle") return "no answer";
  if (alert >= 0n && alert <= 0xffn) return `the handshake failed (TLS alert ${alert})`;
  if (close.code === CONNECTION_REFUSED) return "the server refuses more connections";
  return `closed ${close.by}ly with code ${close.code}`;
}

function target({ hostname, port }: ConnectQuicOptions): string {
  return `UDP port ${port} of ${hostname}`;
}
