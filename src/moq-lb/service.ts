/**
 * Whether what a client addressed is this service: path and authority of a SETUP, a CONNECT or a
 * WebSocket request.
 *
 * @module
 */

import { normaliseUri } from "../snapshot/mod.ts";
import { ConfigurationError } from "./configuration-error.ts";

export interface ServiceOptions {
  /** The path that sessions are served at, such as `/moqt`. */
  readonly path: string;
  /** The URIs that the service is reached at. Where there are none, every authority will do. */
  readonly serviceUris: readonly string[];
}

/** What a client addressed; absent parts were not said, and mean whatever is served here. */
export interface Address {
  /** May have a query, which tells no services apart here. */
  readonly path?: string | undefined;
  readonly authority?: string | undefined;
}

/** The session error for an address of somebody else. */
export type AddressFault = "INVALID_PATH" | "INVALID_AUTHORITY";

/** The addresses of this service. */
export class Service {
  readonly #paths = new Set<string>();
  readonly #authorities = new Set<string>();

  /** @throws {ConfigurationError} the path is none, or a service URI cannot be one */
  constructor({ path, serviceUris }: ServiceOptions) {
    const normal = pathOf(path);
    if (normal === undefined || path.includes("?")) {
      throw new ConfigurationError("the path of sessions has to be the path of a URI");
    }
    this.#paths.add(normal);
    for (const uri of serviceUris) {
      const known = parse(uri);
      if (known === undefined) {
        throw new ConfigurationError("serviceUris has to hold absolute https or moqt URIs");
      }
      this.#paths.add(known.pathname);
      this.#authorities.add(known.host);
    }
  }

  /** What is wrong with an address, if anything is (SU-05). */
  faultOf({ path, authority }: Address): AddressFault | undefined {
    if (authority !== undefined && this.#authorities.size > 0) {
      const host = hostOf(authority);
      if (host === undefined || !this.#authorities.has(host)) return "INVALID_AUTHORITY";
    }
    if (path === undefined) return undefined;
    const normal = pathOf(path);
    return normal !== undefined && this.#paths.has(normal) ? undefined : "INVALID_PATH";
  }
}

/** A path without its query, in its normal form. */
function pathOf(path: string): string | undefined {
  return path === "" || /^[/?]/.test(path)
    ? parse(`moqt://any.example${path}`)?.pathname
    : undefined;
}

function hostOf(authority: string): string | undefined {
  return /[/?]/.test(authority) ? undefined : parse(`moqt://${authority}`)?.host;
}

function parse(uri: string): URL | undefined {
  const normal = normaliseUri(uri);
  // Both schemes have one default port, and the URL class knows the parts of https alone.
  return normal === undefined ? undefined : new URL(normal.replace(/^moqt:/, "https:"));
}

/** Addresses that are told apart as wholes: URIs, or paths that count at every authority. */
export class ExactAddresses {
  readonly #known: { readonly authority: string | undefined; readonly path: string }[] = [];

  /** @throws {ConfigurationError} one of them is neither */
  constructor(option: string, addresses: readonly string[]) {
    for (const address of addresses) {
      const path = address.startsWith("/") && !address.includes("?") ? pathOf(address) : undefined;
      const uri = path === undefined ? parse(address) : undefined;
      if (path !== undefined) this.#known.push({ authority: undefined, path });
      else if (uri !== undefined) this.#known.push({ authority: uri.host, path: uri.pathname });
      else {
        const what = "absolute https or moqt URIs, or paths such as /proxy";
        throw new ConfigurationError(`${option} has to hold ${what}`);
      }
    }
  }

  /** What is known with this path; a path that was not said is that of a URI without one. */
  has({ path = "", authority }: Address): "this" | "other-authority" | "perhaps" | undefined {
    const normal = pathOf(path);
    const known = this.#known.filter((address) => address.path === normal);
    if (known.length === 0) return undefined;
    const host = authority === undefined ? undefined : hostOf(authority);
    if (known.some((address) => address.authority === undefined || address.authority === host)) {
      return "this";
    }
    return authority === undefined ? "perhaps" : "other-authority";
  }
}
