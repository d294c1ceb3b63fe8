/**
 * The stream map: which stream of which client connection travels as which stream of which shared
 * connection, and how far it has come.
 *
 * @module
 */

import { ClientGroupError } from "./errors.ts";

/** What the map tells of a request. Whoever keeps the map keeps the entries up to date. */
export interface StreamMapEntry {
  /** The client's connection, and its stream there; no stream in HTTP/1.1 (CG-MAP-1). */
  readonly from: { readonly connection: string; readonly stream: number | undefined };
  /** What its Client-Group says, as it is on the wire (CG-MAP-3); `undefined` where it has none. */
  readonly identifier: number | undefined;
  /** Whether its header section was handed to the transport (CG-MAP-4). */
  readonly sent: boolean;
  /** Whether all of its content has come from the client, and can be sent again (CG-MAP-5). */
  readonly contentComplete: boolean;
  readonly replayable: boolean;
  /** Whether a header section of a response was received (CG-S64), and the final one passed on (CG-MAP-6). */
  readonly responseReceived: boolean;
  readonly responseForwarded: boolean;
}

/** One request as a dump of the map shows it. */
export interface StreamMapRow extends StreamMapEntry {
  /** The shared connection and its stream (CG-MAP-2); `undefined` while the request waits for one. */
  readonly to: { readonly connection: string; readonly stream: number } | undefined;
}

/**
 * Stream IDs are of one connection each and never copied across (CG-MAP-7): an entry is found by the
 * shared connection and the stream there.
 */
export class StreamMap<Entry extends StreamMapEntry> {
  readonly #waiting = new Set<Entry>();
  readonly #placed = new Map<string, Map<number, Entry>>();
  #size = 0;

  /** How many requests are in it, those that wait included. */
  get size(): number {
    return this.#size + this.#waiting.size;
  }

  /** A request waits for a shared connection. */
  wait(entry: Entry): void {
    this.#waiting.add(entry);
  }

  /**
   * A request goes on a stream of a shared connection; it waits no more.
   *
   * @throws {ClientGroupError} OUT_OF_ORDER where another one has that stream
   */
  place(entry: Entry, connection: string, stream: number): void {
    let streams = this.#placed.get(connection);
    if (streams === undefined) {
      streams = new Map();
      this.#placed.set(connection, streams);
    }
    if (streams.has(stream)) {
      throw new ClientGroupError("OUT_OF_ORDER", "another request has this stream");
    }
    this.#waiting.delete(entry);
    streams.set(stream, entry);
    this.#size++;
  }

  /** The request on a stream of a shared connection. */
  at(connection: string, stream: number): Entry | undefined {
    return this.#placed.get(connection)?.get(stream);
  }

  /** The requests on a shared connection, by stream, as they were placed (CG-CGOAWAY-1). */
  on(connection: string): Iterable<readonly [stream: number, entry: Entry]> {
    return this.#placed.get(connection) ?? [];
  }

  /** How many there are. */
  count(connection: string): number {
    return this.#placed.get(connection)?.size ?? 0;
  }

  /** A request that waited waits no more. @returns whether it did */
  leave(entry: Entry): boolean {
    return this.#waiting.delete(entry);
  }

  /** The request on this stream is completed, to be retried, or failed (CG-STATE-4). */
  end(connection: string, stream: number): void {
    const streams = this.#placed.get(connection);
    if (!streams?.delete(stream)) return;
    this.#size--;
    if (streams.size === 0) this.#placed.delete(connection);
  }

  /** Every request, those that wait first. */
  dump(): StreamMapRow[] {
    const rows: StreamMapRow[] = [];
    for (const entry of this.#waiting) rows.push(row(entry, undefined));
    for (const [connection, streams] of this.#placed) {
      for (const [stream, entry] of streams) rows.push(row(entry, { connection, stream }));
    }
    return rows;
  }
}

/** A copy: what a page is made of does not change under it. */
function row(entry: StreamMapEntry, to: StreamMapRow["to"]): StreamMapRow {
  return {
    from: { connection: entry.from.connection, stream: entry.from.stream },
    to,
    identifier: entry.identifier,
    sent: entry.sent,
    contentComplete: entry.contentComplete,
    replayable: entry.replayable,
    responseReceived: entry.responseReceived,
    responseForwarded: entry.responseForwarded,
  };
}
