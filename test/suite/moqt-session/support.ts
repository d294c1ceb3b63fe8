/** A session core, driven by a script of what its peer sends. */

import assert from "node:assert/strict";
import { concatBytes, toHex, utf8 } from "../../../src/bytes.ts";
import {
  type Action,
  type ControlMessage,
  type Draft,
  encodeControlMessage,
  type NewRequest,
  type RequestContext,
  type RequestHandle,
  SessionCore,
  type SessionErrorName,
  type SessionEvent,
  type SessionOptions,
  type SessionUseCode,
  SessionUseError,
  type StreamHandle,
  type StreamKind,
  type StreamResetName,
  sessionErrorName,
  streamResetCodes,
  type TrackNamespace,
} from "../../../src/moqt/mod.ts";
import { hex } from "../moqt/support.ts";

export { allDrafts, fields, hex } from "../moqt/support.ts";
export { vector } from "../moqt/vectors.ts";

/** A SETUP without options. */
export const emptySetup = hex("af000000");

type EventType = SessionEvent["type"];
type EventOf<Type extends EventType> = Extract<SessionEvent, { readonly type: Type }>;

/** Options of a server of draft 22 over raw QUIC, where a test does not say otherwise. */
const defaults: SessionOptions = { role: "server", draft: 22, transport: "quic", random: () => 0 };

/** One core, and all that it has asked for. */
export class Driven {
  readonly core: SessionCore;
  readonly actions: Action[] = [];
  readonly #options: SessionOptions;
  now = 0;
  #streams = 0;

  constructor(options: Partial<SessionOptions> = {}) {
    this.#options = { ...defaults, ...options };
    this.core = new SessionCore(this.#options);
    this.take(this.core.start(this.now));
  }

  get draft(): Draft {
    return this.#options.draft;
  }

  /** How many streams the peer has opened: 0 up to one less. */
  get opened(): number {
    return this.#streams;
  }

  /** Remembers actions. */
  take(actions: readonly Action[]): void {
    const isOver = this.closed !== undefined;
    if (isOver) assert.deepEqual(actions, [], "actions after the session was closed");
    this.actions.push(...actions);
  }

  /** The peer opens a stream. */
  open(kind: StreamKind): StreamHandle {
    const stream = this.#streams++;
    this.take(this.core.streamOpened(stream, kind, this.now));
    return stream;
  }

  /** The peer sends bytes, all at once or in the pieces that `cut` makes. */
  feed(stream: StreamHandle, bytes: Uint8Array | string, fin = false, cut: Cut = whole): this {
    const pieces = cut(typeof bytes === "string" ? hex(bytes) : bytes);
    if (pieces.length === 0) pieces.push(new Uint8Array(0));
    pieces.forEach((piece, index) => {
      const last = index === pieces.length - 1;
      // The core may borrow the piece only for the call.
      const lent = new Uint8Array(piece);
      this.take(this.core.streamData(stream, lent, fin && last, this.now));
      lent.fill(0xff);
    });
    return this;
  }

  /** The peer opens its control stream with SETUP. */
  setup(bytes: Uint8Array | string = emptySetup, cut: Cut = whole): StreamHandle {
    const stream = this.open("uni");
    this.feed(stream, bytes, false, cut);
    return stream;
  }

  /** The peer opens a request stream with these bytes. */
  request(bytes: Uint8Array | string, fin = false, cut: Cut = whole): RequestHandle {
    const stream = this.open("bidi");
    this.feed(stream, bytes, fin, cut);
    return stream;
  }

  /** The peer sends a message. */
  say(stream: StreamHandle, message: ControlMessage, context: RequestContext = {}): this {
    return this.feed(stream, encodeControlMessage(message, this.draft, context));
  }

  finish(stream: StreamHandle): this {
    return this.feed(stream, "", true);
  }

  reset(stream: StreamHandle, code = 1n): this {
    this.take(this.core.streamReset(stream, code, this.now));
    return this;
  }

  stop(stream: StreamHandle, code = 1n): this {
    this.take(this.core.streamStopped(stream, code, this.now));
    return this;
  }

  /** Time passes. */
  wait(milliseconds: number): this {
    this.now += milliseconds;
    this.take(this.core.timeout(this.now));
    return this;
  }

  /** We make a request. */
  ask(message: NewRequest): RequestHandle {
    const { request, actions } = this.core.request(message, this.now);
    this.take(actions);
    return request;
  }

  get events(): SessionEvent[] {
    return this.actions.flatMap((action) => (action.type === "emit" ? [action.event] : []));
  }

  eventsOf<Type extends EventType>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type);
  }

  /** The last event of a type. */
  last<Type extends EventType>(type: Type): EventOf<Type> {
    const event = this.eventsOf(type).at(-1);
    assert.ok(event, `no ${type}`);
    return event;
  }

  /** All that was sent on a stream: hexadecimal digits, and "fin" at the end. */
  sent(stream: StreamHandle): string {
    const sends = this.actions.filter(
      (action) => action.type === "send" && action.stream === stream,
    );
    const bytes = concatBytes(...sends.map((send) => (send.type === "send" ? send.bytes : none)));
    const fin = sends.some((send) => send.type === "send" && send.fin);
    return toHex(bytes) + (fin ? " fin" : "");
  }

  /** What was done to a stream besides sending. */
  cuts(stream: StreamHandle): string[] {
    return this.actions.flatMap((action) =>
      (action.type === "reset" || action.type === "stop") && action.stream === stream
        ? [`${action.type} ${action.code}`]
        : [],
    );
  }

  /** The name of the code that the session was closed with. */
  get closed(): SessionErrorName | undefined {
    const close = this.actions.find(({ type }) => type === "close");
    return close?.type === "close" ? sessionErrorName(close.code, this.draft) : undefined;
  }
}

const none = new Uint8Array(0);

/** How bytes come in pieces. */
export type Cut = (bytes: Uint8Array) => Uint8Array[];

export const whole: Cut = (bytes) => [bytes];

export const byteByByte: Cut = (bytes) =>
  Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));

export function cutAt(index: number): Cut {
  return (bytes) => [bytes.subarray(0, index), bytes.subarray(index)];
}

/** Does `script` with bytes of `length` cut at every boundary, and byte by byte. */
export function withEveryCut(length: number, script: (cut: Cut) => void): void {
  for (let index = 0; index <= length; index++) script(cutAt(index));
  script(byteByByte);
}

/** A server that has the SETUP of its client. */
export function readyServer(options: Partial<SessionOptions> = {}): Driven {
  const driven = new Driven(options);
  driven.setup();
  return driven;
}

/** A client that has the SETUP of its server. */
export function readyClient(options: Partial<SessionOptions> = {}, setup?: string): Driven {
  const driven = new Driven({ role: "client", ...options });
  driven.setup(setup);
  return driven;
}

/** Asserts that a command throws a `SessionUseError`. */
export function assertMisuse(code: SessionUseCode, command: () => unknown): void {
  assert.throws(command, (error) => {
    assert.ok(error instanceof SessionUseError, `not a SessionUseError: ${error}`);
    assert.equal(error.code, code);
    return true;
  });
}

export function resetCode(name: StreamResetName): bigint {
  return streamResetCodes[name];
}

const live: TrackNamespace = [utf8("live")];

/** The smallest request of each type, for `live` and track `v`. */
export const smallest: Readonly<Record<NewRequest["type"], (draft: Draft) => NewRequest>> = {
  SUBSCRIBE: () => ({ type: "SUBSCRIBE", ...track }),
  PUBLISH: () => ({ type: "PUBLISH", ...track, trackAlias: 7n, trackProperties: none }),
  FETCH: (draft) =>
    draft <= 19
      ? {
          type: "FETCH",
          ...track,
          fetchType: "STANDALONE",
          startLocation: start,
          endLocation: start,
        }
      : { type: "FETCH", ...track },
  TRACK_STATUS: () => ({ type: "TRACK_STATUS", ...track }),
  PUBLISH_NAMESPACE: () => ({ type: "PUBLISH_NAMESPACE", trackNamespace: live, parameters: [] }),
  SUBSCRIBE_NAMESPACE: () => ({ type: "SUBSCRIBE_NAMESPACE", ...prefix }),
  SUBSCRIBE_TRACKS: () => ({ type: "SUBSCRIBE_TRACKS", ...prefix }),
};

const track = { trackNamespace: live, trackName: utf8("v"), parameters: [] };
const prefix = { trackNamespacePrefix: live, parameters: [] };
const start = { group: 0n, object: 0n };

/** The bytes of the smallest request of a type. */
export function requestBytes(
  type: NewRequest["type"],
  requestId: bigint,
  draft: Draft = 22,
  changes: object = {},
): Uint8Array {
  const message = { ...smallest[type](draft), requestId, ...changes } as ControlMessage;
  return encodeControlMessage(message, draft);
}
