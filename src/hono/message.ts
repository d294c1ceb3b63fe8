/**
 * `POST /moqt/:draft`: a routable request as bytes, answered with the REQUEST_ERROR as bytes.
 *
 * @module
 */

import type { Context, Env, Handler } from "hono";
import {
  type AuthorizationToken,
  type Decision,
  decodeRequest,
  encodeAnswer,
  type Redirector,
  tokensWithoutSession,
} from "../moq-lb/mod.ts";
import { type Draft, draftName, drafts, MoqtError, type RoutableRequest } from "../moqt/mod.ts";
import type { BodyFault, BodyReader } from "./body.ts";
import type { MoqLbOptions } from "./options.ts";
import { problem } from "./problem.ts";
import { rejected } from "./rejection.ts";
import { requesterOf } from "./requester.ts";

const mediaType = "application/octet-stream";

/**
 * No `no-store`: without explicit freshness no cache keeps the answer to a POST (RFC 9111 §3,
 * RFC 9110 §9.3.3), and on Deno a second field costs as much as the whole decision.
 */
const answerInit = { headers: new Headers({ "content-type": mediaType }) };

/** The handler of a route with the parameter `:draft`. */
export function messageHandler<E extends Env>(
  redirector: Redirector,
  bodies: BodyReader,
  options: MoqLbOptions<E>,
): Handler<E> {
  const draftOf = new Map<string, Draft>(
    (options.drafts ?? drafts).map((draft) => [draftName(draft), draft]),
  );

  function answer(body: Uint8Array, draft: Draft, c: Context<E>): Response | Promise<Response> {
    let request: RoutableRequest;
    let tokens: readonly AuthorizationToken[];
    try {
      request = decodeRequest(body, draft);
      tokens = tokensWithoutSession(request.parameters);
    } catch (error) {
      if (error instanceof MoqtError) return sessionError(error);
      throw error;
    }
    const respond = (decision: Decision) =>
      new Response(encodeAnswer(decision, request, draft) as Uint8Array<ArrayBuffer>, answerInit);
    const requester = () => requesterOf(c, options, tokens);
    const decision = redirector.decide(request, draft, requester);
    return decision instanceof Promise ? decision.then(respond) : respond(decision);
  }

  return function answerMessage(c) {
    const draft = draftOf.get(c.req.param("draft") ?? "");
    if (draft === undefined) return unknownDraft(draftOf.keys());
    const { headers } = c.req.raw;
    if (!isMessageType(headers.get("content-type"))) return unsupportedMediaType();
    if (!isPlain(headers.get("content-encoding"))) return unsupportedEncoding();
    if (bodies.turnsAway()) return rejected(redirector.overload());
    return bodies
      .read(c.req)
      .then((body) =>
        typeof body === "string" ? unreadable(body, bodies.maximumSize) : answer(body, draft, c),
      );
  };
}

/** Media types are case-insensitive and may have parameters; this one defines none that matter. */
function isMessageType(contentType: string | null): boolean {
  return (
    contentType === mediaType ||
    (contentType !== null && /^application\/octet-stream[ \t]*(;|$)/i.test(contentType))
  );
}

/** Whether the body is the message itself, with no coding to undo. */
function isPlain(contentEncoding: string | null): boolean {
  return contentEncoding === null || /^(identity)?$/i.test(contentEncoding);
}

/** What would close a session, and with which code. */
function sessionError(error: MoqtError): Response {
  return problem(400, { code: error.code, detail: error.message, offset: error.offset });
}

function unknownDraft(names: Iterable<string>): Response {
  const detail = `The draft has to be one of ${[...names].join(", ")}.`;
  return problem(404, { code: "UNKNOWN_DRAFT", detail });
}

function unsupportedMediaType(): Response {
  return problem(
    415,
    { code: "UNSUPPORTED_MEDIA_TYPE", detail: `The body has to be ${mediaType}.` },
    { accept: mediaType },
  );
}

function unsupportedEncoding(): Response {
  const detail = "The body must not be encoded: Content-Encoding has to be identity or absent.";
  return problem(
    415,
    { code: "UNSUPPORTED_CONTENT_ENCODING", detail },
    { "accept-encoding": "identity" },
  );
}

function unreadable(fault: BodyFault, limit: number): Response {
  switch (fault) {
    case "too-large": {
      const detail = `The body may have at most ${limit} bytes.`;
      return problem(413, { code: "CONTENT_TOO_LARGE", detail });
    }
    case "late":
      // Nobody reads the rest, so that nothing else can come over this connection.
      return problem(
        408,
        { code: "REQUEST_TIMEOUT", detail: "The body did not arrive in time." },
        { connection: "close" },
      );
    case "incomplete":
      return problem(400, { code: "INCOMPLETE_BODY", detail: "The body breaks off." });
  }
}
