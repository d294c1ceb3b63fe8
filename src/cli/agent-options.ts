/**
 * What the commands that act on a deployment have in common: where it is and who asks.
 *
 * @module
 */

import type { ArgsDef } from "citty";
import { UsageError } from "./errors.ts";

/** Options of every command that reads or changes a deployment. */
export const agentOptions = {
  agent: {
    type: "string",
    valueHint: "URL",
    description: "the agent (default $YARDMASTER_AGENT, or the one that publishes from the home)",
  },
  ca: {
    type: "string",
    valueHint: "FILE",
    description: "trust the authorities in this PEM file for the agent's certificate",
  },
  home: {
    type: "string",
    valueHint: "DIR",
    description: "folder of keys and store (default $YARDMASTER_HOME or .yardmaster)",
  },
} as const satisfies ArgsDef;

/** What {@link agentOptions} were given. */
export interface AgentValues {
  readonly agent: string | undefined;
  readonly ca: string | undefined;
  readonly home: string | undefined;
}

/** Why something is done, for the history. */
export const reasonOption = {
  reason: {
    type: "string",
    valueHint: "TEXT",
    description: "why, for the history; at most 500 characters",
  },
} as const satisfies ArgsDef;

const LONGEST_REASON = 500;

/** @throws {UsageError} it is longer than a history takes */
export function reasonOf(text: string | undefined): string {
  const reason = text ?? "";
  if (reason.length <= LONGEST_REASON && reason.isWellFormed()) return reason;
  throw new UsageError(`option --reason has to be a text of at most ${LONGEST_REASON} characters`);
}

/** Says how commands find what they act on. */
export const whereDetails =
  "Goes to --agent or $YARDMASTER_AGENT, or to the agent that publishes from the home's store, with\n" +
  "the operator's key of the home (yard keygen --operator NAME). Where no agent runs, it works on\n" +
  "the store itself, as an agent would.";
