/**
 * The data plane of one client session: finds for each stream and datagram whose it is.
 *
 * Streams towards one session go out by the priority of their subscriber, then by that of their
 * publisher, and behind its control and request streams, where the QUIC stack knows an order: quiche
 * does, below raw QUIC and WebTransport over HTTP/3. Elsewhere, and among equals, they share the
 * connection: groups of one track have no order but that of their streams. So have streams that wait
 * for the subscriber to grant them, and datagrams.
 *
 * @module
 */

import type { ObjectDatagram } from "../../../moqt/mod.ts";
import type { IncomingDataStream, MoqtSession } from "../../../session/mod.ts";
import { noCounts } from "./counts.ts";
import type { DataCounts, DataPlane, Delivery } from "./delivery.ts";
import { Leg, type LegContext } from "./leg.ts";
import { SubscriberDelivery } from "./subscriber-delivery.ts";

export interface DataPlaneOptions extends Pick<LegContext, "clock" | "limits"> {
  /** Every other session is one to a relay. */
  readonly clientSession: MoqtSession;
}

/** A data plane that carries nothing yet. */
export function createDataPlane(options: DataPlaneOptions): DataPlane {
  return new ObjectForwarding(options);
}

class ObjectForwarding implements DataPlane {
  readonly #client: MoqtSession;
  readonly #context: LegContext;
  /** A session that is over may still be named by who did not hear of that. */
  readonly #legs = new WeakMap<MoqtSession, Leg>();

  constructor({ clientSession, clock, limits }: DataPlaneOptions) {
    this.#client = clientSession;
    this.#context = { clock, limits, counts: noCounts() };
  }

  get counts(): DataCounts {
    return this.#context.counts;
  }

  deliver(subscriber: MoqtSession, alias?: bigint, track?: string): Delivery {
    return new SubscriberDelivery(this.#leg(subscriber), { alias, track }, this.#leg);
  }

  expect(session: MoqtSession): () => void {
    return this.#leg(session).expect();
  }

  onDataStream(session: MoqtSession, stream: IncomingDataStream): void {
    this.#leg(session).onDataStream(stream);
  }

  onDatagram(session: MoqtSession, datagram: ObjectDatagram, bytes: Uint8Array): void {
    this.#leg(session).onDatagram(datagram, bytes);
  }

  forget(session: MoqtSession): void {
    this.#leg(session).end();
  }

  readonly #leg = (session: MoqtSession): Leg => {
    const known = this.#legs.get(session);
    if (known !== undefined) return known;
    const direction = session === this.#client ? "toClient" : "toRelay";
    const leg = new Leg(session, direction, this.#context);
    this.#legs.set(session, leg);
    return leg;
  };
}
