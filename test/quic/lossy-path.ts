/** A path between a client and a server that loses what it is told to. */

import { createSocket, type Socket } from "node:dgram";

export interface LossyPath {
  /** Where the client connects to. */
  readonly port: number;
  /** Loses that many packets of the server from now on. */
  lose(count: number): void;
  /** Keeps the packets of the client from now on, or lets those go that were kept. */
  hold(isHeld: boolean): void;
  close(): Promise<void>;
}

/** A path for one client to the server on `serverPort` of 127.0.0.1. */
export async function lossyPath(serverPort: number): Promise<LossyPath> {
  const [near, far] = await Promise.all([bound(), bound()]);
  let clientPort: number | undefined;
  let toLose = 0;
  let held: Uint8Array[] | undefined;
  const pass = (packet: Uint8Array) => far.send(packet, serverPort, "127.0.0.1");
  near.on("message", (packet, { port }) => {
    clientPort = port;
    if (held === undefined) pass(packet);
    else held.push(packet);
  });
  far.on("message", (packet) => {
    if (toLose > 0) toLose--;
    else if (clientPort !== undefined) near.send(packet, clientPort, "127.0.0.1");
  });
  return {
    port: near.address().port,
    lose(count) {
      toLose = count;
    },
    hold(isHeld) {
      const kept = held ?? [];
      held = isHeld ? kept : undefined;
      if (!isHeld) kept.forEach(pass);
    },
    async close() {
      const closed = (socket: Socket) => new Promise<void>((done) => socket.close(() => done()));
      await Promise.all([closed(near), closed(far)]);
    },
  };
}

async function bound(): Promise<Socket> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return socket;
}
