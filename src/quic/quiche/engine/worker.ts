/**
 * The Worker that runs quiche: takes commands, posts events.
 *
 * @module
 */

import { QuicError } from "../../errors.ts";
import type { Command, EngineEvent, EngineSettings } from "../messages.ts";
import { Engine } from "./engine.ts";
import { loadNative } from "./native.ts";

/** The part of a Worker's global scope that is used here. */
interface WorkerScope {
  onmessage: ((message: MessageEvent<Command[]>) => void) | null;
  postMessage(events: EngineEvent[], transfer: ArrayBuffer[]): void;
}

const scope = globalThis as unknown as WorkerScope;
let engine: Engine | undefined;

function post(events: EngineEvent[]): void {
  const transfer: ArrayBuffer[] = [];
  for (const event of events) {
    if (event.type === "data" || event.type === "datagram") transfer.push(event.bytes.buffer);
    else if (event.type === "packets") transfer.push(event.packets.bytes.buffer);
  }
  scope.postMessage(events, transfer);
}

function start(settings: EngineSettings): void {
  try {
    engine = new Engine(loadNative(), settings, post);
    post([{ type: "ready" }]);
  } catch (error) {
    const code =
      error instanceof QuicError && error.code === "UNSUPPORTED_PLATFORM"
        ? error.code
        : "INVALID_CERTIFICATE";
    const message = error instanceof Error ? error.message : "quiche refuses the settings";
    post([{ type: "unusable", code, message }]);
  }
}

scope.onmessage = ({ data: commands }) => {
  const now = performance.now();
  for (const command of commands) {
    if (command.type === "start") start(command.settings);
    else engine?.perform(command, now);
  }
};
