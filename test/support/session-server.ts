/**
 * A server of live sessions in a process of its own, so that its memory is its own:
 * `session-server.ts redirect|echo [limits as JSON]`. Prints where it listens as one line of JSON,
 * and answers each line on its standard input with one about itself. {@link ServerProcess} runs it.
 */

import process from "node:process";
import { createInterface } from "node:readline";
import { createRedirectServer, type RedirectSessionLimits } from "../../src/moq-lb/mod.ts";
import { developmentCertificate, listenQuic } from "../../src/quic/mod.ts";
import { parseSnapshot } from "../../src/snapshot/mod.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";
import { serveQmux } from "./qmux-server.ts";

export type ServerKind = "redirect" | "echo";

/** What the server prints first. */
export interface ServerAddress {
  /** Of raw QUIC. */
  readonly port: number;
  readonly certificateHash: string;
  /** Of QMux. */
  readonly webSocketUrl: string;
}

/** What the server tells of itself. */
export interface ServerState {
  /** Bytes that the process holds, after a collection. */
  readonly memory: number;
  /** 0 at the echo, which does not count. */
  readonly sessions: number;
}

interface Service {
  serve(transport: Transport): unknown;
  sessions(): number;
}

const protocols = ["moqt-22"];

/** The draft's meeting example, open to everybody. */
function redirect(limits: Partial<RedirectSessionLimits>): Service {
  const rids = ["r1", "r2", "r3"];
  const snapshot = parseSnapshot({
    version: 1,
    relays: rids.map((rid) => ({ rid, uri: `https://${rid}.example/moq`, health: "healthy" })),
    routes: [{ prefix: ["example.com"], kind: "hashed", key_fields: 2, rids }],
  });
  const active = { snapshot, signedAt: Date.now(), maximumAge: 86_400_000, digest: "" };
  const holder = { active };
  const server = createRedirectServer({ holder, authorization: "allow-all", limits });
  return {
    serve: (transport) => server.serve(transport),
    sessions: () => server.status().sessions,
  };
}

/** Sends back what comes on each request stream, once it has ended; reads and drops the rest. */
const echo: Service = {
  async serve(transport) {
    for (let next = await transport.accept(); next !== null; next = await transport.accept()) {
      // A client that has gone needs no answer.
      echoStream(next).catch(() => {});
    }
  },
  sessions: () => 0,
};

async function echoStream(stream: TransportStream): Promise<void> {
  let whole: Uint8Array | undefined;
  for (let part = await stream.read(); part !== null; part = await stream.read()) {
    if (stream.kind === "uni") continue;
    whole = whole === undefined ? part : Uint8Array.of(...whole, ...part);
  }
  if (whole !== undefined) await stream.write(whole, true);
}

async function listen(service: Service): Promise<ServerAddress> {
  const certificate = await developmentCertificate();
  const hostname = "127.0.0.1";
  const quic = await listenQuic({
    hostname,
    port: 0,
    certificate,
    alpn: protocols,
    // Sessions one after another may begin faster than those of honest clients.
    maxHandshakesPerSecond: 100_000,
  });
  const sockets = serveQmux({ protocols });
  void (async () => {
    for (let next = await quic.accept(); next !== null; next = await quic.accept()) {
      void service.serve(quicTransport(next));
    }
  })();
  void (async () => {
    for (;;) void service.serve(await sockets.accept());
  })();
  return {
    port: quic.address.port,
    certificateHash: certificate.hashHex,
    webSocketUrl: `${sockets.url}/moqt`,
  };
}

function memory(): number {
  const { Bun: bun, gc } = globalThis as { Bun?: { gc(sync: boolean): void }; gc?: () => void };
  bun?.gc(true);
  gc?.();
  return process.memoryUsage().rss;
}

const say = (what: ServerAddress | ServerState) =>
  process.stdout.write(`${JSON.stringify(what)}\n`);

const [kind, limits = "{}"] = process.argv.slice(2);
const service = kind === "echo" ? echo : redirect(JSON.parse(limits));
say(await listen(service));
const lines = createInterface({ input: process.stdin });
lines.on("line", () => say({ memory: memory(), sessions: service.sessions() }));
lines.on("close", () => process.exit(0));
