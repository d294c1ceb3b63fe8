/**
 * `npm run bench -- gateway`: what `yard gateway` costs, against the proxies that people would use
 * instead and against what its runtime can do at best. All get the same certificate, the same origin
 * and the same load of h2load, in turns, in one run.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { developmentCertificate } from "../src/quic/development-certificate.ts";
import { launch } from "../test/bun/processes.ts";
import { contest, type Result } from "./gateway/contest.ts";
import { type Comparison, compared, figures } from "./gateway/figures.ts";
import type { Load } from "./gateway/h2load.ts";
import { freePort } from "./gateway/ports.ts";
import { bare, type Runtime } from "./proxies/bare.ts";
import { caddy } from "./proxies/caddy.ts";
import { haproxy } from "./proxies/haproxy.ts";
import { nghttpx } from "./proxies/nghttpx.ts";
import { ours } from "./proxies/ours.ts";
import { accepts, type Bed, program, type ReverseProxy } from "./proxies/proxy.ts";
import { replyFrom } from "./proxies/reply-from.ts";
import type { PlacedRow } from "./row.ts";
import { table } from "./table.ts";

const MANY = 10_000;
const runtimes: readonly Runtime[] = ["Bun", "Deno"];
const others: readonly ReverseProxy[] = [haproxy, nghttpx, caddy, replyFrom];

interface Scenario {
  readonly title: string;
  readonly load: Load;
  readonly rounds: number;
  readonly content: "small" | "large";
}

/** Each content with each number of connections, and how many requests each connection has open. */
function scenarios(seconds: number, rounds: number, counts: readonly number[]): Scenario[] {
  const contents = [
    { content: "small", size: "100 octets", streams: (count: number) => (count === 1 ? 20 : 4) },
    { content: "large", size: "1 MiB", streams: (count: number) => (count === 1 ? 4 : 1) },
  ] as const;
  return contents.flatMap(({ content, size, streams }) =>
    counts.map((connections) => {
      const isMany = connections >= MANY;
      return {
        title: `${size}, ${connections} connections`,
        content,
        // Handshakes of so many take the time of a round by themselves.
        rounds: isMany ? 1 : rounds,
        load: {
          connections,
          streams: isMany ? 1 : streams(connections),
          path: `/${content}`,
          seconds: isMany ? Math.max(seconds, 5) : seconds,
          warmUp: isMany ? 10 : 0.5,
        },
      };
    }),
  );
}

/** What is held against what, in scenarios with this content. */
function comparisons(content: Scenario["content"]): Comparison[] {
  return runtimes.flatMap((runtime) => {
    const subject = ours(runtime).name;
    const untapped = bare(runtime, "untapped").name;
    return [
      { subject, base: untapped, runtime, least: 0.8, budget: "at least 0.8 x" },
      { subject, base: replyFrom.name, runtime, least: 1, budget: "ahead of it" },
      ...[haproxy, nghttpx, caddy].map(({ name }) => ({ subject, base: name, runtime })),
      ...(content === "small"
        ? []
        : [
            {
              subject: bare(runtime, "tapped").name,
              base: untapped,
              runtime,
              least: 0.9,
              budget: "tap under 10 %",
            },
            // A Duplex in the place of Bun's own socket costs most of that, whatever it does.
            {
              subject: bare(runtime, "tapped").name,
              base: bare(runtime, "piped").name,
              runtime,
              least: 0.9,
              budget: "tap's own part under 10 %",
            },
          ]),
    ];
  });
}

function proxiesFor(content: Scenario["content"], only: RegExp): ReverseProxy[] {
  return [
    ...runtimes.flatMap((runtime) => [
      ours(runtime),
      bare(runtime, "untapped"),
      ...(content === "large" ? [bare(runtime, "piped"), bare(runtime, "tapped")] : []),
    ]),
    ...others,
  ].filter((proxy) => only.test(proxy.name) && proxy.missing() === undefined);
}

/** nghttpd serving a small and a large file over TLS, while `use` runs. */
async function withOrigin<T>(directory: string, use: (bed: Omit<Bed, "port">) => Promise<T>) {
  const content = join(directory, "content");
  mkdirSync(content);
  writeFileSync(join(content, "small"), "a".repeat(100));
  writeFileSync(join(content, "large"), "a".repeat(2 ** 20));
  const { certificatePem, keyPem } = await developmentCertificate();
  const certificate = join(directory, "certificate.pem");
  const key = join(directory, "key.pem");
  writeFileSync(certificate, certificatePem);
  writeFileSync(key, keyPem);
  const port = await freePort();
  const origin = launch([
    program("nghttpd") as string,
    `--htdocs=${content}`,
    "--address=127.0.0.1",
    String(port),
    key,
    certificate,
  ]);
  try {
    while (!(await accepts(port))) await Bun.sleep(20);
    return await use({
      directory,
      certificate,
      key,
      authority: certificate,
      origin: { scheme: "https", port },
    });
  } finally {
    origin.kill("SIGKILL");
    await origin.exited;
  }
}

/** Runs it; whether every budget was kept. */
export async function gateway(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "2" },
      rounds: { type: "string", default: "3" },
      connections: { type: "string", default: "1,100" },
      only: { type: "string", default: "" },
      full: { type: "boolean", default: false },
    },
  });
  for (const name of ["h2load", "nghttpd"]) {
    if (program(name) !== undefined) continue;
    console.log(`no ${name} on this machine: the gateway is not measured`);
    return true;
  }
  for (const proxy of others) {
    const reason = proxy.missing();
    if (reason !== undefined) console.log(`${reason}: ${proxy.name} is left out`);
  }
  const plan = values.full
    ? scenarios(3, 3, [1, 100, MANY])
    : scenarios(
        Number(values.seconds),
        Number(values.rounds),
        values.connections.split(",").map(Number),
      );
  const only = new RegExp(values.only, "i");
  const directory = mkdtempSync(join(tmpdir(), "yardmaster-gateway-bench-"));
  const rows: PlacedRow[] = [];
  try {
    await withOrigin(directory, async (bed) => {
      for (const { title, load, rounds, content } of plan) {
        console.error(`${title} ...`);
        const results: Result[] = await contest(proxiesFor(content, only), load, rounds, {
          ...bed,
          directory: mkdtempSync(join(directory, "round-")),
        });
        console.log(`\n${figures(title, results)}`);
        for (const comparison of comparisons(content)) {
          const row = compared("Requests a second through the gateway", title, comparison, results);
          if (row !== undefined) rows.push(row);
        }
      }
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  if (rows.length === 0) return true;
  console.log(table(rows));
  return rows.every(({ met }) => met !== false);
}
