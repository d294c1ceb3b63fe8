/**
 * What settings and header fields say to establish a WebTransport session over HTTP/3, in the
 * draft-02 form that browsers speak and in that of draft 15 and later.
 *
 * @module
 */

import { settingIds, webTransportTokens } from "./code-points.ts";
import { combinedValue, type Field, firstValue } from "./field.ts";
import type { RequestHead } from "./message.ts";
import type { Settings } from "./settings.ts";
import { parseStringItem, parseStringList, serializeStrings } from "./structured-strings.ts";

const AVAILABLE_PROTOCOLS = "wt-available-protocols";
const PROTOCOL = "wt-protocol";
/** Draft 02: the client names the drafts that it speaks, the server the one that is used. */
const DRAFT_OFFER = "sec-webtransport-http3-draft02";
const DRAFT_CHOICE = "sec-webtransport-http3-draft";

/** The settings of an endpoint that takes part in WebTransport in the form of browsers. */
export const draft02Settings: Settings = new Map([
  [settingIds.ENABLE_CONNECT_PROTOCOL, 1n],
  [settingIds.H3_DATAGRAM, 1n],
  [settingIds.ENABLE_WEBTRANSPORT, 1n],
]);

/** The same for peers of every draft. No limit above 1, as that would promise flow control. */
export const everyDraftSettings: Settings = new Map([
  ...draft02Settings,
  [settingIds.WEBTRANSPORT_MAX_SESSIONS, 1n],
  [settingIds.WT_MAX_SESSIONS, 1n],
  [settingIds.WT_ENABLED, 1n],
]);

/** Settings by which a server of some draft says that it takes sessions. */
const serverSettings = [
  settingIds.WT_ENABLED,
  settingIds.WT_MAX_SESSIONS,
  settingIds.WEBTRANSPORT_MAX_SESSIONS,
  settingIds.ENABLE_WEBTRANSPORT,
] as const;

/** What a client asks for. */
export interface SessionRequest {
  readonly authority: string;
  /** Path and query. */
  readonly path: string;
  readonly origin?: string;
  /** Application protocols in order of preference. */
  readonly protocols?: readonly string[];
  /** Further fields, such as Authorization. */
  readonly headers?: readonly Field[];
}

/** Whether a request asks for a session. */
export function asksForSession({ protocol }: RequestHead): boolean {
  return (
    protocol === webTransportTokens.WEBTRANSPORT || protocol === webTransportTokens.WEBTRANSPORT_H3
  );
}

/** Whether a server with these settings takes sessions. */
export function takesSessions(settings: Settings): boolean {
  return (
    settings.get(settingIds.ENABLE_CONNECT_PROTOCOL) === 1n &&
    settings.get(settingIds.H3_DATAGRAM) === 1n &&
    serverSettings.some((id) => (settings.get(id) ?? 0n) > 0n)
  );
}

/** Whether both ends speak draft 15 or later, given the settings of one and of the other. */
export function speakCurrentDraft(one: Settings, other: Settings): boolean {
  return one.get(settingIds.WT_ENABLED) === 1n && other.get(settingIds.WT_ENABLED) === 1n;
}

/**
 * The head of a CONNECT request.
 *
 * @param current whether in the form of draft 15 and later
 * @throws {RangeError} a protocol is not printable ASCII
 */
export function sessionRequestHead(request: SessionRequest, current: boolean): RequestHead {
  const fields: Field[] = [];
  if (request.origin !== undefined) fields.push({ name: "origin", value: request.origin });
  if (!current) fields.push({ name: DRAFT_OFFER, value: "1" });
  if (request.protocols !== undefined && request.protocols.length > 0) {
    fields.push({ name: AVAILABLE_PROTOCOLS, value: serializeStrings(...request.protocols) });
  }
  return {
    method: "CONNECT",
    scheme: "https",
    authority: request.authority,
    path: request.path,
    protocol: current ? webTransportTokens.WEBTRANSPORT_H3 : webTransportTokens.WEBTRANSPORT,
    headers: [...fields, ...(request.headers ?? [])],
  };
}

/** The protocols that a client offers; none where the field is absent or malformed. */
export function offeredProtocols(headers: readonly Field[]): readonly string[] {
  return parseStringList(combinedValue(headers, AVAILABLE_PROTOCOLS) ?? "") ?? [];
}

/** The fields of the answer that establishes a session. */
export function acceptanceFields(
  request: readonly Field[],
  protocol: string | undefined,
): readonly Field[] {
  const fields: Field[] = [];
  if (firstValue(request, DRAFT_OFFER) !== undefined) {
    fields.push({ name: DRAFT_CHOICE, value: "draft02" });
  }
  if (protocol !== undefined) fields.push({ name: PROTOCOL, value: serializeStrings(protocol) });
  return fields;
}

/** The protocol that a server chose; `undefined` where the field is absent or malformed. */
export function chosenProtocol(headers: readonly Field[]): string | undefined {
  return parseStringItem(combinedValue(headers, PROTOCOL) ?? "");
}
