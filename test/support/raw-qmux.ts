/**
 * QMux records by hand (draft-ietf-quic-qmux; frames of RFC 9000 §19), and a peer that sends what
 * it likes.
 *
 * @module
 */

import { concatBytes, utf8 } from "../../src/bytes.ts";
import { quicVarints } from "../../src/http3/quic-varint.ts";
import { readFrame } from "../../src/transport/qmux/frame.ts";
import { type MemorySocket, memorySocketPair } from "./socket-pair.ts";

function frame(type: bigint | number, ...fields: (bigint | number | Uint8Array)[]): Uint8Array {
  const parts = [type, ...fields].map((field) =>
    field instanceof Uint8Array ? field : quicVarints(field),
  );
  return concatBytes(...parts);
}

function withLength(bytes: Uint8Array): Uint8Array {
  return concatBytes(quicVarints(bytes.length), bytes);
}

/** Transport parameters by id. */
export function parameters(values: readonly [id: bigint | number, value: bigint | number][]) {
  const body = values.map(([id, value]) =>
    concatBytes(quicVarints(id), withLength(quicVarints(value))),
  );
  return frame(0x3f51_5330_0d0a_0d0an, withLength(concatBytes(...body)));
}

/** Generous parameters: a megabyte in all, 256 KiB a stream, 100 streams of each kind. */
export const generous = parameters([
  [0x04, 0x10_0000],
  [0x05, 0x4_0000],
  [0x06, 0x4_0000],
  [0x07, 0x4_0000],
  [0x08, 100],
  [0x09, 100],
]);

export const frames = {
  stream: (id: number, bytes: Uint8Array, { fin = false, offset = 0 } = {}) =>
    frame(fin ? 0x0f : 0x0e, id, offset, withLength(bytes)),
  reset: (id: number, code: bigint | number, finalSize: number) => frame(0x04, id, code, finalSize),
  resetAt: (id: number, code: number, finalSize: number, reliableSize: number) =>
    frame(0x24, id, code, finalSize, reliableSize),
  stop: (id: number, code: bigint | number) => frame(0x05, id, code),
  maxData: (limit: number) => frame(0x10, limit),
  maxStreamData: (id: number, limit: number) => frame(0x11, id, limit),
  ping: (sequence: number) => frame(0x348c_6752_9ef8_c7bdn, sequence),
  pong: (sequence: number) => frame(0x348c_6752_9ef8_c7ben, sequence),
  datagram: (bytes: Uint8Array) => frame(0x31, withLength(bytes)),
  applicationClose: (code: bigint, reason: string) => frame(0x1d, code, withLength(utf8(reason))),
  connectionClose: (code: bigint, reason: string) => frame(0x1c, code, 0, withLength(utf8(reason))),
  unknown: () => frame(0x7f),
};

/** The client's end of a socket whose other end is under test. */
export class RawPeer {
  readonly socket: MemorySocket;
  /** Every record that came. */
  readonly records: Uint8Array[] = [];

  constructor(socket: MemorySocket) {
    this.socket = socket;
    socket.listen({
      open() {},
      message: (data) => this.records.push(data as Uint8Array),
      drain() {},
      close() {},
    });
  }

  send(...parts: Uint8Array[]): void {
    this.socket.sendRaw(concatBytes(...parts));
  }

  /** How the other end said goodbye, in a frame. */
  get goodbye(): { app: boolean; code: bigint; reason: string } | undefined {
    for (const record of this.records) {
      const { frame } = readFrame(record, 0);
      if (frame.type !== "close") continue;
      const { app, code, reason } = frame;
      return { app, code, reason };
    }
    return undefined;
  }
}

/** A raw client and the socket for the server that is under test. */
export function rawClient(subprotocol: string): [peer: RawPeer, server: MemorySocket] {
  const [client, server] = memorySocketPair(subprotocol);
  return [new RawPeer(client), server];
}
