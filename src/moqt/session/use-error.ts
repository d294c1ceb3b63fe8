/**
 * What an application does wrong with a session.
 *
 * @module
 */

import { YardmasterError } from "../../errors.ts";

/**
 * - SESSION_CLOSED: the session is over;
 * - GOING_AWAY: the peer sent GOAWAY, so that no request may be made any more;
 * - OUT_OF_PLACE: a message that cannot be sent now, or not on this stream;
 * - UPDATE_LIMIT: as many updates are unanswered as the peer allows;
 * - TOKEN_CACHE: a token that the peer has no room for, or an alias that it does not know;
 * - INVALID_OPTIONS: options or limits that contradict each other or the standard.
 */
export type SessionUseCode =
  | "SESSION_CLOSED"
  | "GOING_AWAY"
  | "OUT_OF_PLACE"
  | "UPDATE_LIMIT"
  | "TOKEN_CACHE"
  | "INVALID_OPTIONS";

/** The caller asked for something that the protocol does not allow; nothing was sent. */
export class SessionUseError extends YardmasterError {
  declare readonly code: SessionUseCode;

  constructor(code: SessionUseCode, message: string) {
    super(code, message);
  }
}
