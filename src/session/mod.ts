/**
 * Live MOQT sessions over any transport, as client or server.
 *
 * @module
 */

export { type Clock, systemClock } from "./clock.ts";
export { type RequestEnd, RequestEndedError } from "./errors.ts";
export { goawayTime } from "./goaway-time.ts";
export { MoqtSession, type SessionClose } from "./moqt-session.ts";
export type {
  IncomingDataStream,
  MoqtSessionOptions,
  SessionGoaway,
  SessionHandlers,
} from "./options.ts";
export type {
  IncomingRequest,
  OutgoingRequest,
  RequestAnswer,
  RequestGoaway,
  RequestNews,
  SessionRequest,
} from "./request.ts";
