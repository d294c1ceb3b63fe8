/**
 * How a relay's health is found out.
 *
 * @module
 */

export type ProbeTarget =
  /** A session at the relay's own URI: QUIC handshake and MOQT SETUP. */
  | { readonly kind: "moqt" }
  /** Nothing asks; the operator's intent and reports of instances alone count. */
  | { readonly kind: "none" }
  /** GET of `url` (`http:` or `https:`), which has to answer 2xx. */
  | { readonly kind: "http"; readonly url: string };
