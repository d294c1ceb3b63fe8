/**
 * A session to a relay, held for one client session (LB-PSHARE-1), as whoever forwards requests
 * sees it.
 *
 * @module
 */

import { YardmasterError } from "../../../errors.ts";
import type { ObjectDatagram } from "../../../moqt/mod.ts";
import type {
  IncomingDataStream,
  IncomingRequest,
  MoqtSession,
  SessionClose,
  SessionGoaway,
} from "../../../session/mod.ts";

/** Told what comes from the relay. */
export interface BackendHandlers {
  onRequest(request: IncomingRequest, backend: Backend): void;
  onDataStream(stream: IncomingDataStream, backend: Backend): void;
  onDatagram(datagram: ObjectDatagram, bytes: Uint8Array, backend: Backend): void;
  /** GOAWAY on the control stream. Its URI is not to be used for anything (LB-PGOAWAY-2, -3). */
  onGoaway(goaway: SessionGoaway, backend: Backend): void;
  /** Comes once, and only for a backend that was open. */
  onClosed(end: BackendEnd, backend: Backend): void;
}

export interface BackendEnd {
  readonly close: SessionClose;
  /** Neither closed here, nor after the relay's own GOAWAY, nor idle without requests (LB-A10). */
  readonly isAbrupt: boolean;
}

export interface Backend {
  /** RID of the relay, lower-case hexadecimal. */
  readonly rid: string;
  /** `uri` of the relay when it was dialled. */
  readonly uri: string;
  /** Ends with the session, or with the failure to open it. */
  readonly isOver: boolean;
  /** Whether the relay has sent GOAWAY: no request can be made on it any more. */
  readonly isLeaving: boolean;
  /** When the relay means to end the session, on the clock of sessions; absent: it did not say. */
  readonly goawayDeadline: number | undefined;
  /**
   * Resolves with the session once the relay's SETUP is there.
   *
   * @throws BackendFailure
   */
  readonly opened: Promise<MoqtSession>;
  /** The session, from the relay's SETUP on: before anything else comes from the relay. */
  readonly session: MoqtSession | undefined;
  /**
   * Something needs the session, a request that has ended while its objects still come for example.
   * Without such a need and without open requests it is closed: at once where the relay is leaving,
   * else after the idle timeout.
   *
   * @returns says that the need is over; more calls do nothing
   */
  use(): () => void;
  /** Ends it with NO_ERROR; nothing is told of that. */
  close(): void;
}

export type BackendFailureCode =
  /** The bound on sessions to relays is reached (LB-PSETUP-17, LB-SEC-31): EXCESSIVE_LOAD. */
  | "BACKEND_LIMIT"
  /** No session came about: INTERNAL_ERROR with a retry (LB-A9). */
  | "BACKEND_UNREACHABLE"
  /** The relay refuses the version or the extensions (LB-PSETUP-11): INTERNAL_ERROR with a retry. */
  | "BACKEND_MISMATCH"
  /** The relay refuses the credentials: UNAUTHORIZED. It says nothing of the relay's health. */
  | "BACKEND_UNAUTHORIZED"
  /** No credentials could be had for it: INTERNAL_ERROR with a retry. */
  | "BACKEND_CREDENTIALS";

/** There is no session to the relay. Its message names no URI (LB-S125). */
export class BackendFailure extends YardmasterError {
  declare readonly code: BackendFailureCode;

  constructor(code: BackendFailureCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
