/**
 * Heads of requests and responses: from field sections to types and back (RFC 9114 §4.1.2, §4.3
 * and §4.4, RFC 9220).
 *
 * @module
 */

import type { Field } from "./field.ts";
import { fieldProblem, isLegalValue, lengthProblem } from "./field-rules.ts";

/** The head of a request. */
export interface RequestHead {
  readonly method: string;
  /** Absent on a plain CONNECT, and only there. */
  readonly scheme?: string;
  /** `:authority`; absent where the request names its host in a Host field. */
  readonly authority?: string;
  /** Absent on a plain CONNECT, and only there. */
  readonly path?: string;
  /** Of an extended CONNECT (RFC 9220). */
  readonly protocol?: string;
  /** In the order of the wire, without pseudo-header fields. */
  readonly headers: readonly Field[];
}

/** The head of a response. */
export interface ResponseHead {
  /** 100 to 999; below 200 it is an interim response. */
  readonly status: number;
  readonly headers: readonly Field[];
}

/** Makes the error for a message that breaks a rule. */
export type Fault = (message: string) => Error;

const methodToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const schemeName = /^[a-zA-Z][a-zA-Z0-9+\-.]*$/;
const requestPseudoFields = [":method", ":scheme", ":authority", ":path", ":protocol"];

/**
 * Reads the head of a request.
 *
 * @throws what `fault` makes, where the message is malformed
 */
export function readRequestHead(fields: readonly Field[], fault: Fault): RequestHead {
  const { pseudo, headers } = split(fields, requestPseudoFields, "request", fault);
  const method = pseudo.get(":method");
  if (method === undefined || !methodToken.test(method)) throw fault("there is no legal :method");
  const head: RequestHead = {
    method,
    ...optional("scheme", pseudo.get(":scheme")),
    ...optional("authority", pseudo.get(":authority")),
    ...optional("path", pseudo.get(":path")),
    ...optional("protocol", pseudo.get(":protocol")),
    headers,
  };
  const problem = targetProblem(head);
  if (problem !== undefined) throw fault(problem);
  return head;
}

/** The field section of a request, pseudo-header fields first. */
export function requestFields(head: RequestHead): Field[] {
  const pseudo = [
    ...optionalField(":method", head.method),
    ...optionalField(":scheme", head.scheme),
    ...optionalField(":authority", head.authority),
    ...optionalField(":path", head.path),
    ...optionalField(":protocol", head.protocol),
  ];
  return [...pseudo, ...head.headers];
}

/**
 * Reads the head of a response.
 *
 * @throws what `fault` makes, where the message is malformed
 */
export function readResponseHead(fields: readonly Field[], fault: Fault): ResponseHead {
  const { pseudo, headers } = split(fields, [":status"], "response", fault);
  const status = pseudo.get(":status") ?? "";
  if (!/^[1-9]\d\d$/.test(status)) throw fault(":status is no three-digit number");
  if (status === "101") throw fault("HTTP/3 has no 101 (RFC 9114 §4.5)");
  return { status: Number(status), headers };
}

/** The field section of a response. */
export function responseFields({ status, headers }: ResponseHead): Field[] {
  return [{ name: ":status", value: String(status) }, ...headers];
}

/**
 * Checks a trailer section.
 *
 * @throws what `fault` makes, where it is malformed
 */
export function checkTrailers(fields: readonly Field[], fault: Fault): void {
  for (const field of fields) {
    const problem = fieldProblem(field, "trailers");
    if (problem !== undefined) throw fault(problem);
  }
}

/** Takes pseudo-header fields and headers apart and checks what can be said of each alone. */
function split(
  fields: readonly Field[],
  known: readonly string[],
  place: "request" | "response",
  fault: Fault,
): { pseudo: ReadonlyMap<string, string>; headers: readonly Field[] } {
  const pseudo = new Map<string, string>();
  const firstHeader = fields.findIndex(({ name }) => !name.startsWith(":"));
  const count = firstHeader === -1 ? fields.length : firstHeader;
  for (const field of fields.slice(0, count)) {
    if (!known.includes(field.name)) throw fault(`a ${place} has an unknown pseudo-header field`);
    if (pseudo.has(field.name)) throw fault(`${field.name} occurs twice`);
    if (!isLegalValue(field.value)) throw fault(`${field.name} has an illegal character`);
    pseudo.set(field.name, field.value);
  }
  const headers = fields.slice(count);
  for (const field of headers) {
    const problem = fieldProblem(field, place);
    if (problem !== undefined) throw fault(problem);
  }
  const problem = lengthProblem(headers);
  if (problem !== undefined) throw fault(problem);
  return { pseudo, headers };
}

/** What is wrong with where a request goes (RFC 9114 §4.3.1, §4.4, RFC 8441 §4). */
function targetProblem(head: RequestHead): string | undefined {
  const { method, scheme, authority, path, protocol } = head;
  if (method === "CONNECT" && protocol === undefined) {
    if (scheme !== undefined || path !== undefined) return "CONNECT has a :scheme or a :path";
    return authority ? undefined : "CONNECT has no :authority";
  }
  if (protocol !== undefined && method !== "CONNECT") return ":protocol stands without CONNECT";
  if (scheme === undefined || !schemeName.test(scheme)) return "there is no legal :scheme";
  if (!path || /\s/.test(path)) return "there is no legal :path";
  if (protocol !== undefined && !authority) return "an extended CONNECT has no :authority";
  return /^https?$/i.test(scheme) ? httpTargetProblem(head, path) : undefined;
}

/** The further rules of http and https URIs. */
function httpTargetProblem(head: RequestHead, path: string): string | undefined {
  const hosts = head.headers.filter(({ name }) => name === "host").map(({ value }) => value);
  if (hosts.length > 1) return "host occurs twice";
  const [host] = hosts;
  if (head.authority !== undefined && host !== undefined && head.authority !== host) {
    return ":authority and host differ";
  }
  const authority = head.authority ?? host;
  if (!authority) return "there is neither :authority nor host";
  if (authority.includes("@")) return "the authority has user information";
  const asterisk = path === "*" && head.method === "OPTIONS";
  return path.startsWith("/") || asterisk ? undefined : ":path does not begin with a slash";
}

function optional<Key extends string>(
  key: Key,
  value: string | undefined,
): { [key in Key]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [key in Key]: string });
}

function optionalField(name: string, value: string | undefined): Field[] {
  return value === undefined ? [] : [{ name, value }];
}
