/**
 * The parts of the quiche addon that we use, and what its errors say.
 *
 * @module
 */

import { createRequire } from "node:module";
import process from "node:process";
import { QuicError } from "../../errors.ts";
import type { Address } from "../messages.ts";

const ADDON = "@matrixai/quic-linux-x64";

export interface NativeConfig {
  setApplicationProtosWireFormat(list: Uint8Array): void;
  setMaxIdleTimeout(milliseconds: number): void;
  setMaxRecvUdpPayloadSize(bytes: number): void;
  setMaxSendUdpPayloadSize(bytes: number): void;
  setInitialMaxData(bytes: number): void;
  setInitialMaxStreamDataBidiLocal(bytes: number): void;
  setInitialMaxStreamDataBidiRemote(bytes: number): void;
  setInitialMaxStreamDataUni(bytes: number): void;
  setInitialMaxStreamsBidi(count: number): void;
  setInitialMaxStreamsUni(count: number): void;
  setMaxConnectionWindow(bytes: number): void;
  setMaxStreamWindow(bytes: number): void;
  setDisableActiveMigration(disable: boolean): void;
  setStatelessResetToken(token: bigint | null): void;
  enablePacing(enable: boolean): void;
  enableDgram(enable: boolean, receiveQueue: number, sendQueue: number): void;
}

/** `null` stands for "Done": nothing to do now. */
export interface NativeConnection {
  /** Decrypts in place. */
  recv(packet: Uint8Array, path: { from: Address; to: Address }): number;
  send(out: Uint8Array): [length: number, info: { readonly to: Address }] | null;
  /** Has a PING go out with the next packets, unless they ask for an answer anyway. */
  sendAckEliciting(): void;
  timeout(): number | null;
  onTimeout(): void;
  streamRecv(id: number, out: Uint8Array): [length: number, fin: boolean] | null;
  streamSend(id: number, bytes: Uint8Array, fin: boolean): number | null;
  /** Makes a stream of ours known where it is not; lower urgencies are sent first. */
  streamPriority(id: number, urgency: number, incremental: boolean): unknown;
  streamShutdown(id: number, direction: number, code: number): unknown;
  streamCapacity(id: number): number;
  readable(): Iterable<number>;
  isReadable(): boolean;
  peerStreamsLeftBidi(): number;
  peerStreamsLeftUni(): number;
  dgramRecvVec(): Uint8Array | null;
  dgramSend(bytes: Uint8Array): unknown;
  dgramMaxWritableLen(): number | null;
  isEstablished(): boolean;
  isDraining(): boolean;
  isClosed(): boolean;
  isTimedOut(): boolean;
  applicationProto(): Uint8Array;
  serverName(): string | null;
  peerCertChain(): Uint8Array[] | null;
  /** 0 where the peer sets no idle timeout. */
  stats(): { readonly peerMaxIdleTimeout: number };
  pathStats(): readonly NativePathStats[];
  close(app: boolean, code: number, reason: Uint8Array): unknown;
  peerError(): NativeCloseInfo | null;
  localError(): NativeCloseInfo | null;
}

export interface NativePathStats {
  /** Smoothed round trip, in milliseconds. */
  readonly rtt: number;
  /** Packets taken for lost, and frames sent again. */
  readonly lost: number;
  readonly retrans: number;
  /** Bytes of packets that may be unconfirmed at once. */
  readonly cwnd: number;
}

export interface NativeCloseInfo {
  readonly isApp: boolean;
  readonly errorCode: number;
  readonly reason: Uint8Array;
}

export interface Native {
  readonly Config: {
    /** Certificates and keys as PEM; several of each are several identities, not a chain. */
    withBoringSslCtx(
      verifyPeer: boolean,
      allowFailure: boolean,
      ca: Uint8Array | null,
      keys: readonly Uint8Array[] | null,
      chains: readonly Uint8Array[] | null,
      signatureAlgorithms: string | null,
    ): NativeConfig;
  };
  readonly Connection: {
    connect(
      serverName: string | null,
      sourceId: Uint8Array,
      local: Address,
      remote: Address,
      config: NativeConfig,
    ): NativeConnection;
    accept(
      sourceId: Uint8Array,
      originalDestinationId: Uint8Array | null,
      local: Address,
      remote: Address,
      config: NativeConfig,
    ): NativeConnection;
  };
  readonly Shutdown: { readonly Read: number; readonly Write: number };
  retry(
    sourceId: Uint8Array,
    destinationId: Uint8Array,
    newSourceId: Uint8Array,
    token: Uint8Array,
    version: number,
    out: Uint8Array,
  ): number;
}

/**
 * Loads the addon.
 *
 * @throws QuicError "UNSUPPORTED_PLATFORM" where there is none for this platform
 */
export function loadNative(): Native {
  try {
    return createRequire(import.meta.url)(ADDON) as Native;
  } catch (cause) {
    const { platform, arch } = process;
    const message = `the quiche addon (${ADDON}) runs on linux-x64 only; this is ${platform}-${arch}`;
    throw new QuicError("UNSUPPORTED_PLATFORM", message, { cause });
  }
}

export type NativeFault =
  | { readonly type: "reset" | "stopped"; readonly code: bigint }
  | { readonly type: "other" };

/** What the addon threw: the code in `StreamReset(7)` or `StreamStopped(7)`, if it is one. */
export function nativeFault(error: unknown): NativeFault {
  const message = error instanceof Error ? error.message : "";
  const found = /^Stream(Reset|Stopped)\((\d+)\)/.exec(message);
  if (found === null) return { type: "other" };
  return { type: found[1] === "Reset" ? "reset" : "stopped", code: BigInt(found[2] as string) };
}
