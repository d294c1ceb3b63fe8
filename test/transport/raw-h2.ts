/**
 * Peers over HTTP/2 that do what no well-behaved one does.
 *
 * @module
 */

import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect as connectTls, createServer, type TLSSocket } from "node:tls";
import { concatBytes } from "../../src/bytes.ts";
import { developmentCertificate } from "../../src/quic/development-certificate.ts";
import type { Transport, TransportClose, TransportStream } from "../../src/transport/transport.ts";
import type { H2Session } from "../../src/transport/webtransport-h2/session.ts";
import {
  connectWebTransportH2,
  listenWebTransportH2,
} from "../../src/transport/webtransport-h2.ts";

const hostname = "127.0.0.1";
const protocols = ["moqt-22"];

/** Drops the connection under a session over HTTP/2 without a word. */
export function cutOff(session: Transport): void {
  (session as H2Session).objint?.stream.session?.destroy();
}

/** A server over HTTP/2 that takes whatever comes, and a raw client of it. */
export interface RawH2 {
  /** Sends `bytes` as the capsules of a session of their own; tells how the server saw it end. */
  send(bytes: Uint8Array): Promise<TransportClose>;
  /** Connects, leaves with a GOAWAY of `code`, and waits until the server is done with it. */
  goAway(code: number): Promise<void>;
  /** Whether a well-behaved client is served. */
  serves(): Promise<boolean>;
  dispose(): Promise<void>;
}

export async function rawH2(): Promise<RawH2> {
  const { hash, ...pem } = await developmentCertificate();
  const listening = await listenWebTransportH2({ hostname, port: 0, certificate: pem, protocols });
  const accepted = async () => {
    const peer = await listening.accept();
    if (peer === null) throw new Error("the server is closed");
    void drain(peer);
    return peer;
  };
  const origin = `https://${hostname}:${listening.address.port}`;
  const connection = connect(origin, { rejectUnauthorized: false });
  connection.on("error", () => {});
  await new Promise((resolve) => connection.once("remoteSettings", resolve));
  return {
    async send(bytes) {
      const stream = connection.request({
        ":method": "CONNECT",
        ":protocol": "webtransport",
        ":scheme": "https",
        ":path": "/moqt",
        "wt-available-protocols": '"moqt-22"',
      });
      stream.on("error", () => {}).resume();
      stream.once("response", () => stream.end(bytes));
      return await (await accepted()).closed;
    },
    async goAway(code) {
      const { port } = listening.address;
      const socket = connectTls({ host: hostname, port, ...overTls });
      await new Promise((resolve) => socket.once("secureConnect", resolve));
      socket.end(concatBytes(preface, settings, goAwayFrame(code)));
      await closed(socket);
    },
    async serves() {
      const [client] = await Promise.all([
        connectWebTransportH2(`${origin}/moqt`, { protocols, certificateHashes: [hash] }),
        accepted(),
      ]);
      client.close(0n, "");
      return client.protocol === "moqt-22";
    },
    async dispose() {
      connection.destroy();
      await listening.close();
    },
  };
}

/** A server that says GOAWAY with `code` to whoever connects. */
export async function goAwayServer(
  code: number,
): Promise<{ url: string; certificateHash: Uint8Array; dispose(): void }> {
  const { hash, certificatePem, keyPem } = await developmentCertificate();
  const options = { cert: certificatePem, key: keyPem, ...overTls };
  const server = createServer(options, (socket) => {
    socket.write(concatBytes(settings, goAwayFrame(code)));
    void closed(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
  const { port } = server.address() as AddressInfo;
  const url = `https://${hostname}:${port}/moqt`;
  return { url, certificateHash: hash, dispose: () => void server.close() };
}

const overTls = { ALPNProtocols: ["h2"], rejectUnauthorized: false };

/** What a client says first (RFC 9113 §3.4), and the empty SETTINGS of either side. */
const preface = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const settings = Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0);

/** GOAWAY that names no stream (RFC 9113 §6.8). */
function goAwayFrame(code: number): Uint8Array {
  return Uint8Array.of(0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, code);
}

/** Resolves when the peer has closed the connection, whatever it has sent until then. */
function closed(socket: TLSSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => {}).on("close", () => resolve());
    socket.on("end", () => socket.end()).resume();
  });
}

/** Reads every stream of `transport` to its end, whatever that is. */
async function drain(transport: Transport): Promise<void> {
  for (let stream = await transport.accept(); stream; stream = await transport.accept()) {
    readToTheEnd(stream).catch(() => undefined);
  }
}

async function readToTheEnd(stream: TransportStream): Promise<void> {
  while ((await stream.read()) !== null);
}
