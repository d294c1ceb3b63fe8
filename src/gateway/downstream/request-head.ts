/**
 * What makes a request one that can be passed on: its target, its framing, and nothing that another
 * hop could read otherwise.
 *
 * @module
 */

import type { Fields, Protocol, RequestHead } from "./fields.ts";

/** Why a request is answered here: a status, and for logs a few words that repeat nothing of it. */
export interface HeadProblem {
  readonly status: 400 | 417 | 421 | 501 | 505;
  readonly reason: string;
  /** Whether where the request ends is in doubt, so that nothing behind it can be read (RFC 9112 §6). */
  readonly closes?: true;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Host and port of RFC 3986, without user information, and nothing a path begins with. */
const authorityForm = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9\-._~!$&'()*+,;=%]+)(?::[0-9]{0,5})?$/;

/** No control characters, no space, nothing outside ASCII, and no fragment (RFC 9113 §8.3.1). */
const pathForm = /^[\x21\x22\x24-\x7e]+$/;

const digits = /^[0-9]{1,15}$/;

/** The head of a request on HTTP/2, from what node:http2 gives. */
export function http2Head(
  fields: Fields,
  neverIndexed: readonly string[],
  scheme: "https" | "http",
): RequestHead | HeadProblem {
  const method = String(fields[":method"] ?? "");
  if (method === "CONNECT") return { status: 501, reason: "CONNECT is not carried" };
  const host = fields.host === undefined ? undefined : String(fields.host);
  const named = fields[":authority"] === undefined ? host : String(fields[":authority"]);
  if (named === undefined) return { status: 400, reason: "the request names no authority" };
  // A second opinion on where the request goes is none of ours to pick from (RFC 9113 §8.3.1).
  if (host !== undefined && host.toLowerCase() !== named.toLowerCase()) {
    return { status: 400, reason: "Host and :authority differ" };
  }
  const path = String(fields[":path"] ?? "");
  return checked({
    method,
    scheme,
    authority: named,
    path,
    protocol: "2",
    fields,
    neverIndexed,
  });
}

/** A request on HTTP/1.1 as node:http read it. */
export interface Http1Message {
  readonly method: string;
  readonly target: string;
  readonly major: number;
  readonly minor: number;
  /** Lines as they came, names and values in turns. */
  readonly lines: readonly string[];
}

/**
 * The head of a request on HTTP/1.1. Runtimes differ in what they let through: Bun takes requests
 * without Host, all take two, and a transfer coding that is not chunked is answered before its content
 * turns out to be unreadable.
 */
export function http1Head(
  { method, target, major, minor, lines }: Http1Message,
  fields: Fields,
  scheme: "https" | "http",
): RequestHead | HeadProblem {
  if (major !== 1) return { status: 505, reason: "another version of HTTP" };
  const protocol: Protocol = minor === 0 ? "1.0" : "1.1";
  if (method === "CONNECT") return { status: 501, reason: "CONNECT is not carried" };
  const hosts = countOf(lines, "host");
  if (hosts > 1) return { status: 400, reason: "more than one Host" };
  if (hosts === 0) return { status: 400, reason: "no Host" };
  if (countOf(lines, "content-length") > 1) {
    return { status: 400, reason: "more than one Content-Length", closes: true };
  }
  const coding = fields["transfer-encoding"];
  if (coding !== undefined) {
    if (protocol === "1.0") {
      return { status: 400, reason: "a transfer coding in HTTP/1.0", closes: true };
    }
    const codings = String(coding).toLowerCase();
    // Where it ends cannot be known (RFC 9112 §6.3).
    if (!/(^|[,\s])chunked\s*$/.test(codings)) {
      return { status: 400, reason: "a transfer coding that is not chunked at last", closes: true };
    }
    if (codings !== "chunked") {
      return { status: 501, reason: "a transfer coding besides chunked", closes: true };
    }
    if (fields["content-length"] !== undefined) {
      return { status: 400, reason: "both Content-Length and Transfer-Encoding", closes: true };
    }
  }
  if (fields.expect !== undefined && !/^100-continue$/i.test(String(fields.expect))) {
    return { status: 417, reason: "an expectation other than 100-continue" };
  }
  // Other upgrades are offers, which may be passed over (RFC 9110 §7.8).
  if (/(^|,)\s*websocket\s*(,|$)/i.test(String(fields.upgrade ?? ""))) {
    return { status: 501, reason: "WebSockets are not carried" };
  }
  const host = String(fields.host ?? "");
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  // Of a target in absolute form, the authority counts and Host does not (RFC 9112 §3.2.2).
  const authority = absolute === null ? host : (absolute[1] as string);
  let path = absolute === null ? target : (absolute[2] as string);
  if (absolute !== null && !path.startsWith("/")) path = `/${path}`;
  return checked({ method, scheme, authority, path, protocol, fields, neverIndexed: [] });
}

export function isProblem(head: RequestHead | HeadProblem): head is HeadProblem {
  return "status" in head;
}

/** What Content-Length says, where there is one. Its form was checked with the head. */
export function contentLengthOf(fields: Fields): number | undefined {
  const value = fields["content-length"];
  return value === undefined ? undefined : Number(value);
}

function checked(head: RequestHead): RequestHead | HeadProblem {
  const { method, authority, path, fields } = head;
  if (!token.test(method)) return { status: 400, reason: "the method is no token" };
  // In HTTP/1.0, the entry for any host takes what names none.
  const nameless = authority === "" && head.protocol === "1.0";
  if (!nameless && !authorityForm.test(authority))
    return { status: 400, reason: "the authority has no form" };
  const asterisk = path === "*" && method === "OPTIONS";
  if (!asterisk && !(path.startsWith("/") && pathForm.test(path))) {
    return { status: 400, reason: "the path has no form" };
  }
  const length = fields["content-length"];
  if (length !== undefined && !digits.test(String(length))) {
    return { status: 400, reason: "Content-Length is no number" };
  }
  return head;
}

function countOf(lines: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < lines.length; at += 2) {
    const line = lines[at] as string;
    if (line.length === name.length && line.toLowerCase() === name) count++;
  }
  return count;
}
