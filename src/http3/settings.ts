/**
 * SETTINGS (RFC 9114 §7.2.4).
 *
 * @module
 */

import { reservedSettingIds, settingIds } from "./code-points.ts";
import { Http3ConnectionError } from "./errors.ts";
import { quicVarints, readQuicVarint } from "./quic-varint.ts";

/**
 * Values by identifier, as they were sent; an absent setting is absent here, whatever its default.
 */
export type Settings = ReadonlyMap<bigint, bigint>;

/** Settings of ours and of HTTP extensions that are switches: 0 or 1. */
const switches: readonly bigint[] = [settingIds.ENABLE_CONNECT_PROTOCOL, settingIds.H3_DATAGRAM];

/**
 * The payload of a SETTINGS frame.
 *
 * @throws {RangeError} an identifier or value is not in 0..2^62-1
 */
export function encodeSettings(settings: Settings): Uint8Array {
  return quicVarints(...[...settings].flat());
}

/**
 * Reads the payload of a SETTINGS frame. Unknown identifiers are kept.
 *
 * @throws {Http3ConnectionError} H3_FRAME_ERROR where it ends inside a setting; H3_SETTINGS_ERROR
 *   where an identifier occurs twice or is one of HTTP/2, or where a switch is neither 0 nor 1
 */
export function decodeSettings(payload: Uint8Array): Settings {
  const settings = new Map<bigint, bigint>();
  for (let offset = 0; offset < payload.length; ) {
    const id = readQuicVarint(payload, offset);
    const value = id && readQuicVarint(payload, offset + id.length);
    if (id === undefined || value === undefined) {
      throw new Http3ConnectionError("H3_FRAME_ERROR", "SETTINGS ends inside a setting");
    }
    if (settings.has(id.value)) throw settingsError(`setting ${hex(id.value)} occurs twice`);
    if (reservedSettingIds.has(id.value)) {
      throw settingsError(`setting ${hex(id.value)} belongs to HTTP/2`);
    }
    settings.set(id.value, value.value);
    offset += id.length + value.length;
  }
  for (const id of switches) {
    if ((settings.get(id) ?? 0n) > 1n) throw settingsError(`setting ${hex(id)} is not 0 or 1`);
  }
  return settings;
}

/** The connection error for a setting that is out of place. */
export function settingsError(message: string): Http3ConnectionError {
  return new Http3ConnectionError("H3_SETTINGS_ERROR", message);
}

function hex(id: bigint): string {
  return `0x${id.toString(16)}`;
}
