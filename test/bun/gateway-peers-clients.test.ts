/** curl, nghttp, h2load and Chromium, which nobody here wrote, as clients of `yard gateway`. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { type OriginServer, serve } from "../../src/http2/serve.ts";
import { settings } from "../support/http2/frames.ts";
import { RawOrigin } from "../support/http2/raw-origin.ts";
import { chromiumPath } from "./chromium.ts";
import { application, digest, octets } from "./gateway-peers/application.ts";
import {
  type CertificateFiles,
  certificateFiles,
  type PeerGateway,
  peer,
  type Runtime,
  run,
  runtimes,
  withGateway,
} from "./gateway-peers/bed.ts";

const [curl, nghttp, h2load] = ["curl", "nghttp", "h2load"].map(peer);
if (chromiumPath === undefined) console.log("no Chromium on this machine: its tests are left out");

/** Programs start, and browsers take their time on a busy machine. */
const slow = 60_000;

let directory: string;
let files: CertificateFiles;
let origin: OriginServer;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "yardmaster-peers-"));
  files = await certificateFiles(directory);
  const { certificatePem: certificate, keyPem: key } = files;
  origin = await serve({ fetch: application, certificate, key });
});

afterAll(async () => {
  await origin.close();
  rmSync(directory, { recursive: true });
});

/** A test of a gateway in front of our origin, on each runtime. */
function through(name: string, body: (gateway: PeerGateway) => Promise<void>): void {
  for (const runtime of runtimes) {
    const run = () => withGateway(runtime, files, { scheme: "https", port: origin.port }, body);
    describe(`on ${runtime}`, () => test(name, run, slow));
  }
}

/** A test of a gateway in front of a scripted origin in cleartext, on each runtime. */
function scripted(
  name: string,
  body: (gateway: PeerGateway, origin: RawOrigin) => Promise<void>,
): void {
  const withOrigin = async (runtime: Runtime) => {
    const raw = await RawOrigin.listen({ settings: [[settings.SHARED_CONNECTION_POLICY, 0]] });
    try {
      const { port } = raw;
      await withGateway(runtime, files, { scheme: "http", port }, (gateway) => body(gateway, raw));
    } finally {
      await raw.close();
    }
  };
  for (const runtime of runtimes) {
    describe(`on ${runtime}`, () => test(name, () => withOrigin(runtime), slow));
  }
}

if (curl !== undefined) describe("curl", () => curlSuite(curl));
if (nghttp !== undefined) describe("nghttp", () => nghttpSuite(nghttp));
if (h2load !== undefined) describe("h2load", () => h2loadSuite(h2load));
if (chromiumPath !== undefined) describe("Chromium", () => chromiumSuite(chromiumPath as string));

function curlSuite(curl: string): void {
  /** How curl gets to the gateway, and what its `http_version` is then. */
  const ways = [
    {
      flags: ["--http2"],
      version: "2",
      base: ({ port }: PeerGateway) => `https://127.0.0.1:${port}`,
    },
    {
      flags: ["--http1.1"],
      version: "1.1",
      base: ({ port }: PeerGateway) => `https://127.0.0.1:${port}`,
    },
    {
      flags: ["--http2-prior-knowledge"],
      version: "2",
      base: ({ cleartextPort }: PeerGateway) => `http://127.0.0.1:${cleartextPort}`,
    },
    {
      flags: ["--http1.1"],
      version: "1.1",
      base: ({ cleartextPort }: PeerGateway) => `http://127.0.0.1:${cleartextPort}`,
    },
  ];
  const call = (flags: readonly string[], ...more: readonly string[]) =>
    run([curl, "--silent", "--show-error", "--insecure", "--noproxy", "*", ...flags, ...more]);

  through("is served HTTP/2 and HTTP/1.1, over TLS and in cleartext", async (gateway) => {
    for (const { flags, version, base } of ways) {
      const { stdout, stderr } = await call(
        flags,
        "--write-out",
        " %{http_version} %{http_code}",
        `${base(gateway)}/octets?length=0`,
      );
      expect(`${stdout}${stderr}`).toBe(` ${version} 200`);
    }
  });

  through("sends three MiB, and gets five, unchanged", async (gateway) => {
    const file = join(directory, "upload");
    const content = octets(3 * 2 ** 20);
    writeFileSync(file, content);
    for (const { flags, base } of ways) {
      const upload = await call(flags, "--data-binary", `@${file}`, `${base(gateway)}/digest`);
      expect(`${upload.stdout}${upload.stderr}`).toBe(digest(content));
      const received = join(directory, `download-${gateway.port}`);
      const url = `${base(gateway)}/octets?length=${5 * 2 ** 20}`;
      expect((await call(flags, "--output", received, url)).stderr).toBe("");
      const bytes = new Uint8Array(await Bun.file(received).arrayBuffer());
      expect(digest(bytes)).toBe(digest(octets(5 * 2 ** 20)));
    }
  });

  through("gets the head alone for HEAD, nothing with 204, and 404 as it is", async (gateway) => {
    for (const { flags, base } of ways) {
      const head = await call(flags, "--head", `${base(gateway)}/picture`);
      expect(head.stderr).toBe("");
      expect(head.stdout).toMatch(/^HTTP\/\S+ 200/);
      expect(head.stdout.toLowerCase()).toContain("content-type: image/svg+xml");
      const empty = await call(flags, "--write-out", "%{http_code}", `${base(gateway)}/empty`);
      expect(`${empty.stdout}${empty.stderr}`).toBe("204");
      const missing = await call(flags, "--write-out", " %{http_code}", `${base(gateway)}/missing`);
      expect(`${missing.stdout}${missing.stderr}`).toBe("nothing here 404");
    }
  });

  through(
    "is one client group by connection, whose fields arrive cleaned [CG-PROC-2, CG-REQ-3, CG-REQ-4, CG-FIELD-15]",
    async (gateway) => {
      for (const { flags, base } of ways) {
        const { stdout } = await call(
          flags,
          "--header",
          "Client-Group: 7",
          "--header",
          "Proxy-Authorization: Basic Zm9vOmJhcg==",
          "--header",
          "X-Kept: yes",
          ...(flags[0] === "--http1.1"
            ? ["--header", "Connection: x-hop", "--header", "X-Hop: 1"]
            : []),
          `${base(gateway)}/seen`,
        );
        const { fields, grouped } = JSON.parse(stdout);
        expect(grouped).toBe(true);
        expect(fields["x-kept"]).toBe("yes");
        expect(fields["client-group"]).not.toBe("7");
        for (const name of ["proxy-authorization", "connection", "x-hop"]) {
          expect(fields).not.toHaveProperty(name);
        }
      }
    },
  );

  scripted("gets trailers in either version", async (gateway, raw) => {
    for (const { flags, base } of ways) {
      const path = `/trailers-${flags[0]}-${base(gateway).slice(0, 5)}`;
      const answer = raw.requestFor(path).then(async ({ connection, id }) => {
        connection.headers(id, [
          [":status", "200"],
          ["trailer", "x-sum"],
        ]);
        await connection.data(id, octets(10));
        connection.headers(id, [["x-sum", "45"]], { endStream: true });
      });
      const wants = flags[0] === "--http1.1" ? ["--header", "TE: trailers"] : [];
      const heads = join(directory, `heads-${gateway.port}`);
      const url = `${base(gateway)}${path}`;
      const { stderr } = await call(
        flags,
        ...wants,
        "--dump-header",
        heads,
        "--output",
        "/dev/null",
        url,
      );
      await answer;
      expect(stderr).toBe("");
      expect((await Bun.file(heads).text()).toLowerCase()).toMatch(/\r\nx-sum: 45\r\n/);
    }
  });
}

function nghttpSuite(nghttp: string): void {
  through("sees nothing of the draft on its own connection [CG-PROC-13]", async ({ port }) => {
    const base = `https://127.0.0.1:${port}`;
    // It sets priorities by PRIORITY frames on idle streams before its first request.
    const { status, stdout } = await run([nghttp, "-nv", `${base}/picture`, `${base}/picture?1`]);
    expect(status).toBe(0);
    expect(stdout.match(/ :status: 200/g)).toHaveLength(2);
    expect(stdout).toContain("recv SETTINGS frame");
    expect(stdout).not.toMatch(/UNKNOWN|0xf0c|0xf7|client-group/i);
    expect(stdout).not.toMatch(/recv GOAWAY|recv RST_STREAM/);
  });

  through(
    "gives weights and depends one stream on another, and is served all",
    async ({ port }) => {
      const urls = Array.from(
        { length: 6 },
        (_, i) => `https://127.0.0.1:${port}/octets?length=${30_000 + i}`,
      );
      const weights = urls.flatMap((_, i) => ["-p", String(1 + i * 40)]);
      const { status, stdout } = await run([nghttp, "-nv", ...weights, ...urls]);
      expect(status).toBe(0);
      expect(stdout.match(/ :status: 200/g)).toHaveLength(6);
      const received = [...stdout.matchAll(/recv DATA frame <length=(\d+)/g)].map(([, length]) =>
        Number(length),
      );
      expect(received.reduce((sum, length) => sum + length, 0)).toBe(6 * 30_000 + 15);
    },
  );

  scripted("sends trailers behind its content", async ({ port }, raw) => {
    const file = join(directory, `trailed-${port}`);
    writeFileSync(file, octets(70_000));
    const answer = raw.requestFor("/upload").then(async (request) => {
      const content = await request.content();
      request.respond(200, [], String(content.length > 0));
      return { length: request.stream.data.reduce((sum, { length }) => sum + length, 0), request };
    });
    const { status, stdout } = await run([
      nghttp,
      "-nv",
      "--data",
      file,
      "--trailer=x-sum: 45",
      `https://127.0.0.1:${port}/upload`,
    ]);
    const { length, request } = await answer;
    expect(status).toBe(0);
    expect(stdout).toContain(" :status: 200");
    expect(length).toBe(70_000);
    expect(request.stream.sections[1]?.get("x-sum")).toBe("45");
  });
}

function h2loadSuite(h2load: string): void {
  through(
    "gets every one of 2,000 answers, on 20 connections with 10 streams each",
    async (gateway) => {
      const { stdout } = await run([
        h2load,
        "--requests=2000",
        "--clients=20",
        "--max-concurrent-streams=10",
        `https://127.0.0.1:${gateway.port}/picture`,
      ]);
      expect(stdout).toContain("2000 succeeded, 0 failed, 0 errored, 0 timeout");
      expect(stdout).toContain("status codes: 2000 2xx");
      // All clients left at once; whoever comes next is served.
      const again = await run([
        h2load,
        "--requests=10",
        `https://127.0.0.1:${gateway.port}/picture`,
      ]);
      expect(again.stdout).toContain("status codes: 10 2xx");
    },
  );

  through("sends and gets a MiB a hundred times", async (gateway) => {
    const file = join(directory, `load-${gateway.port}`);
    writeFileSync(file, octets(2 ** 20));
    const load = ["--requests=100", "--clients=5", "--max-concurrent-streams=4"];
    const download = `https://127.0.0.1:${gateway.port}/octets?length=${2 ** 20}`;
    const got = await run([h2load, ...load, download]);
    expect(got.stdout).toContain("status codes: 100 2xx");
    expect(got.stdout).toContain("100.00MB (104857600) data");
    const sent = await run([
      h2load,
      ...load,
      `--data=${file}`,
      `https://127.0.0.1:${gateway.port}/digest`,
    ]);
    expect(sent.stdout).toContain("status codes: 100 2xx");
  });
}

function chromiumSuite(executablePath: string): void {
  through("shows a page with a hundred pictures, uploads, and hears events", async (gateway) => {
    const browser = await chromium.launch({
      executablePath,
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
    });
    try {
      const context = await browser.newContext({ ignoreHTTPSErrors: true });
      const tab = await context.newPage();
      await tab.goto(`https://127.0.0.1:${gateway.port}/page`);
      const seen = await tab.evaluate(async () => {
        const images = [...document.images];
        await Promise.all(images.map((image) => image.decode()));
        const body = new Uint8Array(2 ** 20).fill(7);
        const upload = await fetch("/digest", { method: "POST", body });
        const events: string[] = [];
        await new Promise<void>((resolve, reject) => {
          const source = new EventSource("/events");
          source.onmessage = ({ data }) => {
            events.push(data);
            if (events.length < 3) return;
            source.close();
            resolve();
          };
          setTimeout(() => reject(new Error(`events so far: ${events}`)), 10_000);
        });
        const [entry] = performance.getEntriesByType("navigation");
        return {
          pictures: images.filter(({ naturalWidth }) => naturalWidth > 0).length,
          digest: await upload.text(),
          events,
          protocol: (entry as PerformanceNavigationTiming).nextHopProtocol,
        };
      });
      expect(seen).toEqual({
        pictures: 100,
        digest: digest(new Uint8Array(2 ** 20).fill(7)),
        events: ["one", "two", "three"],
        protocol: "h2",
      });
    } finally {
      await browser.close();
    }
  });
}
