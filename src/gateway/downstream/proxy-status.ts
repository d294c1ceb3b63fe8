/**
 * Proxy-Status (RFC 9209): why this gateway answers a request itself.
 *
 * @module
 */

import { serializeItem, Token } from "structured-headers";
import { PSEUDONYM } from "./fields.ts";

/** RFC 9209 §2.3, those that occur here. */
export type ProxyError =
  | "connection_limit_reached"
  | "connection_refused"
  | "connection_terminated"
  | "connection_timeout"
  | "destination_not_found"
  | "destination_unavailable"
  | "dns_error"
  | "http_protocol_error"
  | "http_request_denied"
  | "http_request_error"
  | "http_response_content_size"
  | "http_response_incomplete"
  | "http_response_timeout"
  | "proxy_internal_error"
  | "proxy_loop_detected"
  | "tls_certificate_error"
  | "tls_protocol_error";

/**
 * The field of a response that is this gateway's own (RFC 9209 §2, K02). One that came with a response of
 * the origin's side is passed on as it is.
 *
 * @param details for people; ASCII, and nothing that a client or an origin has said
 */
export function proxyStatus(error: ProxyError, details?: string): string {
  const parameters = new Map<string, string | Token>([["error", new Token(error)]]);
  if (details !== undefined) parameters.set("details", details);
  return serializeItem([new Token(PSEUDONYM), parameters]);
}
