/** `yard gateway` as a process, on either runtime, for programs that nobody here wrote. */

import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../../../bench/gateway/ports.ts";
import { testAuthority } from "../../support/http2/certificates.ts";
import { bun, deno, launch, type RunningProcess, root } from "../processes.ts";

export const runtimes = ["Bun", "Deno"] as const;
export type Runtime = (typeof runtimes)[number];

const commands: Readonly<Record<Runtime, readonly string[]>> = {
  Bun: [bun],
  Deno: [deno, "run", "-A", "--quiet"],
};

/** Debian's daemons are not in everybody's path. */
const searched = { PATH: "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin" };

/** Where a program of this machine is; says that its tests are left out where it is not. */
export function peer(name: string): string | undefined {
  const path = Bun.which(name, searched);
  if (path === null) console.log(`no ${name} on this machine: its tests are left out`);
  return path ?? undefined;
}

/** Certificates of localhost, as files and as text. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
  readonly certificatePem: string;
  readonly keyPem: string;
}

export async function certificateFiles(directory: string): Promise<CertificateFiles> {
  const authority = await testAuthority();
  const pair = await authority.server("localhost", "127.0.0.1");
  const file = (name: string, text: string) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };
  return {
    certificate: file("certificate.pem", pair.certificatePem),
    key: file("key.pem", pair.keyPem),
    ca: file("ca.pem", authority.ca),
    ...pair,
  };
}

/** Waits until something accepts connections there; fails where `server` ends before. */
export async function listening(port: number, server: RunningProcess): Promise<void> {
  const ended = server.exited.then((status) => {
    throw new Error(`ended with status ${status}:\n${server.output()}`);
  });
  // It ends some time, when nobody waits for it any more.
  ended.catch(() => {});
  for (let attempt = 0; attempt < 500; attempt++) {
    const accepts = new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      const answer = (isOpen: boolean) => {
        socket.destroy();
        resolve(isOpen);
      };
      socket.once("connect", () => answer(true));
      socket.once("error", () => answer(false));
    });
    if (await Promise.race([accepts, ended])) return;
    await Bun.sleep(20);
  }
  throw new Error(`nothing listens on ${port}:\n${server.output()}`);
}

/** Runs a server on a free port for as long as `use` takes. */
export async function withServer<T>(
  command: (port: number) => readonly string[],
  use: (port: number, server: RunningProcess) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const server = launch(command(port));
  try {
    await listening(port, server);
    return await use(port, server);
  } finally {
    server.kill("SIGKILL");
    await server.exited;
  }
}

export interface PeerGateway {
  /** TLS: HTTP/2 and HTTP/1.1 by ALPN. */
  readonly port: number;
  /** HTTP/2 with prior knowledge, and HTTP/1.1. */
  readonly cleartextPort: number;
  readonly process: RunningProcess;
  /** What `/status.json` says of its connections to origins. */
  connections(): Promise<
    readonly { readonly support: string; readonly state: string; readonly requests: number }[]
  >;
}

/** Where the gateway sends its requests; `http` is HTTP/2 with prior knowledge. */
export interface PeerOrigin {
  readonly scheme: "https" | "http";
  readonly port: number;
}

/** Runs a gateway in front of `origin` for as long as `use` takes. */
export async function withGateway<T>(
  runtime: Runtime,
  files: CertificateFiles,
  origin: PeerOrigin,
  use: (gateway: PeerGateway) => Promise<T>,
): Promise<T> {
  const [cleartextPort, adminPort] = [await freePort(), await freePort()];
  return await withServer(
    (port) => {
      const trust = origin.scheme === "https" ? { ca: files.ca, serverName: "localhost" } : {};
      const file = `${files.certificate}.gateway.json`;
      writeFileSync(
        file,
        JSON.stringify({
          listen: [
            { address: `127.0.0.1:${port}`, certificate: files.certificate, key: files.key },
            { address: `127.0.0.1:${cleartextPort}`, cleartext: true },
          ],
          origins: [
            {
              origin: `${origin.scheme === "https" ? "https" : "h2c"}://127.0.0.1:${origin.port}`,
              ...trust,
            },
          ],
          admin: { address: `127.0.0.1:${adminPort}` },
        }),
      );
      const yard = join(root, "src", "cli", "yard.ts");
      return [...commands[runtime], yard, "gateway", "--config", file];
    },
    async (port, server) => {
      await listening(cleartextPort, server);
      return await use({
        port,
        cleartextPort,
        process: server,
        async connections() {
          const response = await fetch(`http://127.0.0.1:${adminPort}/status.json`);
          const status = (await response.json()) as { connections: never };
          return status.connections;
        },
      });
    },
  );
}

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export async function run(
  command: readonly string[],
  options: { readonly stdin?: string } = {},
): Promise<Ran> {
  const child = Bun.spawn([...command], {
    stdin: options.stdin === undefined ? "ignore" : new Blob([options.stdin]),
    stdout: "pipe",
    stderr: "pipe",
    timeout: 30_000,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, status] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { status, stdout, stderr };
}
