/**
 * The parts of a `moqt` URI that a client of raw QUIC sends in SETUP, after RFC 3986.
 *
 * @module
 */

/** path-abempty, and the query after a question mark if there is one. */
const PATH =
  /^(?:\/(?:[a-z0-9._~!$&'()*+,;=:@-]|%[0-9a-f]{2})*)*(?:\?(?:[a-z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})*)?$/i;

/** [userinfo@]host[:port] with a host, which a `moqt` URI has to have. */
const AUTHORITY =
  /^(?:(?:[a-z0-9._~!$&'()*+,;=:-]|%[0-9a-f]{2})*@)?(?:\[(?:[0-9a-f:.]+|v[0-9a-f]+\.[a-z0-9._~!$&'()*+,;=:-]+)\]|(?:[a-z0-9._~!$&'()*+,;=-]|%[0-9a-f]{2})+)(?::[0-9]*)?$/i;

/** Whether `text` can be the PATH of a SETUP; it may be empty. */
export function isPath(text: string): boolean {
  return PATH.test(text);
}

/** Whether `text` can be the AUTHORITY of a SETUP. */
export function isAuthority(text: string): boolean {
  return AUTHORITY.test(text);
}
