/**
 * Redirect mode, for one request and for live sessions: who may ask, where a request goes, what is
 * answered. Proxy mode, for live sessions: requests and objects are carried to relays and back.
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
export type { DataCounts } from "./proxy/data/delivery.ts";
export {
  clientDigest,
  type IdentityTokenOptions,
  identityTokens,
} from "./proxy/identity-tokens.ts";
export type { MoveEvent } from "./proxy/moving/mover.ts";
export type { ProxyHooks, ProxyStatus } from "./proxy/proxy-mode.ts";
export {
  type BackendTokenContext,
  type BackendTokens,
  type DialRelay,
  defaultProxyLimits,
  type ProxyLimits,
  type ProxyOptions,
  type RelayDialOptions,
} from "./proxy/proxy-options.ts";
export {
  CapabilitiesError,
  type CapabilitiesErrorCode,
  type PoolCapabilities,
  poolCapabilities,
  type RelayLimits,
} from "./proxy/relays/capabilities.ts";
export type { LocalHealth, LocalState } from "./proxy/relays/health-view.ts";
export type { RelayMismatch } from "./proxy/relays/relays.ts";
export {
  createSessionServer,
  type SessionServer,
  type SessionServerOptions,
  type SessionServerStatus,
} from "./proxy/session-server.ts";
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
