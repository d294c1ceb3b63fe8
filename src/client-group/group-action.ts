/**
 * What a GROUP_CONTROL frame asks for: its action, and what Value means for it.
 *
 * @module
 */

import { ClientGroupError } from "./errors.ts";
import type { GroupControl } from "./group-control.ts";

/** The registry "HTTP GROUP_CONTROL Actions" (CG-ACT-9). */
export const groupActions = { GOAWAY: 0x00, BLOCK: 0x01, LIMIT: 0x02, CLEAR: 0x03 } as const;

/** The longest BLOCK, in seconds: a day (CG-ACT-2, CG-SEC-7). */
export const MAX_BLOCK_SECONDS = 86_400;

/** A valid frame with an action that we know. `group` is the identifier that it names. */
export type GroupAction =
  | {
      readonly type: "GOAWAY";
      readonly group: number;
      /** The client's later requests for the origin key need a connection free of other groups. */
      readonly alone: boolean;
      readonly boundary: bigint;
    }
  | {
      readonly type: "BLOCK";
      readonly group: number;
      /** 1..86400. */
      readonly seconds: number;
    }
  | {
      readonly type: "LIMIT";
      readonly group: number;
      /** The most requests in progress, 1..2^32-1. */
      readonly requests: number;
    }
  | { readonly type: "CLEAR"; readonly group: number };

/**
 * The action of a frame that was received.
 *
 * @returns `undefined` where the frame is to be ignored: an action that is not known (CG-ACT-7), a
 *   BLOCK of no time or more than a day (CG-BLOCK-4), a LIMIT of 0 (CG-LIMIT-4)
 */
export function actionOf(control: GroupControl): GroupAction | undefined {
  const { group, value, action, boundary } = control;
  switch (action) {
    case groupActions.GOAWAY:
      // Any other Value counts as 0 (CG-GOAWAY-6).
      return { type: "GOAWAY", group, alone: value === 1, boundary };
    case groupActions.BLOCK:
      return isBlockTime(value) ? { type: "BLOCK", group, seconds: value } : undefined;
    case groupActions.LIMIT:
      return value >= 1 ? { type: "LIMIT", group, requests: value } : undefined;
    case groupActions.CLEAR:
      return { type: "CLEAR", group };
    default:
      return undefined;
  }
}

/**
 * The frame that an origin sends for an action. Boundary is 0 but for GOAWAY (CG-BOUND-7).
 *
 * @throws {ClientGroupError} INVALID_FRAME where the receiver would ignore it; fields are checked
 *   when it is encoded
 */
export function controlOf(action: GroupAction): GroupControl {
  const { group } = action;
  const code = groupActions[action.type];
  switch (action.type) {
    case "GOAWAY":
      return { group, value: action.alone ? 1 : 0, action: code, boundary: action.boundary };
    case "BLOCK":
      if (!isBlockTime(action.seconds)) {
        throw new ClientGroupError("INVALID_FRAME", "a BLOCK takes 1 to 86400 whole seconds");
      }
      return { group, value: action.seconds, action: code, boundary: 0n };
    case "LIMIT":
      if (!Number.isInteger(action.requests) || action.requests < 1) {
        throw new ClientGroupError("INVALID_FRAME", "a LIMIT takes at least one request");
      }
      return { group, value: action.requests, action: code, boundary: 0n };
    case "CLEAR":
      return { group, value: 0, action: code, boundary: 0n };
  }
}

function isBlockTime(seconds: number): boolean {
  return Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_BLOCK_SECONDS;
}
