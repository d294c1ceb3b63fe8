/** Two things that take their time, measured against each other in one process. */

import { median } from "./pair.ts";

export interface Comparison {
  readonly ratio: number;
  readonly base: number;
  readonly subject: number;
}

/** Measures both in turn; the median of the ratios of neighbours. The first rounds warm up. */
export async function compare<Subject>(
  measure: (subject: Subject) => Promise<number>,
  [base, subject]: readonly [base: Subject, subject: Subject],
  rounds: number,
): Promise<Comparison> {
  const ratios: number[] = [];
  const values: [base: number[], subject: number[]] = [[], []];
  for (let round = -Math.ceil(rounds / 4); round < rounds; round++) {
    // The order alternates, so that neither always runs in the other's wake.
    const baseFirst = round % 2 === 0;
    const first = await measure(baseFirst ? base : subject);
    const second = await measure(baseFirst ? subject : base);
    const [baseValue, subjectValue] = baseFirst ? [first, second] : [second, first];
    if (round < 0) continue;
    values[0].push(baseValue);
    values[1].push(subjectValue);
    ratios.push(subjectValue / baseValue);
  }
  return { ratio: median(ratios), base: median(values[0]), subject: median(values[1]) };
}
