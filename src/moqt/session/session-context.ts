/**
 * What the parts of one session share.
 *
 * @module
 */

import type { BufferBudget } from "./buffer-budget.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Outbox } from "./outbox.ts";
import type { CheckedOptions } from "./session-options.ts";
import type { StreamHandle } from "./stream-handle.ts";
import type { TokenCache } from "./token-cache.ts";

export interface SessionContext {
  readonly options: CheckedOptions;
  readonly out: Outbox;
  readonly budget: BufferBudget;
  /** When the message or header that a stream is in the middle of has to be complete. */
  readonly deadlines: Deadlines<StreamHandle>;
  /** The tokens that the peer has registered at us. */
  readonly tokens: TokenCache;
}
