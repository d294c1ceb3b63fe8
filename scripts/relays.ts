/**
 * Three small relays on this machine, for `npm start`: one network, as the relays behind a MoQ-LB
 * are, so that tracks can be seen to travel.
 */

import { readCurrent } from "../src/cli/current.ts";
import { type Home, readTrustedKeys } from "../src/cli/home.ts";
import { meetingExample } from "../src/cli/meeting.ts";
import { type Published, publishLocally } from "../src/cli/publish.ts";
import type { QuicBackend } from "../src/quic/mod.ts";
import { type JsonSnapshot, snapshotToJson } from "../src/snapshot/mod.ts";
import { listen } from "./relay/listen.ts";
import { Relay, RelayNetwork, type SeenRequest } from "./relay/mod.ts";

export interface LocalRelays {
  /** Connect URI of each, by RID. */
  readonly uris: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

export interface LocalRelayOptions {
  /** Where the certificate for development is kept, which they show. */
  readonly directory: string;
  /** Default: the runtime's own QUIC. */
  readonly backend?: QuicBackend;
  /** Told of each request that a relay gets. */
  readonly onRequest: (request: SeenRequest) => void;
}

/** The RIDs of the example. */
const rids = (meetingExample.relays as readonly { rid: string }[]).map(({ rid }) => rid);

/** URIs that an earlier start gave to relays, with the RID as path. */
const localUri = /^moqt:\/\/127\.0\.0\.1:\d+\/(r\d)$/;

/** Starts the relays of the example at free ports. */
export async function startRelays(options: LocalRelayOptions): Promise<LocalRelays> {
  const { directory, backend, onRequest } = options;
  const network = new RelayNetwork();
  const started = await Promise.all(
    rids.map(async (rid) => {
      const relay = new Relay({ name: rid, network, onRequest });
      const listening = await listen(relay, {
        path: `/${rid}`,
        certificateDirectory: directory,
        ...(backend && { backend }),
      });
      return { rid, relay, listening };
    }),
  );
  return {
    uris: new Map(started.map(({ rid, listening }) => [rid, listening.uri])),
    async close() {
      for (const { relay } of started) relay.drain();
      await Promise.all(started.map(({ listening }) => listening.close()));
    },
  };
}

/**
 * Publishes the snapshot of the home anew with the relays of the example at their URIs of today. A
 * pool of other relays is left as it is.
 *
 * @returns what was published, if anything was
 */
export async function publishWithRelays(
  home: Home,
  uris: LocalRelays["uris"],
  now: number,
): Promise<Published | undefined> {
  const { verified } = await readCurrent(home, await readTrustedKeys(home.keys), now);
  if (verified === undefined) return undefined;
  const snapshot = snapshotToJson(verified.snapshot);
  const moved = withRelays(snapshot, uris);
  if (moved === undefined) return undefined;
  return await publishLocally(moved, { home, now, next: true });
}

/** The snapshot with relays of the example moved to `uris`; `undefined` where it has none. */
function withRelays(snapshot: JsonSnapshot, uris: LocalRelays["uris"]): JsonSnapshot | undefined {
  let found = false;
  const relays = snapshot.relays.map((relay) => {
    const rid = typeof relay.rid === "string" ? relay.rid : "";
    const isExample =
      relay.uri === `https://${rid}.example/moq` || localUri.exec(relay.uri)?.[1] === rid;
    const uri = isExample ? uris.get(rid) : undefined;
    if (uri === undefined) return relay;
    found = true;
    return { ...relay, uri };
  });
  return found ? { ...snapshot, relays } : undefined;
}
