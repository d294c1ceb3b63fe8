/**
 * The origin key: what two requests have to have in common to go on one connection.
 *
 * @module
 */

import type { HttpVersion } from "./error-codes.ts";
import { ClientGroupError } from "./errors.ts";

/** What goes into the key of a request. Names and identities are compared as they are given. */
export interface OriginAttributes {
  readonly scheme: string;
  /** Of the origin; case does not count. */
  readonly host: string;
  /** 1..65535, always said: 443 where the URI leaves it out. */
  readonly port: number;
  /** TLS server name; none where none is sent. Case does not count. */
  readonly serverName?: string | undefined;
  /** Names the trust anchors and pins that the origin's certificate is held against. */
  readonly validationPolicy: string;
  /** Identifies the client certificate towards the origin, such as its digest; none for none. */
  readonly clientCertificate?: string | undefined;
  readonly protocol: HttpVersion;
  /** Extensions that the request needs, such as `extended-connect`; order and repeats do not count. */
  readonly extensions?: readonly string[] | undefined;
  /** Whose request it is, where tenants do not trust each other (CG-KEY-8); none for none. */
  readonly tenant?: string | undefined;
  /** Anything else that separates requests, by name: region, inspection policy (CG-KEY-7). */
  readonly others?: Readonly<Record<string, string>> | undefined;
}

declare const brand: unique symbol;

/** Equal as a string exactly where all attributes are. Only {@link originKey} makes it. */
export type OriginKey = string & { readonly [brand]: "OriginKey" };

/** Equal as a string exactly where a BLOCK or LIMIT reaches. Only {@link restrictionScope} makes it. */
export type RestrictionScope = string & { readonly [brand]: "RestrictionScope" };

/**
 * Where BLOCK and LIMIT hold: `origin` for the same scheme, host, port, client certificate and tenant
 * whatever the rest of the key, so that a client cannot step around it by another protocol (CG-S28,
 * CG-A11); `origin-key` for the equal key alone, which is the draft to the letter (CG-ACT-6).
 */
export type BlockScope = "origin" | "origin-key";

/**
 * The key of a request (CG-KEY-1 to CG-KEY-7). Host names do not widen it: there is no coalescing
 * (CG-S59).
 *
 * Attributes are quoted one by one, so that nothing in the text of one, whoever chose it, can make it
 * look like another.
 *
 * @throws {ClientGroupError} INVALID_CONFIGURATION for an empty scheme or host, or a port that is none
 */
export function originKey(attributes: OriginAttributes): OriginKey {
  const { serverName, validationPolicy, protocol, extensions = [], others = {} } = attributes;
  return quoted([
    ...originParts(attributes),
    named(serverName?.toLowerCase()),
    validationPolicy,
    protocol,
    [...new Set(extensions)].sort(),
    Object.entries(others).sort(([a], [b]) => (a < b ? -1 : 1)),
  ]) as OriginKey;
}

/**
 * Where a BLOCK or LIMIT holds that came on a connection with these attributes, and which of them
 * hold for a request with these.
 *
 * @throws {ClientGroupError} as {@link originKey}
 */
export function restrictionScope(
  attributes: OriginAttributes,
  scope: BlockScope = "origin",
): RestrictionScope {
  const key = scope === "origin" ? quoted(originParts(attributes)) : originKey(attributes);
  return `${scope} ${key}` as RestrictionScope;
}

type Part = string | number | null | readonly Part[];

function originParts(attributes: OriginAttributes): readonly Part[] {
  const { scheme, host, port, clientCertificate, tenant } = attributes;
  if (scheme === "" || host === "") {
    throw new ClientGroupError("INVALID_CONFIGURATION", "an origin has a scheme and a host");
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new ClientGroupError("INVALID_CONFIGURATION", "a port is an integer in 1..65535");
  }
  return [scheme.toLowerCase(), host.toLowerCase(), port, named(clientCertificate), named(tenant)];
}

/** Keeps none apart from the empty text. */
function named(value: string | undefined): string | null {
  return value ?? null;
}

/** JSON has one text for each value of these types, and lone surrogates stay apart in it. */
function quoted(parts: readonly Part[]): string {
  return JSON.stringify(parts);
}
