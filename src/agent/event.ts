import type { AlarmCode } from "./alarm.ts";
import type { Cause } from "./history.ts";

/**
 * Something that happened, for a log of one JSON line each. Nothing in it is secret. A version is
 * `adopted` that another agent published, or this one before it was started again.
 */
export type AgentEvent = { readonly at: number } & (
  | {
      readonly event: "published" | "adopted";
      readonly version: number;
      readonly cause: Cause;
      readonly digest: string;
    }
  | {
      readonly event: "refused";
      readonly type: string;
      readonly code: string;
      readonly operator?: string;
    }
  | {
      readonly event: "role";
      readonly role: string;
      readonly epoch?: number;
      readonly holder?: string;
    }
  | { readonly event: "alarm" | "alarm-over"; readonly code: AlarmCode; readonly message: string }
  | { readonly event: "repaired"; readonly version: number; readonly message: string }
);
