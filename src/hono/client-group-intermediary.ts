/**
 * The client-group plug-in at an intermediary.
 *
 * @module
 */

import type { Context, Env, MiddlewareHandler } from "hono";
import {
  enforceRestrictions,
  SharedRecords,
  stripRequest,
  tagRequest,
} from "../client-group/mod.ts";
import { tell } from "../hook.ts";
import { stripFromResponse } from "./client-group-context.ts";
import { checkIntermediary, type IntermediaryOptions } from "./client-group-options.ts";

/** The middleware, and whether requests can be tagged by it at all. */
export type IntermediaryHandler<E extends Env = Env> = MiddlewareHandler<E> & {
  readonly negotiates: boolean;
};

const notice =
  "client-group: fetch cannot negotiate shared connections: Client-Group is stripped, never sent";

/** @throws {ClientGroupError} INVALID_CONFIGURATION */
export function intermediary<E extends Env>(
  options: IntermediaryOptions<E>,
): IntermediaryHandler<E> {
  checkIntermediary(options);
  const { agreement } = options;
  const enforce = enforcement(options);
  const negotiates = agreement !== undefined;
  let told = negotiates;
  const handler: MiddlewareHandler<E> = async function clientGroup(c, next) {
    if (!told) {
      told = true;
      tell(options.log, notice);
    }
    const agreed = agreement?.(c);
    const { raw } = c.req;
    c.req.raw = agreed === undefined ? stripRequest(raw) : tagRequest(raw, agreed);
    const refusal = await enforce(c, next);
    if (refusal !== undefined) return refusal;
    stripFromResponse(c);
  };
  return Object.assign(handler, { negotiates });
}

/** Runs the rest where the client may send a request, and answers where it may not. */
type Enforcement<E extends Env> = (
  c: Context<E>,
  next: () => Promise<void>,
) => Promise<Response | undefined>;

function enforcement<E extends Env>(options: IntermediaryOptions<E>): Enforcement<E> {
  const {
    store,
    client,
    scope,
    freshFor = 1_000,
    answerTime = 250,
    maximumClients = 10_000,
    wallClock = Date.now,
    now = () => performance.now(),
  } = options;
  if (store === undefined || client === undefined || scope === undefined) {
    return async (_c, next) => {
      await next();
      return undefined;
    };
  }
  const onError = (error: unknown) => tell(options.onError, error);
  const records = new SharedRecords({
    store,
    now,
    freshFor,
    answerTime,
    timers: {
      setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
      clearTimeout: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
    },
    maximum: maximumClients,
    onError,
  });
  const inProgress = new Counts();
  return async (c, next) => {
    const who = client(c);
    const where = typeof scope === "function" ? scope(c) : scope;
    const record = await records.find(who, where);
    const key = JSON.stringify([where, who]);
    const refusal = enforceRestrictions(record, {
      time: wallClock(),
      inProgress: inProgress.of(key),
    });
    if (refusal !== undefined) return refusal;
    const end = inProgress.begin(key);
    try {
      await next();
    } catch (error) {
      end();
      throw error;
    }
    untilSent(c, end);
    return undefined;
  };
}

/** How many requests of each client are in progress; clients without any are not there. */
class Counts {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /** @returns what ends it, once */
  begin(key: string): () => void {
    this.#counts.set(key, this.of(key) + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = this.of(key) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }
}

/** Calls `end` once the content of the response was sent, was given up, or has failed. */
// biome-ignore lint/suspicious/noExplicitAny: it is done to contexts of any app
function untilSent(c: Context<any>, end: () => void): void {
  const { res } = c;
  if (res.body === null) {
    end();
    return;
  }
  const reader = res.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  // Hono would add the fields of the one before to those of the one in its place.
  c.res = undefined;
  c.res = new Response(body, res);
}
