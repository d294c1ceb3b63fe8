/**
 * The agent's signed answer to a report. It names the report by its digest, so that an instance
 * knows that the agent whose snapshots it trusts is the one that read it (LB-CONF-18).
 *
 * @module
 */

import { utf8 } from "../bytes.ts";
import { sha256Hex } from "../digest.ts";
import type { SigningKey, TrustedKeys } from "../snapshot/mod.ts";
import { ClaimsFault, digestPattern, readInteger, readMembers, readText } from "./claims.ts";
import { ReportError } from "./errors.ts";
import { isInstanceId } from "./instance-report.ts";
import { JwsError, openJws, signJws } from "./jws.ts";

/** What the agent says of a report that it took. */
export interface ReceiptClaims {
  readonly instanceId: string;
  readonly sequence: number;
  /** SHA-256 of the signed report, lower-case hexadecimal. */
  readonly report: string;
  /** The version that is current; `null` before the first. */
  readonly currentVersion: number | null;
  /** When, in milliseconds of the Unix epoch on the agent's clock. */
  readonly at: number;
}

/** The same, signed: `jws` is what goes to the instance. */
export interface Receipt extends ReceiptClaims {
  readonly jws: string;
}

const receiptType = "moq-lb-receipt+jwt";

/** Receipts are about 450 characters long. */
export const maximumReceiptLength = 2048;

/** SHA-256 of a signed report, as receipts name it. */
export function reportDigest(jws: string): Promise<string> {
  return sha256Hex(utf8(jws));
}

/** @param key the one that the agent signs snapshots with */
export async function signReceipt(claims: ReceiptClaims, key: SigningKey): Promise<Receipt> {
  return { ...claims, jws: await signJws(receiptType, claims, key) };
}

/**
 * Reads the answer to a report.
 *
 * @param jws what came
 * @param report the signed report that was sent
 * @param trustedKeys whose snapshots are accepted
 * @throws {ReportError} `AGENT_UNVERIFIED`: it is by no trusted key, or no answer to this report
 */
export async function verifyReceipt(
  jws: unknown,
  report: string,
  trustedKeys: TrustedKeys,
): Promise<ReceiptClaims> {
  let receipt: ReceiptClaims;
  try {
    const claims = await openJws(jws, {
      typ: receiptType,
      maximumLength: maximumReceiptLength,
      keyOf: ({ kid }) => trustedKeys.get(kid),
    });
    receipt = readReceipt(claims);
  } catch (error) {
    if (!(error instanceof JwsError || error instanceof ClaimsFault)) throw error;
    throw unverified(error.message, error);
  }
  if (receipt.report !== (await reportDigest(report))) {
    throw unverified("it is the answer to another report");
  }
  return receipt;
}

function unverified(reason: string, cause?: unknown): ReportError {
  const message = `the answer to the report is not the agent's: ${reason}`;
  return new ReportError("AGENT_UNVERIFIED", message, cause);
}

const receiptNames: ReadonlySet<string> = new Set([
  "instanceId",
  "sequence",
  "report",
  "currentVersion",
  "at",
]);

function readReceipt(value: unknown): ReceiptClaims {
  const receipt = readMembers(value, "the receipt", receiptNames);
  const { instanceId, currentVersion } = receipt;
  if (!isInstanceId(instanceId)) throw new ClaimsFault("instanceId has to name an instance");
  return {
    instanceId,
    sequence: readInteger(receipt.sequence, "sequence", 1),
    report: readText(receipt.report, "report", digestPattern),
    currentVersion: currentVersion === null ? null : readInteger(currentVersion, "currentVersion"),
    at: readInteger(receipt.at, "at"),
  };
}
