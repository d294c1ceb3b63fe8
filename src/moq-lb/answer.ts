/**
 * Decisions as bytes. A busy balancer writes the same REDIRECT again and again but for the name at
 * its end, so that what comes before the name is encoded once for each relay.
 *
 * @module
 */

import {
  type Draft,
  drafts,
  encodeControlMessage,
  type RoutableRequest,
  requestTrackName,
  routingKey,
} from "../moqt/mod.ts";
import { minimalVarintLength, writeVarint } from "../varint.ts";
import { type Decision, type Redirection, redirectTo, toRequestError } from "./decision.ts";

/** For each draft, a REDIRECT to a relay up to where the name starts. */
const heads = new Map(drafts.map((draft) => [draft, new WeakMap<Redirection, Uint8Array>()]));

/** The type of REQUEST_ERROR takes one byte, the length of what follows two. */
const lengthOffset = 1;
const bodyOffset = 3;

const noName = new Uint8Array(0);

/**
 * The bytes of the REQUEST_ERROR that `toRequestError` makes of a decision.
 *
 * @throws {UnknownDraftError}
 */
export function encodeAnswer(
  decision: Decision,
  request: RoutableRequest,
  draft: Draft,
): Uint8Array {
  if (decision.kind === "rejection") {
    return encodeControlMessage(toRequestError(decision, request), draft);
  }
  const head = headOf(decision, draft);
  const namespace = routingKey(request) ?? [];
  const name = requestTrackName(request) ?? noName;
  let size = head.length + 1 + prefixedLength(name);
  for (const field of namespace) size += prefixedLength(field);

  const message = new Uint8Array(size);
  message.set(head);
  let offset = head.length;
  // At most 32 fields: one byte says how many.
  message[offset++] = namespace.length;
  for (const field of namespace) offset = writePrefixed(field, message, offset);
  writePrefixed(name, message, offset);
  message[lengthOffset] = (size - bodyOffset) >> 8;
  message[lengthOffset + 1] = (size - bodyOffset) & 0xff;
  return message;
}

function headOf(redirection: Redirection, draft: Draft): Uint8Array {
  const ofDraft = heads.get(draft);
  const known = ofDraft?.get(redirection);
  if (known !== undefined) return known;
  // The name comes last: here one byte for no fields, and one for the length of no Track Name.
  const head = encodeControlMessage(redirectTo(redirection.uri, []), draft).slice(0, -2);
  ofDraft?.set(redirection, head);
  return head;
}

function prefixedLength(bytes: Uint8Array): number {
  return minimalVarintLength(bytes.length) + bytes.length;
}

function writePrefixed(bytes: Uint8Array, target: Uint8Array, offset: number): number {
  const start = writeVarint(bytes.length, target, offset);
  target.set(bytes, start);
  return start + bytes.length;
}
