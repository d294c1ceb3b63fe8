/**
 * Aligned text.
 *
 * @module
 */

/** What a cell looks like: `text` with styles, which take no room. */
export type Paint = (text: string, row: number, column: number) => string;

/** Rows as lines, columns padded to their widest cell with two blanks between them. */
export function alignedLines(
  rows: readonly (readonly string[])[],
  paint: Paint = (text) => text,
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows.map((row, y) => {
    const last = row.findLastIndex((cell) => cell !== "");
    const cells = row.slice(0, last + 1).map((cell, x) => {
      const blanks = x === last ? "" : " ".repeat((widths[x] ?? 0) - cell.length);
      return `${cell === "" ? "" : paint(cell, y, x)}${blanks}`;
    });
    return cells.join("  ").trimEnd();
  });
}

/** As {@link alignedLines}, below titles. */
export function titledLines(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  paintTitle: (text: string) => string,
  paint: Paint = (text) => text,
): string[] {
  const [first = "", ...rest] = alignedLines([titles, ...rows], (text, row, column) =>
    row === 0 ? text : paint(text, row - 1, column),
  );
  return [paintTitle(first), ...rest];
}
