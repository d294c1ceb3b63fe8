/**
 * Content of a request on its way to an origin: at the pace of whoever is slower, and kept, within
 * bounds, so that it can be sent again (CG-MAP-5, CG-FAIL-8).
 *
 * @module
 */

/** Octets that all requests together may keep. */
export class ReplayBudget {
  #most: number;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get used(): number {
    return this.#used;
  }

  set most(most: number) {
    this.#most = most;
  }

  /** Whether that much more may be kept; it counts from now on. */
  take(octets: number): boolean {
    if (this.#used + octets > this.#most) return false;
    this.#used += octets;
    return true;
  }

  give(octets: number): void {
    this.#used -= octets;
  }
}

/** Where the content comes from: a stream of HTTP/2, or a message of HTTP/1.1. */
export interface ContentSource {
  on(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  /** Octets that are here and were not read yet. */
  readonly readableLength?: number;
}

/** Where it goes. */
export interface ContentTarget {
  write(chunk: Uint8Array): boolean;
  once(event: "drain", listener: () => void): unknown;
  off(event: "drain", listener: () => void): unknown;
  end(): unknown;
}

export interface RequestContentOptions {
  readonly source: ContentSource;
  readonly budget: ReplayBudget;
  /** The most octets of this one that are kept. */
  readonly most: number;
  /** What Content-Length says. */
  readonly length: number | undefined;
  /** Some of it came, or went. */
  readonly moved: () => void;
  /** Another length than Content-Length says: the request is malformed (RFC 9113 §8.1.1). */
  readonly mismatched: () => void;
  /** All of it has come, and goes to `target` next: the moment for trailers. */
  readonly ending: () => void;
}

export class RequestContent {
  readonly #options: RequestContentOptions;
  /** All that came, while it is kept. */
  #kept: Uint8Array[] | undefined = [];
  #keptOctets = 0;
  #received = 0;
  #ended = false;
  #begun = false;
  #target: ContentTarget | undefined;
  #over = false;
  #blocked = false;
  readonly #drained = () => {
    this.#blocked = false;
    this.#options.moved();
    this.#options.source.resume();
  };

  constructor(options: RequestContentOptions) {
    this.#options = options;
  }

  /** Whether all of it has come. */
  get complete(): boolean {
    return this.#ended;
  }

  /** Whether all that came can be sent again. */
  get replayable(): boolean {
    return this.#kept !== undefined;
  }

  /** Octets that the gateway holds for it. */
  get held(): number {
    return this.#keptOctets + (this.#options.source.readableLength ?? 0);
  }

  get received(): number {
    return this.#received;
  }

  /** Whether content is waited for, rather than for somebody to take it. */
  get awaited(): boolean {
    return this.#target !== undefined && !this.#ended && !this.#blocked;
  }

  /**
   * Sends what is kept, and then what comes, to `target`. Nothing is read from the client before the
   * first call, so that what waits for a connection waits in the client's window.
   */
  sendTo(target: ContentTarget): void {
    this.#target = target;
    let room = true;
    for (const chunk of this.#kept ?? []) room = target.write(chunk);
    if (this.#ended) {
      this.#finish(target);
      return;
    }
    if (!this.#begun) this.#begin();
    if (room) this.#options.source.resume();
    else this.#wait(target);
  }

  /** Whoever it went to is gone. It waits for the next one. */
  detach(): void {
    this.#target?.off("drain", this.#drained);
    this.#blocked = false;
    this.#target = undefined;
    if (!this.#ended && this.#begun) this.#options.source.pause();
  }

  /** It will not be sent again. */
  letGo(): void {
    if (this.#keptOctets > 0) this.#options.budget.give(this.#keptOctets);
    this.#kept = undefined;
    this.#keptOctets = 0;
  }

  /** Nobody wants it any more. The source is the caller's again. */
  close(): void {
    this.detach();
    this.letGo();
    this.#over = true;
  }

  #begin(): void {
    this.#begun = true;
    const { source } = this.#options;
    source.on("data", (chunk) => this.#take(chunk));
    source.on("end", () => this.#end());
  }

  #take(chunk: Uint8Array): void {
    if (this.#over) return;
    const { length, moved, mismatched, source } = this.#options;
    this.#received += chunk.length;
    if (length !== undefined && this.#received > length) {
      mismatched();
      return;
    }
    moved();
    this.#keep(chunk);
    const target = this.#target;
    // Some runtimes give one more chunk after a pause: it is kept, or the request is lost for a retry.
    if (target === undefined) {
      source.pause();
      return;
    }
    if (!target.write(chunk)) {
      source.pause();
      this.#wait(target);
    }
  }

  #keep(chunk: Uint8Array): void {
    if (this.#kept === undefined) return;
    const { budget, most } = this.#options;
    if (this.#keptOctets + chunk.length > most || !budget.take(chunk.length)) {
      this.letGo();
      return;
    }
    this.#kept.push(chunk);
    this.#keptOctets += chunk.length;
  }

  #end(): void {
    if (this.#over || this.#ended) return;
    const { length, mismatched } = this.#options;
    if (length !== undefined && this.#received !== length) {
      mismatched();
      return;
    }
    this.#ended = true;
    if (this.#target !== undefined) this.#finish(this.#target);
  }

  #finish(target: ContentTarget): void {
    this.#options.ending();
    target.end();
  }

  #wait(target: ContentTarget): void {
    this.#blocked = true;
    target.once("drain", this.#drained);
  }
}
