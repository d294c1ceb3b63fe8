import type { Listen } from "../../support/redirect-bed.ts";
import { redirectScenarios } from "../../support/redirect-scenarios.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";

/** Less than some answers have, so that one who does not read holds them up. */
const streamWindow = 1000;

const overMemory: Listen = (server) => ({
  async connect(protocol) {
    const [client, far] = memoryTransportPair({ protocol, streamWindow });
    void server.serve(far);
    return client;
  },
  async close() {},
});

/** As over WebTransport, cut at every byte. */
const cutOverMemory: Listen = (server) => ({
  async connect(protocol) {
    const [client, far] = memoryTransportPair({
      protocol,
      kind: "webtransport-h3",
      streamWindow,
      segment: 1,
      request: { path: "/moqt", authority: "lb:4443" },
    });
    void server.serve(far);
    return client;
  },
  async close() {},
});

redirectScenarios("in memory, as raw QUIC", overMemory, { pathInSetup: true });
redirectScenarios("in memory, as WebTransport, byte by byte", cutOverMemory, {
  pathInSetup: false,
});
