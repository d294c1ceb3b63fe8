/** Reports of instances, and keys for them. */

import { CompactSign } from "jose";
import { utf8 } from "../../../src/bytes.ts";
import type { InstanceReport } from "../../../src/report/mod.ts";
import { generateSigningKey, type SigningKey } from "../../../src/snapshot/mod.ts";

/** 2023-11-14 22:13:20 UTC: a whole second. */
export const T0 = 1_700_000_000_000;
export const HOUR = 3_600_000;

export const digest = "ab".repeat(32);

/** A report of edge-1 that says everything a report can say. */
export function reportWith(changes: Partial<InstanceReport> = {}): InstanceReport {
  return {
    instanceId: "edge-1",
    sequence: 1,
    at: T0,
    startedAt: T0 - 60_000,
    activeVersion: 7,
    digest,
    ageSeconds: 12,
    mode: "redirect",
    stale: false,
    health: [{ rid: "7231", state: "draining", at: T0 - 1000 }],
    decisions: { REDIRECT: 40, UNAUTHORIZED: 2 },
    sessions: 3,
    ...changes,
  };
}

let cached: Promise<SigningKey> | undefined;

/** One key for all who need no key of their own. */
export function someKey(): Promise<SigningKey> {
  cached ??= generateSigningKey("some-key");
  return cached;
}

/** Signs any claims under any header, without a line of the code under test. */
export function signRaw(
  claims: unknown,
  key: SigningKey,
  header: Record<string, unknown> = {},
): Promise<string> {
  const text = typeof claims === "string" ? claims : JSON.stringify(claims);
  return new CompactSign(utf8(text))
    .setProtectedHeader({ alg: "EdDSA", typ: "moq-lb-report+jwt", kid: key.kid, ...header })
    .sign(key.privateKey);
}
