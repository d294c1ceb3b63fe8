/**
 * The settings of a MoQ-LB instance, read from environment-style strings so that Deno, Bun and
 * Workers share one list of names. Every wrong or missing value is named in one error.
 *
 * @module
 */

import { ConfigurationError } from "../moq-lb/mod.ts";
import { normaliseUri } from "../snapshot/mod.ts";

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
}

/** Where an instance listens; Workers have no use for it. */
export interface ListenSettings {
  readonly hostname: string;
  readonly port: number;
}

type Environment = Readonly<Record<string, unknown>>;

/** Reads values by name and keeps every problem instead of stopping at the first. */
class SettingsReader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    const value = this.#environment[name];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
  }

  required(name: string, what: string): string {
    const value = this.text(name);
    if (value === undefined) this.problems.push(`${name} is missing: ${what}`);
    return value ?? "";
  }

  /** A decimal number in [least, most]; `fallback` where the name is not set. */
  number(name: string, least: number, most: number, fallback?: number): number {
    const value = this.text(name);
    if (value === undefined && fallback !== undefined) return fallback;
    const number = value !== undefined && /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= least && number <= most)) {
      this.problems.push(`${name} has to be a number from ${least} to ${most}`);
      return least;
    }
    return number;
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback?: T): T | undefined {
    const value = this.text(name) ?? fallback;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.problems.push(`${name} has to be one of ${choices.join(", ")}`);
    return found;
  }

  /** Items separated by spaces or commas; `fits` tells those that are `what` from others. */
  list(name: string, what: string, fits: (item: string) => boolean): string[] {
    const items = (this.text(name) ?? "").split(/[\s,]+/).filter((item) => item !== "");
    if (!items.every(fits)) this.problems.push(`${name} has to be a list of ${what}`);
    return items;
  }

  /** @throws {ConfigurationError} anything was missing or wrong; one line, every problem */
  finish(): void {
    if (this.problems.length > 0) throw new ConfigurationError(this.problems.join("; "));
  }
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
    serviceUris: reader.list(
      "YARDMASTER_SERVICE_URIS",
      "absolute https or moqt URIs",
      (uri) => normaliseUri(uri) !== undefined,
    ),
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
  };
  if (perSecond === 0 && reader.text("YARDMASTER_RATE_BURST") !== undefined) {
    reader.problems.push("YARDMASTER_RATE_BURST needs YARDMASTER_RATE_LIMIT");
  }
  reader.finish();
  return settings;
}

function isOrigin(text: string): boolean {
  return text === "*" || (URL.canParse(text) && new URL(text).origin === text);
}

/**
 * Reads `HOST` and `PORT`; 127.0.0.1:8787 where they are not set.
 *
 * @throws {ConfigurationError} `PORT` is not a whole number from 0 to 65535
 */
export function readListenSettings(environment: Environment): ListenSettings {
  const reader = new SettingsReader(environment);
  const port = reader.number("PORT", 0, 65_535, 8787);
  if (!Number.isInteger(port)) reader.problems.push("PORT has to be a whole number");
  reader.finish();
  return { hostname: reader.text("HOST") ?? "127.0.0.1", port };
}
