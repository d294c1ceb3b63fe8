/**
 * The least that an HTTP/2 reverse proxy over node:http2 does: HTTP/2 in over TLS, pipes, HTTP/2 out on
 * connections that all clients share. No rules, no retries: what the runtime itself costs; and, with a
 * tap under each of the same connections, what the tap costs; an empty Duplex in its place says how much
 * of that is the runtime's.
 *
 * Arguments: port, certificate file, key file, authority file, origin (`https://…`), `untapped`, `piped` or `tapped`.
 */

import { readFileSync } from "node:fs";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import process from "node:process";
import { Duplex } from "node:stream";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import type { Role } from "../../src/http2/frame-rules.ts";
import { FrameTap } from "../../src/http2/frame-tap.ts";
import { RequestCheck } from "../../src/http2/request-check.ts";
import { ResponseCheck } from "../../src/http2/response-check.ts";

/** As the gateway's defaults are. */
const streamsPerConnection = 100;
const initialWindowSize = 256 * 1024;
const connectionWindow = 16 * 2 ** 20;

const [port, certificateFile, keyFile, authorityFile, origin, kind] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  "untapped" | "piped" | "tapped",
];
const cert = readFileSync(certificateFile, "utf8");
const key = readFileSync(keyFile, "utf8");
const ca = readFileSync(authorityFile, "utf8");

/** A connection to the origin with how many streams are on it. */
interface Shared {
  readonly session: ClientHttp2Session;
  streams: number;
}

const pool = new Set<Shared>();

/** What any Duplex costs in the place of the runtime's own socket. */
function piped(socket: Duplex): Duplex {
  let goOn: (() => void) | undefined;
  const pipe = new Duplex({
    highWaterMark: 65_536,
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => {
      if (socket.write(chunk)) done();
      else goOn = done;
    },
    final: (done) => void socket.end(done),
    destroy: (_error, done) => {
      socket.destroy();
      done(null);
    },
  });
  socket.on("data", (chunk) => {
    if (!pipe.push(chunk)) socket.pause();
  });
  socket.on("drain", () => {
    const done = goOn;
    goOn = undefined;
    done?.();
  });
  socket.on("end", () => pipe.push(null));
  socket.on("error", () => {});
  socket.on("close", () => pipe.destroy());
  return pipe;
}

const between = (socket: Duplex, role: Role) =>
  kind === "tapped" ? tapped(socket, role) : piped(socket);

/** A tap that lets everything through; its listener does nothing, as for most frames ours does. */
function tapped(socket: Duplex, role: Role): FrameTap {
  const nothing = () => {};
  return new FrameTap({
    socket,
    role,
    messages: role === "server" ? new RequestCheck(65_536) : new ResponseCheck(65_536),
    groupControl: 0xf7,
    firstSettings: () => [],
    handler: {
      settings: nothing,
      goaway: nothing,
      groupControl: nothing,
      reset: nothing,
      headersReceived: nothing,
      sent: nothing,
      ended: nothing,
      contentDone: () => false,
      closed: nothing,
    },
  });
}

function dial(): ClientHttp2Session {
  const settings = { enablePush: false, initialWindowSize };
  const trust = { ca, servername: "localhost" };
  if (kind === "untapped") return connect(origin, { ...trust, settings });
  const { hostname, port } = new URL(origin);
  const socket = connectTls({
    ...trust,
    host: hostname,
    port: Number(port),
    ALPNProtocols: ["h2"],
  });
  return connect(origin, { settings, createConnection: () => between(socket, "client") });
}

/** A connection with room for one more stream; a new one where there is none. */
function take(): Shared {
  for (const shared of pool) if (shared.streams < streamsPerConnection) return shared;
  const session = dial();
  session.once("connect", () => {
    session.setLocalWindowSize(connectionWindow);
    // Bun takes the connection's window for that of each stream, until told again.
    session.settings({ enablePush: false, initialWindowSize });
  });
  const shared = { session, streams: 0 };
  const leave = () => pool.delete(shared);
  session.on("goaway", leave).on("close", leave).on("error", leave);
  pool.add(shared);
  return shared;
}

function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const shared = take();
  const endStream = stream.endAfterHeaders;
  const upstream = shared.session.request(headers, { endStream });
  shared.streams += 1;
  upstream.on("close", () => {
    shared.streams -= 1;
  });
  upstream.on("response", (fields, flags) => {
    if (stream.destroyed) return;
    const hasEnded = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    stream.respond(fields, { endStream: hasEnded });
    if (!hasEnded) upstream.pipe(stream);
  });
  if (!endStream) stream.pipe(upstream);
  stream.on("aborted", () => upstream.close(constants.NGHTTP2_CANCEL));
  stream.on("error", () => upstream.close(constants.NGHTTP2_CANCEL));
  upstream.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
}

function listen(): void {
  if (kind === "untapped") {
    const server = createSecureServer({ cert, key });
    server.on("stream", forward);
    // A client that is gone is nobody's fault here.
    server.on("sessionError", () => {});
    server.listen(Number(port), "127.0.0.1");
    return;
  }
  const server = createServer();
  server.on("stream", forward);
  server.on("sessionError", () => {});
  createTlsServer({ cert, key, ALPNProtocols: ["h2"] }, (socket) => {
    server.emit("connection", between(socket, "server"));
  }).listen(Number(port), "127.0.0.1");
}

listen();
