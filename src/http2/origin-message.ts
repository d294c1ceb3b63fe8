/**
 * Requests and responses of node:http and node:http2 as those of fetch.
 *
 * @module
 */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { CLIENT_GROUP } from "../client-group/mod.ts";

/** What a request asks for. */
export interface RequestTarget {
  readonly scheme: "https" | "http";
  readonly method: string;
  readonly authority: string | undefined;
  readonly path: string;
}

/** The request cannot be one of fetch; `status` is what its client gets. */
export class UnusableRequest extends Error {
  readonly status: 400 | 501;

  constructor(status: 400 | 501) {
    super("the request cannot be handed to fetch");
    this.status = status;
  }
}

/** Methods that `Request` refuses (fetch §2.2.1). */
const impossibleMethods: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/**
 * The `Request` of a request.
 *
 * @param body none where it has no content; GET and HEAD have none in fetch
 * @throws {UnusableRequest} 501 for methods that fetch has not, 400 for a URL or field that it refuses
 */
export function requestFrom(
  { scheme, method, authority, path }: RequestTarget,
  fields: IncomingHttpHeaders,
  body: ReadableStream<Uint8Array<ArrayBuffer>> | undefined,
  signal: AbortSignal,
): Request {
  if (impossibleMethods.has(method)) throw new UnusableRequest(501);
  // `path` begins at the root, or is the asterisk of OPTIONS; anything else could move the authority.
  if (authority === undefined || !(path.startsWith("/") || path === "*")) {
    throw new UnusableRequest(400);
  }
  try {
    const url = new URL(`${scheme}://${authority}${path === "*" ? "/*" : path}`);
    if (url.username !== "" || url.password !== "") throw new UnusableRequest(400);
    return new Request(url, {
      method,
      headers: headersFrom(fields),
      signal,
      ...(body !== undefined && method !== "GET" && method !== "HEAD" && { body, duplex: "half" }),
    } as RequestInit);
  } catch {
    throw new UnusableRequest(400);
  }
}

function headersFrom(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || name.startsWith(":")) continue;
    if (typeof value === "string") headers.append(name, value);
    else for (const line of value) headers.append(name, line);
  }
  return headers;
}

/** Fields of a connection, which a response of HTTP/2 must not have (RFC 9113 §8.2.2). */
const ofTheConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * The fields of a response, without Client-Group, which is never in one (CG-FIELD-17), and without
 * those of a connection, which are the runtime's matter.
 */
export function fieldsOf(headers: Headers): OutgoingHttpHeaders {
  const fields: OutgoingHttpHeaders = {};
  for (const [name, value] of headers) {
    if (name === CLIENT_GROUP || ofTheConnection.has(name)) continue;
    if (name !== "set-cookie") fields[name] = value;
  }
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) fields["set-cookie"] = cookies;
  return fields;
}

/** Statuses whose responses have no content (RFC 9110 §6.4.1). */
const withoutContent: ReadonlySet<number> = new Set([204, 205, 304]);

/** Whether content of `response` goes out. */
export function hasContent(method: string, response: Response): boolean {
  return response.body !== null && method !== "HEAD" && !withoutContent.has(response.status);
}
