/**
 * The other end of `session-server.ts`: starts it, connects to it, asks how it is. On Bun and Deno.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { fromHex } from "../../src/bytes.ts";
import type { RedirectSessionLimits } from "../../src/moq-lb/mod.ts";
import { connectQuic } from "../../src/quic/mod.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import type { ServerAddress, ServerKind, ServerState } from "./session-server.ts";

const protocol = "moqt-22";

export class ServerProcess {
  readonly address: ServerAddress;
  readonly #child: ChildProcess;
  readonly #lines: Lines;

  private constructor(address: ServerAddress, child: ChildProcess, lines: Lines) {
    this.address = address;
    this.#child = child;
    this.#lines = lines;
  }

  /** Starts a server on the runtime that runs this. */
  static async start(
    kind: ServerKind,
    limits: Partial<RedirectSessionLimits> = {},
  ): Promise<ServerProcess> {
    const script = join(import.meta.dirname, "session-server.ts");
    const flags = "Deno" in globalThis ? ["run", "-A", "--quiet", "--v8-flags=--expose-gc"] : [];
    const command = [...flags, script, kind, JSON.stringify(limits)];
    const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = new Lines(createInterface({ input: child.stdout }));
    return new ServerProcess(JSON.parse(await lines.next()), child, lines);
  }

  async state(): Promise<ServerState> {
    this.#child.stdin?.write("\n");
    return JSON.parse(await this.#lines.next());
  }

  /** A client on raw QUIC. */
  async connectQuic(): Promise<Transport> {
    const { port, certificateHash } = this.address;
    const connection = await connectQuic({
      hostname: "127.0.0.1",
      port,
      alpn: [protocol],
      certificateHashes: [fromHex(certificateHash) as Uint8Array],
    });
    return quicTransport(connection);
  }

  /** A client on QMux. */
  async connectQmux(): Promise<Transport> {
    return await connectQmux(this.address.webSocketUrl, { protocols: [protocol] });
  }

  stop(): void {
    this.#child.stdin?.end();
  }
}

/** Lines of a process, one after another. */
class Lines {
  readonly #come: string[] = [];
  #waiting: PromiseWithResolvers<string> | undefined;
  #hasEnded = false;

  constructor(lines: Interface) {
    lines.on("line", (line) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting === undefined) this.#come.push(line);
      else waiting.resolve(line);
    });
    lines.on("close", () => {
      this.#hasEnded = true;
      this.#waiting?.reject(new Error("the server process has ended"));
    });
  }

  async next(): Promise<string> {
    const line = this.#come.shift();
    if (line !== undefined) return line;
    if (this.#hasEnded) throw new Error("the server process has ended");
    this.#waiting = Promise.withResolvers();
    return await this.#waiting.promise;
  }
}
