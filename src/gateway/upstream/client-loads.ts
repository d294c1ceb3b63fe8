/**
 * What waits of each client for one origin, and who has most of it: kept with each change, so that
 * turning a request away costs the same however many wait.
 *
 * @module
 */

import type { Load, Measure } from "./queue-bounds.ts";

interface Place<Client> {
  readonly client: Client;
  before: Place<Client> | undefined;
  behind: Place<Client> | undefined;
}

/** Clients in the order in which they have come. */
class Line<Client> {
  readonly #places = new Map<Client, Place<Client>>();
  #last: Place<Client> | undefined;

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  /** The one that came last. */
  get last(): Client | undefined {
    return this.#last?.client;
  }

  add(client: Client): void {
    const place = { client, before: this.#last, behind: undefined };
    if (this.#last !== undefined) this.#last.behind = place;
    this.#last = place;
    this.#places.set(client, place);
  }

  delete(client: Client): void {
    const place = this.#places.get(client);
    if (place === undefined) return;
    this.#places.delete(client);
    if (place.before !== undefined) place.before.behind = place.behind;
    if (place.behind !== undefined) place.behind.before = place.before;
    else this.#last = place.before;
  }
}

/** Clients by a whole number from 0 on; those at 0 are not kept. */
class Ranking<Client> {
  readonly #lines = new Map<number, Line<Client>>();
  #highest = 0;

  move(client: Client, from: number, to: number): void {
    if (from === to) return;
    if (from > 0) {
      const left = this.#lines.get(from);
      left?.delete(client);
      if (left?.isEmpty) this.#lines.delete(from);
    }
    if (to > 0) {
      const joined = this.#lines.get(to) ?? new Line();
      joined.add(client);
      this.#lines.set(to, joined);
      this.#highest = Math.max(this.#highest, to);
    }
    while (this.#highest > 0 && !this.#lines.has(this.#highest)) this.#highest--;
  }

  /** Of those that are highest, the one that came to be last. */
  get greatest(): Client | undefined {
    return this.#lines.get(this.#highest)?.last;
  }
}

/** Octets are told apart by their power of two: who has twice as much as others is found. */
const rankOf: Readonly<Record<Measure, (load: Load) => number>> = {
  requests: ({ requests }) => requests,
  bytes: ({ bytes }) => (bytes === 0 ? 0 : Math.floor(Math.log2(bytes)) + 1),
};

const nothing: Load = { requests: 0, bytes: 0 };

export class ClientLoads<Client> {
  readonly #loads = new Map<Client, Load>();
  readonly #rankings: Readonly<Record<Measure, Ranking<Client>>> = {
    requests: new Ranking(),
    bytes: new Ranking(),
  };

  of(client: Client): Load {
    return this.#loads.get(client) ?? nothing;
  }

  /** A client with most of it, of equals the last; `undefined` where nobody has any. */
  greatest(measure: Measure): Client | undefined {
    return this.#rankings[measure].greatest;
  }

  /** So much more, or less, waits of the client. */
  change(client: Client, requests: number, bytes: number): void {
    const before = this.of(client);
    const after = { requests: before.requests + requests, bytes: before.bytes + bytes };
    if (after.requests === 0 && after.bytes === 0) this.#loads.delete(client);
    else this.#loads.set(client, after);
    for (const measure of ["requests", "bytes"] as const) {
      const rank = rankOf[measure];
      this.#rankings[measure].move(client, rank(before), rank(after));
    }
  }
}
