/**
 * How many requests wait in all, and who has to give way once there are too many: the bound is shared
 * by origins, and within an origin by clients, so that neither one origin that hangs nor a few clients
 * that wait for the end of a LIMIT keep everybody else out (CG-S11).
 *
 * @module
 */

/** What bounds count: requests, and octets of content that is held for them. */
export type Measure = "requests" | "bytes";

export type Load = Readonly<Record<Measure, number>>;

/** Those that wait for one origin. */
export interface BoundedQueue<Client> {
  readonly load: Load;
  loadOf(client: Client): Load;
  /** A client of whom most waits, octets compared roughly. */
  greatest(measure: Measure): Client | undefined;
  /** Answers the request of the client that came last and counts in `measure`: it waits no more. */
  displace(client: Client, measure: Measure): void;
}

export class QueueBounds<Client> {
  /** All that waits; kept by whoever lets requests wait. */
  readonly waiting: Record<Measure, number> = { requests: 0, bytes: 0 };
  readonly #most: Load;
  readonly #queues: () => Iterable<BoundedQueue<Client>>;

  /** @param queues those of all origins */
  constructor(most: Load, queues: () => Iterable<BoundedQueue<Client>>) {
    this.#most = most;
    this.#queues = queues;
  }

  /**
   * Whether a request may wait, another one having given way where there was no room: one for an origin
   * that has more waiting than this one would have then, or else of such a client of the same origin.
   */
  admits(queue: BoundedQueue<Client>, client: Client, bytes: number): boolean {
    return this.#fits("requests", 1, queue, client) && this.#fits("bytes", bytes, queue, client);
  }

  #fits(measure: Measure, more: number, queue: BoundedQueue<Client>, client: Client): boolean {
    while (this.waiting[measure] + more > this.#most[measure]) {
      const before = this.waiting[measure];
      this.#makeRoom(measure, more, queue, client);
      if (this.waiting[measure] === before) return false;
    }
    return true;
  }

  #makeRoom(measure: Measure, more: number, queue: BoundedQueue<Client>, client: Client): void {
    let longest = queue;
    for (const other of this.#queues()) {
      if (other.load[measure] > longest.load[measure]) longest = other;
    }
    const isLonger = longest.load[measure] > queue.load[measure] + more;
    const from = isLonger ? longest : queue;
    const least = isLonger ? 0 : queue.loadOf(client)[measure] + more;
    const greatest = from.greatest(measure);
    if (greatest === undefined || from.loadOf(greatest)[measure] <= least) return;
    from.displace(greatest, measure);
  }
}
