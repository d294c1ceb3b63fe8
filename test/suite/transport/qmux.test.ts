import { acceptQmux, connectQmux, connectQmuxOver } from "../../../src/transport/qmux.ts";
import { serveQmux } from "../../support/qmux-server.ts";
import { memorySocketPair } from "../../support/socket-pair.ts";
import { type TransportPair, transportScenarios } from "../../support/transport-scenarios.ts";

const protocols = ["moqt-22", "moqt-18"];

for (const subprotocol of ["qmux-02.moqt-22", "qmux-01.moqt-18"]) {
  transportScenarios(`QMux in memory, ${subprotocol}`, async () => {
    const [clientSocket, serverSocket] = memorySocketPair(subprotocol);
    const server = acceptQmux(serverSocket, { subprotocol });
    return { client: await connectQmuxOver(clientSocket, { protocols }), server };
  });
}

/** What workerd has in place of servers and ports. */
interface Workerd {
  readonly WebSocketPair?: new () => Record<0 | 1, WebSocket & { accept(): void }>;
}

const { WebSocketPair } = globalThis as Workerd;

transportScenarios(
  "QMux over WebSockets of the runtime",
  WebSocketPair === undefined ? overServer : () => overPair(WebSocketPair),
);

async function overServer(): Promise<TransportPair> {
  const listening = serveQmux({ protocols });
  const accepted = listening.accept();
  const client = await connectQmux(`${listening.url}/moqt`, { protocols });
  return { client, server: await accepted, dispose: () => listening.close() };
}

async function overPair(Pair: NonNullable<Workerd["WebSocketPair"]>): Promise<TransportPair> {
  const { 0: clientSocket, 1: serverSocket } = new Pair();
  for (const socket of [clientSocket, serverSocket]) socket.accept();
  // Nothing was negotiated on such a pair: it stands for a handshake that is over.
  const server = acceptQmux(serverSocket, { subprotocol: "qmux-02.moqt-22" });
  const named = Object.defineProperty(clientSocket, "protocol", { value: "qmux-02.moqt-22" });
  return { client: await connectQmuxOver(named, { protocols }), server };
}
