/**
 * What the gateway writes of each request, of each GROUP_CONTROL frame and of what happens to itself:
 * one JSON map a line. The digest of a client is the same in all of them, so that a frame, which only
 * names an identifier on a connection, leads to the client's requests; who the client is, is in none.
 *
 * @module
 */

import { type GroupControl, groupActions } from "../client-group/mod.ts";
import type { GroupControlEvent } from "./types.ts";

/** A request that is over. */
export interface RequestRecord {
  /** {@link GatewayClient.digest}; `undefined` where no client was made out. */
  readonly client: string | undefined;
  readonly protocol: string;
  readonly method: string;
  /** What was asked for: host and port, no path, which may hold what is nobody's business. */
  readonly host: string;
  /** Of the response; `undefined` where there was none. */
  readonly status: number | undefined;
  /** Whether the response is this gateway's own. */
  readonly generated?: boolean;
  /** The shared connection, its stream and the identifier there; of the last attempt. */
  readonly upstream?:
    | {
        readonly connection: string;
        readonly stream: number;
        readonly identifier: number | undefined;
      }
    | undefined;
  readonly retries: number;
  readonly milliseconds: number;
  /** The Proxy-Status error, or the reset code's name; `undefined` where all went well. */
  readonly error?: string | undefined;
}

/** Where lines go. */
export interface LogSink {
  /** Resolves when there is room for more; what it rejects is lost. */
  write(text: string): Promise<void>;
  /** Opens the file anew, which somebody has moved away. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface AccessLogOptions {
  readonly sink: LogSink;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  /** Characters of lines that wait for the sink; further lines are lost, and counted. Default 1 MiB. */
  readonly maximumWaiting?: number;
}

/** Of text that a client chose. */
const LONGEST_TEXT = 255;

/**
 * Takes lines without ever holding a request up: where the sink is slow, a bounded number waits, and
 * the rest is lost, which the log itself tells once it can.
 */
export class AccessLog {
  readonly #sink: LogSink;
  readonly #wallClock: () => number;
  readonly #maximumWaiting: number;
  #waiting: string[] = [];
  #size = 0;
  #lost = 0;
  #untold = 0;
  #writing: Promise<void> | undefined;

  constructor({ sink, wallClock, maximumWaiting = 2 ** 20 }: AccessLogOptions) {
    this.#sink = sink;
    this.#wallClock = wallClock;
    this.#maximumWaiting = maximumWaiting;
  }

  /** Lines that were lost. */
  get lost(): number {
    return this.#lost;
  }

  request(record: RequestRecord): void {
    const { client, protocol, method, host, status, upstream, retries, milliseconds } = record;
    this.#line("request", {
      client,
      protocol,
      method: cut(method),
      host: cut(host),
      status,
      connection: upstream?.connection,
      stream: upstream?.stream,
      group: upstream?.identifier,
      retries,
      ms: Math.round(milliseconds * 10) / 10,
      error: record.error,
    });
  }

  /** A GROUP_CONTROL frame, with whom it hit. */
  groupControl(event: GroupControlEvent): void {
    this.#line("group-control", {
      client: event.client?.digest,
      origin: event.origin,
      connection: event.connection,
      group: event.identifier,
      action: actionName(event.action),
      value: event.value,
      boundary: Number(event.boundary),
      effect: event.effect,
    });
  }

  /** Something that happened to the gateway itself. */
  note(event: string, what: Readonly<Record<string, unknown>> = {}): void {
    this.#line(event, what);
  }

  /** Writes what waits, then opens the sink's file anew. */
  async reopen(): Promise<void> {
    await this.#writing;
    try {
      await this.#sink.reopen();
    } catch (error) {
      this.note("log-not-reopened", { reason: (error as Error).message });
    }
  }

  /** Writes what waits, and ends. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#sink.close();
  }

  #line(event: string, what: Readonly<Record<string, unknown>>): void {
    if (this.#size >= this.#maximumWaiting) {
      this.#lost++;
      this.#untold++;
      return;
    }
    this.#append(event, what);
    this.#writing ??= this.#write();
  }

  #append(event: string, what: Readonly<Record<string, unknown>>): void {
    const time = new Date(this.#wallClock()).toISOString();
    const line = `${JSON.stringify({ time, event, ...what })}\n`;
    this.#waiting.push(line);
    this.#size += line.length;
  }

  async #write(): Promise<void> {
    // Lines of one turn go out together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#sink.write(lines.join(""));
      } catch {
        this.#lost += lines.length;
        this.#untold += lines.length;
      }
      this.#size = this.#waiting.reduce((sum, line) => sum + line.length, 0);
      if (this.#untold > 0 && this.#size < this.#maximumWaiting / 2) {
        const lost = this.#untold;
        this.#untold = 0;
        // Where the sink fails altogether, there is nobody to tell, and no end of telling.
        if (lost !== lines.length) this.#append("log-lost", { lines: lost });
      }
    }
    this.#writing = undefined;
  }
}

/** The registered name of an action; its number where it has none. */
export function actionName(action: GroupControl["action"]): string {
  const found = Object.entries(groupActions).find(([, number]) => number === action);
  return found?.[0] ?? `${action}`;
}

function cut(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT - 1)}…`;
}
