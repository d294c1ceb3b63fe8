/**
 * Reading request bodies: of bounded size, in bounded time, and only so many at once.
 *
 * @module
 */

import type { HonoRequest } from "hono";
import type { LimitStatuses } from "../moq-lb/mod.ts";

/** What bodies may cost. */
export interface BodyLimits {
  /** Bytes of one body. */
  readonly maximumSize: number;
  /** Milliseconds until a body is there in full. */
  readonly timeout: number;
  /** Bodies that may be on their way at a time. */
  readonly maximumPending: number;
}

/** Why there is no body: over the size, over the time, or broken off by its sender. */
export type BodyFault = "too-large" | "late" | "incomplete";

type Body = ArrayBuffer | Uint8Array<ArrayBuffer>;

/** Reads the bodies of one app. */
export class BodyReader {
  readonly #limits: BodyLimits;
  #pending = 0;
  #turnedAway = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Whether so many bodies are on their way that another is turned away (LB-SEC-33). */
  turnsAway(): boolean {
    if (this.#pending < this.#limits.maximumPending) return false;
    this.#turnedAway++;
    return true;
  }

  /** The limits, for operators. */
  limits(): LimitStatuses {
    const { maximumSize, timeout, maximumPending } = this.#limits;
    return {
      maximumPendingBodies: {
        limit: maximumPending,
        inUse: this.#pending,
        exceeded: this.#turnedAway,
      },
      maximumBodySize: { limit: maximumSize },
      bodyTimeout: { limit: timeout },
    };
  }

  /** Bytes of the longest body that is read. */
  get maximumSize(): number {
    return this.#limits.maximumSize;
  }

  /** The body of `request`, or why there is none. Never rejects. */
  read(request: HonoRequest): Promise<Uint8Array<ArrayBuffer> | BodyFault> {
    const { maximumSize, timeout } = this.#limits;
    this.#pending++;
    return new Promise((resolve) => {
      const { body, declared, giveUp } = startReading(request, maximumSize);
      settleInTime(body, timeout, (outcome) => {
        this.#pending--;
        if (outcome === "late") giveUp?.();
        if (typeof outcome === "string") resolve(outcome);
        else if (outcome.byteLength > maximumSize) resolve("too-large");
        else if (declared !== undefined && outcome.byteLength < declared) resolve("incomplete");
        else resolve(new Uint8Array(outcome));
      });
    });
  }
}

interface Reading {
  readonly body: Promise<Body | BodyFault>;
  /** Bytes that it said it would have: over HTTP/2, Deno gives out a body that was cut off. */
  readonly declared?: number;
  /** Takes no more of it. */
  readonly giveUp?: () => void;
}

/**
 * A body with a declared length is refused by that alone, before any of it is read; one without is
 * counted as it arrives, and given up at the first chunk beyond the limit.
 */
function startReading(request: HonoRequest, limit: number): Reading {
  const { raw } = request;
  const declared = raw.headers.get("content-length");
  if (declared === null && raw.body !== null && !raw.bodyUsed && !raw.body.locked) {
    const reader = raw.body.getReader();
    return { body: readChunks(reader, limit), giveUp: () => cancel(reader) };
  }
  if (declared !== null && !(Number(declared) <= limit)) {
    return { body: Promise.resolve("too-large") };
  }
  // HTTP ends a body at its declared length: nothing grows past the check above. A body that
  // another middleware has read already is what hono kept of it. Chunk by chunk, Bun would take
  // twice as long for a request; what is late here ends with its connection.
  const body = request.arrayBuffer();
  return declared === null ? { body } : { body, declared: Number(declared) };
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): Promise<Body | "too-large"> {
  let buffer = new Uint8Array(1024);
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return buffer.subarray(0, length);
    const end = length + value.length;
    if (end > limit) {
      cancel(reader);
      return "too-large";
    }
    if (end > buffer.length) {
      const grown = new Uint8Array(Math.max(end, 2 * buffer.length));
      grown.set(buffer.subarray(0, length));
      buffer = grown;
    }
    buffer.set(value, length);
    length = end;
  }
}

/** Nobody waits for the rest, and a sender that is cut off may make `cancel` fail. */
function cancel(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => {});
}

/**
 * Turns of the microtask queue that a body has before a timer is set for it. On Deno a timer costs
 * as much as a third of a decision, and a body that came with its header fields takes two turns.
 */
const turnsWithoutTimer = 3;

/**
 * Calls `settle` once: with what `body` comes to, or past `timeout` milliseconds with `"late"`.
 * Plain callbacks, since every promise in between is time that each request takes.
 */
function settleInTime(
  body: Promise<Body | BodyFault>,
  timeout: number,
  settle: (outcome: Body | BodyFault) => void,
): void {
  let settled = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let turns = turnsWithoutTimer;
  const end = (outcome: Body | BodyFault) => {
    if (settled) return;
    settled = true;
    if (timer !== undefined) clearTimeout(timer);
    settle(outcome);
  };
  const wait = () => {
    if (settled) return;
    if (turns-- > 0) queueMicrotask(wait);
    else timer = setTimeout(() => end("late"), timeout);
  };
  body.then(end, () => end("incomplete"));
  wait();
}
