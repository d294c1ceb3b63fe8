/**
 * Reports of instances to the Configuration Agent: their form, how both sides prove who they are,
 * and what sends them.
 *
 * @module
 */

export { agentBase, type Fetch } from "./address.ts";
export { discard, readBody } from "./body.ts";
export { reportKey, storedReport } from "./channel.ts";
export { ReportError, type ReportErrorCode } from "./errors.ts";
export {
  type DecisionOutcome,
  decisionOutcomes,
  type HealthView,
  type InstanceReport,
  isInstanceId,
  type Mismatch,
  maximumHealthViews,
  maximumMismatches,
  maximumReportLength,
  openReport,
  parseReport,
  signReport,
} from "./instance-report.ts";
export {
  type Receipt,
  type ReceiptClaims,
  reportDigest,
  signReceipt,
  verifyReceipt,
} from "./receipt.ts";
export {
  createReporter,
  type ReportEvent,
  type Reporter,
  type ReporterOptions,
} from "./reporter.ts";
export { createTally, type Tally } from "./tally.ts";
export { instanceToken, verifyInstanceToken } from "./token.ts";
