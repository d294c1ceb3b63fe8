/**
 * UDP sockets on Bun and on Deno, by the quickest way each has.
 *
 * @module
 */

import { QuicError } from "../errors.ts";
import type { Address, PacketBatch } from "./messages.ts";

export interface UdpSocket {
  readonly local: Address;
  /** Sends what the system takes now; the rest is dropped, as a network may. */
  send(batch: PacketBatch): void;
  /** Whether the socket keeps the process alive, where the runtime lets one choose. */
  keepAlive(keep: boolean): void;
  close(): void;
}

/** @param payload is the callee's to keep */
export type OnPacket = (payload: Uint8Array, from: Address) => void;

/**
 * Binds a socket.
 *
 * @throws QuicError "LISTEN_FAILED" where the address cannot be bound, "UNSUPPORTED_PLATFORM"
 *   where the runtime is neither Bun nor Deno
 */
export async function openUdp(local: Address, onPacket: OnPacket): Promise<UdpSocket> {
  const { Bun, Deno } = globalThis as { Bun?: BunUdp; Deno?: DenoUdp };
  try {
    if (Bun !== undefined) return await openOnBun(Bun, local, onPacket);
    if (Deno !== undefined) return openOnDeno(Deno, local, onPacket);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "the system refuses";
    const message = `cannot bind UDP port ${local.port} of ${local.host}: ${reason}`;
    throw new QuicError("LISTEN_FAILED", message, { cause });
  }
  throw new QuicError("UNSUPPORTED_PLATFORM", "the quiche back-end needs Bun or Deno");
}

// Bun

/** Bytes that the system is asked to buffer; it gives less where its own limit is lower. */
const SYSTEM_BUFFER = 4 * 1024 * 1024;

interface BunUdp {
  udpSocket(options: {
    hostname: string;
    port: number;
    binaryType: "uint8array";
    socket: {
      data(socket: BunUdpSocket, payload: Uint8Array, port: number, host: string): void;
      error(socket: BunUdpSocket, error: Error): void;
    };
  }): Promise<BunUdpSocket>;
}

interface BunUdpSocket {
  readonly address: { readonly address: string; readonly port: number };
  /** Payload, port and host of each packet, flat; returns how many packets were taken. */
  sendMany(packets: readonly (Uint8Array | number | string)[]): number;
  ref(): void;
  unref(): void;
  close(): void;
}

async function openOnBun(Bun: BunUdp, local: Address, onPacket: OnPacket): Promise<UdpSocket> {
  const socket = await Bun.udpSocket({
    hostname: local.host,
    port: local.port,
    binaryType: "uint8array",
    socket: {
      data: (_socket, payload, port, host) => onPacket(payload, { host, port }),
      // ICMP errors of packets sent earlier: QUIC finds out by itself.
      error: () => {},
    },
  });
  // The descriptor is there, and not in Bun's types.
  await enlargeBuffers((socket as BunUdpSocket & { readonly fd: number }).fd);
  let closed = false;
  return {
    local: { host: socket.address.address, port: socket.address.port },
    send({ bytes, lengths, addresses }) {
      if (closed) return;
      const packets: (Uint8Array | number | string)[] = [];
      let offset = 0;
      for (let i = 0; i < lengths.length; i++) {
        const length = lengths[i] as number;
        const { host, port } = addresses[i] as Address;
        packets.push(bytes.subarray(offset, offset + length), port, host);
        offset += length;
      }
      try {
        socket.sendMany(packets);
      } catch {
        // An ICMP error of an earlier packet, or no route: lost, as far as QUIC can tell.
      }
    },
    keepAlive: (keep) => (keep ? socket.ref() : socket.unref()),
    close() {
      closed = true;
      socket.close();
    },
  };
}

/** socket(7) on Linux. */
const SOL_SOCKET = 1;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;

/**
 * Asks the system for larger buffers: what it gives by itself holds some ninety packets, as many as
 * a few dozen clients send that connect at once. Bun's UDP sockets have no option for it.
 */
async function enlargeBuffers(fd: number): Promise<void> {
  try {
    const { dlopen } = await import("bun:ffi");
    const { symbols, close } = dlopen("libc.so.6", {
      setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
    });
    const size = Int32Array.of(SYSTEM_BUFFER);
    for (const option of [SO_RCVBUF, SO_SNDBUF]) {
      symbols.setsockopt(fd, SOL_SOCKET, option, size, size.byteLength);
    }
    close();
  } catch {
    // No such library here: the socket works with what it has.
  }
}

// Deno

interface DenoUdp {
  listenDatagram(options: { transport: "udp"; hostname: string; port: number }): DenoUdpSocket;
}

interface DenoUdpSocket {
  readonly addr: { readonly hostname: string; readonly port: number };
  receive(buffer: Uint8Array): Promise<[Uint8Array, { hostname: string; port: number }]>;
  send(
    payload: Uint8Array,
    to: { transport: "udp"; hostname: string; port: number },
  ): Promise<number>;
  close(): void;
}

const RECEIVE_BUFFER = 64 * 1024;

function openOnDeno(Deno: DenoUdp, local: Address, onPacket: OnPacket): UdpSocket {
  const { host: hostname, port } = local;
  const socket = Deno.listenDatagram({ transport: "udp", hostname, port });
  let closed = false;
  const receive = async () => {
    const buffer = new Uint8Array(RECEIVE_BUFFER);
    while (!closed) {
      try {
        const [payload, from] = await socket.receive(buffer);
        onPacket(payload.slice(), { host: from.hostname, port: from.port });
      } catch {
        // Closed, or an ICMP error of an earlier packet.
      }
    }
  };
  void receive();
  return {
    local: { host: socket.addr.hostname, port: socket.addr.port },
    send({ bytes, lengths, addresses }) {
      let offset = 0;
      for (let i = 0; i < lengths.length && !closed; i++) {
        const length = lengths[i] as number;
        const { host, port } = addresses[i] as Address;
        const to = { transport: "udp" as const, hostname: host, port };
        socket.send(bytes.subarray(offset, offset + length), to).catch(() => {});
        offset += length;
      }
    },
    keepAlive: () => {},
    close() {
      closed = true;
      socket.close();
    },
  };
}
