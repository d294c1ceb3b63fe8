/**
 * Dialling a server by every kind of URI, over the loopback interface.
 *
 * @module
 */

import assert from "node:assert/strict";
import { describe, test } from "#test";
import { Http3ServerConnection, type SessionDecision } from "../../src/http3/mod.ts";
import { developmentCertificate } from "../../src/quic/development-certificate.ts";
import { listenQuic } from "../../src/quic/open.ts";
import { type DialOptions, dial } from "../../src/transport/dial.ts";
import { listenWebTransportH2 } from "../../src/transport/webtransport-h2.ts";
import { serveQmux } from "../support/qmux-server.ts";

const hostname = "127.0.0.1";
const certificate = developmentCertificate();

/** A host that takes sessions over what it is told to, and remembers what came. */
interface Host {
  readonly port: number;
  readonly trust: DialOptions;
  /** What came so far, of which there has to be something sooner or later. */
  requests(): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface HostOptions {
  readonly udp?: boolean;
  readonly tcp?: boolean;
  /** What it answers over HTTP/3. */
  readonly decision?: SessionDecision;
}

async function startHost({ udp = false, tcp = false, decision }: HostOptions): Promise<Host> {
  const { hash, ...pem } = await certificate;
  const requests: string[] = [];
  const asked = Promise.withResolvers<void>();
  const note = (request: string) => {
    requests.push(request);
    asked.resolve();
  };
  const http2 = await listenWebTransportH2({
    hostname,
    port: 0,
    certificate: pem,
    protocols: ["moqt-22"],
    accept: ({ path, bearerToken }) => {
      note(`HTTP/2 ${path} ${bearerToken}`);
      return {};
    },
  });
  const { port } = http2.address;
  if (!tcp) await http2.close();
  const quic = udp
    ? await listenQuic({ hostname, port, certificate: pem, alpn: ["moqt-22", "h3"] })
    : undefined;
  void (async () => {
    for (let connection = await quic?.accept(); connection; connection = await quic?.accept()) {
      note(`QUIC ${connection.alpn}`);
      if (connection.alpn !== "h3") continue;
      new Http3ServerConnection(connection, {
        webTransport: {
          accept: ({ path, headers }) => {
            const token = headers.find(({ name }) => name === "authorization")?.value;
            note(`HTTP/3 ${path} ${token}`);
            return decision ?? { protocol: "moqt-22" };
          },
        },
      });
    }
  })();
  return {
    port,
    trust: { certificateHashes: [hash], connectTimeout: 2_000, fallbackDelay: 500 },
    async requests() {
      await asked.promise;
      return requests;
    },
    async close() {
      await Promise.all([http2.close(), quic?.close()]);
    },
  };
}

async function withHost(options: HostOptions, body: (host: Host) => Promise<void>): Promise<void> {
  const host = await startHost(options);
  try {
    await body(host);
  } finally {
    await host.close();
  }
}

export function dialScenarios(): void {
  describe("dialling", () => {
    test("is raw QUIC for moqt:, with the best draft of both", () =>
      withHost({ udp: true }, async ({ port, trust, requests }) => {
        const transport = await dial(`moqt://${hostname}:${port}/live`, trust);
        assert.deepEqual([transport.kind, transport.protocol], ["quic", "moqt-22"]);
        assert.equal(transport.path, undefined);
        transport.close(0n, "");
        await transport.closed;
        assert.deepEqual(await requests(), ["QUIC moqt-22"]);
      }));

    test("keeps a session that nobody speaks on", () =>
      withHost({ udp: true }, async ({ port, trust }) => {
        // The host does not ping: without pings of ours, both would let go after 900 ms.
        const options = { ...trust, idleTimeout: 900 };
        const sessions = await Promise.all(
          ["moqt", "https"].map((scheme) => dial(`${scheme}://${hostname}:${port}/live`, options)),
        );
        const ended = Promise.race(sessions.map(({ closed }) => closed));
        const silence = new Promise<undefined>((resolve) => setTimeout(resolve, 2_500));
        assert.equal(await Promise.race([ended, silence]), undefined);
        for (const session of sessions) session.close(0n, "");
      }));

    test("is WebTransport over HTTP/3 for https:, with the token", () =>
      withHost({ udp: true, tcp: true }, async ({ port, trust, requests }) => {
        const options = { ...trust, bearerToken: "abc.def", fallbackDelay: 2_000 };
        const transport = await dial(`https://${hostname}:${port}/live?tenant=a`, options);
        assert.deepEqual([transport.kind, transport.protocol], ["webtransport-h3", "moqt-22"]);
        transport.close(0n, "");
        await transport.closed;
        assert.deepEqual(await requests(), ["QUIC h3", "HTTP/3 /live?tenant=a Bearer abc.def"]);
      }));

    test("falls back to HTTP/2 where UDP does not pass", () =>
      withHost({ tcp: true }, async ({ port, trust, requests }) => {
        const options = { ...trust, bearerToken: "abc.def" };
        const transport = await dial(`https://${hostname}:${port}/live`, options);
        assert.deepEqual([transport.kind, transport.protocol], ["webtransport-h2", "moqt-22"]);
        transport.close(0n, "");
        await transport.closed;
        assert.deepEqual(await requests(), ["HTTP/2 /live abc.def"]);
      }));

    test("takes no for an answer", () =>
      withHost({ udp: true, tcp: true, decision: { status: 403 } }, async (host) => {
        const attempt = dial(`https://${hostname}:${host.port}/live`, {
          ...host.trust,
          fallbackDelay: 2_000,
        });
        await assert.rejects(attempt, { code: "CONNECT_FAILED", message: /403/ });
        assert.deepEqual(await host.requests(), ["QUIC h3", "HTTP/3 /live undefined"]);
      }));

    test("fails in bounded time where nobody answers", () =>
      withHost({}, async ({ port, trust }) => {
        const options = { ...trust, connectTimeout: 500, fallbackDelay: 100 };
        for (const scheme of ["moqt", "https", "wss"]) {
          const attempt = dial(`${scheme}://${hostname}:${port}/`, options);
          await assert.rejects(attempt, { code: "CONNECT_FAILED" });
        }
      }));

    test("does not go on once it is given up", () =>
      withHost({}, async ({ port, trust }) => {
        for (const scheme of ["moqt", "https", "ws"]) {
          const signal = AbortSignal.abort(new Error("not needed any more"));
          const attempt = dial(`${scheme}://${hostname}:${port}/`, { ...trust, signal });
          await assert.rejects(attempt, { message: "not needed any more" });
        }
      }));

    test("is QMux for ws:, with the token", async () => {
      const server = serveQmux({ protocols: ["moqt-20"] });
      try {
        const [transport, accepted] = await Promise.all([
          dial(`${server.url}/moqt`, { bearerToken: "abc.def" }),
          server.accept(),
        ]);
        assert.deepEqual([transport.kind, transport.protocol], ["qmux", "moqt-20"]);
        assert.deepEqual([accepted.path, accepted.bearerToken], ["/moqt", "abc.def"]);
        transport.close(7n, "done");
        assert.equal((await accepted.closed).code, 7n);
      } finally {
        await server.close();
      }
    });

    test("is QMux over TLS for wss:, where the authority is trusted", async () => {
      const pem = await developmentCertificate({ names: ["localhost"] });
      const server = serveQmux({ protocols: ["moqt-22"], certificate: pem });
      const url = `${server.url.replace("ws://127.0.0.1", "wss://localhost")}/moqt`;
      try {
        const transport = await dial(url, { ca: pem.certificatePem });
        assert.equal(transport.protocol, "moqt-22");
        transport.close(0n, "");
        await transport.closed;
        await assert.rejects(dial(url), { code: "CONNECT_FAILED" });
      } finally {
        await server.close();
      }
    });

    test("refuses what is no URI of MOQT", async () => {
      for (const uri of ["", "lb.example", "http://lb.example/", "moqt:///path", "mailto:a@b.c"]) {
        await assert.rejects(dial(uri), { code: "INVALID_OPTION" });
      }
    });
  });
}
