/**
 * Settings of proxy mode: where it is served, what relays are shown, how long what is displaced may
 * stay, what it may cost.
 *
 * @module
 */

import { defaultProxyLimits, type ProxyLimits } from "../moq-lb/mod.ts";
import { normaliseUri } from "../snapshot/mod.ts";
import type { SettingsReader } from "./settings-reader.ts";

export interface ProxySettings {
  /** Absolute URIs, or paths, which count at every authority. */
  readonly uris: readonly string[];
  readonly backendTokens: BackendTokenSettings;
  /** Milliseconds until what is displaced has left its relay (LB-DISPL-3). */
  readonly drainDeadline: number;
  /** PEM of the authorities that relays are trusted by; the runtime's own where absent. */
  readonly relayCa?: string;
  /** SHA-256 of the certificates of relays, where nothing else of those is to be checked. */
  readonly relayCertificateHashes?: readonly Uint8Array[];
  readonly limits: ProxyLimits;
}

/** How relays learn who asks; there is no default (LB-SEC-14). */
export type BackendTokenSettings =
  | { readonly policy: "forward" | "none" }
  | {
      readonly policy: "identity";
      /** The private key that tokens are signed with: a JWK as JSON text. */
      readonly key: string;
      readonly issuer: string;
      /** Seconds that a token is good for. */
      readonly lifetime: number;
    };

const DAY = 86_400;

/** Where redirect mode is served. */
export interface RedirectAddresses {
  /** Counts at every authority. */
  readonly path: string;
  readonly uris: readonly string[];
}

/** @returns `undefined` where no URI is served in proxy mode; problems stay with `reader` */
export function readProxySettings(
  reader: SettingsReader,
  redirect: RedirectAddresses,
): ProxySettings | undefined {
  const uris = reader.list(
    "YARDMASTER_PROXY_URIS",
    "absolute https or moqt URIs, or paths such as /proxy",
    isAddress,
  );
  if (uris.length === 0) return undefined;
  const taken = uris.filter((uri) => isServedBy(redirect, uri));
  if (taken.length > 0) {
    reader.problems.push(
      `YARDMASTER_PROXY_URIS: ${taken.join(", ")} is where redirect mode is served ` +
        "(YARDMASTER_MOQT_PATH, YARDMASTER_SERVICE_URIS): an address has one mode",
    );
  }
  const seconds = (name: string, most: number, fallback: number) =>
    Math.ceil(1000 * reader.number(name, 0.1, most, fallback / 1000));
  const count = (name: string, most: number, fallback: number) =>
    reader.integer(name, 1, most, fallback);
  const limits = defaultProxyLimits;
  const relayCa = reader.text("YARDMASTER_RELAY_CA");
  if (relayCa !== undefined && !relayCa.includes("-----BEGIN CERTIFICATE-----")) {
    reader.problems.push("YARDMASTER_RELAY_CA has to be certificates in PEM, or a file of them");
  }
  const hashes = reader.list(
    "YARDMASTER_RELAY_CERTIFICATE_HASHES",
    "SHA-256 hashes of certificates in Base64",
    (item) => fromBase64(item)?.length === 32,
  );
  return {
    uris,
    backendTokens: readBackendTokens(reader),
    drainDeadline: seconds("YARDMASTER_DRAIN_DEADLINE", DAY, 30_000),
    ...(relayCa !== undefined && { relayCa }),
    ...(hashes.length > 0 && {
      relayCertificateHashes: hashes.flatMap((item) => fromBase64(item) ?? []),
    }),
    limits: {
      ...limits,
      maximumBackends: count("YARDMASTER_RELAY_SESSIONS", 1_000_000, limits.maximumBackends),
      maximumBackendsPerSession: count(
        "YARDMASTER_RELAYS_PER_SESSION",
        10_000,
        limits.maximumBackendsPerSession,
      ),
      maximumMappings: count("YARDMASTER_PROXY_REQUESTS", 100_000, limits.maximumMappings),
      maximumAffinities: count("YARDMASTER_AFFINITIES", 1_000_000, limits.maximumAffinities),
      connectTimeout: seconds("YARDMASTER_RELAY_CONNECT_TIMEOUT", 600, limits.connectTimeout),
      backendIdleTimeout: seconds("YARDMASTER_RELAY_IDLE_TIMEOUT", DAY, limits.backendIdleTimeout),
    },
  };
}

function readBackendTokens(reader: SettingsReader): BackendTokenSettings {
  const name = "YARDMASTER_BACKEND_TOKENS";
  const policies = ["forward", "identity", "none"] as const;
  if (reader.text(name) === undefined) {
    reader.problems.push(
      `${name} is missing: how relays learn who asks has to be said, ${policies.join(", ")}`,
    );
    return { policy: "none" };
  }
  const policy = reader.choice(name, policies) ?? "none";
  if (policy !== "identity") return { policy };
  return {
    policy,
    key: reader.required("YARDMASTER_IDENTITY_KEY", "a JWK of an Ed25519 private key"),
    issuer: reader.required("YARDMASTER_IDENTITY_ISSUER", "the issuer that relays know"),
    lifetime: reader.integer("YARDMASTER_IDENTITY_LIFETIME", 1, DAY, 60),
  };
}

function isAddress(text: string): boolean {
  return text.startsWith("/")
    ? /^(\/[A-Za-z0-9._~-]+)+$/.test(text)
    : normaliseUri(text) !== undefined;
}

function isServedBy({ path, uris }: RedirectAddresses, address: string): boolean {
  if (!address.startsWith("/")) {
    return uris.some((uri) => normaliseUri(uri) === normaliseUri(address));
  }
  return address === path || uris.some((uri) => URL.parse(uri)?.pathname === address);
}

/** Of a hash, with or without `=`, in either alphabet. */
function fromBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
