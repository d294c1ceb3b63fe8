/**
 * The settings of an instance's reports to the Configuration Agent.
 *
 * @module
 */

import { agentBase, isInstanceId } from "../report/mod.ts";
import type { SettingsReader } from "./settings-reader.ts";

export interface ReportSettings {
  /** The instance's private key: a JWK as JSON text. */
  readonly key: string;
  /** Base of the agent's addresses; absent: reports go through the store. */
  readonly url?: string;
  /** Milliseconds between two reports. */
  readonly interval: number;
}

const DAY = 86_400;

/** @returns `undefined` where the instance has no key: then nobody could tell its reports */
export function readReportSettings(reader: SettingsReader): ReportSettings | undefined {
  const key = reader.text("YARDMASTER_INSTANCE_KEY");
  const store = reader.text("YARDMASTER_STORE");
  const isAgent = store !== undefined && /^https?:/.test(store);
  const url = reader.text("YARDMASTER_AGENT") ?? (isAgent ? store : undefined);
  const channels = ["agent", "store"] as const;
  const channel = reader.choice(
    "YARDMASTER_REPORT",
    channels,
    url === undefined ? "store" : "agent",
  );
  const interval = 1000 * reader.number("YARDMASTER_REPORT_INTERVAL", 1, DAY, 10);
  if (url !== undefined && !isAddress(url)) {
    const name =
      reader.text("YARDMASTER_AGENT") === undefined ? "YARDMASTER_STORE" : "YARDMASTER_AGENT";
    reader.problems.push(`${name} has to be an https URL; http on the loopback alone`);
  }
  if (key === undefined) {
    const asked = url !== undefined || reader.text("YARDMASTER_REPORT") !== undefined;
    if (asked)
      reader.problems.push("YARDMASTER_INSTANCE_KEY is missing: the agent has to know who asks");
    return undefined;
  }
  if (!isInstanceId(reader.text("YARDMASTER_INSTANCE_ID"))) {
    reader.problems.push(
      "YARDMASTER_INSTANCE_ID has to be 1 to 64 letters, digits, '.', '_' and '-', as the agent " +
        "knows the instance",
    );
  }
  if (channel === "agent" && url === undefined) {
    reader.problems.push("YARDMASTER_AGENT is missing: the address that reports go to");
  }
  if (channel === "store" && isAgent) {
    reader.problems.push("YARDMASTER_REPORT: an agent as the store takes no reports there");
  }
  return { key, interval, ...(channel === "agent" && url !== undefined && { url }) };
}

function isAddress(url: string): boolean {
  try {
    agentBase(url);
    return true;
  } catch {
    return false;
  }
}
