/**
 * The reverse proxies that the gateway is measured against, and the gateway: how each is started with
 * TLS and HTTP/2 towards its clients and HTTP/2 towards one origin.
 */

import { connect } from "node:net";
import { launch, type RunningProcess } from "../../test/bun/processes.ts";
import { freePort } from "../gateway/ports.ts";

/** What every proxy is given. */
export interface Bed {
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  /** Empty, and its own. */
  readonly directory: string;
  /** Files in PEM for localhost and 127.0.0.1, at the proxy and at the origin alike. */
  readonly certificate: string;
  readonly key: string;
  /** What the origin's certificate is held against; PEM. */
  readonly authority: string;
  /** HTTP/2 on 127.0.0.1; `http` is cleartext with prior knowledge. */
  readonly origin: { readonly scheme: "https" | "http"; readonly port: number };
}

/** How a program is run in the foreground. */
export interface Launch {
  readonly command: readonly string[];
  readonly env?: Record<string, string>;
}

export interface ReverseProxy {
  readonly name: string;
  /** Why it cannot be run here; `undefined` where it can. */
  missing(): string | undefined;
  /** What runs, with its version. */
  version(): string;
  /** Writes the configuration into the directory of `bed`. */
  launch(bed: Bed): Launch;
}

export interface RunningProxy {
  readonly port: number;
  readonly process: RunningProcess;
  /** Ends it, and whatever it started. */
  stop(): Promise<void>;
}

/** Where Debian's packages put a program. */
export function program(name: string): string | undefined {
  return (
    Bun.which(name, { PATH: "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin" }) ?? undefined
  );
}

/** The `missing` of a proxy that is one program of this machine. */
export function programMissing(name: string): string | undefined {
  return program(name) === undefined ? `no ${name} on this machine` : undefined;
}

/** The first line of what a program says of itself that has a version in it. */
export function versionOf(...command: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([...command]);
  const lines = `${stdout}${stderr}`.split("\n");
  return lines.find((line) => /\d+\.\d+/.test(line))?.trim() ?? "unknown";
}

/** Starts `proxy` on a free port, and waits until it accepts connections. */
export async function start(proxy: ReverseProxy, bed: Omit<Bed, "port">): Promise<RunningProxy> {
  const port = await freePort();
  const { command, env } = proxy.launch({ ...bed, port });
  const running = launch(command, env === undefined ? {} : { env });
  let hasEnded = false;
  void running.exited.then(() => {
    hasEnded = true;
  });
  const stop = async () => {
    running.kill("SIGKILL");
    await running.exited;
  };
  const deadline = Date.now() + 20_000;
  while (!(await accepts(port))) {
    if (hasEnded) throw new Error(`${proxy.name} ended at once:\n${running.output()}`);
    if (Date.now() > deadline) {
      await stop();
      throw new Error(`${proxy.name} does not listen:\n${running.output()}`);
    }
    await Bun.sleep(20);
  }
  return { port, process: running, stop };
}

/** Whether something on 127.0.0.1 accepts connections there. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}
