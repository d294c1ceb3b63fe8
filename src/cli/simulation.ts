/**
 * A simulation as tables to read and as JSON.
 *
 * @module
 */

import type { Move, Simulation } from "../agent/simulate.ts";
import { toHex } from "../bytes.ts";
import { percent } from "../page/words.ts";
import { ridName } from "./rid-argument.ts";
import { titledLines } from "./table.ts";
import type { Style } from "./terminal.ts";

/** What was simulated: versions or files, as they were named. */
export interface SimulatedChange {
  readonly from: string;
  readonly to: string;
}

/** Moves that are shown; `--json` has all of them. */
const MOVES_SHOWN = 20;
/** Characters of the longest bar. */
const BAR = 24;

/**
 * The simulation as lines.
 *
 * @param bars whether shares are drawn too, for a terminal
 */
export function simulationLines(
  simulation: Simulation,
  { from, to }: SimulatedChange,
  style: Style,
  bars: boolean,
): string[] {
  const { keys, relays, moved, moves, unplaced } = simulation;
  const share = (count: number) => percent(count / Math.max(1, keys));
  const lines = [`${keys} keys, from ${from} to ${to}`];
  if (relays.length > 0) {
    const longest = Math.max(
      1,
      ...relays.flatMap(({ after, expectedAfter }) => [after, expectedAfter]),
    );
    const rows = relays.map(({ rid, before, after, expectedBefore, expectedAfter }) => [
      ridName(rid),
      share(before),
      share(expectedBefore),
      share(after),
      share(expectedAfter),
      ...(bars ? [bar(after / longest, expectedAfter / longest)] : []),
    ]);
    const titles = ["RELAY", "BEFORE", "EXPECTED", "AFTER", "EXPECTED"];
    lines.push(
      "",
      ...titledLines(titles, rows, style.dim, (text, _, column) =>
        column === 5 ? style.green(text) : text,
      ),
    );
  }
  lines.push("", `moved: ${moved} of ${keys} keys, ${share(moved)}`);
  if (unplaced.before + unplaced.after > 0) {
    const { before, after } = unplaced;
    lines.push(
      `no relay: ${before} ${before === 1 ? "key" : "keys"} before (${share(before)}), ${after} after (${share(after)})`,
    );
  }
  if (moves.length > 0) {
    const rows = moves
      .slice(0, MOVES_SHOWN)
      .map((move) => [end(move.from), end(move.to), `${move.keys}`, share(move.keys)]);
    lines.push("", ...titledLines(["FROM", "TO", "KEYS", "SHARE"], rows, style.dim));
    if (moves.length > MOVES_SHOWN)
      lines.push(`and ${moves.length - MOVES_SHOWN} more; --json has all`);
  }
  return lines;
}

/** The simulation as JSON; RIDs in hexadecimal and as names, an absent end of a move as `null`. */
export function simulationToJson(simulation: Simulation, { from, to }: SimulatedChange) {
  const { relays, moves, ...counts } = simulation;
  const ridOf = (rid: Uint8Array | undefined) => (rid === undefined ? null : toHex(rid));
  return {
    from,
    to,
    ...counts,
    relays: relays.map(({ rid, ...of }) => ({ rid: toHex(rid), name: ridName(rid), ...of })),
    moves: moves.map((move: Move) => ({
      from: ridOf(move.from),
      to: ridOf(move.to),
      keys: move.keys,
    })),
  };
}

/** The measured share as `#`, the expected one as `|`. */
function bar(measured: number, expected: number): string {
  const filled = Math.round(measured * BAR);
  const mark = Math.max(0, Math.round(expected * BAR) - 1);
  const cells = Array.from({ length: Math.max(filled, expected > 0 ? mark + 1 : 0) }, (_, i) => {
    if (expected > 0 && i === mark) return "|";
    return i < filled ? "#" : " ";
  });
  return cells.join("");
}

function end(rid: Uint8Array | undefined): string {
  return rid === undefined ? "(none)" : ridName(rid);
}
