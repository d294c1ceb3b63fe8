/**
 * What is told of requests that never became an exchange: an operator sees who probes.
 *
 * @module
 */

import type { Answer } from "./client-side.ts";
import type { DownstreamObserver } from "./context.ts";

/** Of requests whose method was not even read, or is none. */
const UNKNOWN = "";

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}$/;

/** A request that is answered before it has a client, or a host that can be believed. */
export function tellOfMalformed(
  observer: DownstreamObserver,
  protocol: "h2" | "http/1.1",
  answer: Answer,
  method = UNKNOWN,
): void {
  observer.request?.({
    client: undefined,
    protocol,
    method: token.test(method) ? method : UNKNOWN,
    host: "",
    status: answer.status,
    generated: true,
    retries: 0,
    milliseconds: 0,
    error: errorIn(answer),
  });
}

/** The Proxy-Status error of an answer, for the log. */
export function errorIn({ fields }: Answer): string | undefined {
  return /error=([a-z_]+)/.exec(String(fields["proxy-status"]))?.[1];
}
