/**
 * How a session is served. It is settled when the session begins, by what its client has addressed,
 * and never changes (LB-KEY-5, LB-KEY-6).
 *
 * @module
 */

import type { Draft, ObjectDatagram, SetupOption } from "../moqt/mod.ts";
import type {
  IncomingDataStream,
  IncomingRequest,
  MoqtSession,
  SessionClose,
  SessionGoaway,
} from "../session/mod.ts";
import type { Requester } from "./admission.ts";

/** One of the modes of a server. */
export interface Mode {
  readonly name: "redirect" | "proxy";
  /** Whether every code has to arrive as it was sent. */
  readonly needsExactCodes: boolean;
  /** Drafts that its sessions may have now, best first. */
  readonly drafts: readonly Draft[];
  /** What its SETUP says besides what every session's does. */
  readonly setupOptions: readonly SetupOption[];
  /** Requests of a client that may be open at a time. */
  readonly maximumRequests: number;
  /**
   * @param session has the client's SETUP
   * @param requester who the client is
   */
  open(session: MoqtSession, requester: () => Requester): ModeSession;
}

/** One session as its mode serves it. What it throws ends the session. */
export interface ModeSession {
  /** Whether it has nothing under way, so that its time without requests counts. */
  readonly isIdle: boolean;
  /** Requests that were redirected, forwarded and refused. */
  readonly counts: RequestCounts;
  onRequest(request: IncomingRequest): void;
  onDataStream(stream: IncomingDataStream): void;
  onDatagram(datagram: ObjectDatagram, bytes: Uint8Array): void;
  onGoaway(goaway: SessionGoaway): void;
  onClosed(close: SessionClose): void;
}

export interface RequestCounts {
  readonly redirects: number;
  readonly rejections: number;
  /** In proxy mode alone. */
  readonly forwarded?: number;
}
