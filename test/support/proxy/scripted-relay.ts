/**
 * A relay that serves an origin's tracks, until the scenario has it do something else.
 *
 * @module
 */

import type { Clock, IncomingRequest } from "../../../src/session/mod.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import type { Origin } from "./origin.ts";
import type { OutgoingTrack } from "./outgoing-track.ts";
import { nameOf, ScriptedPeer } from "./scripted-peer.ts";
import type { Port, Wire } from "./wires.ts";

export class ScriptedRelay {
  readonly name: string;
  /** Its ends of its sessions, ended ones included. */
  readonly sessions: ScriptedPeer[] = [];
  /** Names in text form of the requests that it got, with their types. */
  readonly seen: string[] = [];
  /** Does something else with a request than to serve it; `true`: it is dealt with. */
  onRequest: ((request: IncomingRequest, session: ScriptedPeer) => boolean) | undefined;
  readonly #origin: Origin;
  readonly #clock: Clock | undefined;
  #port: Port | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(name: string, origin: Origin, clock: Clock | undefined) {
    this.name = name;
    this.#origin = origin;
    this.#clock = clock;
  }

  get uri(): string {
    return this.#port?.uri ?? `moqt://${this.name}.example:4443/moq`;
  }

  async listen(wire: Wire): Promise<void> {
    this.#port = await wire.listen(this.name, (transport) => this.serve(transport));
  }

  serve(transport: Transport): void {
    const session = new ScriptedPeer(transport, {
      role: "server",
      origin: this.#origin,
      ...(this.#clock && { clock: this.#clock }),
      onRequest: (request, peer) => {
        this.seen.push(`${request.message.type} ${nameOf(request)}`);
        this.#tell();
        return this.onRequest?.(request, peer) ?? false;
      },
    });
    this.sessions.push(session);
    this.#tell();
  }

  /** What it sends, on all sessions. */
  get sending(): OutgoingTrack[] {
    return this.sessions.flatMap(({ sending }) => sending);
  }

  /** The end of its only session that is open. */
  get session(): ScriptedPeer {
    const [first, ...others] = this.sessions.filter(({ close }) => close === undefined);
    if (first === undefined || others.length > 0) throw new Error(`${this.name}: not one session`);
    return first;
  }

  /** GOAWAY on every session, with a URI that nobody is to follow. */
  goaway(timeout: number): void {
    for (const { session } of this.sessions) {
      if (!session.isOver) {
        session.goaway({ newSessionUri: "moqt://elsewhere.example:4443/moq", timeout });
      }
    }
  }

  /** Dies: nobody can connect any more, and every connection ends. */
  async kill(): Promise<void> {
    for (const { session } of this.sessions) session.close("INTERNAL_ERROR", "it died");
    await this.#port?.close();
    this.#port = undefined;
  }

  async until(what: string, holds: (relay: ScriptedRelay) => boolean): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const say = () => reject(new Error(`${this.name}: ${what}: not within 20 s: ${this.seen}`));
      timer = setTimeout(say, 20_000);
    });
    try {
      while (!holds(this)) await Promise.race([this.#changed.promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await this.kill();
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
