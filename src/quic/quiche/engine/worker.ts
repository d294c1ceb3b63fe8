/**
 * The Worker that runs quiche: takes commands, posts events.
 *
 * @module
 */

import process from "node:process";
import { QuicError } from "../../errors.ts";
import {
  type EngineEvent,
  type EngineSettings,
  type Order,
  type Report,
  WORKER,
} from "../messages.ts";
import { Engine } from "./engine.ts";
import { loadNative } from "./native.ts";

/** The part of a Worker's global scope that is used here. */
interface WorkerScope {
  onmessage: ((message: MessageEvent<Order[]>) => void) | null;
  postMessage(report: Report, transfer: ArrayBuffer[]): void;
  /** Missing on Bun. */
  close?(): void;
}

const scope = globalThis as unknown as WorkerScope;
const engines = new Map<number, Engine>();

function post(engine: number, events: EngineEvent[]): void {
  const transfer: ArrayBuffer[] = [];
  for (const event of events) {
    if (event.type === "data" || event.type === "datagram") transfer.push(event.bytes.buffer);
    else if (event.type === "packets") transfer.push(event.packets.bytes.buffer);
  }
  scope.postMessage({ engine, events }, transfer);
}

function open(number: number, settings: EngineSettings): void {
  try {
    engines.set(number, new Engine(loadNative(), settings, (events) => post(number, events)));
    post(number, [{ type: "ready" }]);
  } catch (error) {
    const isMissing = error instanceof QuicError && error.code === "UNSUPPORTED_PLATFORM";
    const code = isMissing ? "UNSUPPORTED_PLATFORM" : "INVALID_CERTIFICATE";
    const message = error instanceof Error ? error.message : "quiche refuses the settings";
    post(number, [{ type: "unusable", code, message }]);
  }
}

/** Ends the thread while it is not in the addon. */
function stop(): void {
  for (const engine of engines.values()) engine.close();
  engines.clear();
  post(WORKER, [{ type: "stopping" }]);
  scope.onmessage = null;
  if (scope.close !== undefined) scope.close();
  else process.exit();
}

function carryOut({ engine, command }: Order, now: number): void {
  switch (command.type) {
    case "ping":
      post(engine, [{ type: "pong" }]);
      break;
    case "stop-worker":
      stop();
      break;
    case "open-engine":
      open(engine, command.settings);
      break;
    case "close-engine":
      engines.get(engine)?.close();
      engines.delete(engine);
      break;
    default:
      engines.get(engine)?.perform(command, now);
  }
}

scope.onmessage = ({ data: orders }) => {
  const now = performance.now();
  for (const order of orders) carryOut(order, now);
};
