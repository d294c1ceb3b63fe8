/**
 * Redirect mode for one request: who may ask, where the request goes, what is answered.
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
} from "./authorization.ts";
export { ConfigurationError, requireFunction, requireInteger } from "./configuration-error.ts";
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
export { tell } from "./hook.ts";
export { type JwtPolicyOptions, jwtPolicy } from "./jwt-policy.ts";
export { type DecisionLogRecord, decisionLog } from "./log.ts";
export { isOperation, type Operation, operationOf } from "./operation.ts";
export { type RateLimit, type TokenBucketOptions, tokenBucket } from "./rate-limit.ts";
export {
  createRedirector,
  type Redirector,
  type RedirectorOptions,
  type Requester,
} from "./redirect.ts";
export { decodeRequest } from "./request.ts";
export { type AuthorizationToken, tokensWithoutSession } from "./tokens.ts";
