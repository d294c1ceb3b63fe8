/**
 * `GET /redirect/:request/:name`: a placement as an HTTP redirect.
 *
 * @module
 */

import type { Env, Handler } from "hono";
import { operationOf, type Redirector } from "../moq-lb/mod.ts";
import {
  type Draft,
  MalformedNameError,
  type RoutableRequest,
  requestMessage,
  requestTypes,
} from "../moqt/mod.ts";
import type { MoqLbOptions } from "./options.ts";
import { problem } from "./problem.ts";
import { rejected } from "./rejection.ts";
import { requesterOf } from "./requester.ts";

/** A name comes without a draft: this one redirects every request. */
const draft: Draft = 22;

const requestTypeOf = new Map(requestTypes.map((type) => [operationOf[type] as string, type]));

/** The handler of a route with the parameters `:request` and `:name`; no name is the empty one. */
export function redirectHandler<E extends Env>(
  redirector: Redirector,
  options: MoqLbOptions<E>,
): Handler<E> {
  return async function redirectRequest(c) {
    const type = requestTypeOf.get(c.req.param("request") ?? "");
    if (type === undefined) return unknownRequest();
    let request: RoutableRequest;
    try {
      request = requestMessage(type, { requestId: 0n, name: c.req.param("name") ?? "", draft });
    } catch (error) {
      if (error instanceof MalformedNameError) return malformedName(error);
      throw error;
    }
    const decision = await redirector.decide(request, draft, () => requesterOf(c, options));
    if (decision.kind === "rejection") return rejected(decision);
    const headers = { location: decision.uri, "cache-control": "no-store" };
    return new Response(null, { status: 307, headers });
  };
}

function unknownRequest(): Response {
  const detail = `The request has to be one of ${[...requestTypeOf.keys()].join(", ")}.`;
  return problem(404, { code: "UNKNOWN_REQUEST", detail });
}

function malformedName(error: MalformedNameError): Response {
  return problem(400, { code: error.code, detail: error.message, offset: error.offset });
}
