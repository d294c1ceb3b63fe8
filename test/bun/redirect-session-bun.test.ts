/** Redirect sessions over the transports of an instance, on Bun: quiche and WebSockets. */

import { afterAll } from "bun:test";
import { redirectScenarios } from "../support/redirect-scenarios.ts";
import { SessionPorts } from "../support/session-ports.ts";

const ports = await SessionPorts.open("quiche");

redirectScenarios("raw QUIC by quiche", ports.overQuic, { pathInSetup: true });
redirectScenarios("WebTransport over HTTP/3 by quiche", ports.overWebTransport, {
  pathInSetup: false,
});
redirectScenarios("WebTransport over HTTP/2 on Bun", ports.overWebTransportH2, {
  pathInSetup: false,
});
redirectScenarios("QMux over WebSocket on Bun", ports.overQmux, { pathInSetup: false });

afterAll(() => ports.close());
