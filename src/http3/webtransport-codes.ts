/**
 * Stream error codes of a WebTransport application within those of HTTP/3: 32 bits, spread over a
 * range of their own so that no reserved code point is hit (WebTransport over HTTP/3 §4.4).
 *
 * @module
 */

const FIRST = 0x52e4_a40f_a8dbn;
const LAST = 0x52e5_ac98_3162n;
/** Every 31st code point, counted from 0x21, is reserved (RFC 9114 §8.1). */
const PERIOD = 0x1fn;

/** The largest code of an application: 2^32 - 1. */
export const MAX_WEBTRANSPORT_CODE = 0xffff_ffffn;

/**
 * The HTTP/3 code for an application's `code`.
 *
 * @throws {RangeError} it is not in 0..2^32-1
 */
export function toHttp3Code(code: bigint): bigint {
  if (code < 0n || code > MAX_WEBTRANSPORT_CODE) {
    throw new RangeError("a WebTransport code has to be in 0..2^32-1");
  }
  return FIRST + code + code / (PERIOD - 1n);
}

/** The application's code behind an HTTP/3 code; `undefined` where that is none of an application. */
export function fromHttp3Code(code: bigint): bigint | undefined {
  if (code < FIRST || code > LAST || (code - 0x21n) % PERIOD === 0n) return undefined;
  const shifted = code - FIRST;
  return shifted - shifted / PERIOD;
}
