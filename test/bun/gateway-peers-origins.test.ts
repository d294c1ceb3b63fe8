/** nghttpd, nginx and Caddy, which know nothing of the draft, as origins of `yard gateway`. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RawClient } from "../support/http2/raw-client.ts";
import { digest, octets } from "./gateway-peers/application.ts";
import {
  type CertificateFiles,
  certificateFiles,
  peer,
  runtimes,
  withGateway,
  withServer,
} from "./gateway-peers/bed.ts";

const slow = 60_000;
const large = octets(2 ** 20);

let directory: string;
let files: CertificateFiles;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "yardmaster-peers-"));
  mkdirSync(join(directory, "content"));
  writeFileSync(join(directory, "content", "small.txt"), "a small file\n");
  writeFileSync(join(directory, "content", "large.bin"), large);
  files = await certificateFiles(directory);
});

afterAll(() => rmSync(directory, { recursive: true }));

/** How one program serves the files over HTTP/2. */
interface Served {
  readonly program: string;
  readonly scheme: "https" | "http";
  command(path: string, port: number): readonly string[];
  /** Its log, or a field of its responses, has what came as Client-Group. */
  readonly tells: "log" | "x-group";
}

const origins: readonly Served[] = [
  {
    program: "nghttpd",
    scheme: "https",
    tells: "log",
    command: (path, port) => [
      path,
      "--verbose",
      "--address=127.0.0.1",
      `--htdocs=${join(directory, "content")}`,
      String(port),
      files.key,
      files.certificate,
    ],
  },
  {
    program: "nghttpd",
    scheme: "http",
    tells: "log",
    command: (path, port) => [
      path,
      "--verbose",
      "--no-tls",
      "--address=127.0.0.1",
      `--htdocs=${join(directory, "content")}`,
      String(port),
    ],
  },
  ...(["https", "http"] as const).map(
    (scheme): Served => ({
      program: "nginx",
      scheme,
      tells: "x-group",
      command: (path, port) => {
        const home = join(directory, `nginx-${port}`);
        mkdirSync(home);
        const tls =
          scheme === "https"
            ? `ssl_certificate ${files.certificate}; ssl_certificate_key ${files.key};`
            : "";
        writeFileSync(
          join(home, "nginx.conf"),
          `daemon off; master_process off; pid ${home}/pid; error_log ${home}/errors;
events {}
http {
  access_log off;
  client_body_temp_path ${home}/1; proxy_temp_path ${home}/2; fastcgi_temp_path ${home}/3;
  uwsgi_temp_path ${home}/4; scgi_temp_path ${home}/5;
  server {
    listen 127.0.0.1:${port} ${scheme === "https" ? "ssl " : ""}http2;
    ${tls}
    root ${join(directory, "content")};
    add_header x-group "[$http_client_group]" always;
  }
}
`,
        );
        return [path, "-p", home, "-c", join(home, "nginx.conf"), "-e", join(home, "errors")];
      },
    }),
  ),
  ...(["https", "http"] as const).map(
    (scheme): Served => ({
      program: "caddy",
      scheme,
      tells: "x-group",
      command: (path, port) => {
        const home = join(directory, `caddy-${port}`);
        mkdirSync(home);
        const tls = scheme === "https" ? `tls ${files.certificate} ${files.key}` : "";
        writeFileSync(
          join(home, "Caddyfile"),
          `{
  admin off
  auto_https off
  storage file_system ${home}
  servers {
    protocols h1 h2 h2c
  }
}
${scheme}://:${port} {
  bind 127.0.0.1
  ${tls}
  root * ${join(directory, "content")}
  header x-group "[{header.Client-Group}]"
  file_server
}
`,
        );
        const config = join(home, "Caddyfile");
        return [path, "run", "--adapter", "caddyfile", "--config", config];
      },
    }),
  ),
];

for (const name of new Set(origins.map(({ program }) => program))) {
  const path = peer(name);
  if (path === undefined) continue;
  describe(name, () => {
    for (const origin of origins.filter(({ program }) => program === name)) {
      for (const runtime of runtimes) suite(origin, path, runtime);
    }
  });
}

function suite(origin: Served, path: string, runtime: (typeof runtimes)[number]): void {
  const where = `${origin.scheme === "https" ? "over TLS" : "in cleartext"}, on ${runtime}`;
  test(
    `serves two clients as ever, and gets no Client-Group once its SETTINGS have come, ${where} [CG-PROC-5, CG-PROC-6, CG-PROC-7, CG-PROC-12, CG-SEC-13, D08]`,
    () =>
      withServer(
        (port) => origin.command(path, port),
        (port, server) =>
          withGateway(runtime, files, { scheme: origin.scheme, port }, async (gateway) => {
            const connect = () =>
              RawClient.connect({ port: gateway.port, tls: { serverName: "localhost" } });
            const [a, b] = [await connect(), await connect()];
            const ask = (client: RawClient, path: string, method = "GET") =>
              client.fetch({ authority: "localhost", path, method });
            try {
              expect((await ask(a, "/small.txt")).content).toBe("a small file\n");
              const before = server.output().length;
              const later = await Promise.all(
                [a, b].flatMap((client) =>
                  Array.from({ length: 10 }, () => ask(client, "/small.txt")),
                ),
              );
              expect(later.map(({ status, content }) => `${status} ${content}`)).toEqual(
                Array.from({ length: 20 }, () => "200 a small file\n"),
              );
              if (origin.tells === "x-group") {
                expect(new Set(later.map(({ head }) => head.get("x-group")))).toEqual(
                  new Set(["[]"]),
                );
              } else {
                const log = server.output().slice(before);
                expect(log.match(/:path: \/small\.txt/g)).toHaveLength(20);
                expect(log).not.toContain("client-group");
              }
              const id = b.request({ authority: "localhost", path: "/large.bin" });
              expect((await b.response(id)).status).toBe(200);
              expect(digest(b.content(id))).toBe(digest(large));
              const head = await ask(a, "/large.bin", "HEAD");
              expect([head.status, head.content, head.head.get("content-length")]).toEqual([
                200,
                "",
                String(large.length),
              ]);
              expect((await ask(b, "/missing")).status).toBe(404);
              a.assertUntouched();
              b.assertUntouched();
              const connections = await gateway.connections();
              expect(connections.map(({ support }) => support)).toEqual(["unsupported"]);
            } finally {
              await Promise.all([a.close(), b.close()]);
            }
          }),
      ),
    slow,
  );
}
