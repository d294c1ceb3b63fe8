/**
 * Which messages go which way on the stream of each request (MOQT draft 22 §6.4.2).
 *
 * @module
 */

import type { MessageType, RequestType } from "../message.ts";

/** An end of a request stream: who opened it, and who answers. */
export type Side = "requester" | "responder";

export interface RequestRules {
  /** What grants the request; REQUEST_ERROR refuses any. */
  readonly granted: "REQUEST_OK" | "SUBSCRIBE_OK" | "FETCH_OK";
  /**
   * What each side may send after the request and its answer, in any order. Whoever may be sent a
   * REQUEST_UPDATE may answer it, which is not listed.
   */
  readonly requester: readonly MessageType[];
  readonly responder: readonly MessageType[];
  /** Who ends it with PUBLISH_DONE, if it is a subscription. */
  readonly publisher?: Side;
  /** Nothing, not even GOAWAY, goes before the answer. */
  readonly answerComesFirst?: boolean;
}

const subscriptionNews = ["PUBLISH_STATE_NOTIFY", "PUBLISH_DONE", "GOAWAY"] as const;
const updates = ["REQUEST_UPDATE", "GOAWAY"] as const;

export const requestRules: Readonly<Record<RequestType, RequestRules>> = {
  SUBSCRIBE: {
    granted: "SUBSCRIBE_OK",
    requester: updates,
    responder: subscriptionNews,
    publisher: "responder",
  },
  PUBLISH: {
    granted: "REQUEST_OK",
    requester: ["REQUEST_UPDATE", ...subscriptionNews],
    responder: updates,
    publisher: "requester",
  },
  FETCH: { granted: "FETCH_OK", requester: updates, responder: ["GOAWAY"] },
  TRACK_STATUS: { granted: "REQUEST_OK", requester: [], responder: [] },
  PUBLISH_NAMESPACE: { granted: "REQUEST_OK", requester: updates, responder: ["GOAWAY"] },
  SUBSCRIBE_NAMESPACE: {
    granted: "REQUEST_OK",
    requester: updates,
    responder: ["NAMESPACE", "NAMESPACE_DONE", "GOAWAY"],
    answerComesFirst: true,
  },
  SUBSCRIBE_TRACKS: {
    granted: "REQUEST_OK",
    requester: updates,
    responder: ["PUBLISH_SKIPPED", "GOAWAY"],
    answerComesFirst: true,
  },
};
