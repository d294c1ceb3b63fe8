/**
 * Frames of QMux (draft-ietf-quic-qmux-01 and -02, which are those of RFC 9000 §19 and a few more),
 * read as far as needed to follow streams and credit. Payloads are the library's business.
 *
 * @module
 */

import { concatBytes, utf8 } from "../../bytes.ts";
import { quicVarints, readQuicVarint } from "../../http3/quic-varint.ts";

/** What a frame means to whoever keeps account of streams and credit. */
export type Frame =
  | { readonly type: "parameters"; readonly parameters: Parameters }
  | {
      readonly type: "stream";
      readonly id: number;
      readonly length: number;
      readonly fin: boolean;
    }
  | { readonly type: "reset"; readonly id: number; readonly code: bigint; readonly at: boolean }
  | { readonly type: "stop"; readonly id: number; readonly code: bigint }
  | { readonly type: "maxData"; readonly limit: number }
  | { readonly type: "maxStreamData"; readonly id: number; readonly limit: number }
  | { readonly type: "maxStreams"; readonly kind: "bidi" | "uni"; readonly limit: number }
  | {
      readonly type: "close";
      readonly app: boolean;
      readonly code: bigint;
      readonly reason: string;
    }
  | { readonly type: "ping"; readonly sequence: bigint }
  | { readonly type: "pong"; readonly sequence: bigint }
  /** A datagram, padding, or a peer saying that it is blocked. */
  | { readonly type: "other" };

/** Transport parameters (RFC 9000 §18.2) that bound what this side may send. */
export interface Parameters {
  readonly maxData: number;
  /** For streams that the sender of the parameters opened, and for those that it did not. */
  readonly maxStreamDataBidiLocal: number;
  readonly maxStreamDataBidiRemote: number;
  readonly maxStreamDataUni: number;
  readonly maxStreamsBidi: number;
  readonly maxStreamsUni: number;
}

/** A record that is not QMux. `quicCode` is the transport error of RFC 9000 §20.1. */
export class Malformed extends Error {
  readonly quicCode: bigint;

  constructor(quicCode: bigint, message: string) {
    super(message);
    this.quicCode = quicCode;
  }
}

export const streamLimitError = 0x04n;
export const streamStateError = 0x05n;
export const frameEncodingError = 0x07n;
export const transportParameterError = 0x08n;
export const protocolViolation = 0x0an;

/** The first byte of a STREAM frame as the library sends it (0x0e), with FIN. */
export const streamWithFin = 0x0f;

/** The smallest record that every peer has to take, and the size that is assumed of it. */
export const defaultRecordSize = 16_382;

const transportParameters = 0x3f51_5330_0d0a_0d0an;
const pingRequest = 0x348c_6752_9ef8_c7bdn;
const pingResponse = 0x348c_6752_9ef8_c7ben;
const maxRecordSize = 0x0571_c594_29cd_0845n;
const applicationProtocols = 0x3d4f_9c2a_8b1e_6075n;
const resetStreamAt = 0x1dn;

/**
 * The frame that starts at `offset` of a record, and where it ends.
 *
 * @throws Malformed where there is none
 */
export function readFrame(record: Uint8Array, offset: number): { frame: Frame; end: number } {
  const reader = new Reader(record, offset);
  const frame = readBody(reader, reader.integer());
  return { frame, end: reader.offset };
}

function readBody(reader: Reader, type: bigint): Frame {
  if (type >= 0x08n && type <= 0x0fn) return readStream(reader, Number(type));
  switch (type) {
    case 0x00n:
      return { type: "other" };
    case 0x04n: {
      const [id, code] = [reader.number(), reader.integer()];
      reader.integer();
      return { type: "reset", id, code, at: false };
    }
    case 0x05n:
      return { type: "stop", id: reader.number(), code: reader.integer() };
    case 0x10n:
      return { type: "maxData", limit: reader.number() };
    case 0x11n:
      return { type: "maxStreamData", id: reader.number(), limit: reader.number() };
    case 0x12n:
      return { type: "maxStreams", kind: "bidi", limit: reader.number() };
    case 0x13n:
      return { type: "maxStreams", kind: "uni", limit: reader.number() };
    case 0x14n:
    case 0x16n:
    case 0x17n:
      reader.integer();
      return { type: "other" };
    case 0x15n:
      reader.integer();
      reader.integer();
      return { type: "other" };
    case 0x1cn:
    case 0x1dn: {
      const code = reader.integer();
      if (type === 0x1cn) reader.integer();
      const reason = new TextDecoder().decode(reader.take(reader.number()));
      return { type: "close", app: type === 0x1dn, code, reason };
    }
    case 0x24n: {
      const [id, code] = [reader.number(), reader.integer()];
      const [finalSize, reliableSize] = [reader.integer(), reader.integer()];
      if (reliableSize > finalSize) {
        throw new Malformed(frameEncodingError, "RESET_STREAM_AT promises more than there is");
      }
      return { type: "reset", id, code, at: true };
    }
    case 0x30n:
      reader.rest();
      return { type: "other" };
    case 0x31n:
      reader.take(reader.number());
      return { type: "other" };
    case transportParameters:
      return { type: "parameters", parameters: readParameters(reader.take(reader.number())) };
    case pingRequest:
      return { type: "ping", sequence: reader.integer() };
    case pingResponse:
      return { type: "pong", sequence: reader.integer() };
    default:
      throw new Malformed(frameEncodingError, "a frame has a type that QMux does not know");
  }
}

function readStream(reader: Reader, type: number): Frame {
  const id = reader.number();
  if ((type & 0x04) !== 0) reader.integer();
  const bytes = (type & 0x02) !== 0 ? reader.take(reader.number()) : reader.rest();
  return { type: "stream", id, length: bytes.length, fin: (type & 0x01) !== 0 };
}

/** Parameter ids of RFC 9000 §18.2 that QMux has, by name. */
const counted: ReadonlyMap<bigint, keyof Parameters | "other"> = new Map([
  [0x01n, "other"],
  [0x04n, "maxData"],
  [0x05n, "maxStreamDataBidiLocal"],
  [0x06n, "maxStreamDataBidiRemote"],
  [0x07n, "maxStreamDataUni"],
  [0x08n, "maxStreamsBidi"],
  [0x09n, "maxStreamsUni"],
  [0x20n, "other"],
]);

/** Whether RFC 9000 has the parameter and QMux forbids it: what only UDP needs. */
function isForbidden(id: bigint): boolean {
  return id === 0x00n || id === 0x02n || id === 0x03n || (id >= 0x0an && id <= 0x10n);
}

function readParameters(bytes: Uint8Array): Parameters {
  const refuse = (message: string) => new Malformed(transportParameterError, message);
  const found: { -readonly [name in keyof Parameters]: number } = {
    maxData: 0,
    maxStreamDataBidiLocal: 0,
    maxStreamDataBidiRemote: 0,
    maxStreamDataUni: 0,
    maxStreamsBidi: 0,
    maxStreamsUni: 0,
  };
  const seen = new Set<bigint>();
  const reader = new Reader(bytes, 0);
  while (!reader.atEnd) {
    const id = reader.integer();
    const value = new Reader(reader.take(reader.number()), 0);
    const name = counted.get(id);
    const known = name !== undefined || id === maxRecordSize || id === resetStreamAt;
    if (isForbidden(id) || id === applicationProtocols) {
      throw refuse("a transport parameter is not allowed over a WebSocket");
    }
    if (!known) continue;
    if (seen.has(id)) throw refuse("a transport parameter comes twice");
    seen.add(id);
    if (id !== resetStreamAt) {
      const number = value.number();
      if (name !== undefined && name !== "other") found[name] = number;
      if (id === maxRecordSize && number < defaultRecordSize) {
        throw refuse("max_record_size is below the smallest that is allowed");
      }
    }
    if (!value.atEnd) throw refuse("a transport parameter has bytes after its value");
  }
  return found;
}

/** Reads RFC 9000 integers and slices, never past the end. */
class Reader {
  readonly #bytes: Uint8Array;
  offset: number;

  constructor(bytes: Uint8Array, offset: number) {
    this.#bytes = bytes;
    this.offset = offset;
  }

  get atEnd(): boolean {
    return this.offset >= this.#bytes.length;
  }

  integer(): bigint {
    const read = readQuicVarint(this.#bytes, this.offset);
    if (read === undefined) throw new Malformed(frameEncodingError, "a frame ends too early");
    this.offset += read.length;
    return read.value;
  }

  /** An integer as a number; beyond 2^53 - 1 it counts as that, which no session reaches. */
  number(): number {
    const value = this.integer();
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
  }

  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.offset) {
      throw new Malformed(frameEncodingError, "a frame ends too early");
    }
    this.offset += length;
    return this.#bytes.subarray(this.offset - length, this.offset);
  }

  rest(): Uint8Array {
    return this.take(this.#bytes.length - this.offset);
  }
}

/** CONNECTION_CLOSE (RFC 9000 §19.19) with a transport error code. */
export function connectionClose(quicCode: bigint, reason: string): Uint8Array {
  const text = utf8(reason);
  return concatBytes(quicVarints(0x1c, quicCode, 0, text.length), text);
}

/** STOP_SENDING (RFC 9000 §19.5). */
export function stopSending(id: bigint, code: bigint): Uint8Array {
  return quicVarints(0x05, id, code);
}
