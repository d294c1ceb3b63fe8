/** One run of h2load of nghttp2 against a proxy. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { launch } from "../../test/bun/processes.ts";
import { program } from "../proxies/proxy.ts";

export interface Load {
  readonly connections: number;
  /** Requests at a time on each. */
  readonly streams: number;
  /** Path at the origin. */
  readonly path: string;
  readonly seconds: number;
  /** Seconds before that which do not count; connections are opened in them. */
  readonly warmUp: number;
}

export interface Measured {
  /** Successful requests a second. */
  readonly rate: number;
  /** Milliseconds; undefined where nothing succeeded. */
  readonly p99: number | undefined;
  readonly succeeded: number;
  /** Answered with another status than 2xx, or not answered. */
  readonly failed: number;
}

/** Beyond its own time, in seconds: 10,000 connections take theirs to close. */
const patience = 15;

/** Gives `load` to 127.0.0.1:`port`, and what came of it. */
export async function h2load(port: number, load: Load, directory: string): Promise<Measured> {
  const log = join(directory, "requests.log");
  rmSync(log, { force: true });
  const running = launch([
    program("h2load") as string,
    `--duration=${load.seconds * 1000}ms`,
    `--warm-up-time=${load.warmUp * 1000}ms`,
    `--clients=${load.connections}`,
    `--max-concurrent-streams=${load.streams}`,
    `--log-file=${log}`,
    `https://127.0.0.1:${port}${load.path}`,
  ]);
  const longest = (load.seconds + load.warmUp + patience) * 1000;
  const timer = setTimeout(() => running.kill("SIGKILL"), longest);
  const status = await running.exited;
  clearTimeout(timer);
  const counts = running
    .output()
    .match(/requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed/);
  if (counts === null && status === 137) {
    throw new Error(`not all of ${load.connections} connections could be opened and ended in time`);
  }
  if (counts === null) throw new Error(`h2load ended with ${status}:\n${running.output()}`);
  const succeeded = Number(counts[1]);
  return {
    rate: succeeded / load.seconds,
    p99: percentile99(log),
    succeeded,
    failed: Number(counts[2]),
  };
}

/** Lines of the log: microseconds since the epoch, status or -1, microseconds that it took. */
function percentile99(log: string): number | undefined {
  const times = readFileSync(log, "utf8")
    .split("\n")
    .map((line) => line.split("\t"))
    .filter(([, status]) => status?.startsWith("2"))
    .map(([, , microseconds]) => Number(microseconds))
    .sort((a, b) => a - b);
  const time = times[Math.floor(times.length * 0.99)];
  return time === undefined ? undefined : time / 1000;
}
