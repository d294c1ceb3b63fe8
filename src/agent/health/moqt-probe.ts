/**
 * Probing a relay as a client would use it: QUIC handshake and MOQT SETUP.
 *
 * @module
 */

import { ClientSession } from "../../client/client-session.ts";
import { refusal } from "../../client/refusal.ts";
import { sessionUri } from "../../client/uri.ts";
import { QuicError } from "../../quic/errors.ts";
import { systemClock } from "../../session/mod.ts";
import { dial } from "../../transport/dial.ts";
import type { Transport } from "../../transport/transport.ts";
import { ProbeError, type ProbeFault } from "./errors.ts";
import type { NetworkProbeSettings } from "./network-probe-options.ts";

/**
 * Opens a session at a Connect URI, waits for the relay's SETUP, and closes it with NO_ERROR. Over
 * WebTransport it is HTTP/3 that counts: a relay that is left with TCP alone does not pass.
 *
 * @throws {ProbeError} CONNECT_FAILED, CERTIFICATE_REFUSED, SETUP_FAILED, INVALID_TARGET; the reason
 *   of `signal` where it aborts
 */
export async function probeMoqt(
  uri: string,
  settings: NetworkProbeSettings,
  signal: AbortSignal,
): Promise<void> {
  const normalised = sessionUri(uri);
  if (normalised === undefined) {
    throw new ProbeError("INVALID_TARGET", "a relay's URI has to be an https or moqt URI");
  }
  const transport = await open(normalised, settings, signal);
  await setUp(normalised, transport, signal);
}

async function open(
  uri: string,
  { timeout, ...options }: NetworkProbeSettings,
  signal: AbortSignal,
): Promise<Transport> {
  try {
    // A stack that cannot give an attempt up lets go of it after the idle timeout.
    const times = { connectTimeout: timeout, idleTimeout: timeout };
    return await dial(uri, { ...options, ...times, fallback: false, signal });
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new ProbeError(faultOf(cause), "no session can be opened", { cause });
  }
}

function faultOf(error: unknown): ProbeFault {
  if (!(error instanceof QuicError)) return "FAILED";
  switch (error.code) {
    case "CERTIFICATE_REFUSED":
    case "CONNECT_FAILED":
      return error.code;
    default:
      return "FAILED";
  }
}

/** Waits for SETUP, and closes the session, whatever comes. */
async function setUp(uri: string, transport: Transport, signal: AbortSignal): Promise<void> {
  const { promise: isSetUp, resolve, reject } = Promise.withResolvers<void>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  const session = new ClientSession(uri, transport, {
    implementation: "yardmaster agent",
    clock: systemClock,
    random: Math.random,
    onEvent: ({ type }) => {
      if (type === "connected") resolve();
      if (type === "disconnected") {
        reject(new ProbeError("SETUP_FAILED", "the session ended before the relay's SETUP came"));
      }
    },
    onRequest: (_session, request) => request.refuse(refusal("NOT_SUPPORTED")),
    onGoaway() {},
  });
  if (signal.aborted) abort();
  try {
    await isSetUp;
  } finally {
    signal.removeEventListener("abort", abort);
    session.close("NO_ERROR");
    await session.closed;
  }
}
