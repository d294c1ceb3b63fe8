/**
 * A relay in a process of its own, which can die without a word: the program, and the end of it that
 * a scenario holds. On Bun and Deno.
 *
 * @module
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { Origin } from "./origin.ts";
import { ScriptedRelay } from "./scripted-relay.ts";
import { QuicWire } from "./wires.ts";

/** What is published next, of the objects that the origin of the scenario has as well. */
export interface Publication {
  readonly track: string;
  readonly size: number;
  /** Objects of a group; `isOpen`: that goes on. */
  readonly objects: number;
  readonly isOpen: boolean;
}

/** Publishes a group. */
export function publishGroup(origin: Origin, { track, size, objects, isOpen }: Publication): void {
  const published = origin.track(track);
  published.begin();
  for (let count = 0; count < objects; count++) published.object(size);
  if (!isOpen) published.end();
}

export class RelayProcess {
  readonly uri: string;
  readonly #child: ChildProcess;

  private constructor(uri: string, child: ChildProcess) {
    this.uri = uri;
    this.#child = child;
  }

  /** Starts one on the runtime that runs this. @param directory has the certificate */
  static async start(directory: string): Promise<RelayProcess> {
    const flags = "Deno" in globalThis ? ["run", "-A", "--quiet", "--no-check"] : [];
    const command = [...flags, import.meta.filename, directory];
    const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"] });
    const [uri] = await once(createInterface({ input: child.stdout }), "line");
    return new RelayProcess(uri, child);
  }

  publish(group: Publication): void {
    this.#child.stdin?.write(`${JSON.stringify(group)}\n`);
  }

  /** SIGKILL: its peers are told nothing. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

if (import.meta.main) {
  const origin = new Origin();
  const relay = new ScriptedRelay("killed", origin, undefined);
  await relay.listen(await QuicWire.open("quiche", { directory: process.argv[2] as string }));
  process.stdout.write(`${relay.uri}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    publishGroup(origin, JSON.parse(line));
  }
  // Whoever started it is gone.
  process.exit();
}
