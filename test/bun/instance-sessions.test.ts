/** Whole instances as processes, on Bun and on Deno: live sessions at their ports, drain, reload. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSigningKey, homeAt } from "../../src/cli/home.ts";
import { ensureDevelopmentHome } from "../../src/cli/publish.ts";
import { certificateHash, connectQuic, developmentCertificate } from "../../src/quic/mod.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import type { SessionAddresses } from "../../workers/serve.ts";
import { tcpClient, tlsClient } from "../listeners/connections.ts";
import { RawPeer } from "../support/raw-peer.ts";
import { requestBytes } from "../support/redirect-bed.ts";
import {
  bun,
  deno,
  eventually,
  launch,
  type RunningProcess,
  root,
  withDirectory,
} from "./processes.ts";

const commands = {
  bun: [bun, join(root, "workers", "bun.ts")],
  deno: [deno, "run", "-A", "--no-lock", "--quiet", join(root, "workers", "deno.ts")],
};

let home: string;
let settings: Record<string, string>;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "yardmaster-sessions-"));
  const directory = homeAt(home);
  await createSigningKey(directory.keys);
  await ensureDevelopmentHome({ home: directory, now: Date.now() });
  settings = {
    PORT: "0",
    YARDMASTER_MOQT_PORT: "0",
    YARDMASTER_MAXIMUM_AGE: "600",
    YARDMASTER_AUTHORIZATION: "allow-all",
    YARDMASTER_TRUSTED_KEYS: directory.keys.trusted,
    YARDMASTER_STORE: `file:${home}/store`,
    YARDMASTER_LAST_KNOWN_GOOD: `file:${home}/last-known-good`,
    YARDMASTER_DEVELOPMENT_CERTIFICATE: home,
  };
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Instance {
  readonly process: RunningProcess;
  readonly sessions: SessionAddresses;
}

async function withInstance(
  command: readonly string[],
  environment: Record<string, string>,
  body: (instance: Instance) => Promise<void>,
): Promise<void> {
  const process = launch(command, { env: { ...settings, ...environment } });
  try {
    const [line] = await process.printed(/\{"event":"listening".*\}/);
    await body({ process, sessions: JSON.parse(line).sessions });
  } finally {
    process.kill("SIGKILL");
    await process.exited;
  }
}

async function overQuic({ quic, certificateHash: hash }: SessionAddresses): Promise<Transport> {
  const connection = await connectQuic({
    hostname: "127.0.0.1",
    port: portOf(quic),
    alpn: ["moqt-22"],
    certificateHashes: [new Uint8Array(Buffer.from(hash as string, "base64"))],
  });
  return quicTransport(connection);
}

function portOf(uri: string | undefined): number {
  return Number(/:(\d+)\//.exec(uri as string)?.[1]);
}

async function clientOver(transport: Transport): Promise<RawPeer> {
  const peer = new RawPeer(transport);
  await peer.setup();
  return peer;
}

const subscribe = requestBytes("SUBSCRIBE", "example.2ecom-m1--video");

for (const [runtime, command] of Object.entries(commands)) {
  describe(`an instance on ${runtime}`, () => {
    test("redirects over raw QUIC and over a WebSocket alike [LB-KEY-1] [LB-EX-5]", async () => {
      await withInstance(command, {}, async ({ sessions }) => {
        expect(sessions.stack).toContain(runtime === "bun" ? "quiche 0.18.0" : "quinn");
        for (const transport of [
          await overQuic(sessions),
          await connectQmux(sessions.webSocket, { protocols: ["moqt-22"] }),
        ]) {
          const peer = await clientOver(transport);
          const answer = await peer.refusal(subscribe);
          expect(answer.redirect?.connectUri).toBe("https://r2.example/moq");
          transport.close(0n, "");
          await transport.closed;
        }
      });
    }, 30_000);

    test("ends on SIGTERM although clients of the TCP port say and read nothing", async () => {
      const ports = { YARDMASTER_MOQT_TCP_PORT: "0", YARDMASTER_DRAIN_TIMEOUT: "0.2" };
      await withInstance(command, ports, async ({ process, sessions }) => {
        const port = portOf(sessions.webTransportOverTcp);
        const clients = [await tcpClient(port), await tlsClient(port, "paused")];
        process.kill("SIGTERM");
        expect(await process.exited).toBe(0);
        for (const client of clients) client.destroy();
      });
    }, 15_000);

    test("asks its clients to leave on SIGTERM, and ends when they have left [GA-10]", async () => {
      await withInstance(command, {}, async ({ process, sessions }) => {
        const peer = await clientOver(await overQuic(sessions));
        await peer.refusal(subscribe);
        process.kill("SIGTERM");
        expect((await peer.controlMessage()).type).toBe("SETUP");
        expect(await peer.controlMessage()).toMatchObject({
          type: "GOAWAY",
          newSessionUri: "",
          timeout: 10_000n,
        });
        peer.transport.close(0n, "");
        expect(await process.exited).toBe(0);
      });
    }, 30_000);

    test("closes with GOAWAY_TIMEOUT what stays after SIGTERM, and ends [GA-10]", async () => {
      const environment = { YARDMASTER_DRAIN_TIMEOUT: "0.5" };
      await withInstance(command, environment, async ({ process, sessions }) => {
        const transport = await connectQmux(sessions.webSocket, { protocols: ["moqt-22"] });
        const peer = await clientOver(transport);
        await peer.refusal(subscribe);
        process.kill("SIGTERM");
        await peer.closedWith("GOAWAY_TIMEOUT");
        expect(await process.exited).toBe(0);
      });
    }, 30_000);

    test("shows a certificate from files, and another one once they change", async () => {
      await withDirectory(async (directory) => {
        const files = {
          YARDMASTER_CERTIFICATE: join(directory, "chain.pem"),
          YARDMASTER_KEY: join(directory, "key.pem"),
        };
        const write = async () => {
          const made = await developmentCertificate();
          await Bun.write(files.YARDMASTER_KEY, made.keyPem);
          await Bun.write(files.YARDMASTER_CERTIFICATE, made.certificatePem);
          return Buffer.from(certificateHash(made)).toString("base64");
        };
        let hash = await write();
        await withInstance(command, files, async ({ process, sessions }) => {
          expect(sessions.certificateHash).toBeUndefined();
          (await overQuic({ ...sessions, certificateHash: hash })).close(0n, "");
          hash = await write();
          await process.printed(/"event":"certificate","outcome":"reloaded"/);
          (await overQuic({ ...sessions, certificateHash: hash })).close(0n, "");
        });
      });
    }, 30_000);

    test("logs sessions beside decisions, without names and addresses of tracks [LB-SEC-34]", async () => {
      await withInstance(command, { YARDMASTER_LOG: "json" }, async ({ process, sessions }) => {
        const peer = await clientOver(await overQuic(sessions));
        await peer.refusal(subscribe);
        peer.transport.close(0n, "");
        const [line] = await process.printed(/\{[^\n]*"event":"session-closed"[^\n]*\}/);
        expect(JSON.parse(line)).toMatchObject({ by: "remote", code: "NO_ERROR", redirects: 1 });
        expect(process.output()).toContain('"event":"session-opened"');
        expect(process.output()).not.toContain("video");
      });
    }, 30_000);

    for (const [name, wrong, complaint] of [
      ["a port that is none", { YARDMASTER_MOQT_PORT: "udp" }, "YARDMASTER_MOQT_PORT has to be"],
      [
        "a certificate that is not there",
        { YARDMASTER_CERTIFICATE: "/nowhere/c.pem", YARDMASTER_KEY: "/nowhere/k.pem" },
        "YARDMASTER_CERTIFICATE and YARDMASTER_KEY: ",
      ],
    ] as const) {
      test(`does not start with ${name}: one line, status 1`, async () => {
        const process = launch(command, { env: { ...settings, ...wrong } });
        expect(await process.exited).toBe(1);
        const lines = process
          .output()
          .split("\n")
          .filter((line) => line.includes("yardmaster: "));
        expect(lines).toHaveLength(1);
        expect(lines[0]).toContain(complaint);
        expect(process.output()).not.toContain("    at ");
      });
    }

    test("does not start on a UDP port that is taken", async () => {
      await withInstance(command, {}, async ({ sessions }) => {
        const taken = { YARDMASTER_MOQT_PORT: String(portOf(sessions.quic)) };
        const process = launch(command, { env: { ...settings, ...taken } });
        expect(await process.exited).toBe(1);
        expect(process.output()).toContain("yardmaster: YARDMASTER_MOQT_PORT");
      });
    }, 30_000);
  });
}

test("GET /moqt without an upgrade is 426 on both runtimes", async () => {
  for (const command of Object.values(commands)) {
    await withInstance(command, {}, async ({ sessions }) => {
      const url = sessions.webSocket.replace(/^ws/, "http");
      const response = await eventually(
        () => fetch(url),
        ({ status }) => status !== 0,
      );
      expect(response.status).toBe(426);
      expect(response.headers.get("upgrade")).toBe("websocket");
    });
  }
}, 30_000);
