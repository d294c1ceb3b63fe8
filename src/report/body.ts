/**
 * Bodies of HTTP answers, read no further than they may go.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";

/**
 * The body of `response`, or `undefined` where it has more than `limit` bytes: then the rest is
 * left unread, and memory stays bounded whatever a length field says.
 *
 * @throws whatever the connection fails with
 */
export async function readBody(response: Response, limit: number): Promise<Uint8Array | undefined> {
  const { body } = response;
  if (body === null) return new Uint8Array(0);
  if (Number(response.headers.get("content-length") ?? 0) > limit) {
    discard(response);
    return undefined;
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concatBytes(...parts);
    length += value.length;
    if (length > limit) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    parts.push(value);
  }
}

/** Lets go of a body that nobody reads. */
export function discard({ body }: Response): void {
  body?.cancel().catch(() => {});
}
