import { YardmasterError } from "../errors.ts";

/**
 * What can be wrong with a report, a token of an instance, or the way between the two sides:
 *
 * - `REPORT_TOO_LARGE`, `MALFORMED_REPORT`, `MALFORMED_TOKEN`: it is not what it has to be
 * - `UNKNOWN_INSTANCE`: it names an instance that the agent has no key of
 * - `BAD_SIGNATURE`: it is not by the key of the instance that it names
 * - `TOKEN_EXPIRED`: a token is too old, or from the future
 * - `CLOCK_APART`: the first report of a run was made too long ago, or in the future
 * - `REPLAYED`: a report that was there before, or one from before that
 * - `TOO_MANY_REPORTS`: more than the agent takes, of this instance or of all
 * - `AGENT_UNVERIFIED`: the answer is by no trusted key, or answers another report (LB-CONF-18)
 * - `AGENT_REFUSED`, `AGENT_UNREACHABLE`: the agent did not take the report
 * - `STORE_FAILED`: the store did not take it
 * - `INVALID_CONFIGURATION`: a reporter or collector is set up wrongly
 */
export type ReportErrorCode =
  | "REPORT_TOO_LARGE"
  | "MALFORMED_REPORT"
  | "MALFORMED_TOKEN"
  | "UNKNOWN_INSTANCE"
  | "BAD_SIGNATURE"
  | "TOKEN_EXPIRED"
  | "CLOCK_APART"
  | "REPLAYED"
  | "TOO_MANY_REPORTS"
  | "AGENT_UNVERIFIED"
  | "AGENT_REFUSED"
  | "AGENT_UNREACHABLE"
  | "STORE_FAILED"
  | "INVALID_CONFIGURATION";

/** Every error this room throws on purpose. Messages repeat nothing of what a peer sent. */
export class ReportError extends YardmasterError {
  declare readonly code: ReportErrorCode;

  constructor(code: ReportErrorCode, message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}
