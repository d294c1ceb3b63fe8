/**
 * The GROUP_CONTROL frame, by which an origin has an intermediary act on one client group.
 *
 * Both versions have Client-Group (32 bits), Value (32), Action (8) and a Boundary, which is a
 * reserved bit and 31 bits in HTTP/2 (CG-FRAME2-5) and a QUIC varint in HTTP/3 (CG-FRAME3-2). The two
 * can have the same length, so that the version always has to be said (CG-S22).
 *
 * @module
 */

import { concatBytes } from "../bytes.ts";
import { MAX_QUIC_VARINT, quicVarints, readQuicVarint } from "../http3/mod.ts";
import { type CodePoints, defaultCodePoints } from "./code-points.ts";
import type { HttpVersion } from "./error-codes.ts";
import { ClientGroupError, GroupConnectionError } from "./errors.ts";
import { checkIdentifier } from "./identifier.ts";
import type { IntermediarySettings } from "./settings.ts";

/** The fields of the frame, whatever its action. */
export interface GroupControl {
  /** The identifier, 0..2^32-1. */
  readonly group: number;
  /** What it means depends on the action, 0..2^32-1. */
  readonly value: number;
  /** 0..255; those that have a name are in `groupActions`. */
  readonly action: number;
  /** A stream ID of the connection: 31 bits in HTTP/2, 62 in HTTP/3. */
  readonly boundary: bigint;
}

/** Octets before Boundary. */
const fixedLength = 9;

/** Octets of the whole payload in HTTP/2. */
const http2Length = 13;

const MAX_HTTP2_BOUNDARY = 0x7fff_ffffn;

/** The largest stream ID that a Boundary can be. */
export function largestBoundary(version: HttpVersion): bigint {
  return version === "h2" ? MAX_HTTP2_BOUNDARY : MAX_QUIC_VARINT;
}

/**
 * The payload of the frame. R is zero in HTTP/2 (CG-FRAME2-7).
 *
 * @throws {ClientGroupError} INVALID_IDENTIFIER, or INVALID_FRAME where another field is out of its
 *   range
 */
export function encodeGroupControl(version: HttpVersion, control: GroupControl): Uint8Array {
  const { group, value, action, boundary } = control;
  checkIdentifier(group);
  if (!isUnsigned(value, 0xffff_ffff)) throw invalid("Value has to be in 0..4294967295");
  if (!isUnsigned(action, 0xff)) throw invalid("Action has to be in 0..255");
  if (boundary < 0n || boundary > largestBoundary(version)) {
    throw invalid(`Boundary has to be in 0..${largestBoundary(version)} in ${version}`);
  }
  const fixed = new Uint8Array(version === "h2" ? http2Length : fixedLength);
  const view = new DataView(fixed.buffer);
  view.setUint32(0, group);
  view.setUint32(4, value);
  view.setUint8(8, action);
  if (version === "h3") return concatBytes(fixed, quicVarints(boundary));
  view.setUint32(fixedLength, Number(boundary));
  return fixed;
}

/**
 * The whole frame. In HTTP/2 on stream 0 without flags (CG-FRAME2-4); in HTTP/3 it belongs on the
 * control stream (CG-FRAME3-1).
 *
 * @throws {ClientGroupError} as {@link encodeGroupControl}
 */
export function encodeGroupControlFrame(
  version: HttpVersion,
  control: GroupControl,
  points: CodePoints = defaultCodePoints,
): Uint8Array {
  const payload = encodeGroupControl(version, control);
  const type = points[version].groupControl;
  if (version === "h3") return concatBytes(quicVarints(type, payload.length), payload);
  // Length (24), Type (8), Flags (8), R and Stream Identifier (32): RFC 9113 §4.1.
  const header = new Uint8Array(9);
  header[2] = payload.length;
  header[3] = Number(type);
  return concatBytes(header, payload);
}

/**
 * Reads the payload of the frame. R is ignored in HTTP/2 (CG-FRAME2-8); in HTTP/3 a Boundary may be
 * longer than it needs to be (CG-S23), and any number (CG-A9).
 *
 * @throws {GroupConnectionError} FRAME_SIZE_ERROR where it does not have 13 octets in HTTP/2
 *   (CG-FRAME2-11); H3_FRAME_ERROR where it ends early or late in HTTP/3 (CG-FRAME3-6, CG-FRAME3-7)
 */
export function decodeGroupControl(version: HttpVersion, payload: Uint8Array): GroupControl {
  const boundary = version === "h2" ? http2Boundary(payload) : http3Boundary(payload);
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return {
    group: view.getUint32(0),
    value: view.getUint32(4),
    action: view.getUint8(8),
    boundary,
  };
}

export interface GroupControlArrival {
  /** Of the connection that it arrived on. */
  readonly settings: Pick<IntermediarySettings, "version" | "support">;
  /** Whether it was where it belongs: on stream 0 in HTTP/2, on the control stream in HTTP/3. */
  readonly inPlace: boolean;
  readonly payload: Uint8Array;
}

/**
 * Takes a GROUP_CONTROL frame at the intermediary, in the order of CG-S19: what was negotiated, where
 * it is, how long it is. Flags have no meaning and are not asked for (CG-S20).
 *
 * @returns its fields; `undefined` where the origin sent no POLICY, and the frame is ignored (CG-A10)
 * @throws {GroupConnectionError} PROTOCOL_ERROR or H3_FRAME_UNEXPECTED where this side did not offer
 *   to share (CG-ERR-3) or the frame is on another stream (CG-FRAME2-10, CG-FRAME3-5); PROTOCOL_ERROR
 *   or H3_MISSING_SETTINGS where it comes before SETTINGS (CG-S24); and as {@link decodeGroupControl}
 */
export function receiveGroupControl(arrival: GroupControlArrival): GroupControl | undefined {
  const { settings, inPlace, payload } = arrival;
  const { version, support } = settings;
  if (support === "not-offered") throw groupControlUnexpected(version);
  if (!inPlace) {
    throw unexpected(version, "GROUP_CONTROL on a stream where it does not belong");
  }
  if (support === "awaited") {
    throw new GroupConnectionError(
      version === "h2" ? "PROTOCOL_ERROR" : "H3_MISSING_SETTINGS",
      "GROUP_CONTROL before SETTINGS",
    );
  }
  const control = decodeGroupControl(version, payload);
  return support === "supported" ? control : undefined;
}

/**
 * The connection error for any GROUP_CONTROL frame that a client sends, to an origin or to an
 * intermediary (CG-ERR-1, CG-ERR-2, CG-S58), and for one on a connection that this side did not offer
 * to share (CG-ERR-3).
 */
export function groupControlUnexpected(version: HttpVersion): GroupConnectionError {
  return unexpected(version, "GROUP_CONTROL from a peer that must not send it");
}

function http2Boundary(payload: Uint8Array): bigint {
  if (payload.length !== http2Length) {
    throw new GroupConnectionError(
      "FRAME_SIZE_ERROR",
      `GROUP_CONTROL has ${payload.length} octets, not ${http2Length}`,
    );
  }
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return BigInt(view.getUint32(fixedLength) & 0x7fff_ffff);
}

function http3Boundary(payload: Uint8Array): bigint {
  const boundary = payload.length > fixedLength && readQuicVarint(payload, fixedLength);
  if (!boundary || fixedLength + boundary.length !== payload.length) {
    throw new GroupConnectionError(
      "H3_FRAME_ERROR",
      `GROUP_CONTROL has ${payload.length} octets, which do not end with its Boundary`,
    );
  }
  return boundary.value;
}

function unexpected(version: HttpVersion, message: string): GroupConnectionError {
  return new GroupConnectionError(
    version === "h2" ? "PROTOCOL_ERROR" : "H3_FRAME_UNEXPECTED",
    message,
  );
}

function isUnsigned(value: number, largest: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= largest;
}

function invalid(message: string): ClientGroupError {
  return new ClientGroupError("INVALID_FRAME", message);
}
