/**
 * Settings of live sessions: what they may cost, and on Deno and Bun, where they come in.
 *
 * @module
 */

import { defaultSessionLimits, type RedirectSessionLimits } from "../moq-lb/mod.ts";
import { type Environment, isOrigin, SettingsReader } from "./settings-reader.ts";

/** What sessions are held to, wherever they come in. Durations are in milliseconds. */
export interface SessionSettings {
  /** Where sessions are served, besides the paths of the service URIs. */
  readonly path: string;
  /** Origins of web pages that may open sessions; all where absent. */
  readonly origins?: readonly string[];
  readonly limits: RedirectSessionLimits;
  /** How long clients may take to leave when the instance ends. */
  readonly drainTimeout: number;
}

/** Where sessions come in, besides the WebSockets of the HTTP port. */
export interface SessionListenSettings {
  /** UDP: raw QUIC, and WebTransport over HTTP/3. No QUIC where absent; 0 for a free port. */
  readonly port?: number;
  /** TCP: WebTransport over HTTP/2. None where absent; 0 for a free port. */
  readonly tcpPort?: number;
  /** PEM files; a certificate for development where absent. */
  readonly certificate?: { readonly certificate: string; readonly key: string };
  /** Directory that a certificate for development is kept in; made anew each time where absent. */
  readonly developmentDirectory?: string;
  /** Default: Deno's own QUIC on Deno, quiche elsewhere. */
  readonly backend?: "deno" | "quiche";
}

const DAY = 86_400;

/** Reads what {@link SessionSettings} hold; problems stay with `reader`. */
export function readSessionSettings(reader: SettingsReader): SessionSettings {
  const limits = defaultSessionLimits;
  const seconds = (name: string, most: number, fallback: number) =>
    Math.ceil(1000 * reader.number(name, 0.1, most, fallback / 1000));
  const origins = reader.list(
    "YARDMASTER_MOQT_ORIGINS",
    "origins, such as https://a.example",
    isOrigin,
  );
  return {
    path: readPath(reader),
    ...(origins.length > 0 && !origins.includes("*") ? { origins } : {}),
    limits: {
      ...limits,
      maximumSessions: reader.integer(
        "YARDMASTER_MAXIMUM_SESSIONS",
        1,
        1_000_000,
        limits.maximumSessions,
      ),
      maximumSessionsPerClient: reader.integer(
        "YARDMASTER_SESSIONS_PER_CLIENT",
        1,
        1_000_000,
        limits.maximumSessionsPerClient,
      ),
      maximumRequests: reader.integer(
        "YARDMASTER_OPEN_REQUESTS",
        1,
        100_000,
        limits.maximumRequests,
      ),
      maximumMessageSize: reader.integer(
        "YARDMASTER_MESSAGE_SIZE",
        64,
        limits.maximumMessageSize,
        limits.maximumMessageSize,
      ),
      tokenCacheSize: reader.integer(
        "YARDMASTER_TOKEN_CACHE_SIZE",
        0,
        0x10_0000,
        limits.tokenCacheSize,
      ),
      idleTimeout: seconds("YARDMASTER_IDLE_TIMEOUT", DAY, limits.idleTimeout),
      setupTimeout: seconds("YARDMASTER_SETUP_TIMEOUT", 600, limits.setupTimeout),
      messageTimeout: seconds("YARDMASTER_MESSAGE_TIMEOUT", 600, limits.messageTimeout),
    },
    drainTimeout: seconds("YARDMASTER_DRAIN_TIMEOUT", 3600, 10_000),
  };
}

function readPath(reader: SettingsReader): string {
  const path = reader.text("YARDMASTER_MOQT_PATH") ?? "/moqt";
  if (!/^(\/[A-Za-z0-9._~-]+)+$/.test(path)) {
    reader.problems.push("YARDMASTER_MOQT_PATH has to be a path such as /moqt");
  }
  return path;
}

/**
 * Reads where sessions come in.
 *
 * @throws {ConfigurationError} a setting has no usable value
 */
export function readSessionListenSettings(environment: Environment): SessionListenSettings {
  const reader = new SettingsReader(environment);
  const port = reader.optionalInteger("YARDMASTER_MOQT_PORT", 0, 65_535);
  const tcpPort = reader.optionalInteger("YARDMASTER_MOQT_TCP_PORT", 0, 65_535);
  const certificate = reader.text("YARDMASTER_CERTIFICATE");
  const key = reader.text("YARDMASTER_KEY");
  if ((certificate === undefined) !== (key === undefined)) {
    reader.problems.push("YARDMASTER_CERTIFICATE and YARDMASTER_KEY have to be set together");
  }
  const backend =
    reader.text("YARDMASTER_QUIC_BACKEND") === undefined
      ? undefined
      : reader.choice("YARDMASTER_QUIC_BACKEND", ["deno", "quiche"]);
  const developmentDirectory = reader.text("YARDMASTER_DEVELOPMENT_CERTIFICATE");
  reader.finish();
  return {
    ...(port === undefined ? {} : { port }),
    ...(tcpPort === undefined ? {} : { tcpPort }),
    ...(certificate === undefined || key === undefined
      ? {}
      : { certificate: { certificate, key } }),
    ...(developmentDirectory === undefined ? {} : { developmentDirectory }),
    ...(backend === undefined ? {} : { backend }),
  };
}
