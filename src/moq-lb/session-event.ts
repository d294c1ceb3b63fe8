/**
 * What a balancer tells of its sessions, for logs and metrics: never a token, never a raw name or
 * text of the peer (LB-SEC-17, LB-SEC-34).
 *
 * @module
 */

import { type Draft, sessionErrorName } from "../moqt/mod.ts";
import type { TransportClose, TransportKind } from "../transport/transport.ts";

/** Why a session is refused before it begins. */
export type RefusalCause =
  | "session-limit"
  | "client-limit"
  | "draining"
  | "address"
  | "protocol"
  /** Proxy mode does not have it: a relay of the pool does not speak it (LB-PSETUP-2). */
  | "draft"
  /** Proxy mode needs one that keeps the codes of streams. */
  | "carrier"
  | "tenant-fault";

/** One moment in the life of a session. Every member is JSON. */
export type RedirectSessionEvent =
  | {
      readonly type: "refused";
      readonly transport: TransportKind;
      readonly client: string;
      readonly cause: RefusalCause;
    }
  | {
      readonly type: "opened";
      readonly session: number;
      readonly transport: TransportKind;
      readonly client: string;
      readonly draft: Draft;
    }
  | {
      readonly type: "setup";
      readonly session: number;
      /** MOQT_IMPLEMENTATION of the client, made safe. */
      readonly implementation?: string;
      /** Milliseconds since the session was opened. */
      readonly duration: number;
    }
  | {
      readonly type: "closed";
      readonly session: number;
      readonly by: TransportClose["by"];
      /** Registered name of the session error, its number, or that the transport failed. */
      readonly code: string;
      /** What was said, made safe. */
      readonly reason?: string;
      /** The authorization policy's reason for a refusal of the session, where it gave one. */
      readonly refusal?: string;
      readonly redirects: number;
      readonly rejections: number;
      /** Of a session in proxy mode, with the number of requests that were forwarded. */
      readonly mode?: "proxy";
      readonly forwarded?: number;
      /** Milliseconds since the session was opened. */
      readonly duration: number;
    };

const longestText = 100;

/** Text of a peer for a log: printable ASCII, at most 100 characters or as said. */
export function printable(text: string, longest = longestText): string {
  const cut = text.length > longest ? `${text.slice(0, longest - 3)}...` : text;
  return cut.replace(/[^\x20-\x7e]/g, "?");
}

/** The code of a close in words. */
export function closeCode({ app, by, code }: TransportClose): string {
  if (by === "idle") return "TRANSPORT_IDLE";
  if (!app) return `TRANSPORT_ERROR ${code}`;
  return sessionErrorName(code) ?? `UNKNOWN ${code}`;
}
