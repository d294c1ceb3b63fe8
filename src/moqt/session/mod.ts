/**
 * One MOQT session without its I/O, either end of it, drafts 18 to 22.
 *
 * @module
 */

export type { Action } from "./actions.ts";
export type { CancelCause, SessionEvent } from "./events.ts";
export type { GoawayDetails } from "./goaway.ts";
export type { SessionLimits } from "./limits.ts";
export { defaultLimits, MAX_MESSAGE_BYTES } from "./limits.ts";
export type { NewRequest, RequestMessage, RequestReply } from "./request-messages.ts";
export type { NumberedActions } from "./session-core.ts";
export { SessionCore } from "./session-core.ts";
export type { SessionOptions, SetupRefusal } from "./session-options.ts";
export type { PeerSetup, SessionTransport } from "./setup.ts";
export type { RequestHandle, StreamHandle, StreamKind } from "./stream-handle.ts";
export type { TokenValue } from "./token-cache.ts";
export type { SessionUseCode } from "./use-error.ts";
export { SessionUseError } from "./use-error.ts";
