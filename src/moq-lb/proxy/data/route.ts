/**
 * Where the objects go that come under one Track Alias, or one Request ID, of a session.
 *
 * @module
 */

import { withId } from "./header.ts";
import type { Attachment, OutgoingDatagram, Outlet } from "./outlet.ts";
import { passageOf } from "./passage.ts";

export class Route {
  /** Replaced, never changed: what is under way keeps those that it began with. */
  #outlets: readonly Outlet[] = [];

  get outlets(): readonly Outlet[] {
    return this.#outlets;
  }

  get isEmpty(): boolean {
    return this.#outlets.length === 0;
  }

  /** Subscriptions with one alias at the subscriber too get each object once (LB-S71). */
  add(attachment: Attachment): void {
    const { delivery, id, idBytes } = attachment;
    const { leg } = delivery;
    const shared = this.#outlets.find((outlet) => outlet.leg === leg && outlet.id === id);
    const others = this.#outlets.filter((outlet) => outlet !== shared);
    const attachments = [...(shared?.attachments ?? []), attachment];
    this.#outlets = [...others, { leg, id, idBytes, attachments }];
  }

  remove(attachment: Attachment): void {
    this.#outlets = this.#outlets
      .map((outlet) => ({
        ...outlet,
        attachments: outlet.attachments.filter((other) => other !== attachment),
      }))
      .filter(({ attachments }) => attachments.length > 0);
  }

  /** The ID stands for another track from now on: what was for another one takes no more. */
  leaveOthers(track: string | undefined): void {
    for (const { attachments } of this.#outlets) {
      for (const attachment of attachments) {
        if (attachment.delivery.track !== track) attachment.detach();
      }
    }
  }

  /** Sends a datagram to all. */
  datagram(groupId: bigint, bytes: Uint8Array): void {
    for (const outlet of this.#outlets) forwardDatagram({ outlet, groupId, bytes });
  }

  end(code: bigint): void {
    for (const { attachments } of this.#outlets) {
      for (const attachment of attachments) attachment.end(code);
    }
  }
}

/** Sends a datagram on, unless its group is held or dropped on the way. */
export function forwardDatagram(datagram: OutgoingDatagram): void {
  const { outlet, groupId, bytes } = datagram;
  const { leg, idBytes, attachments } = outlet;
  const passage = passageOf(attachments, groupId);
  if (passage === "hold") attachments[0]?.hold(datagram);
  if (passage !== "forward" || !leg.sendDatagram(withId(bytes, idBytes))) return;
  for (const { delivery } of attachments) delivery.reached(groupId);
}
