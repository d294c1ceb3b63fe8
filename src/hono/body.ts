/**
 * Reading a request body of bounded size.
 *
 * @module
 */

import type { HonoRequest } from "hono";

/**
 * The body of `request`, or `undefined` where it is longer than `limit` bytes. A body with a
 * declared length is refused by that alone, before any of it is read; one without is counted as it
 * arrives, and given up at the first chunk beyond the limit.
 *
 * @throws what the runtime throws where the body breaks off
 */
export function readBody(
  request: HonoRequest,
  limit: number,
): Promise<Uint8Array | ArrayBuffer | undefined> {
  const { raw } = request;
  const declared = raw.headers.get("content-length");
  if (declared === null && raw.body !== null && !raw.bodyUsed) return readStream(raw.body, limit);
  if (declared !== null && !(Number(declared) <= limit)) return Promise.resolve(undefined);
  // HTTP ends a body at its declared length: nothing grows past the check above. A body that
  // another middleware has read already is what hono kept of it.
  return request.arrayBuffer();
}

async function readStream(
  stream: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | undefined> {
  const reader = stream.getReader();
  let buffer = new Uint8Array(1024);
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return buffer.subarray(0, length);
    const end = length + value.length;
    if (end > limit) {
      // Nobody waits for the rest, and a sender that is cut off may make `cancel` fail.
      reader.cancel().catch(() => {});
      return undefined;
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
