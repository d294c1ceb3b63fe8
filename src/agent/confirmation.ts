/**
 * The agent's word on which version became the current one last: a JWS by its own signing key,
 * written once that version is current. A record alone does not tell whether its version ever was.
 *
 * @module
 */

import type { SigningKey, TrustedKeys } from "../snapshot/mod.ts";
import { AgentError } from "./errors.ts";
import { signJson, verifyJson } from "./jws.ts";

const TYPE = "moq-lb-confirmation+jwt";
/** Characters. */
const LONGEST = 4096;

/** @param version 0 where the store had nothing when an agent first came to it */
export function signConfirmation(version: number, key: SigningKey): Promise<string> {
  return signJson({ version }, TYPE, key);
}

/** The version that is confirmed; `undefined` where nothing of it can be verified. */
export async function verifyConfirmation(
  jws: string,
  keys: TrustedKeys,
): Promise<number | undefined> {
  const keyOf = (kid: string) => keys.get(kid);
  try {
    const { payload } = await verifyJson(jws, { typ: TYPE, maximumLength: LONGEST, keyOf });
    const { version } = payload as { version?: unknown };
    return Number.isSafeInteger(version) ? (version as number) : undefined;
  } catch (error) {
    if (error instanceof AgentError) return undefined;
    throw error;
  }
}
