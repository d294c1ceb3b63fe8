/** Redirectors, and what they answer, for tests of redirect mode. */

import assert from "node:assert/strict";
import {
  createRedirector,
  decodeRequest,
  encodeAnswer,
  type Redirector,
  type RedirectorOptions,
  type Rejection,
  type Requester,
} from "../../../src/moq-lb/mod.ts";
import {
  type Draft,
  decodeControlMessage,
  type RequestError,
  type RequestErrorName,
  type RoutableRequest,
  requestErrorCodes,
} from "../../../src/moqt/mod.ts";
import { type ActiveSnapshot, parseSnapshot } from "../../../src/snapshot/mod.ts";
import { hex } from "../moqt/support.ts";
import { vector } from "../moqt/vectors.ts";
import { activate, now, pinned } from "../routing/fixtures.ts";

/** A redirector over `active` that lets everybody in, unless `options` say otherwise. */
export function redirectorOf(
  active: ActiveSnapshot | undefined,
  options: Partial<RedirectorOptions> = {},
): Redirector {
  return createRedirector({
    holder: { active },
    authorization: "allow-all",
    now: () => now,
    ...options,
  });
}

/** A snapshot in force that pins (live) to r2 at the URI of the REDIRECT vectors. */
export function vectorSnapshot(): ActiveSnapshot {
  const relays = [{ rid: "r2", uri: "moqt://r2.example:4443/moq", health: "healthy" }];
  return activate(parseSnapshot({ version: 1, relays, routes: [pinned("r2", "live")] }));
}

/** The request of a vector. */
export function vectorRequest(id: string, draft: Draft = 22): RoutableRequest {
  return decodeRequest(hex(vector(id)), draft);
}

/** What a redirector answers, as a client reads it from the wire. */
export async function answerTo(
  redirector: Redirector,
  request: RoutableRequest,
  draft: Draft = 22,
  requester?: Requester | (() => Requester),
): Promise<RequestError> {
  const decision = await redirector.decide(request, draft, requester);
  const message = decodeControlMessage(encodeAnswer(decision, request, draft), draft);
  assert.ok(message.type === "REQUEST_ERROR");
  return message;
}

/** Asserts that `answer` rejects with `code`, and whether it lets the client retry. */
export function assertRejects(
  answer: RequestError,
  code: RequestErrorName,
  retry: "retry" | "final",
): void {
  assert.equal(answer.errorCode, requestErrorCodes[code]);
  assert.equal(answer.redirect, undefined);
  if (retry === "final") assert.equal(answer.retryInterval, 0n);
  else assert.ok(answer.retryInterval >= 1n);
}

/** The decision of a redirector that has to be a rejection. */
export async function rejectionOf(
  redirector: Redirector,
  request: RoutableRequest,
  requester?: Requester | (() => Requester),
): Promise<Rejection> {
  const decision = await redirector.decide(request, 22, requester);
  assert.ok(decision.kind === "rejection");
  return decision;
}
