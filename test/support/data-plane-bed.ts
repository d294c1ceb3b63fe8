/**
 * A data plane with peers that send and receive bytes: a client, and as many relays as are asked
 * for. Flow control and stream credit are real; time is moved by hand.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createDataPlane } from "../../src/moq-lb/proxy/data/data-plane.ts";
import type { DataPlane } from "../../src/moq-lb/proxy/data/delivery.ts";
import { MoqtSession } from "../../src/session/mod.ts";
import type { Transport, TransportStream } from "../../src/transport/transport.ts";
import { ManualClock } from "./manual-clock.ts";
import { RawPeer, type Received, readToEnd } from "./raw-peer.ts";
import { type MemoryTransportOptions, memoryTransportPair } from "./transport-pair.ts";

/** A peer of the balancer, and the balancer's session with it. */
export class DataPeer extends RawPeer {
  readonly session: MoqtSession;
  readonly datagrams: Uint8Array[] = [];
  #controlSeen = false;

  constructor(transport: Transport, session: MoqtSession) {
    super(transport);
    this.session = session;
    transport.onDatagram = (bytes) => this.datagrams.push(bytes);
  }

  /** The next data stream that the balancer opened; nothing of it is read. */
  async stream(): Promise<TransportStream> {
    if (!this.#controlSeen) await this.controlMessage();
    this.#controlSeen = true;
    const stream = await this.transport.accept();
    assert.ok(stream !== null, "the session has ended");
    return stream;
  }

  /** The next data stream to its end. */
  async received(): Promise<Received> {
    return await readToEnd(await this.stream());
  }
}

export interface DataPlaneBedOptions {
  readonly client?: MemoryTransportOptions;
  readonly relay?: MemoryTransportOptions;
  readonly relays?: number;
  readonly limits?: { readonly maximumHeld: number; readonly holdTime: number };
}

export interface DataPlaneBed {
  readonly plane: DataPlane;
  /** The data plane's; that of the sessions stands still. */
  readonly clock: ManualClock;
  readonly client: DataPeer;
  readonly relay: DataPeer;
  /** `relay` is the first. */
  readonly relays: readonly DataPeer[];
}

export async function dataPlaneBed(options: DataPlaneBedOptions = {}): Promise<DataPlaneBed> {
  const { client, relay, relays = 1 } = options;
  const { limits = { maximumHeld: 4, holdTime: 2000 } } = options;
  const clock = new ManualClock();
  const sessionClock = new ManualClock();
  let plane: DataPlane | undefined;
  const peerAt = async (far: Transport, near: Transport, role: "client" | "server") => {
    const session: MoqtSession = new MoqtSession(near, {
      role,
      clock: sessionClock,
      onDataStream: (stream) => plane?.onDataStream(session, stream),
      onDatagram: (datagram, bytes) => plane?.onDatagram(session, datagram, bytes),
    });
    void session.run().then(() => plane?.forget(session));
    const peer = new DataPeer(far, session);
    await peer.setup();
    await session.setup;
    return peer;
  };
  const [clientEnd, clientSide] = memoryTransportPair(client);
  const clientPeer = await peerAt(clientEnd, clientSide, "server");
  plane = createDataPlane({ limits, clock, clientSession: clientPeer.session });
  const relayPeers: DataPeer[] = [];
  for (let count = 0; count < relays; count++) {
    const [relaySide, relayEnd] = memoryTransportPair(relay);
    relayPeers.push(await peerAt(relayEnd, relaySide, "client"));
  }
  const [first] = relayPeers;
  assert.ok(first);
  return { plane, clock, client: clientPeer, relay: first, relays: relayPeers };
}
