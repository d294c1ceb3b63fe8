/**
 * The seven operations that routable requests ask for (LB-KEY-22), under the names that paths and
 * authorization grants use.
 *
 * @module
 */

import type { RequestType } from "../moqt/mod.ts";

export type Operation =
  | "subscribe"
  | "publish"
  | "fetch"
  | "track-status"
  | "publish-namespace"
  | "subscribe-namespace"
  | "subscribe-tracks";

/** The operation of each request type. */
export const operationOf: Readonly<Record<RequestType, Operation>> = {
  SUBSCRIBE: "subscribe",
  PUBLISH: "publish",
  FETCH: "fetch",
  TRACK_STATUS: "track-status",
  PUBLISH_NAMESPACE: "publish-namespace",
  SUBSCRIBE_NAMESPACE: "subscribe-namespace",
  SUBSCRIBE_TRACKS: "subscribe-tracks",
};

const operations: ReadonlySet<string> = new Set(Object.values(operationOf));

/** Whether `text` names one of the seven operations, exactly. */
export function isOperation(text: unknown): text is Operation {
  return typeof text === "string" && operations.has(text);
}
