/** ngtcp2 with nghttp3, which nobody here wrote, as client of our server and as server of our client. */

import { describe, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  Http3ClientConnection,
  Http3ServerConnection,
  type RequestHead,
  type ServerRequest,
} from "../../src/http3/mod.ts";
import { connectQuic, type QuicConnection } from "../../src/quic/mod.ts";
import { readBody } from "../quic/http3-body.ts";
import { pattern, testCertificate, withServer } from "../quic/pair.ts";
import { withDirectory } from "./processes.ts";

const searched = { PATH: "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin" };
const clientPath = Bun.which("gtlsclient", searched);
const serverPath = Bun.which("gtlsserver", searched);
const backends = { server: "quiche", client: "quiche" } as const;

if (clientPath === null) console.log("no gtlsclient on this machine: its tests are left out");
else describe("nghttp3 as client", () => asClient(clientPath));

if (serverPath === null) console.log("no gtlsserver on this machine: its tests are left out");
else describe("nghttp3 as server", () => asServer(serverPath));

function asClient(path: string): void {
  test("gets what it asks for, several requests on one connection", async () => {
    const seen = await served(async (port) => {
      const uris = ["/one", "/two?x=1", "/three"].map((target) => `https://localhost${target}`);
      return await gtlsclient(path, port, uris);
    });
    expect(seen.requests.sort()).toEqual(["GET /one 0", "GET /three 0", "GET /two?x=1 0"]);
    expect(seen.output.match(/\[:status: 200\]/g)).toHaveLength(3);
    expect(seen.output.match(/\[x-served-by: yardmaster\]/g)).toHaveLength(3);
    expect(seen.output).toContain("GET /two?x=1 0");
  }, 20_000);

  test(
    "sends a body that is larger than the windows",
    () =>
      withDirectory(async (directory) => {
        const file = join(directory, "body");
        await writeFile(file, pattern(700_000));
        const seen = await served((port) =>
          gtlsclient(path, port, ["https://localhost/upload"], ["-m", "POST", "-d", file]),
        );
        expect(seen.requests).toEqual(["POST /upload 700000"]);
        expect(seen.output).toContain("[:status: 200]");
      }),
    20_000,
  );
}

function asServer(path: string): void {
  test(
    "gives our client files, and 404 where there are none",
    () =>
      withDirectory(async (directory) => {
        const { certificatePem, keyPem } = await testCertificate();
        await Promise.all([
          writeFile(join(directory, "cert.pem"), certificatePem),
          writeFile(join(directory, "key.pem"), keyPem),
          writeFile(join(directory, "file.txt"), pattern(500_000)),
        ]);
        const port = await freePort();
        const files = [join(directory, "key.pem"), join(directory, "cert.pem")];
        const server = Bun.spawn(
          [path, "-q", "-d", directory, "127.0.0.1", String(port), ...files],
          {
            stdout: "ignore",
            stderr: "ignore",
          },
        );
        try {
          const http3 = new Http3ClientConnection(await connectWhenReady(port));
          const get = (target: string): RequestHead => ({
            method: "GET",
            scheme: "https",
            authority: "localhost",
            path: target,
            headers: [{ name: "user-agent", value: "yardmaster" }],
          });
          const [file, missing] = await Promise.all([
            http3.request(get("/file.txt"), { end: true }),
            http3.request(get("/missing"), { end: true }),
          ]);
          const { status, headers } = await file.response();
          expect(status).toBe(200);
          expect(headers.find(({ name }) => name === "content-length")?.value).toBe("500000");
          expect(await readBody(file)).toEqual(pattern(500_000));
          expect((await missing.response()).status).toBe(404);
          await readBody(missing);
          await http3.shutdown();
          expect((await http3.closed).by).toBe("local");
        } finally {
          server.kill();
          await server.exited;
        }
      }),
    20_000,
  );
}

/** Runs a server that says what it was asked while `client` talks to it. */
async function served(
  client: (port: number) => Promise<string>,
): Promise<{ requests: string[]; output: string }> {
  const requests: string[] = [];
  const answer = async (request: ServerRequest) => {
    const { length } = await readBody(request);
    const line = `${request.method} ${request.path} ${length}`;
    requests.push(line);
    await request.respond(200, [{ name: "x-served-by", value: "yardmaster" }]);
    await request.write(new TextEncoder().encode(line), true);
  };
  let output = "";
  await withServer(backends, { alpn: ["h3"] }, async (listener) => {
    const serving = (async () => {
      for (let quic = await listener.accept(); quic !== null; quic = await listener.accept()) {
        const server = new Http3ServerConnection(quic);
        for (let next = await server.accept(); next !== null; next = await server.accept()) {
          void answer(next);
        }
      }
    })();
    output = await client(listener.address.port);
    await listener.close();
    await serving;
  });
  return { requests, output };
}

async function gtlsclient(
  path: string,
  port: number,
  uris: readonly string[],
  options: readonly string[] = [],
): Promise<string> {
  const child = Bun.spawn(
    [path, "--exit-on-all-streams-close", ...options, "127.0.0.1", String(port), ...uris],
    { stdout: "pipe", stderr: "pipe" },
  );
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return out + err;
}

/** A UDP port that was free a moment ago. */
async function freePort(): Promise<number> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}

/** Connects as soon as the server answers, which it does some time after it was started. */
async function connectWhenReady(port: number): Promise<QuicConnection> {
  const { hash } = await testCertificate();
  for (let attempt = 0; ; attempt++) {
    try {
      return await connectQuic({
        hostname: "127.0.0.1",
        port,
        alpn: ["h3"],
        certificateHashes: [hash],
        connectTimeout: 500,
      });
    } catch (error) {
      if (attempt === 20) throw error;
    }
  }
}
