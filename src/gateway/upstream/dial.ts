/**
 * Makes HTTP/2 connections to origins: TCP, TLS where the scheme asks for it, and the tap.
 *
 * @module
 */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { CodePoints } from "../../client-group/mod.ts";
import { Http2ClientConnection } from "../../http2/mod.ts";
import { type Clock, systemClock } from "../../session/clock.ts";
import type { OriginTarget } from "../types.ts";
import { DialError, dialError } from "./dial-error.ts";
import { originOf } from "./origin-connection.ts";
import type { OpenConnection, OriginLink } from "./ports.ts";

export interface DialOptions {
  /** For TCP and TLS together, in milliseconds. */
  readonly connectTime: number;
  /** Whether SHARED_CONNECTION = 1 is offered; true by default. */
  readonly offer?: boolean | undefined;
  readonly points?: CodePoints | undefined;
  readonly streamWindow?: number | undefined;
  readonly headerBytes?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Connects over the network. */
export function dialer(options: DialOptions): OpenConnection {
  const { clock = systemClock, connectTime, offer = true, points } = options;
  return (target, events) => {
    const socket = connect(target);
    const open = async (): Promise<OriginLink> => {
      await connected(socket, target.scheme === "https", connectTime, clock);
      const connection = new Http2ClientConnection({
        socket,
        origin: originOf(target),
        offer,
        points,
        settings: {
          initialWindowSize: options.streamWindow,
          maxHeaderListSize: options.headerBytes,
        },
        events,
      });
      await connection.ready;
      return connection;
    };
    return {
      link: open(),
      abort: () => socket.destroy(new DialError("destination_unavailable", "no longer wanted")),
    };
  };
}

function connect({ scheme, host, port, tls = {} }: OriginTarget): Socket | TLSSocket {
  if (scheme === "http") return connectTcp({ host, port, noDelay: true });
  const { serverName = host, ca, certificate, privateKey } = tls;
  return connectTls({
    host,
    port,
    ALPNProtocols: ["h2"],
    // An address is no server name (RFC 6066 §3); the certificate is held against it all the same.
    ...(isIP(serverName) === 0 && { servername: serverName }),
    ...(ca !== undefined && { ca }),
    ...(certificate !== undefined && { cert: certificate, key: privateKey }),
  });
}

/** Waits for TCP, for TLS and for the protocol to be agreed on. */
function connected(
  socket: Socket | TLSSocket,
  tls: boolean,
  connectTime: number,
  clock: Clock,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let begun = false;
    // Errors come between two owners of the socket too, and of one that nobody wants.
    socket.on("error", () => {});
    const settle = (error?: unknown) => {
      cancel();
      socket.off("error", settle);
      socket.off("close", closed);
      if (error === undefined) return resolve();
      socket.destroy();
      reject(dialError(error, begun));
    };
    const closed = () => settle(new Error("the origin has closed the connection"));
    const cancel = clock.after(connectTime, () => {
      settle(new DialError("connection_timeout", "the origin does not answer in time"));
    });
    socket.on("error", settle);
    socket.on("close", closed);
    socket.once("connect", () => {
      begun = tls;
      if (!tls) settle();
    });
    socket.once("secureConnect", () => {
      const { alpnProtocol } = socket as TLSSocket;
      if (alpnProtocol === "h2") settle();
      else settle(new DialError("http_protocol_error", "the origin does not speak HTTP/2"));
    });
  });
}
