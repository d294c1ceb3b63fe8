/**
 * Where an instance finds its agent.
 *
 * @module
 */

import { ReportError } from "./errors.ts";

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The base of an agent's addresses, without a `/` at its end. TLS is what keeps the way to the
 * agent confidential and shows that it is the right one (LB-CONF-18, LB-CONF-20), so only the
 * loopback interface may do without.
 *
 * @throws {ReportError} `INVALID_CONFIGURATION`: it is no `https` URL, or has a user, a query or a
 *   fragment
 */
export function agentBase(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const safe =
    url?.protocol === "https:" || (url?.protocol === "http:" && loopback.test(url.hostname));
  if (url === undefined || !safe || url.username + url.password + url.search + url.hash !== "") {
    throw new ReportError(
      "INVALID_CONFIGURATION",
      "the address of an agent has to be https://HOST[:PORT][/PATH]; http only on the loopback",
    );
  }
  return url.href.replace(/\/+$/, "");
}

/** `fetch`, or what a test puts in its place. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
