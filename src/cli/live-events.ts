/**
 * What happens on the way of a request, in a line each.
 *
 * @module
 */

import { type ClientEvent, closeName, type RequestName, type Target } from "../client/mod.ts";
import { draftName, formatNameForLog, type RequestType } from "../moqt/mod.ts";
import type { TransportKind } from "../transport/transport.ts";
import { printable } from "./terminal.ts";

const carriers: Readonly<Record<TransportKind, string>> = {
  quic: "raw QUIC",
  "webtransport-h3": "WebTransport over HTTP/3",
  "webtransport-h2": "WebTransport over HTTP/2",
  qmux: "QMux",
};

/** Requests with an answer of their own name. */
const grants: Partial<Record<RequestType, string>> = {
  SUBSCRIBE: "SUBSCRIBE_OK",
  FETCH: "FETCH_OK",
};

/** An event as a line for people. */
export function eventLine(event: ClientEvent): string {
  switch (event.type) {
    case "connecting":
      return `connecting to ${event.uri}`;
    case "connected": {
      const { uri, transport, draft, implementation } = event;
      const who = implementation === undefined ? "" : `, ${printable(implementation).slice(0, 80)}`;
      return `connected to ${uri} by ${carriers[transport]}, ${draftName(draft)}${who}`;
    }
    case "unreachable":
      return `cannot reach ${event.uri}: ${printable(event.reason)}`;
    case "disconnected":
      return `session with ${event.uri} is over: ${closeName(event.close)}`;
    case "redirected":
      return `REDIRECT to ${event.to.uri}${otherName(event.from, event.to)}`;
    case "retrying": {
      const when = event.delay === 0 ? "now" : `in ${(event.delay / 1000).toFixed(1)} s`;
      return `${event.cause}: asking ${event.target.uri} again ${when}`;
    }
    case "accepted": {
      const { request, uri } = event.target;
      return `${grants[request] ?? `REQUEST_OK for ${request}`} from ${uri}`;
    }
    case "goaway": {
      const { uri, target, newSessionUri, timeout } = event;
      const what = target === undefined ? "" : ` for ${target.request} ${nameOf(target)}`;
      const where = newSessionUri === "" ? "" : `, to ${printable(newSessionUri).slice(0, 200)}`;
      const when = timeout === 0n ? "" : `, within ${timeout} ms`;
      return `GOAWAY from ${uri}${what}${where}${when}`;
    }
  }
}

function otherName(from: Target, to: Target): string {
  const name = nameOf(to);
  return name === nameOf(from) ? "" : `, as ${name}`;
}

function nameOf({ trackNamespace, trackName }: RequestName): string {
  return formatNameForLog(trackNamespace, trackName, 200);
}
