/** What was measured, as a table for people and as rows that a budget is held against. */

import { median } from "../pair.ts";
import { informs, type PlacedRow } from "../row.ts";
import type { Result, Round } from "./contest.ts";

const columns = ["", "requests/s", "p99 ms", "CPU µs/request", "peak MiB", "not 2xx"] as const;

/** Median of what rounds say; `undefined` where none says anything. */
function middle(
  { rounds }: Result,
  figure: (round: Round) => number | undefined,
): number | undefined {
  const numbers = rounds.flatMap((round) => (round === undefined ? [] : (figure(round) ?? [])));
  return numbers.length === 0 ? undefined : median(numbers);
}

const shown = (value: number | undefined, digits = 0) => value?.toFixed(digits) ?? "-";

/** One scenario, a line a proxy. */
export function figures(title: string, results: readonly Result[]): string {
  const lines = results.map((result) => [
    `  ${result.proxy}`,
    shown(middle(result, ({ rate }) => rate)),
    shown(
      middle(result, ({ p99 }) => p99),
      1,
    ),
    // Content that is still on its way as the time is over is paid for as well: for few and large
    // responses this says more of order than of size.
    shown(
      middle(result, ({ cpu, succeeded }) =>
        succeeded === 0 ? undefined : (cpu / succeeded) * 1e6,
      ),
    ),
    shown(middle(result, ({ peak }) => peak / 2 ** 20)),
    shown(middle(result, ({ failed }) => failed)),
  ]);
  const cells = [[title, ...columns.slice(1)], ...lines];
  const widths = columns.map((_, column) =>
    Math.max(...cells.map((row) => (row[column] as string).length)),
  );
  const faults = results.flatMap(({ proxy, faults }) =>
    [...new Set(faults)].map((fault) => `  ${proxy}: ${fault.split("\n")[0]}`),
  );
  return [
    ...cells.map((row) =>
      row
        .map((cell, column) => {
          const width = widths[column] as number;
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join("  "),
    ),
    ...faults,
  ].join("\n");
}

/** What the requests per second of one are to be, against those of another in the same round. */
export interface Comparison {
  readonly subject: string;
  readonly base: string;
  readonly runtime: string;
  /** Absent where the line only informs. */
  readonly least?: number;
  readonly budget?: string;
}

/** One comparison in one scenario; nothing where either was not measured. */
export function compared(
  area: string,
  scenario: string,
  { subject, base, runtime, least, budget }: Comparison,
  results: readonly Result[],
): PlacedRow | undefined {
  const ofSubject = results.find(({ proxy }) => proxy === subject)?.rounds ?? [];
  const ofBase = results.find(({ proxy }) => proxy === base)?.rounds ?? [];
  const ratios = ofSubject.flatMap((round, index) => {
    const other = ofBase[index];
    return round === undefined || other === undefined || other.rate === 0
      ? []
      : round.rate / other.rate;
  });
  if (ratios.length === 0) return undefined;
  const ratio = median(ratios);
  return {
    area,
    runtime,
    what: `${scenario}: ${subject} against ${base}`,
    ratio,
    ...(least === undefined ? informs : { budget: budget as string, met: ratio >= least }),
    detail: ratios.map((one) => one.toFixed(2)).join(", "),
  };
}
