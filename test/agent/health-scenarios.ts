/**
 * Probes of real relays over the loopback interface, on Bun and Deno: relays that are up, killed,
 * silent, or not what they should be.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, test } from "#test";
import { listen, type RelayListenOptions } from "../../scripts/relay/listen.ts";
import { Relay } from "../../scripts/relay/mod.ts";
import {
  createHealth,
  type NetworkProbeOptions,
  networkProbe,
} from "../../src/agent/health/mod.ts";
import type { ProbeTarget } from "../../src/agent/probe-target.ts";
import { toHex, utf8 } from "../../src/bytes.ts";
import { developmentCertificate } from "../../src/quic/development-certificate.ts";
import {
  type ListenQuicOptions,
  listenQuic,
  type QuicConnection,
  type QuicServer,
} from "../../src/quic/mod.ts";
import type { SessionClose } from "../../src/session/mod.ts";
import type { Transport } from "../../src/transport/transport.ts";

const hostname = "127.0.0.1";
const certificate = developmentCertificate();

/** Long enough for a handshake on a busy machine; where nothing comes, tests say less. */
const patience = 10_000;

/** A relay that remembers how its sessions ended. */
class WatchedRelay extends Relay {
  readonly closes: SessionClose[] = [];
  #tell: () => void = () => {};

  override async serve(transport: Transport): Promise<SessionClose> {
    const close = await super.serve(transport);
    this.closes.push(close);
    this.#tell();
    return close;
  }

  /** How the first `count` sessions ended. */
  async closed(count: number): Promise<readonly SessionClose[]> {
    while (this.closes.length < count) {
      await new Promise<void>((resolve) => {
        this.#tell = resolve;
      });
    }
    return this.closes;
  }
}

async function withRelay(
  body: (relay: WatchedRelay, at: Awaited<ReturnType<typeof listen>>) => Promise<void>,
  options: RelayListenOptions = {},
): Promise<void> {
  const relay = new WatchedRelay({ name: "r1" });
  const listening = await listen(relay, options);
  try {
    await body(relay, listening);
  } finally {
    await listening.close();
  }
}

/** A QUIC server that does with connections what it is told to. */
async function withQuic(
  options: Partial<ListenQuicOptions>,
  serve: (connection: QuicConnection) => unknown,
  body: (uri: string, server: QuicServer) => Promise<void>,
): Promise<void> {
  const { hash: _, ...pem } = await certificate;
  const server = await listenQuic({
    hostname,
    port: 0,
    certificate: pem,
    alpn: ["moqt-22"],
    ...options,
  });
  const serving = (async () => {
    for (let one = await server.accept(); one !== null; one = await server.accept()) serve(one);
  })();
  try {
    await body(`moqt://${hostname}:${server.address.port}/`, server);
  } finally {
    await server.close();
    await serving;
  }
}

/** The datagrams that came to a port. */
interface Arrivals {
  readonly first: Promise<void>;
  received(): number;
}

/** A UDP port that answers every datagram with `answer`, or not at all. */
async function withUdp(
  answer: Uint8Array | undefined,
  body: (uri: string, arrivals: Arrivals) => Promise<void>,
): Promise<void> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, hostname, resolve));
  const first = Promise.withResolvers<void>();
  let count = 0;
  socket.on("message", (_, { port, address }) => {
    count++;
    first.resolve();
    if (answer !== undefined) socket.send(answer, port, address);
  });
  try {
    const arrivals = { first: first.promise, received: () => count };
    await body(`moqt://${hostname}:${socket.address().port}/`, arrivals);
  } finally {
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}

interface HttpAt {
  readonly url: string;
  /** Resolves once no connection is open. */
  isQuiet(): Promise<void>;
}

async function withHttp(
  answer: RequestListener,
  body: (at: HttpAt) => Promise<void>,
  isSecure = false,
): Promise<void> {
  const { certificatePem: cert, keyPem: key } = await certificate;
  const server: Server = isSecure
    ? createSecureServer({ cert, key }, answer)
    : createServer(answer);
  let open = 0;
  let quiet = Promise.withResolvers<void>();
  server.on("connection", (socket) => {
    if (open++ === 0) quiet = Promise.withResolvers();
    socket.on("close", () => {
      if (--open === 0) quiet.resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, hostname, resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await body({
      url: `http${isSecure ? "s" : ""}://${hostname}:${port}/health`,
      isQuiet: () => quiet.promise,
    });
  } finally {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections?.();
    });
  }
}

interface Asked extends NetworkProbeOptions {
  readonly target?: ProbeTarget;
}

/** Probes once, for at most `timeout` milliseconds. */
async function probe(uri: string, { target = { kind: "moqt" }, ...options }: Asked): Promise<void> {
  const { timeout = patience } = options;
  const late = AbortSignal.timeout(timeout);
  await networkProbe({ ...options, timeout })({ rid: utf8("r1"), uri, target }, late);
}

async function ours(): Promise<NetworkProbeOptions> {
  return { certificateHashes: [(await certificate).hash] };
}

const get = (url: string): ProbeTarget => ({ kind: "http", url });

export interface HealthScenarioOptions {
  /** Whether the QUIC stack lets go of a handshake that is given up. */
  readonly givesUpOnTheWire: boolean;
}

export function healthScenarios(options: HealthScenarioOptions): void {
  describe("a probe by a session", () => {
    test("is passed by a relay that is up, and leaves with NO_ERROR", () =>
      withRelay(async (relay, { uri, webTransportUri, certificateHash }) => {
        const trust = { certificateHashes: [certificateHash] };
        await probe(uri, trust);
        await probe(webTransportUri, trust);
        const closes = await relay.closed(2);
        assert.deepEqual(
          closes.map(({ by, app, code }) => ({ by, app, code })),
          Array(2).fill({ by: "remote", app: true, code: 0n }),
        );
        assert.deepEqual([relay.sessions, relay.seen.length], [0, 0]);
      }));

    test("is not passed by an address where nobody is any more", async () => {
      let uri = "";
      await withRelay(async (_, listening) => {
        uri = listening.uri;
      });
      await assert.rejects(probe(uri, { ...(await ours()), timeout: 1_000 }), (error) =>
        ["CONNECT_FAILED", "TimeoutError"].includes(codeOf(error)),
      );
    });

    test("is not passed by silence, and is given up at once when it is told to", () =>
      withUdp(undefined, async (uri, { first, received }) => {
        const giving = new AbortController();
        const relay = { rid: utf8("r1"), uri, target: { kind: "moqt" as const } };
        const attempt = networkProbe({ ...(await ours()), timeout: patience })(
          relay,
          giving.signal,
        );
        await first;
        giving.abort(new Error("not needed any more"));
        await assert.rejects(attempt, { message: "not needed any more" });
        if (!options.givesUpOnTheWire) return;
        // A handshake that goes on sends again after a second, and more than once in three.
        const before = received();
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        assert.ok(received() <= before + 1, `${received() - before} datagrams after the end`);
      }));

    test("is not passed by garbage", () =>
      withUdp(new Uint8Array(1_200).fill(0xc5), async (uri) => {
        await assert.rejects(probe(uri, { ...(await ours()), timeout: 1_000 }), (error) =>
          ["CONNECT_FAILED", "TimeoutError"].includes(codeOf(error)),
        );
      }));

    test("is not passed by a server without MOQT", () =>
      withQuic({ alpn: ["h3", "other"] }, noted, async (uri) => {
        await assert.rejects(probe(uri, await ours()), { code: "CONNECT_FAILED" });
      }));

    test("is not passed by a relay whose certificate is not trusted", () =>
      withQuic({}, noted, async (uri) => {
        const { hash } = await developmentCertificate();
        const { certificatePem: ca } = await certificate;
        const { certificatePem: other } = await developmentCertificate();
        for (const trust of [{ certificateHashes: [hash] }, { ca: other }, {}]) {
          await assert.rejects(probe(uri, trust), { code: "CERTIFICATE_REFUSED" });
        }
        // The right one is trusted; that the server then says nothing is another matter.
        await assert.rejects(probe(uri, { ca, timeout: 1_000 }), { name: "TimeoutError" });
      }));

    test("is not passed without SETUP, and leaves with NO_ERROR all the same", async () => {
      const giving = new AbortController();
      const closed = Promise.withResolvers<SessionClose>();
      const serve = async (connection: QuicConnection) => {
        // Its control stream: the client waits for ours from now on.
        await connection.accept();
        giving.abort(new Error("late"));
        closed.resolve(await connection.closed);
      };
      await withQuic({}, serve, async (uri) => {
        const relay = { rid: utf8("r1"), uri, target: { kind: "moqt" as const } };
        const attempt = networkProbe({ ...(await ours()), timeout: patience })(
          relay,
          giving.signal,
        );
        await assert.rejects(attempt, { message: "late" });
        const { by, app, code } = await closed.promise;
        assert.deepEqual({ by, app, code }, { by: "remote", app: true, code: 0n });
      });
    });

    test("is not passed by a SETUP that is none", () => {
      const serve = async (connection: QuicConnection) => {
        const stream = await connection.openUni();
        await stream.write(new Uint8Array(64).fill(0xff)).catch(() => {});
      };
      return withQuic({}, serve, async (uri) => {
        await assert.rejects(probe(uri, await ours()), { code: "SETUP_FAILED" });
      });
    });

    test("is not passed by a server that closes first", () =>
      withQuic(
        {},
        (connection) => connection.close(0n, "no"),
        async (uri) => {
          await assert.rejects(probe(uri, await ours()), (error) =>
            ["SETUP_FAILED", "CONNECT_FAILED"].includes(codeOf(error)),
          );
        },
      ));

    test("is not passed by a URI that names no relay", async () => {
      for (const uri of ["", "http://relay.example/", "relay.example"]) {
        await assert.rejects(probe(uri, {}), { code: "INVALID_TARGET" });
      }
    });

    test("asks a hundred relays at once", () =>
      withRelay(async (relay, { uri, certificateHash }) => {
        const trust = { certificateHashes: [certificateHash], timeout: 30_000 };
        await Promise.all(Array.from({ length: 100 }, () => probe(uri, trust)));
        assert.ok((await relay.closed(100)).every(({ code }) => code === 0n));
        assert.equal(relay.sessions, 0);
      }));
  });

  describe("a probe by HTTP", () => {
    test("is passed by 2xx alone, and follows no redirect", async () => {
      const asked: (string | undefined)[] = [];
      const answer: RequestListener = ({ url = "", method }, response) => {
        asked.push(`${method} ${url}`);
        response.writeHead(Number(url.slice(1)), { location: "/200" }).end("body");
      };
      await withHttp(answer, async ({ url, isQuiet }) => {
        const at = (status: number) => get(new URL(`/${status}`, url).href);
        for (const status of [200, 204, 299]) await probe("", { target: at(status) });
        for (const status of [302, 307, 404, 500, 503]) {
          await assert.rejects(probe("", { target: at(status) }), { code: `HTTP_${status}` });
        }
        await isQuiet();
      });
      assert.deepEqual(
        asked,
        [200, 204, 299, 302, 307, 404, 500, 503].map((status) => `GET /${status}`),
      );
    });

    test("is not passed by silence, and leaves no connection", () =>
      withHttp(
        () => {},
        async ({ url, isQuiet }) => {
          const asked = probe("", { target: get(url), timeout: 500 });
          await assert.rejects(asked, { name: "TimeoutError" });
          await isQuiet();
        },
      ));

    test("does not wait for a body that never ends", () =>
      withHttp(
        (_, response) => {
          response.writeHead(200).write("and then");
        },
        async ({ url, isQuiet }) => {
          await probe("", { target: get(url) });
          await isQuiet();
        },
      ));

    test("is not passed where nobody listens", async () => {
      let gone = "";
      await withHttp(
        () => {},
        async ({ url }) => {
          gone = url;
        },
      );
      await assert.rejects(probe("", { target: get(gone) }), { code: "CONNECT_FAILED" });
    });

    test("checks the certificate of an https URL, by authority or by hash", () =>
      withHttp(
        (_, response) => {
          response.end("fine");
        },
        async ({ url, isQuiet }) => {
          const { certificatePem: ca } = await certificate;
          const target = get(url);
          await probe("", { target, ca });
          await probe("", { target, ...(await ours()) });
          const { hash, certificatePem: other } = await developmentCertificate();
          for (const trust of [{}, { ca: other }, { certificateHashes: [hash] }]) {
            await assert.rejects(probe("", { target, ...trust }), { code: "CERTIFICATE_REFUSED" });
          }
          await isQuiet();
        },
        true,
      ));

    test("is not passed by a URL of something else", async () => {
      for (const url of ["", "ftp://relay.example/", "relay.example"]) {
        await assert.rejects(probe("", { target: get(url) }), { code: "INVALID_TARGET" });
      }
    });
  });

  describe("health checks of real relays", () => {
    test("see a relay killed and come back, and stop in the middle of a probe", async () => {
      await withRelay(async (_, steady) => {
        const relay = new WatchedRelay({ name: "r2" });
        let current = await listen(relay);
        const health = createHealth(
          { interval: 200, timeout: 1_000, fall: 2, rise: 2 },
          {
            // The second relay has another port and certificate each time that it starts.
            probe: (asked, signal) => {
              const { uri, certificateHash } = asked.uri === steady.uri ? steady : current;
              const trust = { certificateHashes: [certificateHash], timeout: 1_000 };
              return networkProbe(trust)({ ...asked, uri }, signal);
            },
            now: Date.now,
            monotonic: () => performance.now(),
            timers: {
              setTimeout: (callback, delay) => setTimeout(callback, delay),
              clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
            },
            random: Math.random,
          },
        );
        const target = { kind: "moqt" } as const;
        const [r1, r2] = [utf8("r1"), utf8("r2")];
        let tell = () => {};
        health.onChange = () => tell();
        const until = async (condition: () => boolean) => {
          while (!condition()) {
            await new Promise<void>((resolve) => {
              tell = resolve;
            });
          }
        };
        health.setRelays([
          { rid: r1, uri: steady.uri, target },
          { rid: r2, uri: "moqt://relay.example/", target },
        ]);
        health.start();
        await until(() => [r1, r2].every((rid) => health.state(toHex(rid))?.verdict === "up"));
        await current.close();
        await until(() => health.down.has(toHex(r2)));
        current = await listen(relay);
        await until(() => health.down.size === 0);
        await current.close();
        assert.equal(health.state(toHex(r1))?.flaps, 0);
        await health.stop();
      });
    });
  });
}

function noted(connection: QuicConnection): void {
  connection.closed.catch(() => {});
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name: string };
  return typeof code === "string" ? code : name;
}
