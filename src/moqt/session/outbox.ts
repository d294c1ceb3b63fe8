/**
 * Collects the actions of one call.
 *
 * @module
 */

import type { SessionErrorName } from "../codes.ts";
import { type StreamResetName, sessionErrorCodes, streamResetCodes } from "../codes.ts";
import type { Action } from "./actions.ts";
import type { SessionEvent } from "./events.ts";
import type { StreamHandle, StreamKind } from "./stream-handle.ts";

const none: readonly Action[] = [];
const noBytes = new Uint8Array(0);

/** The actions that the current call has led to so far, in order. */
export class Outbox {
  #actions: Action[] | undefined;

  open(stream: StreamHandle, kind: StreamKind): void {
    this.#add({ type: "open", stream, kind });
  }

  send(stream: StreamHandle, bytes: Uint8Array, fin = false): void {
    this.#add({ type: "send", stream, bytes, fin });
  }

  finish(stream: StreamHandle): void {
    this.send(stream, noBytes, true);
  }

  reset(stream: StreamHandle, code: StreamResetName | bigint): void {
    this.#add({ type: "reset", stream, code: toNumber(code) });
  }

  stop(stream: StreamHandle, code: StreamResetName | bigint): void {
    this.#add({ type: "stop", stream, code: toNumber(code) });
  }

  emit(event: SessionEvent): void {
    this.#add({ type: "emit", event });
  }

  close(code: SessionErrorName, reason: string): void {
    this.#add({ type: "close", code: sessionErrorCodes[code], reason });
  }

  /** The actions so far; the next call starts with none. */
  take(): readonly Action[] {
    const actions = this.#actions ?? none;
    this.#actions = undefined;
    return actions;
  }

  #add(action: Action): void {
    this.#actions ??= [];
    this.#actions.push(action);
  }
}

function toNumber(code: StreamResetName | bigint): bigint {
  return typeof code === "bigint" ? code : streamResetCodes[code];
}
