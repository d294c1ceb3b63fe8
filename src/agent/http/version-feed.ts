/**
 * Tells those who wait that there is another version: as many as are let wait, and no longer than
 * they asked for.
 *
 * @module
 */

import type { Timers } from "../../snapshot/mod.ts";

/** What waiting may cost. */
export interface WaitingBounds {
  /** Long polls and event streams that are open at a time. */
  readonly total: number;
  /** Those of one instance or operator. */
  readonly perClient: number;
  /** Longest long poll, in seconds. */
  readonly longestWait: number;
  /** Milliseconds between two signs of life on an event stream. */
  readonly heartbeat: number;
  /** Milliseconds until an event stream ends, so that its client authenticates anew. */
  readonly longestStream: number;
}

export const defaultWaitingBounds: WaitingBounds = {
  total: 2000,
  perClient: 4,
  longestWait: 60,
  heartbeat: 15_000,
  longestStream: 60 * 60 * 1000,
};

/** What the feed needs of an agent. */
export interface VersionSource {
  readonly role: string;
  readonly current: { readonly version: number } | undefined;
  onChange(listener: () => void): () => void;
}

/** One place among those who wait. */
export interface Seat {
  /** Gives the place to another; once is enough. */
  release(): void;
}

export class VersionFeed {
  readonly #agent: VersionSource;
  readonly #bounds: WaitingBounds;
  readonly #timers: Timers;
  readonly #seats = new Map<string, number>();
  #taken = 0;

  constructor(agent: VersionSource, bounds: WaitingBounds, timers: Timers) {
    this.#agent = agent;
    this.#bounds = bounds;
    this.#timers = timers;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#taken;
  }

  /** A place for `client`, or `undefined` where all are taken (LB-SEC-33). */
  seat(client: string): Seat | undefined {
    const own = this.#seats.get(client) ?? 0;
    if (this.#taken >= this.#bounds.total || own >= this.#bounds.perClient) return undefined;
    this.#seats.set(client, own + 1);
    this.#taken++;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        this.#taken--;
        const left = (this.#seats.get(client) ?? 1) - 1;
        if (left > 0) this.#seats.set(client, left);
        else this.#seats.delete(client);
      },
    };
  }

  /** Resolves once there is a version above `after`, past `milliseconds`, or when `signal` aborts. */
  newer(after: number, milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isDone = () =>
        (this.#agent.current?.version ?? 0) > after || this.#agent.role === "stopped";
      if (isDone() || signal.aborted) return resolve();
      const end = () => {
        this.#timers.clearTimeout(timer);
        stopListening();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#timers.setTimeout(end, milliseconds);
      const stopListening = this.#agent.onChange(() => {
        if (isDone()) end();
      });
      signal.addEventListener("abort", end);
    });
  }

  /**
   * Server-sent events: `version` with the number of each version, the current one first, and a
   * comment as a sign of life. A client that reads slowly is told the newest version alone.
   */
  events(seat: Seat, signal: AbortSignal): ReadableStream<Uint8Array> {
    const agent = this.#agent;
    const timers = this.#timers;
    const { heartbeat, longestStream } = this.#bounds;
    const encoder = new TextEncoder();
    const cleaners: (() => void)[] = [];
    const clean = () => {
      for (const cleaner of cleaners.splice(0)) cleaner();
      seat.release();
    };
    let told = 0;
    /** Tells what is new, where the client has room for it. */
    const tell = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const version = agent.current?.version ?? 0;
      if (version <= told || (controller.desiredSize ?? 0) <= 0) return;
      told = version;
      controller.enqueue(encoder.encode(`event: version\nid: ${version}\ndata: ${version}\n\n`));
    };
    return new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const end = () => {
            clean();
            controller.close();
          };
          const beat = () => {
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(":\n\n"));
            beating = timers.setTimeout(beat, heartbeat);
          };
          let beating = timers.setTimeout(beat, heartbeat);
          const ending = timers.setTimeout(end, longestStream);
          const stopListening = agent.onChange(() => {
            if (agent.role === "stopped") end();
            else tell(controller);
          });
          cleaners.push(
            () => timers.clearTimeout(beating),
            () => timers.clearTimeout(ending),
            stopListening,
            () => signal.removeEventListener("abort", clean),
          );
          // Not every runtime cancels the body of a client that has gone.
          signal.addEventListener("abort", clean);
        },
        pull: tell,
        cancel: clean,
      },
      { highWaterMark: 4 },
    );
  }
}
