/**
 * Listening and connecting, on whatever stack the runtime has.
 *
 * @module
 */

import type { QuicConnection, QuicServer } from "./connection.ts";
import type { ConnectQuicOptions, ListenQuicOptions, QuicBackend } from "./options.ts";

/** The versions inside the quiche addon that package.json pins. */
const QUICHE_STACK = "quiche 0.18.0 (@matrixai/quic 2.0.9)";

/** The back-end where the options name none: the runtime's own on Deno, the addon elsewhere. */
export function defaultBackend(): QuicBackend {
  return "Deno" in globalThis ? "deno" : "quiche";
}

/**
 * Name and version of the QUIC stack of a back-end, for those who have to know which one they run:
 * `"quinn (Deno 2.9.6)"` or `"quiche 0.18.0 (@matrixai/quic 2.0.9)"`.
 */
export function stackName(backend: QuicBackend = defaultBackend()): string {
  if (backend === "quiche") return QUICHE_STACK;
  const { Deno } = globalThis as { Deno?: { version: { deno: string } } };
  return Deno === undefined ? "quinn (Deno)" : `quinn (Deno ${Deno.version.deno})`;
}

/**
 * Listens for QUIC connections.
 *
 * @throws QuicError "INVALID_OPTION", "INVALID_CERTIFICATE", "LISTEN_FAILED",
 *   "UNSUPPORTED_PLATFORM"
 */
export async function listenQuic(options: ListenQuicOptions): Promise<QuicServer> {
  if ((options.backend ?? defaultBackend()) === "deno") {
    const { listenDeno } = await import("./deno/server.ts");
    return listenDeno(options);
  }
  const { listenQuiche } = await import("./quiche/server.ts");
  return listenQuiche(options);
}

/**
 * Connects to a QUIC server, and checks its certificate.
 *
 * @throws QuicError "INVALID_OPTION", "CONNECT_FAILED", "CERTIFICATE_REFUSED",
 *   "UNSUPPORTED_PLATFORM"
 */
export async function connectQuic(options: ConnectQuicOptions): Promise<QuicConnection> {
  if ((options.backend ?? defaultBackend()) === "deno") {
    const { connectDeno } = await import("./deno/client.ts");
    return connectDeno(options);
  }
  const { connectQuiche } = await import("./quiche/client.ts");
  return connectQuiche(options);
}
