/**
 * Content of messages between Node's streams and those of fetch, with backpressure both ways.
 *
 * @module
 */

import type { Readable, Writable } from "node:stream";

/**
 * What `readable` gives, at the reader's pace: nothing is read before the first pull, and hardly more
 * than was pulled. It fails where `readable` closes before its end. A reader that has enough lets the
 * rest go by unread.
 */
export function contentOf(readable: Readable): ReadableStream<Uint8Array<ArrayBuffer>> {
  let attached = false;
  let over = false;
  const attach = (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
    attached = true;
    const finish = (error?: unknown) => {
      if (over) return;
      over = true;
      if (error === undefined) controller.close();
      else controller.error(error);
    };
    readable.on("data", (chunk: Uint8Array<ArrayBuffer>) => {
      if (over) return;
      controller.enqueue(chunk);
      if ((controller.desiredSize ?? 0) <= 0) readable.pause();
    });
    readable.once("end", () => finish());
    readable.once("error", finish);
    const ended = () => finish(new Error("the message has ended before its end"));
    readable.once("aborted", ended);
    readable.once("close", ended);
    if (readable.destroyed) ended();
  };
  return new ReadableStream(
    {
      pull(controller) {
        if (attached) readable.resume();
        else attach(controller);
      },
      cancel() {
        over = true;
        readable.resume();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Writes what `body` gives to `writable`, at its pace, and ends it. Stops where `signal` aborts, which
 * cancels the body.
 *
 * @throws what the body fails with, or a TypeError where it gives something else than bytes
 */
export async function pour(
  body: ReadableStream<Uint8Array>,
  writable: Writable,
  signal: AbortSignal,
): Promise<void> {
  const reader = body.getReader();
  const stop = () => void reader.cancel(signal.reason).catch(() => {});
  if (signal.aborted) return stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) return;
      if (done) break;
      if (!(value instanceof Uint8Array)) throw new TypeError("a body has to consist of bytes");
      if (!writable.write(value)) await writableAgain(writable, signal);
    }
    writable.end();
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function writableAgain(writable: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      for (const event of ["drain", "close"]) writable.off(event, go);
      signal.removeEventListener("abort", go);
      resolve();
    };
    for (const event of ["drain", "close"]) writable.once(event, go);
    signal.addEventListener("abort", go, { once: true });
    if (writable.destroyed) go();
  });
}
