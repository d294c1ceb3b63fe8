import { QmuxTransport } from "../../../src/transport/qmux/transport.ts";
import { acceptQmux } from "../../../src/transport/qmux.ts";
import { memorySocketPair } from "../../support/socket-pair.ts";
import { transportScenarios } from "../../support/transport-scenarios.ts";

for (const subprotocol of ["qmux-02.moqt-22", "qmux-01.moqt-18"]) {
  transportScenarios(`QMux in memory, ${subprotocol}`, async () => {
    const [clientSocket, serverSocket] = memorySocketPair(subprotocol);
    const server = acceptQmux(serverSocket, { subprotocol });
    const client = new QmuxTransport(clientSocket, {
      role: "client",
      subprotocols: [subprotocol],
      subprotocol: undefined,
      request: {},
      remote: "",
      streams: 100,
      streamWindow: 0x4_0000,
      sessionWindow: 0x10_0000,
      idleTimeout: 30_000,
      handshakeTimeout: 10_000,
      sendBuffer: 0x4_0000,
    });
    await client.ready;
    return { client, server };
  });
}
