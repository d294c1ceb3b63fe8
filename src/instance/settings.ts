/**
 * The settings of a MoQ-LB instance, read from environment-style strings so that Deno, Bun and
 * Workers share one list of names. Every wrong or missing value is named in one error.
 *
 * @module
 */

import { normaliseUri } from "../snapshot/mod.ts";
import { type ProxySettings, readProxySettings } from "./proxy-settings.ts";
import { type ReportSettings, readReportSettings } from "./report-settings.ts";
import { readSessionSettings, type SessionSettings } from "./session-settings.ts";
import { type Environment, isOrigin, SettingsReader } from "./settings-reader.ts";

/** How requests are authorized; there is no default (design decision: fail closed). */
export type AuthorizationSettings =
  | { readonly policy: "allow-all" }
  | {
      readonly policy: "jwt";
      /** JWK Set as JSON text, or the https URL to fetch it from. */
      readonly keys: string;
      readonly issuer: string;
      readonly audience: string;
    };

/** What an instance needs to know before it starts. Durations are in milliseconds. */
export interface InstanceSettings {
  /** LB-CONF-26: past this configuration age no request is placed. */
  readonly maximumAge: number;
  /** Public keys whose snapshots are accepted: a JWK Set as JSON text. */
  readonly trustedKeys: string;
  readonly authorization: AuthorizationSettings;
  /** The URIs this fleet is reached at; never sent as a Connect URI (LB-REDIR-18). */
  readonly serviceUris: readonly string[];
  readonly refreshInterval: number;
  readonly instanceId: string;
  /** Requests each client may make per second, and at once; no limit where absent. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst: number };
  /** Origins of web pages that may call the plug-in. */
  readonly corsOrigins: readonly string[];
  /** One JSON line per decision on standard output. */
  readonly logDecisions: boolean;
  /** Whether those lines carry the (escaped, truncated) name of the request (LB-SEC-34). */
  readonly logNames: boolean;
  readonly sessions: SessionSettings;
  /** Proxy mode, and where it is served; absent: nowhere. */
  readonly proxy?: ProxySettings;
  /** How the instance reports to the agent; absent: it does not. */
  readonly reports?: ReportSettings;
}

/** Where an instance listens; Workers have no use for it. */
export interface ListenSettings {
  readonly hostname: string;
  readonly port: number;
  /** Port of `GET /metrics`, on the same address; absent: there is none. */
  readonly metricsPort?: number;
}

const DAY = 86_400;

/**
 * Reads the settings of an instance.
 *
 * @param environment names and values, such as `Deno.env.toObject()` or the `env` of a Worker
 * @param randomId used where `YARDMASTER_INSTANCE_ID` is not set
 * @throws {ConfigurationError} naming every variable that is missing or wrong
 */
export function readInstanceSettings(environment: Environment, randomId: string): InstanceSettings {
  const reader = new SettingsReader(environment);
  const policy = reader.choice("YARDMASTER_AUTHORIZATION", ["allow-all", "jwt"]);
  const perSecond = reader.number("YARDMASTER_RATE_LIMIT", 0, 1_000_000, 0);
  const burst = reader.number("YARDMASTER_RATE_BURST", 1, 1_000_000, Math.max(1, 2 * perSecond));
  const reports = readReportSettings(reader);
  const sessions = readSessionSettings(reader);
  const serviceUris = reader.list(
    "YARDMASTER_SERVICE_URIS",
    "absolute https or moqt URIs",
    (uri) => normaliseUri(uri) !== undefined,
  );
  const proxy = readProxySettings(reader, { path: sessions.path, uris: serviceUris });
  const settings: InstanceSettings = {
    maximumAge: 1000 * reader.number("YARDMASTER_MAXIMUM_AGE", 1, 365 * DAY),
    trustedKeys: reader.required("YARDMASTER_TRUSTED_KEYS", "a JWK Set of Ed25519 public keys"),
    authorization:
      policy === "jwt"
        ? {
            policy,
            keys: reader.required("YARDMASTER_JWT_KEYS", "a JWK Set, or the https URL of one"),
            issuer: reader.required("YARDMASTER_JWT_ISSUER", "the issuer that tokens must name"),
            audience: reader.required("YARDMASTER_JWT_AUDIENCE", "the audience of this service"),
          }
        : { policy: "allow-all" },
    serviceUris,
    refreshInterval: 1000 * reader.number("YARDMASTER_REFRESH_INTERVAL", 0.1, DAY, 10),
    instanceId: reader.text("YARDMASTER_INSTANCE_ID") ?? randomId,
    corsOrigins: reader.list(
      "YARDMASTER_CORS_ORIGINS",
      "origins, such as https://a.example",
      isOrigin,
    ),
    logDecisions: reader.choice("YARDMASTER_LOG", ["json", "off"], "off") === "json",
    logNames: reader.choice("YARDMASTER_LOG_NAMES", ["on", "off"], "off") === "on",
    ...(perSecond > 0 ? { rateLimit: { perSecond, burst } } : {}),
    sessions,
    ...(proxy && { proxy }),
    ...(reports && { reports }),
  };
  if (perSecond === 0 && reader.text("YARDMASTER_RATE_BURST") !== undefined) {
    reader.problems.push("YARDMASTER_RATE_BURST needs YARDMASTER_RATE_LIMIT");
  }
  reader.finish();
  return settings;
}

/**
 * Reads `HOST` and `PORT`, 127.0.0.1:8787 where they are not set, and `YARDMASTER_METRICS_PORT`.
 *
 * @throws {ConfigurationError} a port is not a whole number from 0 to 65535
 */
export function readListenSettings(environment: Environment): ListenSettings {
  const reader = new SettingsReader(environment);
  const port = reader.integer("PORT", 0, 65_535, 8787);
  const metricsPort = reader.optionalInteger("YARDMASTER_METRICS_PORT", 0, 65_535);
  reader.finish();
  const hostname = reader.text("HOST") ?? "127.0.0.1";
  return { hostname, port, ...(metricsPort !== undefined && { metricsPort }) };
}
