/**
 * One request of a client, from its header section to the end of its response: whose it is, where it
 * goes, and what becomes of it when the origin does something else than answer.
 *
 * @module
 */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import {
  decideRetry,
  http2ErrorCodes,
  type RetryDecision,
  resetCode,
  type StreamEnd,
  translateResetCode,
} from "../../client-group/mod.ts";
import { isPromise } from "../../hook.ts";
import { errorNameOf } from "../../http2/mod.ts";
import type {
  ClientProgress,
  Declined,
  ExchangeHandlers,
  GatewayClient,
  OriginTarget,
  Submission,
  UpstreamRequest,
  UpstreamStream,
} from "../types.ts";
import {
  blocked,
  connectionTerminated,
  contentTimeout,
  declined,
  internalError,
  looping,
  malformed,
  malformedContent,
  misdirected,
  resetAnswer,
  responseTimeout,
  tooEarly,
  unusableResponse,
} from "./answers.ts";
import { asksToAuthenticateConnection, authenticatesConnection } from "./authentication.ts";
import type { Identity } from "./client-identifier.ts";
import type { Answer, ClientConnection, ClientSide, ClientSideListener } from "./client-side.ts";
import { RequestContent } from "./content.ts";
import type { ExchangeContext, ExchangeRules } from "./context.ts";
import { isTooEarly } from "./early-data.ts";
import {
  type Fields,
  type RequestHead,
  requestFields,
  responseFields,
  sensitiveOf,
  timesPassed,
  trailerFields,
} from "./fields.ts";
import { errorIn, tellOfMalformed } from "./malformed-record.ts";
import { answerAtLastHop, lowerMaxForwards } from "./max-forwards.ts";
import { contentLengthOf, type HeadProblem, isProblem } from "./request-head.ts";

/** A request that has come by here so often goes in circles. */
const MOST_PASSES = 4;

/**
 * Interim responses of one request, and octets of their fields, that are passed on. They are not held
 * back for a client that reads slowly, so that this is what they may come to in memory.
 */
const MOST_INTERIM = 1_000;
const MOST_INTERIM_OCTETS = 262_144;

const CANCEL = Number(http2ErrorCodes.CANCEL);
const INTERNAL_ERROR = Number(http2ErrorCodes.INTERNAL_ERROR);
const ENHANCE_YOUR_CALM = Number(http2ErrorCodes.ENHANCE_YOUR_CALM);
const PROTOCOL_ERROR = Number(http2ErrorCodes.PROTOCOL_ERROR);

/** Whom an exchange waits for, for its time to be up. */
type Waiting = "nobody" | "client" | "origin";

export class ClientExchange implements ExchangeHandlers, ClientSideListener {
  readonly #context: ExchangeContext;
  readonly #rules: ExchangeRules;
  readonly #connection: ClientConnection;
  readonly #side: ClientSide;
  readonly #head: RequestHead;
  readonly #began: number;
  readonly #avoid = new Set<string>();
  #state: "placing" | "sent" | "responding" | "over" = "placing";
  #client: GatewayClient | undefined;
  #target: OriginTarget | undefined;
  #content: RequestContent | undefined;
  #submission: Submission | undefined;
  #stream: UpstreamStream | undefined;
  #private = false;
  #fresh = false;
  #retries = 0;
  #attempts = 0;
  #status: number | undefined;
  #interim = 0;
  #interimOctets = 0;
  /** Octets of content that the response says it has. */
  #announced: number | undefined;
  #passed = 0;
  /** The client's side was given the last of the response. */
  #lastGiven = false;
  #trailers: Fields | undefined;
  #clientStalls = false;
  #error: string | undefined;
  /** Whether the response is the gateway's own. */
  #generated = false;
  /** Whether something has moved since time was looked at last, and when that was, on the clock. */
  #hasMoved = false;
  #movedAt: number;

  constructor(
    context: ExchangeContext,
    connection: ClientConnection,
    side: ClientSide,
    head: RequestHead,
  ) {
    this.#context = context;
    this.#rules = context.rules;
    this.#connection = connection;
    this.#side = side;
    this.#head = head;
    this.#began = context.clock.now();
    this.#movedAt = this.#began;
    context.exchanges.add(this);
  }

  /**
   * Takes a request, and answers one that cannot be passed on.
   *
   * @param method as it came
   * @returns nothing for the latter: it is over
   */
  static take(
    context: ExchangeContext,
    connection: ClientConnection,
    side: ClientSide,
    head: RequestHead | HeadProblem,
    method: string,
  ): ClientExchange | undefined {
    if (isProblem(head)) {
      const answer = malformed(head.status, head.reason);
      tellOfMalformed(context.observer, side.version, answer, method);
      side.answer(answer);
      return undefined;
    }
    return new ClientExchange(context, connection, side, head);
  }

  /** Sends it on its way. Everything may have happened before this returns. */
  start(): void {
    const { fields, method } = this.#head;
    const own = answerAtLastHop(this.#head);
    if (own !== undefined) {
      this.#answer(own);
      return;
    }
    if (timesPassed(fields.via) >= MOST_PASSES) {
      this.#answer(looping);
      return;
    }
    if (isTooEarly(method, fields, this.#rules.earlyData)) {
      this.#answer(tooEarly);
      return;
    }
    const { content } = this.#side;
    if (content !== undefined) {
      this.#content = new RequestContent({
        source: content,
        budget: this.#context.budget,
        most: this.#rules.limits.replayBytes,
        length: contentLengthOf(fields),
        moved: () => this.#moved(),
        mismatched: () => this.malformed(malformedContent),
        ending: () => this.#contentEnds(),
      });
    }
    const identity = this.#rules.identify(fields);
    if (!isPromise(identity)) {
      this.#identified(identity);
      return;
    }
    identity
      .then((found) => this.#identified(found))
      .then(undefined, () => this.#answer(internalError));
  }

  // What the pool tells

  declined(reason: Declined): void {
    if (this.#state === "over") return;
    this.#answer(declined(reason));
  }

  opened(stream: UpstreamStream): void {
    this.#stream = stream;
    this.#state = "sent";
    this.#moved();
    this.#content?.sendTo(stream.content);
  }

  informational(status: number, fields: IncomingHttpHeaders): void {
    if (this.#state === "over") return;
    this.#moved();
    const out = responseFields(fields as Fields);
    this.#interim++;
    this.#interimOctets += octetsOf(out);
    if (this.#interim > MOST_INTERIM || this.#interimOctets > MOST_INTERIM_OCTETS) {
      this.#cancelUpstream(ENHANCE_YOUR_CALM);
      this.#answer(unusableResponse);
      return;
    }
    // 101 has no meaning in HTTP/2, and would be one in HTTP/1.1 (RFC 9113 §8.6).
    if (status !== 101) this.#side.inform(status, out);
  }

  response(status: number, fields: IncomingHttpHeaders, neverIndexed: readonly string[]): void {
    if (this.#state === "over") return;
    this.#moved();
    if (this.#sendsElsewhere(status, fields as Fields)) return;
    this.#content?.letGo();
    const out = responseFields(fields as Fields);
    const content = this.#head.method !== "HEAD" && status !== 204 && status !== 304;
    this.#announced = content ? contentLengthOf(fields as Fields) : 0;
    this.#status = status;
    this.#state = "responding";
    const sensitive = sensitiveOf(out, neverIndexed);
    const trailers = this.#stream?.wholeContent === undefined;
    if (!this.#side.respond(status, out, sensitive, content, trailers)) {
      this.#state = "sent";
      this.#cancelUpstream(PROTOCOL_ERROR);
      this.#answer(unusableResponse);
      return;
    }
    const body = this.#stream?.body;
    body?.on("data", (chunk: Uint8Array) => this.#pass(chunk));
  }

  trailers(fields: IncomingHttpHeaders): void {
    this.#trailers = trailerFields(fields as Fields);
  }

  complete(): void {
    if (this.#state === "over") return;
    if (this.#announced !== undefined && this.#passed !== this.#announced) {
      this.#break("http_response_content_size", INTERNAL_ERROR);
      return;
    }
    // Its content may still be coming; the origin has said that it does without.
    this.#stream?.cancel(Number(http2ErrorCodes.NO_ERROR));
    this.#end();
    this.#side.finish(this.#trailers);
  }

  failed(end: StreamEnd): void {
    if (this.#state === "over") return;
    const { client, target, stream } = this.#placed();
    const replayable = this.#content?.replayable ?? true;
    const decision = decideRetry(
      {
        method: this.#head.method,
        // What was read and is not kept could not be sent again, be it that nothing of it had gone out.
        sent: (stream?.sent ?? true) || !replayable,
        replayable,
        responseReceived: stream?.responseReceived ?? false,
        responseForwarded: this.#state === "responding",
        retries: this.#retries,
      },
      end,
      {
        secondsBlocked: this.#context.secondsBlocked(client, target.scope),
        mostRetries: this.#rules.retries,
      },
    );
    this.#carryOut(decision);
  }

  // What the client's side tells

  drained(): void {
    this.#clientStalls = false;
    this.#moved();
    this.#stream?.body.resume();
  }

  gone(): void {
    if (this.#state === "over") return;
    if (this.#lastGiven) {
      // It has all of it: the stream may be over before the origin's is.
      this.complete();
      return;
    }
    this.#error ??= "client_gone";
    this.#cancelUpstream(CANCEL);
    this.#end();
  }

  malformed(answer: Answer): void {
    if (this.#state === "over") return;
    this.#cancelUpstream(PROTOCOL_ERROR);
    if (this.#state === "responding") this.#break("http_request_error", PROTOCOL_ERROR);
    else this.#answer(answer);
    this.#connection.countReset();
  }

  /** Time has passed: ends what has waited for too long. */
  check(now: number): void {
    if (this.#hasMoved) this.#movedAt = now;
    this.#hasMoved = false;
    const { clientIdleTime, originResponseTime } = this.#rules.limits;
    const waited = now - this.#movedAt;
    const waiting = this.#waitsFor();
    if (waiting === "client" && waited > clientIdleTime) {
      this.#cancelUpstream(CANCEL);
      if (this.#state === "responding") this.#break("client_stalled", CANCEL);
      else this.#answer(contentTimeout);
    } else if (waiting === "origin" && waited > originResponseTime) {
      this.#cancelUpstream(CANCEL);
      if (this.#state === "responding") this.#break("http_response_timeout", INTERNAL_ERROR);
      else this.#answer(responseTimeout);
    }
  }

  #waitsFor(): Waiting {
    if (this.#state === "responding") return this.#clientStalls ? "client" : "origin";
    if (this.#state !== "sent") return "nobody";
    return this.#content?.awaited ? "client" : "origin";
  }

  /** For every chunk: what time it is can wait. */
  #moved(): void {
    this.#hasMoved = true;
  }

  #identified(identity: Identity | undefined): void {
    if (this.#state === "over") return;
    const { registry } = this.#context;
    const named = identity && registry.named(identity.key);
    const client = named ?? this.#connection.client;
    registry.start(client);
    this.#client = client;
    const { fields, authority } = this.#head;
    const target = this.#rules.route({
      authority,
      clientName: identity?.name,
      field: (name) => (fields[name] === undefined ? undefined : String(fields[name])),
    });
    if (target === undefined) {
      this.#answer(misdirected);
      return;
    }
    this.#target = target;
    if (authenticatesConnection(fields)) this.#connection.bound.add(client, target.key);
    this.#private = this.#connection.bound.has(client, target.key);
    this.#submit();
  }

  #submit(): void {
    const { client, target } = this.#placed();
    const { id, address, scheme } = this.#connection;
    const { fields, sensitive } = requestFields(this.#head, target.scheme, {
      form: this.#rules.forwarded,
      address,
      scheme,
    });
    lowerMaxForwards(fields, this.#head);
    const content = this.#content;
    const request: UpstreamRequest = {
      client,
      target,
      fields: fields as OutgoingHttpHeaders,
      sensitive,
      endStream: content === undefined,
      from: { connection: id, stream: this.#side.stream },
      avoid: this.#avoid,
      // A front's connection carries several clients: each has to be alone.
      privateTo: this.#private ? `${id} ${client.key}` : undefined,
      fresh: this.#fresh,
      buffered: () => content?.held ?? 0,
      progress: () => this.#progress(),
    };
    this.#state = "placing";
    this.#stream = undefined;
    const attempt = ++this.#attempts;
    const submission = this.#context.upstream.submit(request, this);
    // It may have come to nothing by now, and be submitted anew.
    if (attempt === this.#attempts) this.#submission = submission;
  }

  #progress(): ClientProgress {
    return {
      contentComplete: this.#content?.complete ?? true,
      replayable: this.#content?.replayable ?? true,
      responseForwarded: this.#state === "responding",
    };
  }

  /**
   * Whether a response is a reason to send the request elsewhere: 421 once, on a connection that had
   * nothing before (H03, RFC 9110 §15.5.20); a 401 that begins to authenticate the connection, on one
   * that nobody shares (CG-S61).
   */
  #sendsElsewhere(status: number, fields: Fields): boolean {
    const { client, target } = this.#placed();
    const misplaced = status === 421 && !this.#fresh;
    const bound = !this.#private && asksToAuthenticateConnection(status, fields);
    if (bound) this.#connection.bound.add(client, target.key);
    if (!(misplaced || bound) || this.#content?.replayable === false) return false;
    this.#fresh ||= misplaced;
    this.#private ||= bound;
    this.#again();
    return true;
  }

  /** Leaves the stream that it has, and is placed once more. */
  #again(): void {
    const { stream } = this.#placed();
    this.#content?.detach();
    if (stream !== undefined) this.#avoid.add(stream.connection);
    stream?.cancel(CANCEL);
    this.#moved();
    this.#submit();
  }

  #carryOut(decision: RetryDecision): void {
    switch (decision.do) {
      case "retry":
        this.#retries++;
        this.#again();
        return;
      case "relay":
        this.#reset(Number(translateResetCode(decision.code, decision.version, "h2")));
        return;
      case "reset":
        this.#reset(Number(resetCode(decision.outcome, "h2")));
        return;
      case "answer":
        this.#answer(answerTo(decision));
    }
  }

  /** Tells the client of a reset, in the words of its own version (CG-STOP-8, B03, B05). */
  #reset(code: number): void {
    const told = relayable(code);
    const name = errorNameOf(told);
    if (this.#side.version === "h2" || this.#state === "responding") {
      this.#break(name, told);
      return;
    }
    this.#answer(resetAnswer(name), name);
  }

  #contentEnds(): void {
    const { trailers } = this.#side;
    if (trailers === undefined) return;
    const out = trailerFields(trailers);
    const { clientField } = this.#rules;
    if (clientField !== undefined) delete out[clientField];
    this.#stream?.setTrailers(out as OutgoingHttpHeaders);
  }

  #pass(chunk: Uint8Array): void {
    if (this.#state !== "responding") return;
    this.#passed += chunk.length;
    if (this.#announced !== undefined && this.#passed > this.#announced) {
      this.#cancelUpstream(PROTOCOL_ERROR);
      this.#break("http_response_content_size", INTERNAL_ERROR);
      return;
    }
    this.#moved();
    this.#lastGiven =
      this.#passed === this.#stream?.wholeContent &&
      this.#passed === (this.#announced ?? this.#passed);
    if (this.#side.write(chunk, this.#lastGiven)) return;
    this.#clientStalls = true;
    this.#stream?.body.pause();
  }

  #cancelUpstream(code: number): void {
    if (this.#stream === undefined) this.#submission?.cancel();
    else this.#stream.cancel(code);
  }

  #answer(answer: Answer, error?: string): void {
    if (this.#state === "over") return;
    this.#status = answer.status;
    this.#generated = true;
    this.#error ??= error ?? errorIn(answer);
    this.#end();
    this.#side.answer(answer);
  }

  /** What the client has of the response must not look whole. */
  #break(error: string, code: number): void {
    this.#error ??= error;
    this.#end();
    this.#side.abort(code);
  }

  #end(): void {
    this.#state = "over";
    this.#content?.close();
    const { registry, observer, clock, exchanges } = this.#context;
    exchanges.delete(this);
    if (this.#client !== undefined) registry.end(this.#client);
    const stream = this.#stream;
    observer.request?.({
      client: this.#client?.digest,
      protocol: this.#side.version,
      method: this.#head.method,
      host: this.#head.authority,
      status: this.#status,
      generated: this.#generated,
      upstream: stream && {
        connection: stream.connection,
        stream: stream.id,
        identifier: stream.identifier,
      },
      retries: this.#retries,
      milliseconds: clock.now() - this.#began,
      error: this.#error,
    });
  }

  /** What is known from the first submission on. */
  #placed(): { client: GatewayClient; target: OriginTarget; stream: UpstreamStream | undefined } {
    return {
      client: this.#client as GatewayClient,
      target: this.#target as OriginTarget,
      stream: this.#stream,
    };
  }
}

/**
 * A code of the origin's as a client may see it. One that says that all went well would make a short
 * body look whole (B04), and one that asks for HTTP/1.1 is meant for this hop; unknown ones say nothing.
 */
function relayable(code: number): number {
  const known = code > 0 && code < Number(http2ErrorCodes.HTTP_1_1_REQUIRED);
  return known ? code : INTERNAL_ERROR;
}

function octetsOf(fields: Fields): number {
  let octets = 0;
  for (const name of Object.keys(fields)) octets += name.length + String(fields[name]).length;
  return octets;
}

function answerTo(decision: Extract<RetryDecision, { readonly do: "answer" }>): Answer {
  if (decision.status === 429) return blocked(decision.retryAfter);
  return decision.proxyError === "http_protocol_error" ? unusableResponse : connectionTerminated;
}
