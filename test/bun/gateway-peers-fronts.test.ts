/** HAProxy and nghttpx, which know nothing of the draft, in front of an origin that implements it. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { haproxy } from "../../bench/proxies/haproxy.ts";
import { nghttpx } from "../../bench/proxies/nghttpx.ts";
import { type ReverseProxy, start } from "../../bench/proxies/proxy.ts";
import { type OriginServer, serve } from "../../src/http2/serve.ts";
import { RawClient } from "../support/http2/raw-client.ts";
import { application, digest, octets } from "./gateway-peers/application.ts";
import { type CertificateFiles, certificateFiles, peer } from "./gateway-peers/bed.ts";

const slow = 60_000;

let directory: string;
let files: CertificateFiles;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "yardmaster-peers-"));
  files = await certificateFiles(directory);
});

afterAll(() => rmSync(directory, { recursive: true }));

for (const [program, proxy] of [
  ["haproxy", haproxy],
  ["nghttpx", nghttpx],
] as const) {
  if (peer(program) !== undefined) describe(program, () => suite(proxy));
}

/** Two clients of a proxy in front of our origin. */
async function throughProxy(
  proxy: ReverseProxy,
  scheme: "https" | "http",
  body: (clients: readonly [RawClient, RawClient], origin: OriginServer) => Promise<void>,
): Promise<void> {
  const { certificatePem: certificate, keyPem: key } = files;
  const origin = await serve({
    fetch: application,
    ...(scheme === "https" ? { certificate, key } : { cleartext: true }),
  });
  const running = await start(proxy, {
    directory,
    certificate: files.certificate,
    key: files.key,
    authority: files.ca,
    origin: { scheme, port: origin.port },
  });
  const connect = () => RawClient.connect({ port: running.port, tls: { serverName: "localhost" } });
  const clients = [await connect(), await connect()] as const;
  try {
    await body(clients, origin);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
    await running.stop();
    await origin.close();
  }
}

function suite(proxy: ReverseProxy): void {
  for (const scheme of ["https", "http"] as const) {
    const where = scheme === "https" ? "over TLS" : "in cleartext";
    test(
      `gets all that it asks for, and is in no group whatever Client-Group its clients send, ${where} [CG-PROC-12, CG-SET-2, CG-SET-16, CG-SEC-13]`,
      () =>
        throughProxy(proxy, scheme, async (clients) => {
          for (const client of clients) {
            const { status, content } = await client.fetch({
              authority: "localhost",
              path: "/seen",
              fields: [["client-group", "7"]],
            });
            expect(status).toBe(200);
            expect(JSON.parse(content)).toMatchObject({
              grouped: false,
              fields: { "client-group": "7" },
            });
          }
          const both = clients.flatMap((client) =>
            Array.from({ length: 20 }, () =>
              client.fetch({ authority: "localhost", path: "/picture" }),
            ),
          );
          expect((await Promise.all(both)).every(({ status }) => status === 200)).toBe(true);
          for (const client of clients) client.assertUntouched();
        }),
      slow,
    );
  }

  test(
    "sends and gets a MiB unchanged",
    () =>
      throughProxy(proxy, "https", async ([a, b]) => {
        const content = octets(2 ** 20);
        const upload = await a.fetch({
          authority: "localhost",
          method: "POST",
          path: "/digest",
          content,
        });
        expect(upload.content).toBe(digest(content));
        const id = b.request({ authority: "localhost", path: `/octets?length=${2 ** 20}` });
        await b.response(id);
        expect(digest(b.content(id))).toBe(digest(content));
      }),
    slow,
  );

  test(
    "moves to another connection when the origin gives the old one up, and its clients notice nothing [CG-PROC-11, CG-CGOAWAY-5]",
    () =>
      throughProxy(proxy, "https", async ([a, b], origin) => {
        const ask = (client: RawClient) =>
          client.fetch({ authority: "localhost", path: "/picture" });
        expect((await ask(a)).status).toBe(200);
        await origin.rotate({ policy: 3 });
        for (const client of [a, b, a]) expect((await ask(client)).status).toBe(200);
        a.assertUntouched();
        b.assertUntouched();
      }),
    slow,
  );
}
