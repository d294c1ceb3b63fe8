/** Clients of a TCP port that do not get as far as a session. */

import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

const hostname = "127.0.0.1";

export interface IdleClient {
  readonly closed: Promise<void>;
  destroy(): void;
}

/** Connects and says nothing. */
export async function tcpClient(port: number): Promise<IdleClient> {
  const socket = connectTcp(port, hostname);
  const client = watched(socket);
  await Promise.race([new Promise((resolve) => socket.once("connect", resolve)), client.closed]);
  socket.resume();
  return client;
}

/** Goes through TLS, and then says nothing, or HTTP/2's preface, after which it may stop reading. */
export async function tlsClient(
  port: number,
  says: "silent" | "preface" | "paused" | "http/1.1",
): Promise<IdleClient> {
  const ALPNProtocols = [says === "http/1.1" ? says : "h2"];
  const socket = connectTls({ port, host: hostname, rejectUnauthorized: false, ALPNProtocols });
  const client = watched(socket);
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  if (says === "preface" || says === "paused") {
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0));
  }
  if (says === "paused") socket.pause();
  else socket.resume();
  return client;
}

function watched(socket: Socket): IdleClient {
  socket.on("error", () => {});
  return {
    closed: new Promise((resolve) => socket.once("close", () => resolve())),
    destroy: () => socket.destroy(),
  };
}

/** What a request for a session is answered. */
export async function statusOverHttp2(port: number): Promise<number> {
  const connection = connectHttp2(`https://${hostname}:${port}`, { rejectUnauthorized: false });
  connection.on("error", () => {});
  try {
    await new Promise((resolve) => connection.once("remoteSettings", resolve));
    const request = connection.request({
      ":method": "CONNECT",
      ":protocol": "webtransport",
      ":scheme": "https",
      ":path": "/moqt",
      "wt-available-protocols": '"moqt-22"',
    });
    request.on("error", () => {});
    const headers = await new Promise<IncomingHttpHeaders>((resolve) =>
      request.once("response", resolve),
    );
    return Number(headers[":status"]);
  } finally {
    connection.destroy();
  }
}
