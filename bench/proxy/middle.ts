/**
 * What stands between client and relay, in a process of its own: `middle.ts proxy|pump RELAYS`, where
 * RELAYS are URIs and the hash of their certificate as JSON. Prints where it listens as one line of
 * JSON, and answers each line on its standard input with one about itself; the line `rotate` puts a
 * new version of its snapshot in force first. {@link Middle} runs it.
 */

import process from "node:process";
import { createInterface } from "node:readline";
import { fromHex } from "../../src/bytes.ts";
import { draftName, drafts } from "../../src/moqt/mod.ts";
import { developmentCertificate, listenQuic } from "../../src/quic/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../src/snapshot/mod.ts";
import { dial } from "../../src/transport/dial.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { serveProxied } from "../../test/support/proxy/proxied-service.ts";
import { pump } from "./pump.ts";

export type MiddleKind = "proxy" | "pump";

export interface Relays {
  readonly uris: readonly string[];
  readonly certificateHash: string;
}

/** What it prints first. */
export interface MiddleAddress {
  readonly port: number;
  readonly certificateHash: string;
}

/** What it tells of itself. */
export interface MiddleState {
  /** Bytes that the process holds, after a collection. */
  readonly memory: number;
}

interface Service {
  serve(transport: Transport): void;
  rotate(): void;
}

/** The stack that carries exact codes on both runtimes. */
const backend = "quiche";

function connect(uri: string, signal?: AbortSignal): Promise<Transport> {
  return dial(uri, {
    drafts: [22],
    certificateHashes: [fromHex(relays.certificateHash) as Uint8Array],
    backend,
    ...(signal && { signal }),
  });
}

function proxied({ uris }: Relays): Service {
  const holder: { active: ActiveSnapshot | undefined } = { active: undefined };
  const rids = uris.map((_, index) => `r${index + 1}`);
  let version = 0;
  const next = () => {
    const snapshot = parseSnapshot({
      version: ++version,
      relays: uris.map((uri, index) => ({ rid: rids[index], uri, health: "healthy" })),
      routes: [{ prefix: [], kind: "hashed", key_fields: 1, rids }],
    });
    const active = { snapshot, signedAt: Date.now(), maximumAge: 86_400_000, digest: "" };
    holder.active = active;
  };
  next();
  const proxy = serveProxied({
    holder,
    dial: (uri, { signal }) => connect(uri, signal),
    backendTokens: "none",
    drainDeadline: 5000,
  });
  return {
    serve: (transport) => proxy.serve(transport),
    rotate() {
      next();
      proxy.server.activated();
    },
  };
}

/** Each connection goes to the first relay, byte for byte. */
function pumping({ uris }: Relays): Service {
  return {
    serve: (transport) => void connect(uris[0] as string).then((relay) => pump(transport, relay)),
    rotate: () => {},
  };
}

async function listen(service: Service): Promise<MiddleAddress> {
  const certificate = await developmentCertificate();
  const quic = await listenQuic({
    hostname: "127.0.0.1",
    port: 0,
    certificate,
    alpn: drafts.map(draftName),
    maxHandshakesPerSecond: 100_000,
    backend,
  });
  void (async () => {
    for (let next = await quic.accept(); next !== null; next = await quic.accept()) {
      service.serve(quicTransport(next));
    }
  })();
  return { port: quic.address.port, certificateHash: certificate.hashHex };
}

function memory(): number {
  const { Bun: bun, gc } = globalThis as { Bun?: { gc(sync: boolean): void }; gc?: () => void };
  bun?.gc(true);
  gc?.();
  return process.memoryUsage().rss;
}

const say = (what: MiddleAddress | MiddleState) =>
  process.stdout.write(`${JSON.stringify(what)}\n`);

const [kind, given = ""] = process.argv.slice(2);
const relays: Relays = JSON.parse(given);
const service = kind === "pump" ? pumping(relays) : proxied(relays);
say(await listen(service));
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  if (line === "rotate") service.rotate();
  say({ memory: memory() });
});
lines.on("close", () => process.exit(0));
