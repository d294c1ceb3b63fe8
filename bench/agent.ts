/**
 * What a pool costs on its way from a file to a load balancer, which grows with its size and no
 * faster; and what a simulation costs above the SHA-256 that it cannot do without.
 */

import { spawnSync } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { simulate } from "../src/agent/simulate.ts";
import { parseSnapshot, type Snapshot } from "../src/snapshot/mod.ts";
import { type Measured, steps } from "./agent-load.ts";
import { bareHashing, candidatesOf } from "./hrw.ts";
import { median } from "./pair.ts";
import type { Row } from "./row.ts";

const FEW = { relays: 1000, routes: 10_000 };
const MANY = { relays: 5000, routes: 100_000 };
const ROUNDS = 3;
/**
 * What a route may cost among many against among few. Garbage collection works harder there; what
 * grew with the square of the size would be at ten.
 */
const GROWTH = 1.5;

const RELAYS = 100;
const KEYS = 5000;
const SIMULATIONS = 9;
/** A simulation makes keys, matches routes and counts beside hashing. */
const SIMULATION_BUDGET = 1.5;

function measured({ relays, routes }: typeof FEW): Measured {
  const program = fileURLToPath(new URL("./agent-load.ts", import.meta.url));
  const run = "Deno" in globalThis ? ["run", "-A", "--quiet"] : [];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...run, program, `${relays}`, `${routes}`],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`agent-load failed: ${stderr}`);
  return JSON.parse(stdout);
}

function growthRows(): Row[] {
  const few: Measured[] = [];
  const many: Measured[] = [];
  // In turn, so that a busy machine slows down both.
  for (let round = 0; round < ROUNDS; round++) {
    few.push(measured(FEW));
    many.push(measured(MANY));
  }
  const versus = `${MANY.relays} relays, ${MANY.routes} routes against ${FEW.relays}, ${FEW.routes}`;
  const row = (what: string, of: (one: Measured) => number, text: (value: number) => string) => {
    const [base, subject] = [median(few.map(of)), median(many.map(of))];
    const ratio = subject / MANY.routes / (base / FEW.routes);
    return {
      what: `agent: ${what}, ${versus}`,
      ratio,
      budget: `at most ${GROWTH} x for each route`,
      met: ratio <= GROWTH,
      detail: `${text(base)}, ${text(subject)}`,
    };
  };
  const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const milliseconds = (value: number) => `${value.toFixed(0)} ms`;
  return [
    ...steps.map((step) => row(step, (one) => one[step], milliseconds)),
    row("memory for all of it", ({ memory }) => memory, mib),
  ];
}

/** A pool of one hashed route; one of its relays has `health`. */
function simulated(health: "healthy" | "draining"): Snapshot {
  const candidates = candidatesOf(RELAYS, 1);
  return parseSnapshot({
    version: 1,
    relays: candidates.map(({ rid }, i) => ({
      rid,
      uri: `https://r${i}.example/moq`,
      health: i === 7 ? health : "healthy",
    })),
    routes: [{ prefix: ["live"], kind: "hashed", rids: candidates.map(({ rid }) => rid) }],
  });
}

async function simulationRow(): Promise<Row> {
  const [from, to] = [simulated("healthy"), simulated("draining")];
  const hash = bareHashing(candidatesOf(RELAYS, 1));
  const bare = () => {
    for (let i = 0; i < KEYS; i++) hash();
  };
  const whole = () => simulate(from, to, { keys: KEYS });
  const time = async (work: () => unknown): Promise<number> => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };
  bare();
  await whole();
  const times: { bare: number; whole: number }[] = [];
  for (let round = 0; round < SIMULATIONS; round++) {
    times.push({ bare: await time(bare), whole: await time(whole) });
  }
  const ratio = median(times.map((one) => one.whole / one.bare));
  const perSecond = (KEYS / median(times.map((one) => one.whole))) * 1000;
  return {
    what: `simulate, ${RELAYS} relays, one of them drained`,
    ratio,
    budget: `at most ${SIMULATION_BUDGET} x bare SHA-256`,
    met: ratio <= SIMULATION_BUDGET,
    detail: `${Math.round(perSecond)} keys/s; 1,000,000 keys in ${(1e6 / perSecond).toFixed(0)} s`,
  };
}

/** The rows of the agent. */
export async function agent(): Promise<Row[]> {
  return [...growthRows(), await simulationRow()];
}
