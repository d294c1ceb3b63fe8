/**
 * What a session core asks of whoever drives it.
 *
 * @module
 */

import type { SessionEvent } from "./events.ts";
import type { StreamHandle, StreamKind } from "./stream-handle.ts";

/** One thing to do. Actions are carried out in the order in which they are given. */
export type Action =
  /** Open a stream. What is sent on it may come before the transport has room for it. */
  | { readonly type: "open"; readonly stream: StreamHandle; readonly kind: StreamKind }
  | {
      readonly type: "send";
      readonly stream: StreamHandle;
      /** May be empty where `fin` is set. */
      readonly bytes: Uint8Array;
      readonly fin: boolean;
    }
  /** End our direction abruptly (RESET_STREAM). */
  | { readonly type: "reset"; readonly stream: StreamHandle; readonly code: bigint }
  /** Ask the peer to end its direction, and read no more (STOP_SENDING). */
  | { readonly type: "stop"; readonly stream: StreamHandle; readonly code: bigint }
  /** Close the session. The last action of all. */
  | { readonly type: "close"; readonly code: bigint; readonly reason: string }
  /** Tell the application. */
  | { readonly type: "emit"; readonly event: SessionEvent };
