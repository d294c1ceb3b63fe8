/**
 * Cutting an input into what is published, piece by piece, while it comes.
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { InputError } from "./errors.ts";

/** Bytes of a line that is published; a longer one is an error of the input, most likely. */
const longestLine = 0x100_0000;

const newline = 0x0a;

/**
 * Lines with their newlines; the last one may have none.
 *
 * @throws {InputError} a line has more than 16 MiB
 */
export async function* lines(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      yield joined([...rest, chunk.subarray(start, end + 1)]);
      rest = [];
      length = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    // The buffer of the chunk may be used again by the stream.
    rest.push(chunk.slice(start));
    length += chunk.length - start;
    if (length > longestLine) {
      throw new InputError(`a line has more than ${longestLine} bytes; --chunk cuts elsewhere`);
    }
  }
  if (rest.length > 0) yield joined(rest);
}

/** Pieces of `size` bytes; the last one may be shorter. */
export async function* chunks(
  input: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array> {
  let piece = new Uint8Array(size);
  let filled = 0;
  for await (const chunk of input) {
    for (let start = 0; start < chunk.length; ) {
      const part = chunk.subarray(start, start + size - filled);
      piece.set(part, filled);
      filled += part.length;
      start += part.length;
      if (filled < size) continue;
      yield piece;
      piece = new Uint8Array(size);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : concatBytes(...parts);
}
