/**
 * Max-Forwards of TRACE and OPTIONS (RFC 9110 §7.6.2): how many hops more a request may take.
 *
 * @module
 */

import type { Answer } from "./client-side.ts";
import { emptyFields, type Fields, PSEUDONYM, type RequestHead } from "./fields.ts";

/** What TRACE may show of a request: nothing that a front has added for the origin alone. */
const shown: readonly string[] = ["host", "max-forwards", "user-agent", "via"];

/** Hops that are left; `undefined` where it is none of the two methods, or the field says nothing. */
function hopsLeft({ method, fields }: RequestHead): number | undefined {
  if (method !== "TRACE" && method !== "OPTIONS") return undefined;
  const value = fields["max-forwards"];
  return value !== undefined && /^[0-9]{1,15}$/.test(String(value)) ? Number(value) : undefined;
}

/** The response of this hop, where the request may not go further. */
export function answerAtLastHop(head: RequestHead): Answer | undefined {
  if (hopsLeft(head) !== 0) return undefined;
  const fields = emptyFields();
  fields["cache-control"] = "no-store";
  fields["proxy-status"] = PSEUDONYM;
  const body = head.method === "TRACE" ? reflected(head) : "";
  if (body !== "") fields["content-type"] = "message/http";
  fields["content-length"] = String(body.length);
  return { status: 200, fields, body };
}

/** The field of the request that goes on: one hop less. */
export function lowerMaxForwards(out: Fields, head: RequestHead): void {
  const hops = hopsLeft(head);
  if (hops !== undefined && hops > 0) out["max-forwards"] = String(hops - 1);
}

/** RFC 9110 §9.3.8. */
function reflected({ method, path, protocol, authority, fields }: RequestHead): string {
  const version = protocol === "2" ? "2.0" : protocol;
  let text = `${method} ${path} HTTP/${version}\r\n`;
  for (const name of shown) {
    const value = name === "host" ? authority : fields[name];
    if (value !== undefined && printable.test(String(value))) text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

const printable = /^[\x20-\x7e]*$/;
