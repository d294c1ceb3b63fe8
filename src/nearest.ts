/**
 * The word that was probably meant.
 *
 * @module
 */

/** The one of `words` that `typed` is at most two edits away from, the closest first. */
export function nearest(typed: string, words: readonly string[]): string | undefined {
  const ranked = words
    .map((word) => ({ word, distance: editDistance(typed, word) }))
    .filter(({ word, distance }) => distance <= 2 && distance < word.replace(/^--/, "").length)
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.word;
}

/** Levenshtein distance; words of command lines and configurations are short, so one row of costs is plenty. */
function editDistance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 2) return 3;
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
