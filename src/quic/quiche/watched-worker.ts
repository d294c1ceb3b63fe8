/**
 * A Worker with a watchdog: one that fails or stops answering is given up and replaced.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Command, EngineEvent } from "./messages.ts";

/** Answers that may be missed in a row; the timeout is divided among them. */
const MISSES = 4;
/** Milliseconds that a Worker may take to start, which includes loading its modules. */
const START_TIMEOUT = 15_000;
/** Least milliseconds between two starts, so that one that fails at once is not started in a loop. */
const RESTART_PAUSE = 500;

export interface WorkerHandlers {
  /** The first command for a Worker that has just started. */
  readonly start: () => Command;
  readonly onEvents: (events: readonly EngineEvent[]) => void;
  /** The Worker is gone; another has been started, or will be shortly. */
  readonly onLost: (cause: "silent" | "failed", silence: number) => void;
}

/** What Bun's Workers have on top of the standard ones. */
interface Unreferable {
  ref?(): void;
  unref?(): void;
}

/**
 * Runs the module at `url` as a Worker.
 *
 * Silence is counted in ticks of a timer, not in time: after a stall of the main thread itself, the
 * answers that wait in its queue come before the next tick.
 *
 * A Worker that hangs inside native code cannot be stopped by any runtime. It is cut off: it holds
 * no socket, and what it may still say is not heard; its thread stays until the process ends.
 */
export class WatchedWorker {
  readonly #url: URL;
  readonly #handlers: WorkerHandlers;
  readonly #interval: number;
  #worker: (Worker & Unreferable) | undefined;
  #startedAt = 0;
  #missed = 0;
  /** Whether the Worker has said anything: before, it is starting. */
  #heard = false;
  #keepsAlive = true;
  #outbox: Command[] = [];
  #sending = false;
  #ticker: ReturnType<typeof setInterval>;
  #restart: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  /** @param timeout milliseconds without an answer after which the Worker is replaced */
  constructor(url: URL, timeout: number, handlers: WorkerHandlers) {
    this.#url = url;
    this.#handlers = handlers;
    this.#interval = Math.max(1, timeout / MISSES);
    this.#ticker = setInterval(() => this.#tick(), this.#interval);
    this.#start();
  }

  #start(): void {
    this.#restart = undefined;
    this.#startedAt = performance.now();
    this.#missed = 0;
    this.#heard = false;
    const worker: Worker & Unreferable = new Worker(this.#url, { type: "module" });
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<EngineEvent[]>) => {
      this.#missed = 0;
      this.#heard = true;
      this.#handlers.onEvents(data);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#replace("failed");
    };
    this.#applyKeepAlive();
    this.#outbox.unshift(this.#handlers.start());
    this.#schedule();
  }

  /** Whether there is a Worker now, and no pause before the next. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Sends a command. Those of one turn of the event loop go together, in order, so that a FIN right
   * after a write travels with it; those of a pause go after it.
   */
  send(command: Command): void {
    this.#outbox.push(command);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#sending) return;
    this.#sending = true;
    setImmediate(() => this.flush());
  }

  /** Sends at once what waits for the end of the turn. */
  flush(): void {
    this.#sending = false;
    if (this.#worker === undefined || this.#outbox.length === 0) return;
    const commands = this.#outbox;
    this.#outbox = [];
    const transfer: ArrayBuffer[] = [];
    for (const command of commands) {
      if (command.type === "write" || command.type === "datagram") {
        transfer.push(command.bytes.buffer);
      } else if (command.type === "packets") transfer.push(command.packets.bytes.buffer);
    }
    this.#worker.postMessage(commands, transfer);
  }

  #tick(): void {
    if (this.#worker === undefined) return;
    const patience = this.#heard ? MISSES : Math.ceil(START_TIMEOUT / this.#interval);
    if (this.#missed >= patience) {
      this.#replace("silent");
      return;
    }
    this.#missed++;
    this.send({ type: "ping" });
  }

  #replace(cause: "silent" | "failed"): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    const silence = Math.round(this.#missed * this.#interval);
    this.#worker = undefined;
    this.#outbox = [];
    worker.onmessage = null;
    worker.onerror = (event) => event.preventDefault?.();
    worker.terminate();
    this.#handlers.onLost(cause, silence);
    if (this.#closed) return;
    const pause = this.#startedAt + RESTART_PAUSE - performance.now();
    if (pause <= 0) this.#start();
    else this.#restart = setTimeout(() => this.#start(), pause);
  }

  /** Whether the Worker keeps the process alive, where the runtime lets one choose. */
  keepAlive(keep: boolean): void {
    this.#keepsAlive = keep;
    this.#applyKeepAlive();
  }

  #applyKeepAlive(): void {
    const timer = this.#ticker as { ref?: () => void; unref?: () => void };
    if (this.#keepsAlive) {
      this.#worker?.ref?.();
      timer.ref?.();
    } else {
      this.#worker?.unref?.();
      timer.unref?.();
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#ticker);
    clearTimeout(this.#restart);
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker === undefined) return;
    worker.onmessage = null;
    worker.terminate();
  }
}
