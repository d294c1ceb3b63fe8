/**
 * The Huffman code for string literals (RFC 7541 §5.2 and Appendix B, RFC 9204 §4.1.2).
 *
 * @module
 */

import { EOS, huffmanCodeLengths } from "./huffman-code-lengths.ts";

const codes = canonicalCodes();

/**
 * The decoder is a state machine over half bytes: a state is an inner node of the code tree, of
 * which 257 leaves make 256. No code is shorter than five bits, so a step emits one symbol at most.
 * An entry holds the symbol (8 bits), whether there is one (1 bit) and the next state (8 bits).
 */
const steps = new Uint32Array(256 * 16);
const EMITS = 1 << 8;
const INVALID = 0x8000_0000;
/** States in which a string may end: less than a byte of one bits after the last symbol. */
const finalStates = new Uint8Array(256);
buildSteps();

/** Bytes that `encodeHuffman` makes of `bytes`. */
export function huffmanLength(bytes: Uint8Array): number {
  let bits = 0;
  for (const byte of bytes) bits += huffmanCodeLengths[byte] as number;
  return Math.ceil(bits / 8);
}

/** The code words of `bytes`, filled up to a whole byte with one bits. */
export function encodeHuffman(bytes: Uint8Array): Uint8Array {
  const encoded = new Uint8Array(huffmanLength(bytes));
  let offset = 0;
  let room = 8;
  for (const byte of bytes) {
    const code = codes[byte] as number;
    let left = huffmanCodeLengths[byte] as number;
    while (left > 0) {
      const taken = Math.min(left, room);
      left -= taken;
      room -= taken;
      const bits = (code >>> left) & ((1 << taken) - 1);
      encoded[offset] = (encoded[offset] as number) | (bits << room);
      if (room === 0) {
        offset++;
        room = 8;
      }
    }
  }
  if (room < 8) encoded[offset] = (encoded[offset] as number) | ((1 << room) - 1);
  return encoded;
}

/**
 * The bytes behind `encoded`.
 *
 * @returns `undefined` where EOS occurs, or where the padding is longer than 7 bits or holds a zero
 */
export function decodeHuffman(encoded: Uint8Array): Uint8Array | undefined {
  // Five bits make the shortest symbol.
  const decoded = new Uint8Array(Math.floor((encoded.length * 8) / 5));
  let length = 0;
  let state = 0;
  for (const byte of encoded) {
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = steps[(state << 4) | ((byte >> shift) & 0xf)] as number;
      if (step === INVALID) return undefined;
      if ((step & EMITS) !== 0) decoded[length++] = step & 0xff;
      state = step >>> 9;
    }
  }
  return finalStates[state] === 1 ? decoded.subarray(0, length) : undefined;
}

/** The code word of each symbol, right-aligned. */
function canonicalCodes(): number[] {
  const symbols = huffmanCodeLengths.map((_, symbol) => symbol);
  const length = (symbol: number) => huffmanCodeLengths[symbol] as number;
  symbols.sort((a, b) => length(a) - length(b) || a - b);
  const words: number[] = [];
  let next = 0;
  let previous = length(symbols[0] as number);
  for (const symbol of symbols) {
    next <<= length(symbol) - previous;
    previous = length(symbol);
    words[symbol] = next++;
  }
  return words;
}

function buildSteps(): void {
  // children[2 * node + bit]: an inner node, or a leaf as ~symbol.
  const children = [0, 0];
  for (const [symbol, code] of codes.entries()) {
    let node = 0;
    for (let left = (huffmanCodeLengths[symbol] as number) - 1; left > 0; left--) {
      const at = 2 * node + ((code >>> left) & 1);
      if (children[at] === 0) {
        children[at] = children.length / 2;
        children.push(0, 0);
      }
      node = children[at] as number;
    }
    children[2 * node + (code & 1)] = ~symbol;
  }
  for (let state = 0; state < 256; state++) {
    for (let half = 0; half < 16; half++) {
      let node = state;
      let emitted = 0;
      for (let bit = 3; bit >= 0 && emitted !== INVALID; bit--) {
        node = children[2 * node + ((half >> bit) & 1)] as number;
        if (node >= 0) continue;
        emitted = ~node === EOS ? INVALID : EMITS | ~node;
        node = 0;
      }
      steps[(state << 4) | half] = emitted === INVALID ? INVALID : (node << 9) | emitted;
    }
  }
  for (let depth = 0, node = 0; depth < 8; depth++) {
    finalStates[node] = 1;
    node = children[2 * node + 1] as number;
  }
}
