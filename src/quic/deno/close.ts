/**
 * What Deno says of the end of a connection or a stream, which it mostly says in words.
 *
 * @module
 */

import { messageOf } from "../../errors.ts";
import type { QuicClose } from "../connection.ts";
import { type QuicError, StreamReset, StreamStopped } from "../errors.ts";
import type { DenoCloseInfo } from "./runtime.ts";

/** Transport error codes (RFC 9000 §20.1) that Deno's messages let one tell. */
const INTERNAL_ERROR = 1n;
const CONNECTION_REFUSED = 2n;
/** A TLS alert is a transport error of this plus the alert (RFC 9001 §4.8). */
const CRYPTO_ERROR = 0x100n;

/** The close that the peer's application asked for. */
export function applicationClose(info: DenoCloseInfo): QuicClose {
  return { by: "remote", app: true, code: BigInt(info.closeCode), reason: info.reason };
}

/** The close behind an error that Deno ends a connection with: idle timeout or transport error. */
export function transportClose(error: unknown): QuicClose {
  const reason = messageOf(error);
  if (reason === "timed out") return { by: "idle", app: false, code: 0n, reason: "" };
  const by = /^(aborted|reset) by peer/.test(reason) ? "remote" : "local";
  return { by, app: false, code: transportCode(reason), reason };
}

function transportCode(message: string): bigint {
  const alert = /handshake failed: error (\d+)/.exec(message)?.[1];
  if (alert !== undefined) return CRYPTO_ERROR + BigInt(alert);
  return message.includes("refused to accept") ? CONNECTION_REFUSED : INTERNAL_ERROR;
}

/** The error of a stream operation where it is one of the stream; else `undefined`. */
export function streamError(error: unknown): QuicError | undefined {
  const found = /^(stream reset|sending stopped) by peer: error (\d+)/.exec(messageOf(error));
  if (found === null) return undefined;
  const code = BigInt(found[2] as string);
  return found[1] === "stream reset" ? new StreamReset(code) : new StreamStopped(code);
}
