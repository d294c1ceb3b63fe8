/** Proxies under the same load, in turns. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Bed, type ReverseProxy, type RunningProxy, start } from "../proxies/proxy.ts";
import { h2load, type Load, type Measured } from "./h2load.ts";
import { usageOf } from "./process-tree.ts";

/** What one proxy did in one round. */
export interface Round extends Measured {
  /** Processor seconds of it and all that it started, warm-up and end of the load included. */
  readonly cpu: number;
  /** Largest resident set since it was started, in bytes. */
  readonly peak: number;
}

export interface Result {
  readonly proxy: string;
  /** `undefined` for a round that the proxy or the load did not outlive. */
  readonly rounds: readonly (Round | undefined)[];
  /** Why rounds are missing. */
  readonly faults: readonly string[];
}

/** A proxy with what it has done so far; started anew where it has ended. */
class Contender {
  readonly proxy: ReverseProxy;
  readonly rounds: (Round | undefined)[] = [];
  readonly faults: string[] = [];
  readonly #bed: Omit<Bed, "port">;
  #running: RunningProxy | undefined;

  constructor(proxy: ReverseProxy, bed: Omit<Bed, "port">) {
    this.proxy = proxy;
    this.#bed = bed;
  }

  async round(load: Load): Promise<void> {
    try {
      this.#running ??= await start(this.proxy, this.#bed);
      this.rounds.push(await this.#measure(this.#running, load));
    } catch (error) {
      this.rounds.push(undefined);
      this.faults.push(error instanceof Error ? error.message : String(error));
      await this.end();
    }
  }

  async #measure({ port, process }: RunningProxy, load: Load): Promise<Round> {
    const before = usageOf(process.pid);
    const outcome = await Promise.race([
      h2load(port, load, this.#bed.directory),
      process.exited.then((status) => {
        throw new Error(`it ended with ${status} under load`);
      }),
    ]);
    const after = usageOf(process.pid);
    return { ...outcome, cpu: after.seconds - before.seconds, peak: after.peak };
  }

  async end(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }
}

/** Every proxy under `load`, one after another, as many times as there are rounds. */
export async function contest(
  proxies: readonly ReverseProxy[],
  load: Load,
  rounds: number,
  bed: Omit<Bed, "port">,
): Promise<Result[]> {
  const contenders = proxies.map((proxy, index) => {
    const directory = join(bed.directory, String(index));
    mkdirSync(directory, { recursive: true });
    return new Contender(proxy, { ...bed, directory });
  });
  try {
    for (let round = 0; round < rounds; round++) {
      // The order turns around, so that nobody always runs in another's wake.
      const order = round % 2 === 0 ? contenders : contenders.toReversed();
      for (const contender of order) await contender.round(load);
    }
  } finally {
    await Promise.all(contenders.map((contender) => contender.end()));
  }
  return contenders.map(({ proxy, rounds, faults }) => ({ proxy: proxy.name, rounds, faults }));
}
