/**
 * What the commands that talk to live services have in common: their options, and a client that
 * tells what happens on the way and ends cleanly.
 *
 * @module
 */

import process from "node:process";
import type { ArgsDef } from "citty";
import { type Client, connect, RequestRefused } from "../client/mod.ts";
import { UsageError } from "./errors.ts";
import { dialAs } from "./live-dial.ts";
import { eventLine } from "./live-events.ts";
import { draftOption, secondsOption } from "./option-values.ts";
import { messageStyle, printable, tell } from "./terminal.ts";

/** The URI that a live command talks to. */
export const uriArgument = {
  type: "positional",
  description: "the service: moqt:// (raw QUIC), https:// (WebTransport) or wss:// (QMux)",
} as const;

/** Options of every live command. */
export const liveOptions = {
  draft: {
    type: "string",
    valueHint: "N",
    description: "offer this MOQT draft alone, 18 to 22; by default the newest that both know",
  },
  token: {
    type: "string",
    valueHint: "TEXT",
    description: "send this as AUTHORIZATION_TOKEN with every request",
  },
  ca: { type: "string", valueHint: "FILE", description: "trust the authorities in this PEM file" },
  "insecure-hash": {
    type: "string",
    valueHint: "HEX",
    description: "accept a certificate with this SHA-256 and check nothing else of it",
  },
  home: {
    type: "string",
    valueHint: "DIR",
    description:
      "folder whose certificate for development is accepted (default $YARDMASTER_HOME or .yardmaster)",
  },
  timeout: { type: "string", valueHint: "SECONDS", description: "end after this time" },
} as const satisfies ArgsDef;

/** What `uriArgument` and `liveOptions` were given. */
export interface LiveValues {
  readonly uri: string;
  readonly draft: string | undefined;
  readonly token: string | undefined;
  readonly ca: string | undefined;
  readonly "insecure-hash": string | undefined;
  readonly home: string | undefined;
  readonly timeout: string | undefined;
}

/** A client while a command runs. */
export interface Live {
  readonly client: Client;
  /** Aborts with Ctrl-C, when the time is up, and when nobody reads the output any more. */
  readonly signal: AbortSignal;
}

/** How a live command came to its end. */
export type LiveEnd = "done" | "stopped" | "time-up";

/** Milliseconds that an answer may take; people wait for it. */
const answerTime = 10_000;

/**
 * Runs `body` with a client, tells what happens on the way, and ends every session in the end.
 *
 * @returns whether `body` came to its end, or was ended
 * @throws {UsageError} an option is wrong
 * @throws {ClientError} the service cannot be reached, or refuses
 */
export async function withClient(
  values: LiveValues,
  body: (live: Live) => Promise<void>,
): Promise<LiveEnd> {
  const { token, draft, timeout } = values;
  const style = messageStyle();
  const client = connectTo(values.uri, {
    dial: await dialAs(values),
    ...(draft === undefined ? {} : { drafts: [draftOption(draft)] }),
    ...(token === undefined ? {} : { token }),
    answerTime,
    onEvent: (event) => tell(style.dim(eventLine(event))),
  });
  const end = new Ending(timeout === undefined ? undefined : secondsOption("--timeout", timeout));
  try {
    await body({ client, signal: end.signal });
    return end.reason ?? "done";
  } catch (error) {
    if (end.reason !== undefined) return end.reason;
    if (error instanceof RequestRefused && error.reason !== "") {
      tell(`the service says: ${printable(error.reason)}`);
    }
    throw error;
  } finally {
    end.dispose();
    await client.close();
  }
}

function connectTo(serviceUri: string, options: Omit<Parameters<typeof connect>[0], "serviceUri">) {
  try {
    return connect({ serviceUri, ...options });
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code !== "INVALID_OPTION") throw error;
    throw new UsageError("URI has to be a moqt, https or wss URI with a host");
  }
}

/** What ends a command before its time: signals, a time limit, a reader that has gone. */
class Ending {
  readonly #abort = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  #reason: "stopped" | "time-up" | undefined;

  constructor(timeout: number | undefined) {
    if (timeout !== undefined) this.#timer = setTimeout(() => this.#end("time-up"), timeout);
    process.on("SIGINT", this.#stop);
    process.on("SIGTERM", this.#stop);
    process.stdout.on("error", this.#stop);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Why the command ends before its time, if it does. */
  get reason(): "stopped" | "time-up" | undefined {
    return this.#reason;
  }

  dispose(): void {
    clearTimeout(this.#timer);
    process.off("SIGINT", this.#stop);
    process.off("SIGTERM", this.#stop);
    process.stdout.off("error", this.#stop);
  }

  readonly #stop = () => this.#end("stopped");

  #end(reason: "stopped" | "time-up"): void {
    this.#reason ??= reason;
    this.#abort.abort(new DOMException("the command was ended", "AbortError"));
  }
}
