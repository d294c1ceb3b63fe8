/**
 * What streams and requests are called between core and driver.
 *
 * @module
 */

/**
 * A stream. The driver numbers the streams of the peer from 0 up, the core its own from -1 down; a
 * number is never used again.
 */
export type StreamHandle = number;

export type StreamKind = "bidi" | "uni";

/** A request is called by the stream that it came, or went out, on. */
export type RequestHandle = StreamHandle;
