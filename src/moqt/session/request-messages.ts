/**
 * What an application sends and gets on request streams.
 *
 * @module
 */

import type { MessageOf, RoutableRequest } from "../message.ts";

/** A request before it has its Request ID. */
export type NewRequest = WithoutRequestId<RoutableRequest>;

type WithoutRequestId<Message> = Message extends unknown ? Omit<Message, "requestId"> : never;

/** What follows the request on its stream, besides updates and GOAWAY. */
export type RequestReply = MessageOf<
  | "REQUEST_OK"
  | "REQUEST_ERROR"
  | "SUBSCRIBE_OK"
  | "FETCH_OK"
  | "PUBLISH_DONE"
  | "PUBLISH_STATE_NOTIFY"
  | "NAMESPACE"
  | "NAMESPACE_DONE"
  | "PUBLISH_SKIPPED"
>;

/** What follows the request on its stream, besides GOAWAY. */
export type RequestMessage = RequestReply | MessageOf<"REQUEST_UPDATE">;
