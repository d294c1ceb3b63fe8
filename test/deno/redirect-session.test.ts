/**
 * Redirect sessions over the transports of an instance, on Deno: its own QUIC, WebSockets, and
 * WebTransport over both versions of HTTP. Run by test/bun/redirect-session-deno.test.ts.
 */

import { after } from "node:test";
import { redirectScenarios } from "../support/redirect-scenarios.ts";
import { SessionPorts } from "../support/session-ports.ts";

const ports = await SessionPorts.open("deno");

redirectScenarios("raw QUIC of Deno", ports.overQuic, { pathInSetup: true });
redirectScenarios("WebTransport over HTTP/3 of Deno", ports.overWebTransport, {
  pathInSetup: false,
});
redirectScenarios("WebTransport over HTTP/2 on Deno", ports.overWebTransportH2, {
  pathInSetup: false,
});
redirectScenarios("QMux over WebSocket on Deno", ports.overQmux, { pathInSetup: false });

after(() => ports.close());
