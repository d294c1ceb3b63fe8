/**
 * Names of received codes.
 *
 * @module
 */

import {
  type PublishDoneName,
  publishDoneCodes,
  type RequestErrorName,
  requestErrorCodes,
  type SessionErrorName,
  type StreamResetName,
  sessionErrorCodes,
  streamResetCodes,
} from "./codes.ts";
import type { Draft } from "./draft.ts";
import { draftFactsOf } from "./draft-facts.ts";

const sessionNames = inverse<SessionErrorName>(sessionErrorCodes);
const requestNames = inverse<RequestErrorName>(requestErrorCodes);
const publishDoneNames = inverse<PublishDoneName>(publishDoneCodes);
const streamResetNames = inverse<StreamResetName>(streamResetCodes);

/**
 * The name of a code that closed a session.
 *
 * @param draft where given, only names that this draft has
 * @returns `undefined` for an unknown code, to be treated as INTERNAL_ERROR
 * @throws {UnknownDraftError}
 */
export function sessionErrorName(code: bigint, draft?: Draft): SessionErrorName | undefined {
  return unlessAbsent(sessionNames.get(code), draft, "session");
}

/** The name of a REQUEST_ERROR code; as `sessionErrorName`. */
export function requestErrorName(code: bigint, draft?: Draft): RequestErrorName | undefined {
  return unlessAbsent(requestNames.get(code), draft, "request");
}

/** The name of a status code of PUBLISH_DONE; as `sessionErrorName`. */
export function publishDoneName(code: bigint, draft?: Draft): PublishDoneName | undefined {
  return unlessAbsent(publishDoneNames.get(code), draft, "publishDone");
}

/** The name of a code of RESET_STREAM or STOP_SENDING, the same in every draft. */
export function streamResetName(code: bigint): StreamResetName | undefined {
  return streamResetNames.get(code);
}

function unlessAbsent<Name extends string>(
  name: Name | undefined,
  draft: Draft | undefined,
  registry: "session" | "request" | "publishDone",
): Name | undefined {
  if (name === undefined || draft === undefined) return name;
  const absent: readonly string[] = draftFactsOf(draft).absentCodes[registry];
  return absent.includes(name) ? undefined : name;
}

function inverse<Name extends string>(
  codes: Readonly<Record<Name, bigint>>,
): ReadonlyMap<bigint, Name> {
  return new Map(Object.entries<bigint>(codes).map(([name, code]) => [code, name as Name]));
}
