/**
 * Redirect mode, for one request and for live sessions: who may ask, where a request goes, what is
 * answered.
 *
 * @module
 */

export { encodeAnswer } from "./answer.ts";
export {
  type AuthorizationDecision,
  type AuthorizationPolicy,
  type AuthorizationRequest,
  allowAll,
  authorizationPolicy,
  type SessionAuthorizationRequest,
} from "./authorization.ts";
export { clientKey } from "./client-key.ts";
export {
  ConfigurationError,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireList,
  requireObject,
} from "./configuration-error.ts";
export {
  type Decision,
  type Redirection,
  type Rejection,
  type RejectionCause,
  type RejectionCode,
  reasonPhrases,
  toRequestError,
} from "./decision.ts";
export type { DecisionEvent } from "./decision-event.ts";
export { type JwtPolicyOptions, jwtPolicy } from "./jwt-policy.ts";
export type { LimitStatus, LimitStatuses } from "./limit-status.ts";
export { type DecisionLogRecord, decisionLog } from "./log.ts";
export { isOperation, type Operation, operationOf } from "./operation.ts";
export {
  type RateLimit,
  type TokenBucket,
  type TokenBucketOptions,
  tokenBucket,
} from "./rate-limit.ts";
export {
  createRedirector,
  type Redirector,
  type Requester,
} from "./redirect.ts";
export { createRedirectServer } from "./redirect-server.ts";
export { defaultMaximumPending, type RedirectorOptions } from "./redirector-options.ts";
export { decodeRequest } from "./request.ts";
export type { Address, AddressFault } from "./service.ts";
export type { RedirectSessionEvent, RefusalCause } from "./session-event.ts";
export { defaultSessionLimits, type RedirectSessionLimits } from "./session-limits.ts";
export { sessionLog } from "./session-log.ts";
export type {
  RedirectServer,
  RedirectServerOptions,
  RedirectServerStatus,
  Refusal,
} from "./session-server.ts";
export { type AuthorizationToken, tokensWithoutSession } from "./tokens.ts";
