/**
 * Redirect mode for one live session: every request is answered with one REQUEST_ERROR, mostly a
 * REDIRECT, by the snapshot that is in force when it comes (LB-KEY-11). The session holds nothing
 * of a request that is answered (LB-REDIR-16).
 *
 * @module
 */

import { isPromise } from "../hook.ts";
import { drafts, streamResetCodes } from "../moqt/mod.ts";
import type { IncomingDataStream, IncomingRequest, MoqtSession } from "../session/mod.ts";
import type { Requester } from "./admission.ts";
import { encodeAnswer } from "./answer.ts";
import type { Decision } from "./decision.ts";
import type { Mode, ModeSession } from "./mode.ts";
import type { Redirector } from "./redirect.ts";

export interface RedirectModeParts {
  readonly redirector: Redirector;
  readonly maximumRequests: number;
  /** Told of errors that no rule foresees; the session is closed with INTERNAL_ERROR. */
  readonly onError: (error: unknown) => void;
}

export function redirectMode(parts: RedirectModeParts): Mode {
  const { maximumRequests } = parts;
  return {
    name: "redirect",
    needsExactCodes: false,
    drafts,
    setupOptions: [],
    maximumRequests,
    open: (session, requester) => new RedirectedSession(session, requester, parts),
  };
}

class RedirectedSession implements ModeSession {
  readonly counts = { redirects: 0, rejections: 0 };
  readonly #session: MoqtSession;
  readonly #requester: () => Requester;
  readonly #parts: RedirectModeParts;

  constructor(session: MoqtSession, requester: () => Requester, parts: RedirectModeParts) {
    this.#session = session;
    this.#requester = requester;
    this.#parts = parts;
  }

  get isIdle(): boolean {
    return this.#session.openRequests === 0;
  }

  onRequest(request: IncomingRequest): void {
    const { redirector, maximumRequests } = this.#parts;
    const { message, tokens } = request;
    // The session itself may have room for those of another mode.
    if (this.#session.openRequests > maximumRequests) {
      this.#answer(request, redirector.overload());
      return;
    }
    const known = this.#requester();
    const requester =
      tokens.length === 0 ? known : { ...known, tokens: [...tokens, ...(known.tokens ?? [])] };
    const decision = redirector.decide(message, this.#session.draft, requester);
    if (!isPromise(decision)) this.#answer(request, decision);
    else decision.then((made) => this.#answer(request, made)).catch((error) => this.#broken(error));
  }

  /** A publisher may send objects before it is answered; they belong at the relay (LB-S7). */
  onDataStream({ stream }: IncomingDataStream): void {
    stream.stopSending(streamResetCodes.CANCELLED);
  }

  onDatagram(): void {}

  onGoaway(): void {}

  onClosed(): void {}

  #answer(request: IncomingRequest, decision: Decision): void {
    if (decision.kind === "redirect") this.counts.redirects++;
    else this.counts.rejections++;
    // Its client may have given it up while the policy thought.
    if (request.isOver || this.#session.isOver) return;
    request.refuse(encodeAnswer(decision, request.message, this.#session.draft));
  }

  /** A fault of ours in what was to be answered. */
  #broken(error: unknown): void {
    this.#session.close("INTERNAL_ERROR", "");
    this.#parts.onError(error);
  }
}
