/**
 * What goes wrong where relays are probed.
 *
 * @module
 */

import { YardmasterError, type YardmasterErrorOptions } from "../../errors.ts";

/**
 * Why a probe failed; safe to show and to log, and there are few of them:
 *
 * - TIMEOUT: no answer, or not the whole of it, in time;
 * - CONNECT_FAILED: no connection: nobody there, refused, no MOQT draft in common;
 * - CERTIFICATE_REFUSED: the certificate is none that the options accept;
 * - SETUP_FAILED: the session ended before the relay's SETUP came, or with what is no SETUP;
 * - HTTP_404 and its like: the status of an answer that is not 2xx;
 * - INVALID_TARGET: the URI is none that can be asked;
 * - FAILED: anything else.
 */
export type ProbeFault =
  | "TIMEOUT"
  | "CONNECT_FAILED"
  | "CERTIFICATE_REFUSED"
  | "SETUP_FAILED"
  | `HTTP_${number}`
  | "INVALID_TARGET"
  | "FAILED";

/** A relay that did not pass its probe. */
export class ProbeError extends YardmasterError {
  declare readonly code: ProbeFault;

  constructor(code: ProbeFault, message: string, options: YardmasterErrorOptions = {}) {
    super(code, message, options);
  }
}

/** Settings of the health checks that cannot be. Code `INVALID_OPTION`. */
export class HealthError extends YardmasterError {
  declare readonly code: "INVALID_OPTION";

  constructor(message: string) {
    super("INVALID_OPTION", message);
  }
}
