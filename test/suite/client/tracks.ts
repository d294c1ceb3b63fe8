/** Tracks as tests write them, and what comes of them. */

import { utf8 } from "../../../src/bytes.ts";
import type {
  ClientEvent,
  ReceivedObject,
  RequestName,
  Subscription,
} from "../../../src/client/mod.ts";
import { formatName } from "../../../src/moqt/mod.ts";

export const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** `live/sports` as a namespace. */
export const namespace = (fields: string) => fields.split("/").map(utf8);

/** The track `name` in the namespace `fields`. */
export const track = (fields: string, name: string) => ({
  trackNamespace: namespace(fields),
  trackName: utf8(name),
});

/** Takes objects off a subscription, as `group/object payload`. */
export class Objects {
  readonly #iterator: AsyncIterator<ReceivedObject, undefined>;

  constructor(subscription: Subscription) {
    this.#iterator = subscription[Symbol.asyncIterator]();
  }

  /** The next `count` objects, or as many as there are before the end. */
  async take(count: number): Promise<string[]> {
    const objects: string[] = [];
    while (objects.length < count) {
      const { value, done } = await this.#iterator.next();
      if (done) break;
      objects.push(`${value.groupId}/${value.objectId} ${text(value.payload)}`);
    }
    return objects;
  }
}

/** What happened on the way, a line each. */
export function story(events: readonly ClientEvent[]): string[] {
  return events.map((event) => {
    switch (event.type) {
      case "redirected":
        return `redirected to ${event.to.uri}`;
      case "accepted":
        return `${event.target.request} ${nameOf(event.target)} accepted by ${event.target.uri}`;
      case "retrying":
        return `retrying at ${event.target.uri} after ${event.delay} ms: ${event.cause}`;
      case "goaway":
        return `goaway from ${event.uri}${event.target === undefined ? "" : " for a request"}`;
      default:
        return `${event.type} ${event.uri}`;
    }
  });
}

function nameOf({ trackNamespace, trackName }: RequestName): string {
  return formatName(trackNamespace, trackName);
}
