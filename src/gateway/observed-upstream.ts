/**
 * Between the two sides of the gateway: has the fleet asked before a client's first request, hands
 * requests to the pool of the configuration in force, and counts what comes of them.
 *
 * @module
 */

import type { IncomingHttpHeaders } from "node:http2";
import type { FleetRestrictions, StreamEnd } from "../client-group/mod.ts";
import { errorNameOf } from "../http2/mod.ts";
import type { GatewayMetrics } from "../metrics/mod.ts";
import type {
  Declined,
  ExchangeHandlers,
  GatewayClient,
  Submission,
  UpstreamRequest,
  UpstreamStream,
} from "./types.ts";

/** The part of a pool that requests are handed to. */
interface Pool {
  submit(request: UpstreamRequest, handlers: ExchangeHandlers): Submission;
}

type Counted = Pick<GatewayMetrics, "onRetry" | "onRefused" | "onReset">;

export interface ObservedUpstreamOptions {
  /** Those in force now. */
  readonly pool: () => Pool;
  readonly fleet: () => FleetRestrictions<GatewayClient> | undefined;
  readonly forget: (client: GatewayClient) => void;
  readonly metrics: Counted;
}

export class ObservedUpstream {
  readonly #options: ObservedUpstreamOptions;
  /** Why a request that is submitted now is submitted again. */
  #retrying: string | undefined;

  constructor(options: ObservedUpstreamOptions) {
    this.#options = options;
  }

  submit(request: UpstreamRequest, handlers: ExchangeHandlers): Submission {
    const { pool, fleet, metrics } = this.#options;
    if (this.#retrying !== undefined) metrics.onRetry(this.#retrying);
    const counted = new CountedHandlers(handlers, metrics, (reason, tell) => {
      this.#retrying = reason;
      try {
        tell();
      } finally {
        this.#retrying = undefined;
      }
    });
    const asked = fleet()?.lookUp(request.client, request.target.scope);
    if (asked === undefined) return pool().submit(request, counted);
    return new LateSubmission(asked, () => pool().submit(request, counted));
  }

  forget(client: GatewayClient): void {
    this.#options.forget(client);
  }
}

/** A submission that waits for the store, no longer than the fleet lets it. */
class LateSubmission implements Submission {
  #submission: Submission | undefined;
  #cancelled = false;

  constructor(asked: Promise<void>, submit: () => Submission) {
    void asked.then(() => {
      if (!this.#cancelled) this.#submission = submit();
    });
  }

  cancel(): void {
    this.#cancelled = true;
    this.#submission?.cancel();
  }
}

class CountedHandlers implements ExchangeHandlers {
  readonly #handlers: ExchangeHandlers;
  readonly #metrics: Counted;
  readonly #because: (reason: string, tell: () => void) => void;

  constructor(
    handlers: ExchangeHandlers,
    metrics: Counted,
    because: (reason: string, tell: () => void) => void,
  ) {
    this.#handlers = handlers;
    this.#metrics = metrics;
    this.#because = because;
  }

  declined(reason: Declined): void {
    this.#metrics.onRefused(reason.because);
    this.#handlers.declined(reason);
  }

  opened(stream: UpstreamStream): void {
    this.#handlers.opened(stream);
  }

  informational(status: number, fields: IncomingHttpHeaders): void {
    this.#handlers.informational(status, fields);
  }

  response(status: number, fields: IncomingHttpHeaders, neverIndexed: readonly string[]): void {
    const tell = () => this.#handlers.response(status, fields, neverIndexed);
    // Answers that may send a request elsewhere, which then is submitted before this returns.
    if (status === 421) this.#because("misdirected", tell);
    else if (status === 401) this.#because("authentication", tell);
    else tell();
  }

  trailers(fields: IncomingHttpHeaders): void {
    this.#handlers.trailers(fields);
  }

  complete(): void {
    this.#handlers.complete();
  }

  failed(end: StreamEnd): void {
    if (end.type === "reset") this.#metrics.onReset("origin", errorNameOf(Number(end.code)));
    this.#because(end.type === "reset" ? "refused" : end.type, () => this.#handlers.failed(end));
  }
}
