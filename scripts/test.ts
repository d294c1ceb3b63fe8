/**
 * `npm test`: the whole suite on every runtime. The portable suites run on Bun and on Deno, each
 * with tests of its own besides; on workerd they run from test/bun/workerd-suite.test.ts. Ends with
 * `N passed, N failed`.
 *
 * Arguments are handed to the test runner of Bun and limit the run to that runtime.
 */

import { join } from "node:path";
import process from "node:process";
import { findDeno } from "./runtimes.mjs";

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

interface Outcome extends Counts {
  /** What the runner printed. */
  readonly output: string;
}

const root = join(import.meta.dir, "..");
const bun = process.execPath;
const deno = findDeno() ?? "deno";

/** The process groups of the runners at work. They are their own, so that a Ctrl-C has to be told. */
const running = new Set<number>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    for (const leader of running) endGroup(leader);
    process.exit(1);
  });
}

/**
 * Milliseconds without a line of output after which a runner is taken to hang: several times what
 * the runners themselves allow a single test.
 */
const silence = 300_000;

/** Milliseconds in which what a runner printed is to arrive after it ended. */
const afterwards = 5_000;

/** Ends a runner and whatever its tests left running: they are one process group. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    // Nobody of the group is left: the way it should be.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * Runs a test runner and reads the counts off its summary. What it prints is shown as it comes, or,
 * for a `quiet` run, at its end and only where something failed. A runner that falls silent is
 * ended and has failed; a process that its tests left behind, with the output still in its hands,
 * is ended too and cannot keep the run waiting.
 */
async function run(
  title: string,
  command: readonly string[],
  read: (output: string) => Counts | undefined,
  quiet = false,
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  if (!quiet) console.log(`\n== ${title}`);
  const child = Bun.spawn([...command], {
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
    env: { ...process.env, ...environment, NO_COLOR: "1" },
  });
  running.add(child.pid);
  let output = "";
  let hung = false;
  const giveUp = () => {
    hung = true;
    endGroup(child.pid);
  };
  let watch = setTimeout(giveUp, silence);
  const show = async (stream: ReadableStream<Uint8Array>, to: NodeJS.WriteStream) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      clearTimeout(watch);
      watch = setTimeout(giveUp, silence);
      output += decoder.decode(chunk, { stream: true });
      if (!quiet) to.write(chunk);
    }
  };
  const shown = Promise.all([
    show(child.stdout, process.stdout),
    show(child.stderr, process.stderr),
  ]);
  const status = await child.exited;
  await Promise.race([shown, Bun.sleep(afterwards)]);
  clearTimeout(watch);
  endGroup(child.pid);
  running.delete(child.pid);
  const counts = read(output) ?? { passed: 0, failed: 0 };
  if (quiet) console.log(`\n== ${title}: ${counts.passed} passed, ${counts.failed} failed`);
  if (quiet && status !== 0) process.stdout.write(output);
  if (hung) console.log(`\n== ${title}: ended after ${silence / 1000} s without a line`);
  // A runner that died, or failed outside any test, failed once more than it says.
  const silent = (status !== 0 && counts.failed === 0) || counts.passed + counts.failed === 0;
  return { passed: counts.passed, failed: counts.failed + (silent ? 1 : 0), output };
}

/**
 * Runs once more what has failed, now with the machine to itself: tests over real networks and in real
 * processes wait for things that a machine with much else to do may be late with. Both outcomes are
 * told; what fails twice has failed.
 */
async function again(
  first: Outcome,
  title: string,
  command: readonly string[],
  read: (output: string) => Counts | undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<Counts> {
  if (first.failed === 0) return first;
  console.log(`\n== ${title}: ${first.failed} failed, and run once more`);
  const { failed } = await run(`${title}, once more`, command, read, false, environment);
  return { passed: first.passed + Math.max(0, first.failed - failed), failed };
}

/** The files with tests that failed, by the headings that Bun prints above their tests. */
function failingFiles(output: string): string[] {
  const files = new Set<string>();
  let file: string | undefined;
  for (const line of output.split("\n")) {
    // From here on they are listed again, without headings.
    if (/^\d+ tests? failed:$/.test(line)) break;
    if (/^test\/\S+\.test\.ts:$/.test(line)) file = line.slice(0, -1);
    else if (line.startsWith("(fail) ") && file !== undefined) files.add(file);
  }
  return [...files];
}

function lastNumber(output: string, pattern: RegExp): number | undefined {
  const found = [...output.matchAll(pattern)].at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
}

function readBun(output: string): Counts | undefined {
  const passed = lastNumber(output, /^\s*(\d+) pass$/gm);
  const failed = lastNumber(output, /^\s*(\d+) fail$/gm);
  return passed === undefined ? undefined : { passed, failed: failed ?? 0 };
}

function readDeno(output: string): Counts | undefined {
  // Tests inside describe() are steps to Deno, and a describe() itself counts as a test.
  const summary = [
    ...output.matchAll(/(\d+) passed(?: \((\d+) steps?\))? \| (\d+) failed(?: \((\d+) steps?\))?/g),
  ].at(-1);
  if (summary === undefined) return undefined;
  const [, passed, passedSteps, failed, failedSteps] = summary;
  return {
    passed: Number(passedSteps ?? passed),
    failed: Number(failedSteps ?? failed),
  };
}

/** Longer than any test takes on a busy machine: a test that hangs is to end, a slow one to pass. */
const patience = "60000";

const bunTest = [bun, "test", "--timeout", patience];
const denoTest = [deno, "test", "-A", "--no-check", "--quiet"];

/** Lets glibc overwrite what is freed: whatever is used after that fails always, not now and then. */
const strictMemory = { MALLOC_PERTURB_: "165" };

const only = process.argv.slice(2);
const runs: Counts[] = [];
if (only.length > 0) {
  runs.push(await run("Bun", [...bunTest, ...only], readBun));
} else {
  const suite = [...denoTest, "test/suite"];
  const overTransports = [...denoTest, "test/deno"];
  // Most of the time of either runtime goes into waiting, so that they share the machine well.
  const bothOnBun = run("Bun and workerd", [...bunTest, "test/suite", "test/bun"], readBun);
  const onDeno = await run("Deno", suite, readDeno, true);
  // Apart from the rest: a fault in a native QUIC stack would take the whole process with it.
  const overThem = "Deno, over real transports";
  const byDeno = await run(overThem, overTransports, readDeno, true, strictMemory);
  const onBun = await bothOnBun;
  const files = failingFiles(onBun.output);
  runs.push(
    files.length === 0 ? onBun : await again(onBun, "Bun", [...bunTest, ...files], readBun),
    await again(onDeno, "Deno", suite, readDeno),
    await again(byDeno, overThem, overTransports, readDeno, strictMemory),
  );
}
const passed = runs.reduce((sum, counts) => sum + counts.passed, 0);
const failed = runs.reduce((sum, counts) => sum + counts.failed, 0);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
