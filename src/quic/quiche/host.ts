/**
 * The Worker in which quiche runs: one for the whole process, with a watchdog.
 *
 * One, since the addon keeps tables that all threads of a process share and does not lock them: two
 * threads at work in it corrupt the heap. So every socket's engine runs in the same Worker.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import {
  type Command,
  type EngineEvent,
  type EngineSettings,
  type Order,
  type Report,
  WORKER,
} from "./messages.ts";

/** Answers that may be missed in a row; the timeout is divided among them. */
const MISSES = 4;
/** Milliseconds that a Worker may take to start, which includes loading its modules. */
const START_TIMEOUT = 15_000;
/** Least milliseconds between two starts, so that one that fails at once is not started in a loop. */
const RESTART_PAUSE = 500;
/** Milliseconds that a Worker without work is kept where it would keep the process alive. */
const LINGER = 1_000;
/** Milliseconds in which a Worker stops by itself, else it hangs and is terminated. */
const STOP_TIMEOUT = 1_000;
/** Milliseconds that a thread takes to end after its last word, where the runtime tells no end. */
const END_TIME = 100;

/** The module that Workers run. Tests put one in its place that can be told to hang. */
export const engineModule = { url: new URL("./engine/worker.ts", import.meta.url) };

/** What somebody with an engine in the Worker does. */
export interface Tenant {
  /** Settings for the engine in each Worker that is started. */
  readonly settings: () => EngineSettings;
  /** Milliseconds without an answer after which the Worker is replaced. */
  readonly watchdogTimeout: number;
  readonly onEvents: (events: readonly EngineEvent[]) => void;
  /** The Worker is gone with all connections; the engine comes back in the next. */
  readonly onLost: (cause: "silent" | "failed", silence: number) => void;
}

/** An engine in the Worker. */
export interface Engine {
  /** Whether there is a Worker now, and no pause before the next. */
  readonly isRunning: boolean;
  /**
   * Sends a command. Those of one turn of the event loop go together, in order, so that a FIN right
   * after a write travels with it; those of a pause between Workers go after it.
   */
  send(command: Command): void;
  /** Sends at once what waits for the end of the turn. */
  flush(): void;
  /** Whether it keeps the process alive, where the runtime lets one choose. */
  keepAlive(keep: boolean): void;
  close(): void;
}

/** What Bun's Workers have on top of the standard ones; a "close" event at their end is more. */
interface Referable {
  ref?(): void;
  unref?(): void;
}

interface Guest {
  readonly tenant: Tenant;
  keepsAlive: boolean;
}

/**
 * Runs the Worker while there are tenants.
 *
 * Silence is counted in ticks of a timer, not in time: after a stall of the main thread itself, the
 * answers that wait in its queue come before the next tick.
 *
 * A Worker is asked to stop, and terminated only where it does not: a thread that is terminated in
 * the middle of the addon can take the process with it. The next one starts when it has ended.
 *
 * A Worker that hangs inside native code cannot be stopped by any runtime. It is cut off: it holds
 * no socket, and what it may still say is not heard; its thread stays until the process ends.
 */
class Host {
  readonly #guests = new Map<number, Guest>();
  #lastNumber = WORKER;
  #worker: (Worker & Referable) | undefined;
  /** Whether a Worker before may still be at work in the addon. */
  #isEnding = false;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Whether the Worker has said anything: before, it is starting. */
  #heard = false;
  #missed = 0;
  #outbox: Order[] = [];
  #flushing = false;
  #ticker: ReturnType<typeof setInterval> | undefined;
  #interval = 0;
  #restart: ReturnType<typeof setTimeout> | undefined;
  #linger: ReturnType<typeof setTimeout> | undefined;

  open(tenant: Tenant): Engine {
    const number = ++this.#lastNumber;
    const guest: Guest = { tenant, keepsAlive: true };
    this.#guests.set(number, guest);
    if (this.#worker !== undefined) this.#moveIn(number, guest);
    this.#startIfClear();
    this.#settle();
    const isRunning = () => this.#worker !== undefined;
    return {
      get isRunning() {
        return isRunning();
      },
      send: (command) => this.#send(number, command),
      flush: () => this.#flush(),
      keepAlive: (keep) => {
        guest.keepsAlive = keep;
        this.#settle();
      },
      close: () => {
        if (!this.#guests.delete(number)) return;
        this.#send(number, { type: "close-engine" });
        this.#settle();
      },
    };
  }

  /** Starts a Worker where one is missing and nothing speaks against it now. */
  #startIfClear(): void {
    if (this.#guests.size === 0 || this.#worker !== undefined) return;
    if (this.#isEnding || this.#restart !== undefined) return;
    this.#start();
    this.#settle();
  }

  #start(): void {
    this.#startedAt = performance.now();
    this.#heard = false;
    this.#missed = 0;
    // What waits was meant for the Worker before, or comes after its engine is there again.
    const waiting = this.#outbox.filter(({ engine }) => this.#guests.has(engine));
    this.#outbox = [];
    const worker: Worker & Referable = new Worker(engineModule.url, { type: "module" });
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Report>) => this.#onReport(data);
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#replace("failed");
    };
    for (const [number, guest] of this.#guests) this.#moveIn(number, guest);
    this.#outbox.push(...waiting);
  }

  #moveIn(number: number, guest: Guest): void {
    this.#send(number, { type: "open-engine", settings: guest.tenant.settings() });
  }

  #onReport({ engine, events }: Report): void {
    this.#missed = 0;
    this.#heard = true;
    this.#guests.get(engine)?.tenant.onEvents(events);
  }

  // Sending

  #send(engine: number, command: Command): void {
    this.#outbox.push({ engine, command });
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#worker === undefined || this.#outbox.length === 0) return;
    const orders = this.#outbox;
    this.#outbox = [];
    const transfer: ArrayBuffer[] = [];
    for (const { command } of orders) {
      if (command.type === "write" || command.type === "datagram") {
        transfer.push(command.bytes.buffer);
      } else if (command.type === "packets") transfer.push(command.packets.bytes.buffer);
    }
    this.#worker.postMessage(orders, transfer);
  }

  // Watching

  #tick(): void {
    if (this.#worker === undefined) return;
    const patience = this.#heard ? MISSES : Math.ceil(START_TIMEOUT / this.#interval);
    if (this.#missed >= patience) {
      this.#replace("silent");
      return;
    }
    this.#missed++;
    this.#send(WORKER, { type: "ping" });
  }

  #replace(cause: "silent" | "failed"): void {
    if (this.#worker === undefined) return;
    const silence = Math.round(this.#missed * this.#interval);
    this.#cutOff();
    for (const { tenant } of [...this.#guests.values()]) tenant.onLost(cause, silence);
    if (this.#guests.size === 0) return;
    const pause = Math.max(0, this.#startedAt + RESTART_PAUSE - performance.now());
    this.#restart = setTimeout(() => {
      this.#restart = undefined;
      this.#startIfClear();
    }, pause);
  }

  #cutOff(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#outbox = [];
    if (worker === undefined) return;
    this.#isEnding = true;
    void ended(worker).then(() => {
      this.#isEnding = false;
      this.#startIfClear();
    });
  }

  /** Fits the timers and what keeps the process alive to the tenants that there are. */
  #settle(): void {
    const guests = [...this.#guests.values()];
    const keepsAlive = guests.some((guest) => guest.keepsAlive);
    const timeout = Math.min(...guests.map(({ tenant }) => tenant.watchdogTimeout));
    this.#setTicker(guests.length === 0 ? undefined : Math.max(1, timeout / MISSES));
    for (const held of [this.#worker, this.#ticker as Referable | undefined]) {
      if (keepsAlive) held?.ref?.();
      else held?.unref?.();
    }
    clearTimeout(this.#linger);
    if (guests.length > 0) return;
    clearTimeout(this.#restart);
    this.#restart = undefined;
    // A Worker that lets the process end is kept for the next tenant.
    if (this.#worker?.unref === undefined) this.#linger = setTimeout(() => this.#cutOff(), LINGER);
  }

  #setTicker(interval: number | undefined): void {
    if (interval === this.#interval) return;
    clearInterval(this.#ticker);
    this.#interval = interval ?? 0;
    this.#missed = 0;
    this.#ticker = interval === undefined ? undefined : setInterval(() => this.#tick(), interval);
  }
}

/** Stops a Worker, by force where it hangs. Resolves when it has ended, as far as can be known. */
function ended(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => {
      worker.terminate();
      resolve();
    }, STOP_TIMEOUT);
    const end = () => {
      clearTimeout(force);
      resolve();
    };
    worker.onerror = (event) => event.preventDefault?.();
    worker.addEventListener("close", end);
    worker.onmessage = ({ data }: MessageEvent<Report>) => {
      if (data.events.some(({ type }) => type === "stopping")) setTimeout(end, END_TIME);
    };
    const stop: Order = { engine: WORKER, command: { type: "stop-worker" } };
    worker.postMessage([stop]);
  });
}

/**
 * Where the host is kept: it has to be one for the process, also where this module was loaded more
 * than once.
 */
const key = Symbol.for("yardmaster.quiche.host");

/** Opens an engine in the Worker, which is started where there is none. */
export function openEngine(tenant: Tenant): Engine {
  const scope = globalThis as { [key]?: Host };
  scope[key] ??= new Host();
  return scope[key].open(tenant);
}
