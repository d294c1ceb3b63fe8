/** Two pieces of work, measured against each other in one process. */

export interface Pair {
  /** Median of `subject` over `base`, each ratio taken from two neighbouring batches. */
  readonly ratio: number;
  /** Median nanoseconds of one call. */
  readonly base: number;
  readonly subject: number;
}

/**
 * Runs batches of `base` and `subject` in turn, each about `batch` milliseconds long. Whatever else
 * the machine does hits neighbouring batches alike, and the median drops what it does not.
 */
export function pair(base: () => void, subject: () => void, rounds = 41, batch = 4): Pair {
  const calls = [base, subject].map((work) => callsIn(work, batch)) as [number, number];
  const times: [number[], number[]] = [[], []];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that neither always runs in the other's wake.
    const baseFirst = round % 2 === 0;
    const first = baseFirst ? time(base, calls[0]) : time(subject, calls[1]);
    const second = baseFirst ? time(subject, calls[1]) : time(base, calls[0]);
    const [baseTime, subjectTime] = baseFirst ? [first, second] : [second, first];
    times[0].push(baseTime);
    times[1].push(subjectTime);
    ratios.push(subjectTime / baseTime);
  }
  return { ratio: median(ratios), base: median(times[0]), subject: median(times[1]) };
}

/** The middle one of `numbers`. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] as number;
}

/** How many calls take about `milliseconds`, once the work is compiled. */
function callsIn(work: () => void, milliseconds: number): number {
  let calls = 1;
  while (time(work, calls) * calls < milliseconds * 1e6) calls *= 2;
  return calls;
}

/** Nanoseconds of one call, over `calls` of them. */
function time(work: () => void, calls: number): number {
  const start = performance.now();
  for (let i = 0; i < calls; i++) work();
  return ((performance.now() - start) / calls) * 1e6;
}
