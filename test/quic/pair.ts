/** Servers, clients and byte patterns for tests of QUIC connections, on any runtime. */

import assert from "node:assert/strict";
import v8 from "node:v8";
import vm from "node:vm";
import {
  type ConnectQuicOptions,
  connectQuic,
  type DevelopmentCertificate,
  developmentCertificate,
  type ListenQuicOptions,
  listenQuic,
  type QuicBackend,
  type QuicConnection,
  type QuicServer,
  type QuicStream,
} from "../../src/quic/mod.ts";

/** Which stack each end runs on. */
export interface Backends {
  readonly server: QuicBackend;
  readonly client: QuicBackend;
}

let made: Promise<DevelopmentCertificate> | undefined;

/** One certificate for all tests of a process. */
export function testCertificate(): Promise<DevelopmentCertificate> {
  made ??= developmentCertificate();
  return made;
}

export const protocols = ["moqt-22", "moqt-21"] as const;

export async function listen(
  backends: Backends,
  options: Partial<ListenQuicOptions> = {},
): Promise<QuicServer> {
  return await listenQuic({
    hostname: "127.0.0.1",
    port: 0,
    certificate: await testCertificate(),
    alpn: protocols,
    backend: backends.server,
    ...options,
  });
}

export async function connect(
  backends: Backends,
  server: QuicServer,
  options: Partial<ConnectQuicOptions> = {},
): Promise<QuicConnection> {
  const { hash } = await testCertificate();
  const trusts = options.ca === undefined ? { certificateHashes: [hash] } : {};
  return await connectQuic({
    hostname: "127.0.0.1",
    port: server.address.port,
    alpn: protocols,
    backend: backends.client,
    ...trusts,
    ...options,
  });
}

export interface Pair {
  readonly server: QuicServer;
  readonly client: QuicConnection;
  /** The server's end of `client`. */
  readonly accepted: QuicConnection;
}

/** Gives `body` both ends of a connection, and closes everything afterwards. */
export async function withPair(
  backends: Backends,
  body: (pair: Pair) => Promise<void>,
  options: { listen?: Partial<ListenQuicOptions>; connect?: Partial<ConnectQuicOptions> } = {},
): Promise<void> {
  await withServer(backends, options.listen ?? {}, async (server) => {
    const client = await connect(backends, server, options.connect);
    const accepted = await accept(server);
    try {
      await body({ server, client, accepted });
    } finally {
      client.close(0n, "");
      await client.closed;
    }
  });
}

export async function withServer(
  backends: Backends,
  options: Partial<ListenQuicOptions>,
  body: (server: QuicServer) => Promise<void>,
): Promise<void> {
  const server = await listen(backends, options);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

/** The next connection of a server that is not closed. */
export async function accept(server: QuicServer): Promise<QuicConnection> {
  const connection = await server.accept();
  assert.ok(connection !== null, "the server is closed");
  return connection;
}

/** The next stream of the peer on a connection that is open. */
export async function acceptStream(connection: QuicConnection): Promise<QuicStream> {
  const stream = await connection.accept();
  assert.ok(stream !== null, "the connection is closed");
  return stream;
}

/** Everything until FIN. */
export async function readAll(stream: QuicStream): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (let chunk = await stream.read(); chunk !== null; chunk = await stream.read()) {
    chunks.push(chunk);
    length += chunk.length;
  }
  const all = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}

/** Sends back whatever comes on each stream of the peer, until the connection ends. */
export async function echo(connection: QuicConnection): Promise<void> {
  for (let stream = await connection.accept(); stream; stream = await connection.accept()) {
    echoStream(stream).catch(() => {});
  }
}

async function echoStream(stream: QuicStream): Promise<void> {
  for (let chunk = await stream.read(); chunk !== null; chunk = await stream.read()) {
    await stream.write(chunk);
  }
  await stream.end();
}

/** Bytes in which every place is told from its neighbours, and from those 64 KiB away. */
export function pattern(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export function sameBytes(actual: Uint8Array, expected: Uint8Array): void {
  assert.equal(actual.length, expected.length);
  const different = actual.findIndex((byte, i) => byte !== expected[i]);
  assert.equal(different, -1, `byte ${different} differs`);
}

/** Asks again until `holds` answers true: for what the other end does in its own time. */
export async function until(holds: () => boolean, milliseconds = 10_000): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (!holds()) {
    assert.ok(Date.now() < deadline, "it never came to hold");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Collects what nobody holds, and leaves time for what follows from that. */
export async function collectGarbage(): Promise<void> {
  const { Bun: bun } = globalThis as { Bun?: { gc(force: boolean): void } };
  let collect = () => bun?.gc(true);
  if (bun === undefined) {
    v8.setFlagsFromString("--expose-gc");
    collect = vm.runInNewContext("gc");
  }
  for (let round = 0; round < 10; round++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** `promise`, or a failure where it takes longer than is sensible. */
export async function within<T>(promise: Promise<T>, milliseconds = 10_000): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing in ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const text = (bytes: Uint8Array | null) =>
  bytes === null ? null : new TextDecoder().decode(bytes);
export const bytesOf = (words: string) => new TextEncoder().encode(words);
