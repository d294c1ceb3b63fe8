/**
 * What the data plane is measured by, in a process of its own: `data-plane-server.ts bare|plane`.
 * The first connection is the publisher's, the second the subscriber's. Prints its address as a line
 * of JSON, and answers each line on its standard input with the processor time it has used.
 */

import process from "node:process";
import { createInterface } from "node:readline";
import { toHex } from "../src/bytes.ts";
import { createDataPlane } from "../src/moq-lb/proxy/data/data-plane.ts";
import { defaultProxyLimits } from "../src/moq-lb/proxy/proxy-options.ts";
import { developmentCertificate, listenQuic } from "../src/quic/mod.ts";
import { MoqtSession, systemClock } from "../src/session/mod.ts";
import { quicTransport } from "../src/transport/quic.ts";
import type { Transport, TransportStream } from "../src/transport/transport.ts";

/** What the server prints first. */
export interface DataPlaneServerAddress {
  readonly port: number;
  readonly certificateHash: string;
}

/** Reads and writes, and knows nothing of MOQT. */
async function pumpBare(publisher: Transport, subscriber: Transport): Promise<void> {
  // The control stream goes nowhere here either.
  await publisher.accept();
  for (let stream = await publisher.accept(); stream; stream = await publisher.accept()) {
    pump(stream, subscriber).catch(() => {});
  }
}

async function pump(stream: TransportStream, subscriber: Transport): Promise<void> {
  const out = await subscriber.openUni();
  for (let bytes = await stream.read(); bytes !== null; bytes = await stream.read()) {
    await out.write(bytes);
  }
  await out.end();
}

function pumpThroughPlane(publisher: Transport, subscriber: Transport): void {
  const client = new MoqtSession(subscriber, { role: "server" });
  const limits = defaultProxyLimits;
  const plane = createDataPlane({ clientSession: client, clock: systemClock, limits });
  const relay: MoqtSession = new MoqtSession(publisher, {
    role: "server",
    onDataStream: (stream) => plane.onDataStream(relay, stream),
  });
  plane.deliver(client, 9n).attach(relay, 5n);
  void client.run();
  void relay.run();
}

const certificate = await developmentCertificate();
const server = await listenQuic({
  hostname: "127.0.0.1",
  port: 0,
  certificate,
  alpn: ["moqt-22"],
  backend: "quiche",
});
const address: DataPlaneServerAddress = {
  port: server.address.port,
  certificateHash: toHex(certificate.hash),
};
console.log(JSON.stringify(address));
createInterface({ input: process.stdin })
  .on("line", () => {
    const { user, system } = process.cpuUsage();
    console.log(user + system);
  })
  .on("close", () => process.exit(0));
const publisher = await server.accept();
const subscriber = await server.accept();
if (publisher !== null && subscriber !== null) {
  const ends = [quicTransport(publisher), quicTransport(subscriber)] as const;
  if (process.argv[2] === "plane") pumpThroughPlane(...ends);
  else void pumpBare(...ends);
}
