/**
 * A balancer in redirect mode that listens on the loopback interface: raw QUIC and WebTransport on
 * one UDP port, QMux on a TCP port. On Bun and Deno.
 *
 * @module
 */

import { listenForSessions } from "../../src/instance/listeners.ts";
import {
  createRedirectServer,
  defaultSessionLimits,
  type RedirectServer,
  type RedirectServerOptions,
  type RedirectSessionEvent,
} from "../../src/moq-lb/mod.ts";
import { draftName, drafts } from "../../src/moqt/mod.ts";
import { connectQuic } from "../../src/quic/mod.ts";
import type { ActiveSnapshot } from "../../src/snapshot/mod.ts";
import { connectQmux } from "../../src/transport/qmux.ts";
import { quicTransport } from "../../src/transport/quic.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { serveQmux } from "./qmux-server.ts";
import { liveAt, today } from "./redirect-bed.ts";

export interface BalancerOptions
  extends Partial<Omit<RedirectServerOptions, "holder" | "onSession">> {
  /** The snapshot in force; one that sends (live) to r2 unless said otherwise. */
  readonly active?: ActiveSnapshot;
}

export class Balancer {
  readonly server: RedirectServer;
  readonly events: RedirectSessionEvent[];
  /** Of the UDP port. */
  readonly port: number;
  /** `ws://127.0.0.1:PORT/moqt`. */
  readonly webSocketUrl: string;
  readonly certificateHash: Uint8Array;
  readonly #stop: () => Promise<unknown>;
  /** Called when a session has ended. */
  readonly #waiting: (() => void)[];

  private constructor(
    parts: Pick<Balancer, "server" | "events" | "port" | "webSocketUrl" | "certificateHash">,
    waiting: (() => void)[],
    stop: () => Promise<unknown>,
  ) {
    this.#waiting = waiting;
    this.server = parts.server;
    this.events = parts.events;
    this.port = parts.port;
    this.webSocketUrl = parts.webSocketUrl;
    this.certificateHash = parts.certificateHash;
    this.#stop = stop;
  }

  /** Resolves when no session is left. */
  async empty(): Promise<void> {
    while (this.server.status().sessions > 0) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  static async start(given: BalancerOptions = {}): Promise<Balancer> {
    const { active = liveAt("r2"), ...options } = given;
    const events: RedirectSessionEvent[] = [];
    const waiting: (() => void)[] = [];
    const server = createRedirectServer({
      authorization: "allow-all",
      now: () => today,
      onSession(event) {
        events.push(event);
        if (event.type === "closed") for (const resume of waiting.splice(0)) resume();
      },
      ...options,
      holder: { active },
    });
    const limits = { ...defaultSessionLimits, ...options.limits };
    const listeners = await listenForSessions({
      server,
      hostname: "127.0.0.1",
      listen: { port: 0 },
      sessions: { path: "/moqt", limits, drainTimeout: 1000 },
      log: () => {},
    });
    const sockets = serveQmux({ protocols: drafts.map(draftName) });
    const serveSockets = async () => {
      for (;;) void server.serve(await sockets.accept());
    };
    void serveSockets();
    const parts = {
      server,
      events,
      port: listeners.udpPort as number,
      webSocketUrl: `${sockets.url}/moqt`,
      certificateHash: listeners.certificateHash as Uint8Array,
    };
    const stop = () => Promise.all([listeners.close(), sockets.close()]);
    return new Balancer(parts, waiting, stop);
  }

  /** A client on raw QUIC. */
  async connectQuic(protocol = "moqt-22"): Promise<Transport> {
    const connection = await connectQuic({
      hostname: "127.0.0.1",
      port: this.port,
      alpn: [protocol],
      certificateHashes: [this.certificateHash],
    });
    return quicTransport(connection);
  }

  /** A client on QMux. */
  async connectQmux(protocol = "moqt-22"): Promise<Transport> {
    return await connectQmux(this.webSocketUrl, { protocols: [protocol] });
  }

  async close(): Promise<void> {
    await this.#stop();
  }
}
