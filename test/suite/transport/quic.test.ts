import { quicTransport } from "../../../src/transport/quic.ts";
import { memoryQuicPair } from "../../support/quic-pair.ts";
import { memoryTransportPair } from "../../support/transport-pair.ts";
import { transportScenarios } from "../../support/transport-scenarios.ts";

transportScenarios("transport in memory", async () => {
  const [client, server] = memoryTransportPair();
  return { client, server };
});

transportScenarios("raw QUIC on a stack that resets by FIN and stops with code 0", async () => {
  const capabilities = { resetOut: false, stopCodeOut: false };
  const [client, server] = memoryQuicPair({ alpn: "moqt-22", capabilities, maxDatagramSize: 0 });
  return { client: quicTransport(client), server: quicTransport(server) };
});
