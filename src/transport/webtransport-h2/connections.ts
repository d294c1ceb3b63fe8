/**
 * The TCP connections of a server, from their first packet on: how many there may be, and how long
 * one is kept that carries no session.
 *
 * @module
 */

import type { Socket } from "node:net";
import { Admission } from "../../quic/admission.ts";
import type { AdmissionSettings, QuicEvent } from "../../quic/options.ts";
import { RefusalReport } from "../../quic/refusal-report.ts";
import { hostAndPort } from "../quic.ts";

export interface ConnectionsOptions {
  readonly admission: AdmissionSettings;
  /** Milliseconds without a session, TLS and the request for one included. */
  readonly setupTimeout: number;
  readonly onEvent: ((event: QuicEvent) => void) | undefined;
}

/** One that was let in. */
interface Connection {
  readonly socket: Socket;
  sessions: number;
  deadline: ReturnType<typeof setTimeout> | undefined;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #admission: Admission;
  readonly #report: RefusalReport;
  /** By address and port of the client. */
  readonly #open = new Map<string, Connection>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#admission = new Admission(options.admission);
    this.#report = new RefusalReport(options.onEvent);
  }

  /** Takes a connection in that has just come, or ends it. */
  accept(socket: Socket): void {
    socket.on("error", () => {});
    const { remoteAddress: address, remotePort: port } = socket;
    // It is gone already.
    if (address === undefined || port === undefined) return;
    const refusal = this.#admission.enter(address, performance.now());
    if (refusal !== undefined) {
      this.#report.refused(refusal);
      socket.destroy();
      return;
    }
    const remote = remoteOf(`${address}:${port}`);
    const connection: Connection = { socket, sessions: 0, deadline: undefined };
    this.#open.set(remote, connection);
    this.#watch(connection);
    socket.on("close", () => {
      this.#admission.leave(address);
      clearTimeout(connection.deadline);
      if (this.#open.get(remote) === connection) this.#open.delete(remote);
    });
  }

  /** A session is on the connection with `remote` until `over`. */
  occupy(remote: string, over: Promise<void>): void {
    const connection = this.#open.get(remote);
    if (connection === undefined) return;
    connection.sessions++;
    clearTimeout(connection.deadline);
    void over.then(() => {
      connection.sessions--;
      if (connection.sessions === 0 && this.#open.get(remote) === connection) {
        this.#watch(connection);
      }
    });
  }

  #watch(connection: Connection): void {
    const end = () => connection.socket.destroy();
    connection.deadline = setTimeout(end, this.#options.setupTimeout);
  }

  /** Ends all of them at once. */
  destroy(): void {
    for (const { socket } of this.#open.values()) socket.destroy();
    this.#report.close();
  }
}

/** The library's address and port, with brackets around IPv6; IPv4 mapped into it is IPv4. */
export function remoteOf(peerAddress: string): string {
  const colon = peerAddress.lastIndexOf(":");
  const address = peerAddress.slice(0, colon).replace(/^::ffff:(?=\d+\.)/, "");
  return hostAndPort({ address, port: Number(peerAddress.slice(colon + 1)) });
}
