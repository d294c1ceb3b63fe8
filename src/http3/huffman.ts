/**
 * The Huffman code for string literals (RFC 7541 §5.2 and Appendix B, RFC 9204 §4.1.2).
 *
 * @module
 */

import { EOS, huffmanCodeLengths } from "./huffman-code-lengths.ts";

const codeLengths = Uint8Array.from(huffmanCodeLengths);
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

/** For strings that are decoded one after the other. */
const scratch = new Uint8Array(1_024);

/** Arguments of one call, which runtimes bound. */
const MOST_ARGUMENTS = 1_024;

/** Bytes that the code words of `text` take; it holds one byte per character. */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let i = 0; i < text.length; i++) bits += codeLengths[text.charCodeAt(i)] as number;
  return (bits + 7) >> 3;
}

/**
 * Writes the code words of `text` at `offset`, filled up to a whole byte with one bits.
 *
 * @returns the offset after them
 */
export function writeHuffman(text: string, target: Uint8Array, offset: number): number {
  let end = offset;
  // Less than a byte is left over from one symbol to the next; with 30 bits more that is too much
  // for the 32 bits of an integer, so a code word is taken in two halves.
  let held = 0;
  let bits = 0;
  for (let i = 0; i < text.length; i++) {
    const symbol = text.charCodeAt(i);
    const code = codes[symbol] as number;
    let left = codeLengths[symbol] as number;
    while (left > 0) {
      const taken = Math.min(left, 15);
      left -= taken;
      held = (held << taken) | ((code >>> left) & ((1 << taken) - 1));
      bits += taken;
      while (bits >= 8) {
        bits -= 8;
        target[end++] = held >>> bits;
      }
      held &= (1 << bits) - 1;
    }
  }
  if (bits > 0) target[end++] = (held << (8 - bits)) | (0xff >> bits);
  return end;
}

/**
 * The text behind `encoded`, one byte per character.
 *
 * @returns `undefined` where EOS occurs, or where the padding is longer than 7 bits or holds a zero
 */
export function decodeHuffman(encoded: Uint8Array): string | undefined {
  // No code word is shorter than five bits.
  const most = Math.floor((8 * encoded.length) / 5);
  const decoded = most <= scratch.length ? scratch : new Uint8Array(most);
  let length = 0;
  let state = 0;
  for (let i = 0; i < encoded.length; i++) {
    const byte = encoded[i] as number;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = steps[(state << 4) | ((byte >> shift) & 0xf)] as number;
      if (step === INVALID) return undefined;
      if ((step & EMITS) !== 0) decoded[length++] = step & 0xff;
      state = step >>> 9;
    }
  }
  return finalStates[state] === 1 ? characters(decoded.subarray(0, length)) : undefined;
}

/** A text with one character for each byte. */
export function characters(bytes: Uint8Array): string {
  if (bytes.length <= MOST_ARGUMENTS) return ofCodes(bytes);
  let text = "";
  for (let at = 0; at < bytes.length; at += MOST_ARGUMENTS) {
    text += ofCodes(bytes.subarray(at, at + MOST_ARGUMENTS));
  }
  return text;
}

/** Spreading goes through an iterator on every runtime, at three times the cost. */
const ofCodes = (codes: Uint8Array): string =>
  String.fromCharCode.apply(null, codes as unknown as number[]);

/** The code word of each symbol, right-aligned. */
function canonicalCodes(): Uint32Array {
  const symbols = huffmanCodeLengths.map((_, symbol) => symbol);
  const length = (symbol: number) => codeLengths[symbol] as number;
  symbols.sort((a, b) => length(a) - length(b) || a - b);
  const words = new Uint32Array(symbols.length);
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
    for (let left = (codeLengths[symbol] as number) - 1; left > 0; left--) {
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
