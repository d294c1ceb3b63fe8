/**
 * The Configuration Agent: pool, signed and versioned snapshots, history, operators' actions.
 *
 * @module
 */

export {
  type ActionType,
  type Authority,
  type Operator,
  type OperatorAction,
  type OperatorRequest,
  type Role,
  roles,
  signAction,
  signOperatorToken,
  type VerifiedAction,
  type VerifiedToken,
  verifyAction,
  verifyOperatorToken,
} from "./action.ts";
export type {
  Agent,
  AgentRole,
  AgentSettings,
  HistoryOptions,
  Published,
  PublishOptions,
  RelayState,
} from "./agent.ts";
export type { Alarm, AlarmCode } from "./alarm.ts";
export { createAgent } from "./configuration-agent.ts";
export { type Change, describeChange, diffSnapshots } from "./diff.ts";
export { AgentError, type AgentErrorCode } from "./errors.ts";
export type { AgentEvent } from "./event.ts";
export {
  type Cause,
  causes,
  type HistoryEntry,
  type HistoryOperator,
  type Refusal,
} from "./history.ts";
export { type LeaseHolder, leaseHolder } from "./lease.ts";
export {
  type Pool,
  type PoolJson,
  type PoolRelayJson,
  type ProbeJson,
  parsePool,
  probeOf,
  probesOf,
} from "./pool.ts";
export type { ProbeTarget } from "./probe-target.ts";
