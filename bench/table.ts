/** The rows of all runtimes as a table for people, area by area, runtimes next to each other. */

import type { PlacedRow } from "./row.ts";

const columns = ["", "runtime", "ratio", "budget", "verdict", "measured"] as const;

/** Whether a row keeps its budget: `pass`, `over`, or `-` where it has none. */
function verdict(met: boolean | undefined): string {
  if (met === undefined) return "-";
  return met ? "pass" : "over";
}

export function table(rows: readonly PlacedRow[]): string {
  const areas = [...Map.groupBy(rows, ({ area }) => area)].map(
    ([area, members]) =>
      [area, [...Map.groupBy(members, ({ what }) => what).values()].flat()] as const,
  );
  const cellsOf = ({ what, runtime, ratio, budget, detail, met }: PlacedRow) => [
    `  ${what}`,
    runtime,
    `${ratio.toFixed(3)} x`,
    budget,
    verdict(met),
    detail,
  ];
  const widths = columns.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (cellsOf(row)[column] as string).length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join("  ")
      .trimEnd();
  return areas
    .flatMap(([area, members]) => [
      "",
      line([area, ...columns.slice(1)]),
      ...members.map(cellsOf).map(line),
    ])
    .join("\n");
}
