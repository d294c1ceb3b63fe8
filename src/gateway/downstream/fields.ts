/**
 * Fields between a client and an origin: what ends at this hop, what is added, and what stays as it
 * is. A section is taken from one message and goes into one other; nothing of another client's ever
 * comes into it (CG-REQ-1, CG-REQ-2).
 *
 * @module
 */

import { CLIENT_GROUP } from "../../client-group/mod.ts";

/** A field section as node:http2 takes and gives it; lines of one name are joined or a list. */
export interface Fields {
  [name: string]: string | readonly string[] | number | undefined;
}

/** The protocol that a message came by, as Via names it (RFC 9110 §7.6.3). */
export type Protocol = "1.0" | "1.1" | "2";

/** How this gateway is called in Via and Proxy-Status. */
export const PSEUDONYM = "yardmaster";

/** Connection-specific in HTTP/1.1 and without a place in HTTP/2 (RFC 9113 §8.2.2, CG-REQ-3). */
const connectionSpecific: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/**
 * What a request has for this hop and no further: meant for it (CG-REQ-4), framed anew, said by
 * `:authority`, or not the client's to say (CG-FIELD-15).
 */
const endsHereInRequest: ReadonlySet<string> = new Set([
  ...connectionSpecific,
  "proxy-authorization",
  "te",
  "host",
  CLIENT_GROUP,
]);

/** Proxy-Authenticate of an origin is for nobody: the client's proxy is this gateway. */
const endsHereInResponse: ReadonlySet<string> = new Set([
  ...connectionSpecific,
  "te",
  "proxy-authenticate",
  "proxy-authentication-info",
  CLIENT_GROUP,
]);

/** What trailers must not hold, for framing, routing and authentication (RFC 9110 §6.5.1). */
const neverInTrailers: ReadonlySet<string> = new Set([
  ...endsHereInRequest,
  ...endsHereInResponse,
  "authorization",
  "cache-control",
  "content-encoding",
  "content-length",
  "content-range",
  "content-type",
  "cookie",
  "expect",
  "max-forwards",
  "set-cookie",
  "trailer",
]);

/** They never get into a table that other clients' requests share (CG-SEC-1, G03, G04). */
const alwaysSensitive: readonly string[] = ["authorization", "cookie"];

/** What is said to the origin of where a request came from. */
export interface ForwardedFor {
  readonly form: "none" | "forwarded" | "x-forwarded" | "both";
  /** Address of the client, without its port; none where it is not known. */
  readonly address: string | undefined;
  readonly scheme: "https" | "http";
}

export interface RequestHead {
  readonly method: string;
  readonly scheme: "https" | "http";
  /** Host and port that the request names. */
  readonly authority: string;
  readonly path: string;
  readonly protocol: Protocol;
  /** As they came, names in lower case; pseudo-header fields do not count. */
  readonly fields: Fields;
  /** Names of fields that came as never-indexed literals. */
  readonly neverIndexed: readonly string[];
}

export interface OriginFields {
  readonly fields: Fields;
  /** Names of fields that go out as never-indexed literals. */
  readonly sensitive: readonly string[];
}

/**
 * The header section of a request as it goes on a shared connection, but for Client-Group, which the
 * connection adds (CG-REQ-3, CG-REQ-4, CG-FIELD-15, F01, G02).
 *
 * @param scheme of the origin, for `:scheme`
 */
export function requestFields(
  head: RequestHead,
  scheme: "https" | "http",
  forwarded: ForwardedFor,
): OriginFields {
  const { fields, authority, method, path, protocol, neverIndexed } = head;
  const nominated = nominatedBy(fields.connection);
  const out = emptyFields();
  out[":method"] = method;
  out[":scheme"] = scheme;
  out[":authority"] = authority;
  out[":path"] = path;
  for (const name in fields) {
    if (endsHereInRequest.has(name) || nominated?.has(name) || name.charCodeAt(0) === COLON) {
      continue;
    }
    out[name] = fields[name];
  }
  // The one value that HTTP/2 has for it (RFC 9113 §8.2.2).
  if (takesTrailers(fields.te)) out.te = "trailers";
  out.via = appended(out.via, `${protocol} ${PSEUDONYM}`);
  addForwarded(out, head, forwarded);
  return { fields: out, sensitive: sensitiveOf(out, neverIndexed) };
}

/**
 * The header section of a response, final or interim, as it goes to the client: without Client-Group
 * (CG-FIELD-18, F03) and without what was for this hop (G02).
 */
export function responseFields(fields: Fields): Fields {
  const nominated = nominatedBy(fields.connection);
  const out = emptyFields();
  for (const name in fields) {
    if (endsHereInResponse.has(name) || nominated?.has(name) || name.charCodeAt(0) === COLON) {
      continue;
    }
    out[name] = fields[name];
  }
  out.via = appended(out.via, `2 ${PSEUDONYM}`);
  return out;
}

/** Trailers, of a request or of a response: without what they must not hold (CG-S18, F03). */
export function trailerFields(fields: Fields): Fields {
  const out = emptyFields();
  for (const name in fields) {
    if (neverInTrailers.has(name) || name.charCodeAt(0) === COLON) continue;
    out[name] = fields[name];
  }
  return out;
}

/** Which of `fields` go on as never-indexed literals: those that came so, and credentials (CG-SEC-2). */
export function sensitiveOf(fields: Fields, neverIndexed: readonly string[]): readonly string[] {
  if (neverIndexed.length === 0) {
    const credentials = alwaysSensitive.filter((name) => fields[name] !== undefined);
    return credentials;
  }
  const names = new Set(alwaysSensitive);
  for (const name of neverIndexed) names.add(name.toLowerCase());
  return [...names].filter((name) => fields[name] !== undefined);
}

/**
 * A section of HTTP/1.1 from its lines, names and values in turns. Lines of one name are one value in
 * their order, cookies as HTTP/2 joins them (RFC 9113 §8.2.3).
 */
export function fieldsFromLines(lines: readonly string[]): Fields {
  const out = emptyFields();
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const name = (lines[at] as string).toLowerCase();
    const value = lines[at + 1] as string;
    const before = out[name];
    if (before === undefined) out[name] = value;
    else out[name] = `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return out;
}

/**
 * Lines of HTTP/1.1, names and values in turns; lists are a line each.
 *
 * @returns `undefined` where one would end its line and begin another, which runtimes do not all check
 */
export function linesOfFields(fields: Fields): string[] | undefined {
  const lines: string[] = [];
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    if (typeof value === "object") for (const one of value) lines.push(name, one);
    else lines.push(name, String(value));
  }
  return lines.some((text) => endsLine.test(text)) ? undefined : lines;
}

/** Whether TE says that trailers are welcome (RFC 9110 §10.1.4). */
export function takesTrailers(te: Fields[string]): boolean {
  if (te === undefined) return false;
  return String(te)
    .split(",")
    .some((coding) => coding.split(";", 1)[0]?.trim().toLowerCase() === "trailers");
}

/** How often this gateway, or another one called the same, is in Via already. */
export function timesPassed(via: Fields[string]): number {
  if (via === undefined) return 0;
  return String(via)
    .split(",")
    .filter((hop) => hop.trim().split(/\s+/)[1] === PSEUDONYM).length;
}

export function emptyFields(): Fields {
  return Object.create(null) as Fields;
}

const COLON = 0x3a;

const endsLine = /[\r\n\0]/;

/** Names in Connection: they end with the connection, whatever they are (RFC 9110 §7.6.1). */
function nominatedBy(connection: Fields[string]): ReadonlySet<string> | undefined {
  if (connection === undefined) return undefined;
  return new Set(
    String(connection)
      .split(",")
      .map((name) => name.trim().toLowerCase()),
  );
}

function appended(list: Fields[string], member: string): string {
  return list === undefined || list === "" ? member : `${list}, ${member}`;
}

function addForwarded(out: Fields, head: RequestHead, forwarded: ForwardedFor): void {
  const { form, address, scheme } = forwarded;
  if (form === "none") return;
  if (form === "forwarded" || form === "both") {
    const node = address === undefined ? "unknown" : forwardedNode(address);
    out.forwarded = appended(
      out.forwarded,
      `for=${node};host=${quoted(head.authority)};proto=${scheme}`,
    );
  }
  if (form === "x-forwarded" || form === "both") {
    out["x-forwarded-for"] = appended(out["x-forwarded-for"], address ?? "unknown");
    // Unlike a list, they do not tell who says so, and origins believe them: what came is anybody's word.
    out["x-forwarded-host"] = head.authority;
    out["x-forwarded-proto"] = scheme;
  }
}

/** RFC 7239 §6: IPv6 in brackets, which need quotes. */
function forwardedNode(address: string): string {
  return address.includes(":") ? `"[${address}]"` : address;
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
