/**
 * How the ports of one configuration take the place of another's: all of them, or none.
 *
 * @module
 */

import { messageOf, YardmasterError } from "../errors.ts";

/** A port that the next configuration does not have. */
export interface LeavingPort {
  /** `127.0.0.1:8443`, as problems name it. */
  readonly name: string;
  readonly port: number;
  /** Takes no connection for the time being. */
  pause(): void | Promise<void>;
  /** As before {@link pause}. */
  resume(): void | Promise<void>;
}

/** A port that only the next configuration has. */
export interface EnteringPort {
  /** 0 lets the system choose. */
  readonly port: number;
  /** @throws what listening fails with */
  open(): Promise<void>;
  /** Ends what was opened. */
  stop(): void | Promise<void>;
}

/**
 * Opens what enters, before anything of what leaves is given up: only a port that has the number of one
 * that enters pauses first, for two cannot have it at once. What leaves is for the caller to end.
 *
 * @throws what opening failed with; then everything was put back, or the message says on lines
 *   of its own what was not
 */
export async function exchangePorts(
  leaving: readonly LeavingPort[],
  entering: readonly EnteringPort[],
): Promise<void> {
  const undo: { readonly name: string; run(): void | Promise<void> }[] = [];
  const opened = async (next: EnteringPort) => {
    await next.open();
    undo.push({ name: "a new port", run: () => next.stop() });
  };
  const inTheWay = ({ port }: EnteringPort) => leaving.filter((old) => old.port === port);
  const isFree = (next: EnteringPort) => inTheWay(next).length === 0;
  const paused = new Set<LeavingPort>();
  try {
    for (const next of entering.filter(isFree)) await opened(next);
    for (const next of entering.filter((next) => !isFree(next))) {
      for (const old of inTheWay(next)) {
        if (paused.has(old)) continue;
        paused.add(old);
        await old.pause();
        undo.push({ name: old.name, run: () => old.resume() });
      }
      await opened(next);
    }
  } catch (error) {
    const lines = [messageOf(error)];
    for (const { name, run } of undo.reverse()) {
      try {
        await run();
      } catch (failure) {
        lines.push(`listen: ${name} cannot be put back: ${messageOf(failure)}`);
      }
    }
    if (lines.length === 1) throw error;
    throw new YardmasterError("LISTEN_FAILED", lines.join("\n"), { cause: error });
  }
}
