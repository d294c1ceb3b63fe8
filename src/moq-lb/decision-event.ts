/**
 * What a balancer tells of each decision, for logs and metrics: never a token, never a raw name
 * (LB-SEC-17, LB-SEC-34).
 *
 * @module
 */

import {
  type Draft,
  formatNameForLog,
  type RequestType,
  type RoutableRequest,
  requestTrackName,
  routingKey,
} from "../moqt/mod.ts";
import type { Decision, RejectionCause, RejectionCode } from "./decision.ts";

/** A request that is carried to its Selected Relay, in proxy mode. */
export interface Forwarding {
  readonly kind: "proxy";
  readonly rid: Uint8Array;
}

/** One decision. Every member is JSON. */
export interface DecisionEvent {
  readonly requestType: RequestType;
  readonly draft: Draft;
  /** The registered name of the REQUEST_ERROR code that was answered, where one was. */
  readonly outcome: "REDIRECT" | "FORWARDED" | RejectionCode;
  /** Why. */
  readonly cause: "placed" | RejectionCause;
  /** RID of the Selected Relay as safe text; absent where the request was rejected. */
  readonly relay?: string;
  /** Version of the snapshot in force; absent before the first. */
  readonly version?: number;
  /** The authorization policy's reason for a refusal, where it gave one. */
  readonly reason?: string;
  /** Code or class of the error that a hook threw, never its message. */
  readonly fault?: string;
  /** Namespace and name as safe text, cut to 100 characters; only where names are logged. */
  readonly name?: string;
  /** Milliseconds from the request to the decision, with no more than three decimals. */
  readonly duration: number;
}

/** What an event holds besides the request and its decision. */
export interface DecisionCircumstances {
  readonly version: number | undefined;
  readonly duration: number;
  readonly logNames: boolean;
}

const longestText = 100;

/**
 * The event of a decision: request type, outcome and cause always, the name of what was asked for
 * only where `logNames` says so.
 */
export function decisionEvent(
  request: RoutableRequest,
  draft: Draft,
  decision: Decision | Forwarding,
  { version, duration, logNames }: DecisionCircumstances,
): DecisionEvent {
  const namespace = logNames ? routingKey(request) : undefined;
  return {
    requestType: request.type,
    draft,
    ...outcomeOf(decision),
    ...(version !== undefined && { version }),
    ...(namespace !== undefined && {
      name: formatNameForLog(namespace, requestTrackName(request), longestText),
    }),
    // A clock may be set back in between.
    duration: Math.max(0, Math.round(duration * 1000) / 1000),
  };
}

function outcomeOf(
  decision: Decision | Forwarding,
): Pick<DecisionEvent, "outcome" | "cause" | "relay" | "reason" | "fault"> {
  if (decision.kind !== "rejection") {
    const relay = formatNameForLog([decision.rid], undefined, longestText);
    const outcome = decision.kind === "redirect" ? "REDIRECT" : "FORWARDED";
    return { outcome, cause: "placed", relay };
  }
  const { code, cause, reason, fault } = decision;
  return {
    outcome: code,
    cause,
    ...(reason !== undefined && { reason }),
    ...(fault !== undefined && { fault }),
  };
}

/** A policy's reason if it has the shape of one; another text could hold parts of a token. */
export function safeReason(reason: unknown): string | undefined {
  if (reason === undefined) return undefined;
  return typeof reason === "string" && /^[a-z-]{1,64}$/.test(reason) ? reason : "unspecified";
}

/** What a thrown value may be called in a log: its stable code or its class. */
export function safeFault(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { readonly code?: unknown };
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(code)) return code;
  return /^[A-Za-z]{1,64}$/.test(error.name) ? error.name : "unknown";
}
