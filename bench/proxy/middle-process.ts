/** The other end of `middle.ts`: starts it, connects to it, asks how it is. On Bun and Deno. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fromHex } from "../../src/bytes.ts";
import { dial } from "../../src/transport/dial.ts";
import type { Transport } from "../../src/transport/transport.ts";
import type { MiddleAddress, MiddleKind, MiddleState, Relays } from "./middle.ts";

export class Middle {
  readonly address: MiddleAddress;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(address: MiddleAddress, child: ChildProcess, lines: AsyncIterator<string>) {
    this.address = address;
    this.#child = child;
    this.#lines = lines;
  }

  /** Starts one on the runtime that runs this. */
  static async start(kind: MiddleKind, relays: Relays): Promise<Middle> {
    const script = join(import.meta.dirname, "middle.ts");
    const flags = "Deno" in globalThis ? ["run", "-A", "--quiet", "--v8-flags=--expose-gc"] : [];
    const command = [...flags, script, kind, JSON.stringify(relays)];
    const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return new Middle(JSON.parse(await nextOf(lines)), child, lines);
  }

  /** What it says of itself, after a new version of its snapshot where `rotates` is set. */
  async state(rotates = false): Promise<MiddleState> {
    this.#child.stdin?.write(rotates ? "rotate\n" : "\n");
    return JSON.parse(await nextOf(this.#lines));
  }

  connect(): Promise<Transport> {
    const { port, certificateHash } = this.address;
    return connectTo(`moqt://127.0.0.1:${port}/moq`, certificateHash);
  }

  stop(): void {
    this.#child.stdin?.end();
  }
}

export function connectTo(uri: string, certificateHash: string): Promise<Transport> {
  return dial(uri, {
    drafts: [22],
    certificateHashes: [fromHex(certificateHash) as Uint8Array],
    backend: "quiche",
  });
}

async function nextOf(lines: AsyncIterator<string>): Promise<string> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error("the process in the middle has ended");
  return value;
}
