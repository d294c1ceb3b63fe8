/**
 * Connect URIs and service URIs: what a usable one is, and when two are the same.
 *
 * @module
 */

/**
 * An absolute URI with authority after RFC 3986, split as its appendix B does, but with the
 * characters of each part spelled out. Userinfo and fragment are left out on purpose.
 */
const URI =
  /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|(?:[a-z0-9._~!$&'()*+,;=-]|%[0-9a-f]{2})*)(?::([0-9]*))?((?:\/(?:[a-z0-9._~!$&'()*+,;=:@-]|%[0-9a-f]{2})*)*)(?:\?((?:[a-z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*))?$/i;

/** A URI taken apart and normalised, so that equal parts mean the same service. */
interface ServiceUri {
  readonly scheme: "https" | "moqt";
  /** Host in lower case with its port unless that is 443. */
  readonly authority: string;
  /** Never empty: starts with a slash. */
  readonly path: string;
  /** Starts with a question mark, or is empty. */
  readonly query: string;
}

/**
 * What keeps `uri` from being a Connect URI, or `undefined` where nothing does: it has to be an
 * absolute `https` or `moqt` URI with a host and without userinfo and fragment (LB-S103).
 *
 * @returns the end of a sentence that starts with "the URI"; never any part of `uri`
 */
export function uriFault(uri: string): string | undefined {
  const parsed = parseServiceUri(uri);
  return typeof parsed === "string" ? parsed : undefined;
}

/**
 * What is wrong with a list of service URIs that somebody without types may have written, or
 * `undefined` where nothing is: one that is no URI would never be recognised (LB-REDIR-18).
 *
 * @param name how the list is called
 */
export function serviceUrisFault(name: string, uris: unknown): string | undefined {
  if (!Array.isArray(uris)) return `${name} has to be an array`;
  for (const [i, uri] of uris.entries()) {
    const fault = typeof uri === "string" ? uriFault(uri) : "has to be a string";
    if (fault !== undefined) return `${name}[${i}] ${fault}`;
  }
  return undefined;
}

/**
 * The normal form of a service or Connect URI: scheme and host in lower case, default port and
 * empty query left out, empty path as `/`, no dot segments, percent-encoding only where needed
 * and with upper-case digits (RFC 3986 §6.2).
 *
 * @returns `undefined` where `uri` is not a usable Connect URI
 */
export function normaliseUri(uri: string): string | undefined {
  const parsed = parseServiceUri(uri);
  if (typeof parsed === "string") return undefined;
  return `${parsed.scheme}://${parsed.authority}${parsed.path}${parsed.query}`;
}

/**
 * What {@link normaliseUri} leaves equal for two URIs of one service; `https` and `moqt` count as
 * the same (LB-S104). Good as the key of a set.
 *
 * @returns `undefined` where `uri` is not a usable Connect URI
 */
export function serviceKey(uri: string): string | undefined {
  const parsed = parseServiceUri(uri);
  if (typeof parsed === "string") return undefined;
  return `//${parsed.authority}${parsed.path}${parsed.query}`;
}

/** Whether two URIs lead to one service (LB-S104, LB-REDIR-18); a URI that is none equals none. */
export function sameServiceUri(a: string, b: string): boolean {
  const key = serviceKey(a);
  return key !== undefined && key === serviceKey(b);
}

function parseServiceUri(uri: string): ServiceUri | string {
  const match = URI.exec(uri);
  if (match === null) return syntaxFault(uri);
  const [, rawScheme = "", host = "", port, path = "", query = ""] = match;
  const scheme = rawScheme.toLowerCase();
  if (scheme !== "https" && scheme !== "moqt") return "has to have the scheme https or moqt";
  if (host === "") return "has no host";
  if (port !== undefined && port !== "" && !(Number(port) >= 1 && Number(port) <= 65535)) {
    return "has a port that is not in 1..65535";
  }
  // The URL class knows hosts (IPv4, IPv6, case) and dot segments, yet only for schemes it lists:
  // a moqt URI is read as https, which has the same default port, alike on every runtime.
  const suffix = query === "" ? "" : `?${query}`;
  const portSuffix = port === undefined || port === "" ? "" : `:${port}`;
  const text = `https://${host}${portSuffix}${plainPercents(path)}${plainPercents(suffix)}`;
  if (!URL.canParse(text)) return "has a host that is neither a name nor an IP address";
  const url = new URL(text);
  // A name with its root dot is the same name to every resolver.
  const hostname = url.hostname.replace(/\.$/, "");
  if (hostname === "") return "has no host";
  const authority = url.port === "" ? hostname : `${hostname}:${url.port}`;
  return { scheme, authority, path: url.pathname, query: url.search };
}

/** Tells what {@link URI} does not: which rule a text breaks that is no URI of ours. */
function syntaxFault(uri: string): string {
  if (uri === "") return "is empty";
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(uri)) return "is not absolute: scheme://host is missing";
  if (uri.includes("#")) return "must not have a fragment";
  if (/^[^/]*\/\/[^/?]*@/.test(uri)) return "must not carry user information";
  return "has characters or a port that RFC 3986 does not allow there";
}

/** Percent-encoding with upper-case digits, and none of characters that never need it. */
function plainPercents(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : encoded.toUpperCase();
  });
}
